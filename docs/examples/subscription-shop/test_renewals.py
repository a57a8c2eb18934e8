"""The renewal matrix: eight stories of subscriptions. Copy it and put your application in."""

import pytest
from shop import EVENTS, Shop

AWA = "awa@example.com"
PAYS, TOO_LITTLE_MONEY = "+24177000000", "+24177000001"

pytestmark = pytest.mark.payments(clock="2026-01-01T00:00:00Z")


@pytest.fixture
def shop(payments):
    """Your application: it hears the test world's webhooks, and its clock is the world's."""
    secret = payments.webhooks.listen(*EVENTS).secret
    shop = Shop(payments.url, payments.key, secret, now=lambda: payments.clock.datetime)
    payments.webhooks.forward_to(shop)
    shop.open()
    return shop


@pytest.fixture
def awa(payments, shop):
    """Return an account that has paid its first month in the hosted checkout."""
    return join(payments, shop)


def join(payments, shop, plan="premium", **method):
    payments.pay(shop.subscribe(AWA, plan), **(method or {"phone": PAYS}))
    payments.settle()
    return AWA


def invoices(payments, status):
    return payments.api.get("/v1/invoices/", status=status)["data"]


def spent(payments, shop):
    """Return the money that came in, and was not paid back."""
    return payments.api.get(f"/v1/customers/{shop.customers[AWA]}/")["total_spent"]


def pay_now(payments, shop):
    """Follow the link as the buyer does."""
    payments.pay(shop.pay_now(AWA), phone=PAYS)
    payments.settle()


def test_duplicate(payments, shop, awa):
    """A renewal whose webhook comes three times is one renewal."""
    payments.fault({"duplicate": 2}, event="invoice.paid")
    payments.clock.advance("31d")
    assert (
        len([each for each in payments.webhooks.deliveries if each.event["type"] == "invoice.paid"])
        == 4
    )
    assert len(invoices(payments, "paid")) == 2
    assert shop.has_access(awa)


def test_grace(payments, shop, awa):
    """A failed renewal leaves access for the days of grace, then ends it. The customer is told."""
    shop.pay_with(awa, TOO_LITTLE_MONEY)
    payments.clock.advance("32d")
    assert shop.has_access(awa)
    payments.clock.advance("3d")
    assert not shop.has_access(awa)
    assert payments.emails.to(AWA, kind="renewal_failed")
    payments.clock.advance("30d")
    shop.reconcile()
    assert shop.subscriptions[awa]["status"] == "unpaid"
    assert not shop.has_access(awa)


@pytest.mark.parametrize("how", ["retry", "pay now", "pay now after the last retry"])
def test_recovery(payments, shop, awa, how):
    """Payment restores access: at the next retry or by "pay now", even after the last retry."""
    shop.pay_with(awa, TOO_LITTLE_MONEY)
    payments.clock.advance("46d" if how == "pay now after the last retry" else "36d")
    shop.reconcile()
    assert shop.subscriptions[awa]["status"] == (
        "unpaid" if how == "pay now after the last retry" else "past_due"
    )
    assert not shop.has_access(awa)
    shop.pay_with(awa, PAYS)
    if how == "retry":
        payments.clock.advance("3d")
    else:
        pay_now(payments, shop)
    assert shop.has_access(awa)
    assert shop.pay_now(awa) is None
    assert spent(payments, shop) == 10000


def test_change_of_plan(payments, shop, awa):
    """A change of plan costs nothing now, and the new price from the next period on."""
    shop.change_plan(awa, "basic")
    assert [invoice["total"] for invoice in invoices(payments, "paid")] == [5000]
    payments.clock.advance("31d")
    assert [invoice["total"] for invoice in invoices(payments, "paid")] == [2000, 5000]
    assert shop.has_access(awa)


def test_cancel_undone(payments, shop, awa):
    """A withdrawn cancellation changes nothing; any other ends access with the period."""
    shop.cancel(awa)
    shop.keep(awa)
    payments.clock.advance("31d")
    assert shop.has_access(awa)
    assert len(invoices(payments, "paid")) == 2
    shop.cancel(awa)
    assert shop.has_access(awa)
    payments.clock.advance("31d")
    assert not shop.has_access(awa)
    assert len(invoices(payments, "paid")) == 2


def test_refund(payments, shop, awa):
    """A renewal's refund, clicked twice, pays back once; access stays until the period ends."""
    payments.clock.advance("31d")
    for _click in range(2):
        refund = shop.refund(awa)
    payments.clock.advance("1d")
    assert payments.api.get(f"/v1/refunds/{refund['id']}/")["status"] == "succeeded"
    assert spent(payments, shop) == 5000
    assert payments.emails.to(AWA, kind="refund")
    assert shop.has_access(awa)


def test_trial_end(payments, shop):
    """A trial is free, its end is announced, and then the customer pays the plan's price."""
    awa = join(payments, shop, "trial")
    assert (shop.has_access(awa), invoices(payments, "paid")) == (True, [])
    payments.clock.advance("13d")
    assert shop.reminders == {awa}
    payments.clock.advance("2d")
    assert [invoice["total"] for invoice in invoices(payments, "paid")] == [5000]
    assert shop.has_access(awa)


def test_card_expired(payments, shop):
    """An expired card fails the renewal, not the paid period; another method recovers it."""
    awa = join(
        payments,
        shop,
        card={"number": "4242424242424242", "exp_month": 1, "exp_year": 2026, "cvc": "123"},
    )
    payments.clock.advance("30d")
    assert shop.has_access(awa)
    payments.clock.advance("5d")
    assert shop.subscriptions[awa]["status"] == "past_due"
    shop.pay_with(awa, PAYS)
    pay_now(payments, shop)
    assert shop.subscriptions[awa]["status"] == "active"
    assert shop.has_access(awa)
