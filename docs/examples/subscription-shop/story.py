"""Half a year, for all faults: ``payments-emulator test app --reuse -- python story.py``.

It does what customers and the shop do, and checks what must be true in the end, whatever was lost
on the way.
"""

import json
import os
import sys
from datetime import datetime

from shop import EVENTS, Shop

from emulator.testing import Emulator

AWA, BEN, CAT = "awa@example.com", "ben@example.com", "cat@example.com"
PAYS, TOO_LITTLE_MONEY = "+24177000000", "+24177000001"


def join(payments, shop, account, plan):
    """Subscribe and pay on the hosted page; the buyer returns to a page with the shop's state."""
    session = shop.subscribe(account, plan).rpartition("/")[2]
    payments.pay(session, phone=PAYS)
    payments.settle()
    shop.reconcile()
    assert shop.has_access(account), f"{account} has paid and has no access"


def story(payments):
    """Awa stays and changes her plan, Ben cannot pay for a while, Cat tries the shop and leaves."""
    secret = payments.webhooks.listen(*EVENTS).secret
    shop = Shop(
        payments.url, payments.key, secret, now=lambda: datetime.fromisoformat(payments.clock.now)
    )
    payments.webhooks.forward_to(shop)
    shop.open()
    for account, plan in ((AWA, "premium"), (BEN, "basic"), (CAT, "trial")):
        join(payments, shop, account, plan)

    shop.change_plan(AWA, "basic")
    shop.cancel(CAT)
    shop.pay_with(BEN, TOO_LITTLE_MONEY)
    payments.clock.advance("35d")
    shop.reconcile()
    assert not shop.has_access(CAT), "who left has access"
    assert not shop.has_access(BEN), "who did not pay has access"

    shop.pay_with(BEN, PAYS)
    payments.pay(shop.pay_now(BEN).rpartition("/")[2], phone=PAYS)
    for _click in range(2):
        shop.refund(AWA)
    payments.clock.advance("100d")

    # What was delayed arrives, then the shop does what it does every night.
    shop.reconcile()
    assert {account: shop.has_access(account) for account in (AWA, BEN, CAT)} == {
        AWA: True,
        BEN: True,
        CAT: False,
    }
    refunds = payments.api.get("/_emulator/objects", kind="refund")["data"]
    assert [each["amount"] for each in refunds] == [2000], (
        f"{len(refunds)} refunds were made of one"
    )
    payments.ledger.assert_balanced()


if __name__ == "__main__":
    # With `test app --reuse` one case after another comes, a line with the variables of each.
    for variables in sys.stdin if "PAYMENTS_EMULATOR_CASES" in os.environ else ["{}"]:
        os.environ.update(json.loads(variables))
        with Emulator() as payments:
            story(payments)
        print('{"done": true}', flush=True)
