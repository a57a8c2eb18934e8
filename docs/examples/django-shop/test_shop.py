"""The shop's test suite."""

import pytest
from django.test import Client
from django.test.utils import override_settings
from shop import application


@pytest.fixture
def shop(payments):
    """Return a client of the shop, which is sent the webhooks of the test's world."""
    secret = payments.webhooks.secret
    with override_settings(
        PAYMENTS_URL=payments.url, PAYMENTS_KEY=payments.key, PAYMENTS_WEBHOOK_SECRET=secret
    ):
        payments.webhooks.forward_to(application)
        yield Client()


@pytest.fixture
def order(shop):
    """Return an order that is not paid yet: the id of its checkout session."""
    return shop.post(
        "/orders", {"email": "awa@example.com"}, content_type="application/json"
    ).json()["id"]


def test_an_order_that_is_paid_is_paid_in_the_shop(payments, shop, order):
    payments.pay(order)
    assert shop.get(f"/orders/{order}").json() == {"status": "paid"}
    assert {each.status for each in payments.webhooks.deliveries} == {200}


def test_an_order_whose_payment_fails_stays_open(payments, shop, order):
    payments.fail_next(code="INSUFFICIENT_FUNDS")
    payments.pay(order)
    assert shop.get(f"/orders/{order}").json() == {"status": "open"}


def test_a_webhook_that_is_lost_on_the_way_comes_again(payments, shop, order):
    payments.fail_next("delivery")
    payments.pay(order)
    payments.clock.advance("1h")
    assert shop.get(f"/orders/{order}").json() == {"status": "paid"}


def test_a_webhook_that_never_comes_is_made_up_for_by_a_look(payments, shop, order):
    payments.fault({"lose": True}, event="checkout.session.completed")
    payments.pay(order)
    assert shop.get(f"/orders/{order}").json() == {"status": "paid"}
