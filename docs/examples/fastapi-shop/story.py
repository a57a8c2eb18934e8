"""Some days, for all faults: ``payments-emulator test app --reuse -- python story.py``.

It does what buyers, members and the shop do, and checks what must be true in the end, whatever was
lost on the way.
"""

import json
import os
import sys

from fastapi.testclient import TestClient
from shop import EVENTS, create_app

from emulator.testing import Emulator

PAYS, TOO_LITTLE_MONEY = "+24177000000", "+24177000001"


def story(payments):
    """Two orders: one paid at the second try, then refunded. Two members: one pays month 1 late."""
    with TestClient(
        create_app(payments.url, payments.key, payments.webhooks.listen(*EVENTS).secret)
    ) as shop:
        payments.webhooks.forward_to(shop)

        # A browser can send anything, a price too.
        form = {"email": "awa@example.com", "price": 100}
        paid, unpaid = (
            shop.post("/orders", json=form, params={"baskets": 2}).json()["id"] for _ in range(2)
        )
        payments.pay(paid, phone=TOO_LITTLE_MONEY)
        amount = payments.pay(paid, phone=PAYS)["amount"]
        assert amount == 4000, f"the buyer paid {amount} for what costs 4000"
        for _click in range(2):
            assert shop.post(f"/orders/{paid}/refund").is_success
        refunds = payments.api.get("/_emulator/objects", kind="refund")["data"]
        assert [each["amount"] for each in refunds] == [4000], (
            f"{len(refunds)} refunds were made of one"
        )
        assert shop.post("/orders", json={"email": "no address"}).status_code == 502, (
            "an order without an address was taken"
        )

        # The operator may take an hour for an answer.
        payments.clock.advance("2h")
        awa, ben = (
            join(shop, name, phone) for name, phone in (("Awa", PAYS), ("Ben", TOO_LITTLE_MONEY))
        )
        payments.settle()
        assert member(shop, ben)["payments"] == 0, "a month was counted that nobody paid"
        customer = payments.api.get(f"/_emulator/objects/{ben}")["customer"]
        shop.portal.call(
            shop.app.state.shop.call, "PATCH", f"/customers/{customer}/", {"phone": PAYS}
        )

        # A month passes, what was delayed arrives, then the shop does what it does every night.
        payments.clock.advance("33d")
        shop.portal.call(shop.app.state.shop.reconcile)
        orders = {id: shop.get(f"/orders/{id}").json()["status"] for id in (paid, unpaid)}
        assert orders == {paid: "refunded", unpaid: "open"}, f"the orders are {orders}"
        for id in (awa, ben):
            assert member(shop, id) == {"id": id, "status": "active", "payments": 2}, (
                f"a member is {member(shop, id)}"
            )


def join(shop, name, phone):
    """Return a new member, who pays by phone."""
    buyer = {"email": f"{name.lower()}@example.org", "name": name}
    return shop.post("/members", json=buyer, params={"phone": phone}).json()["id"]


def member(shop, id):
    """Return what the shop knows of a member."""
    return shop.get(f"/members/{id}").json()


if __name__ == "__main__":
    # With `test app --reuse` one case after another comes, a line with the variables of each.
    for variables in sys.stdin if "PAYMENTS_EMULATOR_CASES" in os.environ else ["{}"]:
        os.environ.update(json.loads(variables))
        with Emulator() as payments:
            story(payments)
        print('{"done": true}', flush=True)
