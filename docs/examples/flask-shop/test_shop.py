"""The shop's test suite."""

import pytest
from shop import create_app


@pytest.fixture
def shop(payments, tmp_path):
    """Return a client of the shop, which is sent the webhooks of the test's world."""
    app = create_app(payments.url, payments.key, payments.webhooks.secret, tmp_path / "shop.sqlite")
    payments.webhooks.forward_to(app)
    return app.test_client()


@pytest.fixture
def order(shop):
    """Return an order that is not paid yet: the id of its checkout session."""
    return shop.post("/orders", json={"email": "awa@example.com"}).json["id"]


def test_an_order_that_is_paid_is_paid_in_the_shop(payments, shop, order):
    payments.pay(order)
    assert shop.get(f"/orders/{order}").json == {"status": "paid"}
    assert {each.status for each in payments.webhooks.deliveries} == {200}


def test_an_order_whose_payment_fails_stays_open(payments, shop, order):
    payments.fail_next(code="INSUFFICIENT_FUNDS")
    payments.pay(order)
    assert shop.get(f"/orders/{order}").json == {"status": "open"}


def test_an_order_that_is_sent_twice_is_one_order(payments, shop):
    form = {"email": "awa@example.com", "form": "first"}
    first = shop.post("/orders", json=form).json["id"]
    payments.clock.advance("25h")
    second = shop.post("/orders", json=form).json["id"]
    assert [each["id"] for each in payments.api.get("/v1/checkout-sessions/")["data"]] == [first] == [second]


def test_a_webhook_that_never_comes_is_made_up_for_by_a_look(payments, shop, order):
    payments.fault({"lose": True}, event="checkout.session.completed")
    payments.pay(order)
    assert shop.get(f"/orders/{order}").json == {"status": "paid"}


def test_what_the_shop_raises_fails_the_test(payments, shop, order):
    payments.webhooks.raise_errors = True
    payments.webhooks.forward_to(lambda environ, start_response: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        payments.pay(order)
