"""Checkout sessions: made, read, expired, and paid as a buyer would pay them (B-58, B-97)."""

from __future__ import annotations

from typing import Any

import pytest

from contract_tests.support.sandbox import START, Sandbox

EVERY_TYPE = ["mobile_money", "bank_card", "bank_transfer", "paypal"]
LINE = {"description": "Raphia basket", "unit_amount": 15000, "quantity": 2}


def subscribing(sandbox: Sandbox, **fields: Any) -> Any:
    """Return a session that subscribes to a plan."""
    return sandbox.session(mode="subscription", line_items=[{"plan": sandbox.plan()["id"]}], **fields)


# -- making one


def test_a_new_session_is_open_and_has_a_page(sandbox: Sandbox) -> None:
    """CheckoutSession fields; defaults of the create body."""
    with sandbox.expect():
        session = sandbox.session(metadata={"order": "7"}, cancel_url="https://shop.example.com/cart")
    assert (session["mode"], session["status"], session["payment_intent"]) == ("payment", "open", None)
    assert (session["amount_total"], session["amount_subtotal"]) == (30000, 30000)
    assert session["url"] == f"{sandbox.url}/checkout/{session['id']}"
    assert session["cancel_url"] == "https://shop.example.com/cart"
    assert session["line_items"] == [{"product": None, **LINE, "amount_total": 30000}]
    assert session["payment_method_types"] == EVERY_TYPE
    assert session["expires_at"] == "2026-01-01T00:30:00.000Z"
    assert (session["customer"], session["customer_email"], session["metadata"]) == (None, None, {"order": "7"})
    assert (session["created_at"], session["livemode"]) == (START, False)
    assert sandbox.api.get(f"/checkout-sessions/{session['id']}/") == session


def test_success_url_is_shown_as_it_was_given(sandbox: Sandbox) -> None:
    """B-58."""
    url = "https://shop.example.com/thanks?session={CHECKOUT_SESSION_ID}"
    assert sandbox.session(success_url=url)["success_url"] == url


def test_a_line_copies_name_and_price_of_its_product(sandbox: Sandbox) -> None:
    """B-58; "A price change does not affect checkout sessions … already created"."""
    product = sandbox.product()
    session = sandbox.session(line_items=[{"product": product["id"], "quantity": 3}])
    sandbox.api.patch(f"/products/{product['id']}/", {"unit_amount": 9000, "name": "Hat"})
    line = sandbox.api.get(f"/checkout-sessions/{session['id']}/")["line_items"][0]
    assert line == {
        "product": product["id"],
        "description": "Basket",
        "quantity": 3,
        "unit_amount": 2000,
        "amount_total": 6000,
    }


def test_a_free_product_has_the_lines_own_price(sandbox: Sandbox) -> None:
    product = sandbox.product(price_type="free")
    session = sandbox.session(line_items=[{"product": product["id"], "unit_amount": 700}])
    assert session["amount_total"] == 700


def test_an_email_finds_its_customer_at_once_and_a_customer_brings_its_email(sandbox: Sandbox) -> None:
    """B-58."""
    customer = sandbox.customer()
    known = sandbox.session(customer_email=customer["email"].upper())
    assert known["customer"] == customer["id"]
    named = sandbox.session(customer=customer["id"])
    assert (named["customer"], named["customer_email"]) == (customer["id"], customer["email"])
    unknown = sandbox.session(customer_email="new@example.com")
    assert (unknown["customer"], unknown["customer_email"]) == (None, "new@example.com")


def test_types_are_listed_once_and_none_means_all(sandbox: Sandbox) -> None:
    session = sandbox.session(payment_method_types=["paypal", "bank_card", "paypal"])
    assert session["payment_method_types"] == ["paypal", "bank_card"]
    assert sandbox.session(payment_method_types=[])["payment_method_types"] == EVERY_TYPE


@pytest.mark.parametrize(
    ("product", "line", "param"),
    [
        ({"price_type": "free"}, {}, "unit_amount"),
        ({"currency": "EUR"}, {}, "product"),
    ],
    ids=str,
)
def test_an_unusable_product_is_rejected(sandbox: Sandbox, product: Any, line: Any, param: str) -> None:
    """B-15, B-58."""
    body = sandbox.session_body(line_items=[{"product": sandbox.product(**product)["id"], **line}])
    error = sandbox.api.rejected("POST", "/checkout-sessions/", 422, "INVALID_FIELD", json=body)
    assert error["param"] == f"line_items.0.{param}"


def test_the_total_of_a_subscription_is_its_first_invoice(sandbox: Sandbox) -> None:
    """B-58: the plan's amount, taxed like an invoice; nothing now with a trial."""
    sandbox.settings(tax_rate=18)
    session = subscribing(sandbox)
    assert (session["amount_subtotal"], session["amount_total"]) == (5000, 5900)
    assert session["line_items"] == [
        {"product": None, "description": "Basic", "quantity": 1, "unit_amount": 5000, "amount_total": 5000}
    ]
    trial = sandbox.session(mode="subscription", subscription_data={"interval": "month", "trial_period_days": 7})
    assert (trial["amount_subtotal"], trial["amount_total"]) == (30000, 0)


@pytest.mark.parametrize(
    ("line", "param"),
    [
        ({"unit_amount": 5}, "line_items.0.unit_amount"),
        ({"product": "prod_x"}, "line_items.0.product"),
    ],
    ids=str,
)
def test_a_plan_stands_alone_on_its_line(sandbox: Sandbox, line: Any, param: str) -> None:
    body = sandbox.session_body(mode="subscription", line_items=[{"plan": sandbox.plan()["id"], **line}])
    assert sandbox.api.rejected("POST", "/checkout-sessions/", 422, "INVALID_FIELD", json=body)["param"] == param


def test_a_plan_goes_with_the_mode_subscription_only(sandbox: Sandbox) -> None:
    body = sandbox.session_body(mode="payment", line_items=[{"plan": sandbox.plan()["id"]}])
    error = sandbox.api.rejected("POST", "/checkout-sessions/", 422, "INVALID_FIELD", json=body)
    assert error["message"] == "line_items.0.plan: goes with the mode subscription only"


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"mode": "setup", "line_items": [{**LINE, "unit_amount": 60_000_000}] * 2}, "AMOUNT_TOO_LARGE"),
        ({"mode": "subscription", "line_items": [{**LINE, "unit_amount": 1}]}, "AMOUNT_TOO_SMALL"),
    ],
)
def test_the_sum_of_the_lines_is_bounded_in_every_mode(sandbox: Sandbox, fields: Any, code: str) -> None:
    error = sandbox.api.rejected("POST", "/checkout-sessions/", 422, code, json=sandbox.session_body(**fields))
    assert error["param"] == "line_items"


def test_what_is_billed_once_beside_a_trial_is_bounded_too(sandbox: Sandbox) -> None:
    plan = sandbox.plan(trial_period_days=7)["id"]
    body = sandbox.session_body(mode="subscription", line_items=[{"plan": plan}, {**LINE, "unit_amount": 1}])
    error = sandbox.api.rejected("POST", "/checkout-sessions/", 422, "AMOUNT_TOO_SMALL", json=body)
    assert error["param"] == "line_items"


def test_only_one_line_holds_a_plan_and_no_other_period_beside_it(sandbox: Sandbox) -> None:
    """B-58."""
    line = {"plan": sandbox.plan()["id"]}
    twice = sandbox.session_body(mode="subscription", line_items=[line, LINE, line])
    error = sandbox.api.rejected("POST", "/checkout-sessions/", 422, "INVALID_FIELD", json=twice)
    assert error["param"] == "line_items.2.plan"
    both = sandbox.session_body(mode="subscription", line_items=[line], subscription_data={"interval": "month"})
    error = sandbox.api.rejected("POST", "/checkout-sessions/", 422, "INVALID_FIELD", json=both)
    assert error["param"] == "subscription_data"


def test_an_unusable_plan_is_rejected(sandbox: Sandbox) -> None:
    """B-15."""
    gone, euro = sandbox.plan(), sandbox.plan(currency="EUR")
    sandbox.api.delete(f"/subscription-plans/{gone['id']}/")
    for plan in (gone, euro):
        body = sandbox.session_body(mode="subscription", line_items=[{"plan": plan["id"]}])
        error = sandbox.api.rejected("POST", "/checkout-sessions/", 422, "INVALID_FIELD", json=body)
        assert error["param"] == "line_items.0.plan"


def test_setup_needs_no_lines_and_no_success_url(sandbox: Sandbox) -> None:
    """B-58."""
    session = sandbox.session(mode="setup", line_items=[], success_url=...)
    assert (session["line_items"], session["success_url"], session["amount_total"]) == ([], None, 0)


# -- reading and expiring


def test_a_merchant_may_expire_it(sandbox: Sandbox) -> None:
    """open → expired; B-58: a second time ``CHECKOUT_SESSION_EXPIRED``."""
    session = sandbox.session()
    path = f"/checkout-sessions/{session['id']}/expire/"
    with sandbox.expect():
        assert sandbox.api.post(path) == {**session, "status": "expired"}
    sandbox.api.rejected("POST", path, 422, "CHECKOUT_SESSION_EXPIRED")
    assert sandbox.control.get("/schedule")["data"] == []


def test_it_expires_when_its_time_is_over(sandbox: Sandbox) -> None:
    """open → expired after ``expires_in``, and no event is emitted."""
    session = sandbox.session(expires_in=300)
    path = f"/checkout-sessions/{session['id']}/"
    sandbox.advance("299s")
    assert sandbox.api.get(path)["status"] == "open"
    with sandbox.expect():
        sandbox.advance("1s")
    assert sandbox.api.get(path)["status"] == "expired"
