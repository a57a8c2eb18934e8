"""The shop's test suite: what buyers do, and what the shop makes of it."""

from urllib.error import HTTPError

import pytest
from shop import Shop

from emulator.testing import RequestRefused

SOLD = (
    "customer.created",
    "payment_intent.succeeded",
    "transaction.succeeded",
    "checkout.session.completed",
)
"""The events of a basket that a new buyer pays."""


@pytest.fixture
def shop(payments):
    """Return the shop, which is sent the webhooks of the test's world."""
    shop = Shop(payments.url, payments.key, payments.webhooks.secret)
    payments.webhooks.forward_to(shop)
    return shop


def order(shop, baskets=1):
    """Return an order that is not paid yet: the id of its checkout session."""
    return shop.order("awa@example.com", baskets).rpartition("/")[2]


def test_an_order_is_fulfilled_when_it_is_paid(payments, shop):
    id = order(shop, baskets=3)
    with payments.expect(*SOLD):
        assert payments.pay(id, phone="+24177123456")["amount"] == 6000
    payments.webhooks.assert_delivered("checkout.session.completed", id)
    assert payments.api.get(f"/v1/checkout-sessions/{id}/")["status"] == "complete"
    [transaction] = payments.api.get("/v1/transactions/")["data"]
    assert (transaction["amount"], transaction["currency"]) == (6000, "XAF")
    assert transaction["net_amount"] == 6000 - transaction["fee"] < 6000
    assert (shop.orders[id]["status"], shop.orders[id]["customer"]) == (
        "paid",
        transaction["customer"],
    )
    assert len(payments.emails.to("awa@example.com", "receipt")) == 1


REASONS = {
    "+24177000001": "INSUFFICIENT_FUNDS",
    "+24177000002": "MOBILE_MONEY_REJECTED",
    "+24177000005": "MOBILE_MONEY_LIMIT_REACHED",
}


@pytest.mark.parametrize("phone", REASONS)
def test_an_order_is_not_fulfilled_when_the_payment_fails(payments, shop, phone):
    id = order(shop)
    intent = payments.pay(id, phone=phone)
    assert (intent["status"], intent["last_error"]["code"]) == ("canceled", REASONS[phone])
    payments.webhooks.assert_delivered("payment_intent.failed")
    assert shop.orders[id]["status"] == "declined"
    payments.pay(id)
    payments.webhooks.assert_delivered("checkout.session.completed")
    assert shop.orders[id]["status"] == "paid"


def test_an_order_nobody_pays_stays_open(payments, shop):
    id = order(shop)
    with payments.expect():
        payments.clock.advance("2d")
    with pytest.raises(RequestRefused, match=r"(?i)checkout_session_expired"):
        payments.pay(id)
    assert shop.orders[id]["status"] == "open"


def test_a_webhook_that_comes_twice_counts_once(payments, shop):
    payments.fault({"duplicate": 2}, event="checkout.session.completed")
    id = order(shop)
    payments.pay(id)
    payments.webhooks.assert_delivered("checkout.session.completed", times=1)
    copies = [
        item
        for item in payments.webhooks.deliveries
        if item.event["type"] == "checkout.session.completed"
    ]
    assert (len(copies), shop.orders[id]["status"]) == (3, "paid")


def test_a_webhook_that_is_lost_on_the_way_comes_again(payments, shop):
    id = order(shop)
    payments.fail_next("delivery", times=4)
    payments.pay(id)
    payments.clock.advance("1h")
    assert shop.orders[id]["status"] == "paid"


def test_a_webhook_of_somebody_else_is_refused(payments):
    shop = Shop(payments.url, payments.key, secret="whsec_of_somebody_else")
    payments.webhooks.forward_to(shop)
    id = order(shop)
    payments.pay(id)
    payments.webhooks.assert_delivered("checkout.session.completed")
    assert {delivery.status for delivery in payments.webhooks.deliveries} == {401}
    assert shop.orders[id]["status"] == "open"


def test_the_shop_tries_again(payments, shop):
    shop.pauses = (0.01,)
    payments.fault({"drop": "after"}, path="/checkout-sessions/")
    id = order(shop)
    assert [each["id"] for each in payments.api.get("/v1/checkout-sessions/")["data"]] == [id]


def test_the_shop_says_so_when_the_service_is_down(payments, shop):
    shop.pauses = (0.01, 0.01)
    payments.fault({"status": 503}, times=3, path="/checkout-sessions/")
    with pytest.raises(HTTPError, match="503"):
        order(shop)
