"""A day at the shop, for every fault: ``payments-emulator test app --reuse -- python story.py``.

It does what buyers and the shop do, and checks what must be true in the end, whatever was lost on
the way.
"""

import json
import os
import sys
from io import BytesIO
from urllib.error import HTTPError

from shop import PRICE, Shop

from emulator.testing import Emulator

TOO_LITTLE_MONEY = "+24177000001"


def request(shop, method, path, body=None):
    """Return the answer of the shop to a request of a browser."""
    data = json.dumps(body).encode()
    environ = {
        "REQUEST_METHOD": method,
        "PATH_INFO": path,
        "CONTENT_LENGTH": len(data),
        "wsgi.input": BytesIO(data),
    }
    return json.loads(b"".join(shop(environ, lambda status, headers: None)))


def is_rejected(shop, email):
    """Whether the shop reports at once that the service does not take this address."""
    try:
        shop.order(email, 1)
    except HTTPError as error:
        return error.code == 422
    return False


def story(payments):
    """Two orders: one is paid at the second attempt and refunded in part, nobody pays the other."""
    secret = payments.webhooks.listen("checkout.session.completed", "payment_intent.failed").secret
    shop = Shop(payments.url, payments.key, secret)
    payments.webhooks.forward_to(shop)

    # A browser can send anything, a price too.
    form = {"email": "awa@example.com", "baskets": 2, "price": 100}
    paid, unpaid = (
        request(shop, "POST", "/orders", form)["pay_at"].rpartition("/")[2] for _ in range(2)
    )
    assert request(shop, "GET", f"/thanks/{unpaid}")["status"] == "open", (
        "an order was shipped that nobody paid"
    )
    payments.pay(paid, phone=TOO_LITTLE_MONEY)
    amount = payments.pay(paid)["amount"]
    assert amount == 2 * PRICE, f"the buyer paid {amount} for what costs {2 * PRICE}"
    payments.settle()

    for _click in range(2):
        shop.refund(paid, 1000)
    refunds = payments.api.get("/_emulator/objects", kind="refund")["data"]
    assert sum(each["amount"] for each in refunds) == 1000, (
        f"{len(refunds)} refunds were made of one"
    )

    assert is_rejected(shop, "no address"), "an order without an address was taken"

    # What was delayed arrives, then the shop does what it does every night.
    payments.clock.advance("2d")
    shop.reconcile()
    order = shop.orders[paid]
    assert order["shipped"] == 2, f"{order['shipped']} baskets were shipped of 2 that were ordered"
    assert order["status"] == "paid", f"a paid order is {order['status']}"
    assert shop.orders[unpaid]["shipped"] == 0, "an order was shipped that nobody paid"


if __name__ == "__main__":
    # With `test app --reuse` one case after another comes, a line with the variables of each.
    for variables in sys.stdin if "PAYMENTS_EMULATOR_CASES" in os.environ else ["{}"]:
        os.environ.update(json.loads(variables))
        with Emulator() as payments:
            story(payments)
        print('{"done": true}', flush=True)
