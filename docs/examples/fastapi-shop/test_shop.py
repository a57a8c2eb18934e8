"""The shop's test suite: what buyers do, time passes, and what the shop makes of it."""

import pytest
from fastapi.testclient import TestClient
from freezegun import freeze_time
from shop import create_app
from story import story

AWA = {"email": "awa@example.com"}


@pytest.fixture
def shop(payments):
    """Return a client of the shop, which is sent the webhooks of the test's world."""
    with TestClient(create_app(payments.url, payments.key, payments.webhooks.secret)) as client:
        payments.webhooks.forward_to(client)
        yield client


@pytest.fixture
def order(shop):
    """Return an order that is not paid yet: the id of its checkout session."""
    return shop.post("/orders", json=AWA).json()["id"]


def status(shop, order):
    return shop.get(f"/orders/{order}").json()["status"]


def test_an_order_that_is_paid_is_paid_in_the_shop(payments, shop, order):
    payments.pay(order)
    assert status(shop, order) == "paid"
    assert {each.status for each in payments.webhooks.deliveries} == {200}


@pytest.mark.parametrize("phone", ["+24177000001", "+24177000002"])
def test_an_order_whose_payment_fails_stays_open(payments, shop, order, phone):
    assert payments.pay(order, phone=phone)["last_error"]
    assert status(shop, order) == "open"


def test_two_orders_are_paid_separately(payments, shop, order):
    other = shop.post("/orders", json={"email": "kofi@example.com"}).json()["id"]
    payments.pay(other, card="4242424242424242")
    assert (status(shop, order), status(shop, other)) == ("open", "paid")


def test_three_baskets_cost_three_times_as_much(payments, shop):
    order = shop.post("/orders", json=AWA, params={"baskets": 3}).json()["id"]
    assert payments.pay(order)["amount_received"] == 6000
    assert shop.get(f"/orders/{order}").json()["amount"] == 6000


def test_the_buyer_is_sent_a_receipt(payments, order):
    payments.pay(order)
    assert [each["kind"] for each in payments.emails.to("awa@example.com")] == ["receipt"]


def test_a_buyer_may_try_again(payments, shop, order):
    payments.pay(order, card="4000000000000002")
    assert status(shop, order) == "open"
    payments.pay(order)
    assert status(shop, order) == "paid"


def test_an_order_that_is_not_paid_expires(payments, shop, order):
    payments.clock.advance("31m")
    assert payments.api.get(f"/v1/checkout-sessions/{order}/")["status"] == "expired"
    assert status(shop, order) == "open"


def test_a_webhook_that_comes_three_times_counts_once(payments, shop, order):
    payments.fault({"duplicate": 2}, event="checkout.session.completed")
    payments.pay(order)
    assert status(shop, order) == "paid"


def test_a_webhook_that_fails_comes_again(payments, shop, order):
    payments.webhooks.answer(500, 500, 500)
    payments.pay(order)
    payments.clock.advance("1h")
    assert status(shop, order) == "paid"


def test_a_webhook_that_was_changed_on_its_way_is_rejected(payments, shop, order):
    payments.fault({"tamper": True}, event="checkout.session.completed")
    payments.pay(order)
    assert status(shop, order) == "open"
    payments.webhooks.refute_delivered("checkout.session.completed")


def test_a_refund(payments, shop, order):
    payments.pay(order)
    shop.post(f"/orders/{order}/refund")
    payments.clock.advance("1d")
    assert status(shop, order) == "refunded"


def test_a_refund_that_fails_leaves_the_order_paid(payments, shop, order):
    payments.pay(order)
    payments.fail_next("refund")
    shop.post(f"/orders/{order}/refund")
    payments.clock.advance("1d")
    payments.webhooks.assert_delivered("refund.failed")
    assert status(shop, order) == "paid"


def test_a_member_pays_each_month(payments, shop):
    member = shop.post("/members", json=AWA, params={"phone": "+24177000000"}).json()["id"]
    payments.clock.advance("P11M")
    assert shop.get(f"/members/{member}").json() == {
        "id": member,
        "status": "active",
        "payments": 12,
    }


def test_a_member_who_cannot_pay_is_past_due_and_recovers(payments, shop):
    member = shop.post("/members", json=AWA, params={"phone": "+24177000000"}).json()["id"]
    payments.fail_next(code="INSUFFICIENT_FUNDS")
    payments.clock.advance(until_event="subscription.payment_failed")
    assert shop.get(f"/members/{member}").json()["status"] == "past_due"
    payments.clock.advance("7d")
    assert shop.get(f"/members/{member}").json() == {
        "id": member,
        "status": "active",
        "payments": 2,
    }


def test_a_member_pays_when_the_date_is_moved(payments, shop):
    with freeze_time("2031-01-31") as frozen:
        assert payments.clock.now == "2031-01-31T00:00:00.000Z"
        member = shop.post("/members", json=AWA, params={"phone": "+24177000000"}).json()["id"]
        frozen.move_to("2031-04-30 00:00:01")
        assert shop.get(f"/members/{member}").json()["payments"] == 4


def test_a_service_that_is_down_is_reported(payments, shop, monkeypatch):
    monkeypatch.setattr("shop.PAUSES", (0.01, 0.01))
    payments.fault({"status": 503}, times=3, path="/checkout-sessions/")
    assert shop.post("/orders", json=AWA).status_code == 502


def test_a_forged_webhook_is_rejected(shop):
    assert (
        shop.post("/webhooks", json={}, headers={"Service-Signature": "0" * 64}).status_code == 401
    )


def test_some_days_end_the_same_whatever_happens_twice_or_never(payments):
    payments.test_app(story, only=["2:drop-after", "reissued", "lost"])
