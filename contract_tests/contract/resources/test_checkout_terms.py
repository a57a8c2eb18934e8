"""What a checkout session agrees on, who its buyer becomes, and what its events name (B-58, B-59, B-67)."""

from __future__ import annotations

from typing import Any

import pytest

from contract_tests.support.sandbox import CARD, CHARGED, Sandbox
from contract_tests.surfaces.pages.buyer import CARD as FORM_CARD
from contract_tests.surfaces.pages.buyer import buyer

LINE = {"description": "Raphia basket", "unit_amount": 5000}
IBAN = {"type": "bank_transfer", "iban": "FR14 2004 1010 0505 0001 3M02 606"}


def read(sandbox: Sandbox, **assumptions: str) -> None:
    sandbox.settings(assumptions=assumptions)


def event(sandbox: Sandbox, type: str) -> Any:
    """Return the last event of a type."""
    return sandbox.control.get("/events", type=type)["data"][0]


# -- subscription mode


def test_documented_fields_are_enough_to_subscribe(sandbox: Sandbox) -> None:
    """ "In `subscription` mode a Subscription is created": without plan or period it is the total every month."""
    session = sandbox.session(mode="subscription", customer=sandbox.customer()["id"], line_items=[LINE, LINE])
    sandbox.buy(session, CARD)
    [subscription] = sandbox.api.get("/subscriptions/")["data"]
    terms = (subscription["unit_amount"], subscription["interval"], subscription["interval_count"])
    assert terms == (10000, "month", 1)
    with sandbox.expect(*CHARGED * 2):
        sandbox.advance("60d")


def test_a_one_off_line_beside_a_plan_with_a_trial_is_billed_now(sandbox: Sandbox) -> None:
    """ "All lines are billed": the plan after its trial, the device on the page, with tax."""
    sandbox.settings(tax_rate=10)
    plan = sandbox.plan(amount=1000, trial_period_days=7)
    lines = [{"plan": plan["id"]}, {"description": "Device", "unit_amount": 9000}]
    session = sandbox.session(mode="subscription", customer=sandbox.customer()["id"], line_items=lines)
    assert (session["amount_subtotal"], session["amount_total"]) == (10000, 9900)
    intent = sandbox.buy(session, CARD)
    [subscription] = sandbox.api.get("/subscriptions/")["data"]
    assert (intent["amount"], subscription["status"], subscription["unit_amount"]) == (9900, "trialing", 1000)
    sandbox.advance("60d")
    invoices = sandbox.api.get("/invoices/", subscription=subscription["id"])["data"]
    assert [(each["status"], each["total"]) for each in invoices] == [("paid", 1100), ("paid", 1100), ("paid", 9900)]


def test_the_page_says_what_recurs_beside_a_one_off_line(sandbox: Sandbox) -> None:
    lines = [{"plan": sandbox.plan(amount=1000)["id"]}, {"description": "Device", "unit_amount": 9000}]
    session = sandbox.session(mode="subscription", customer=sandbox.customer()["id"], line_items=lines)
    with buyer(sandbox, session) as awa:
        page = awa.open()
    assert page.said("total") == "10,000 XAF"
    assert "1,000 XAF" in page.said("terms")


def test_the_success_event_names_the_subscription_and_invoice_it_begins(sandbox: Sandbox) -> None:
    """B-67: as the event is sent they are not made yet, and then they are made with these ids."""
    session = sandbox.session(mode="subscription", customer=sandbox.customer()["id"])
    sandbox.buy(session, CARD)
    intent = event(sandbox, "payment_intent.succeeded")["data"]["object"]
    [subscription] = sandbox.api.get("/subscriptions/")["data"]
    [invoice] = sandbox.api.get("/invoices/")["data"]
    assert (intent["subscription"], intent["invoice"]) == (subscription["id"], invoice["id"])
    assert invoice["subscription"] == subscription["id"]


def test_a_failed_payment_names_no_subscription(sandbox: Sandbox) -> None:
    session = sandbox.session(mode="subscription", customer=sandbox.customer()["id"])
    sandbox.buy(session, {**CARD, "number": "4000 0000 0000 0002"})
    intent = event(sandbox, "payment_intent.failed")["data"]["object"]
    assert (intent["subscription"], intent["invoice"]) == (None, None)


# -- success_url


def test_success_url_is_optional_and_the_page_then_says_that_all_is_done(sandbox: Sandbox) -> None:
    """ "The material names it without a required marker"."""
    session = sandbox.session(success_url=...)
    assert session["success_url"] is None
    with buyer(sandbox, session) as awa:
        assert awa.follow(awa.pay(**FORM_CARD)).state == "paid"


def test_by_the_other_assumption_success_url_is_required(sandbox: Sandbox) -> None:
    """``success_url: required``, but in ``setup`` mode."""
    read(sandbox, success_url="required")
    body = sandbox.session_body(success_url=...)
    rejected = sandbox.api.rejected("POST", "/checkout-sessions/", 422, "MISSING_FIELD", json=body)
    assert (rejected["param"], rejected["message"]) == ("success_url", "success_url: is required except in setup mode")
    assert sandbox.session(success_url=..., mode="setup", line_items=[])["success_url"] is None


# -- anonymous buyers


@pytest.mark.parametrize("given", [{}, {"customer": {"name": "Awa Diop"}}], ids=["nothing", "name"])
def test_a_buyer_without_an_email_becomes_an_anonymous_customer(sandbox: Sandbox, given: Any) -> None:
    """ "An anonymous customer is created at payment time when customer-info collection is on"."""
    session = sandbox.session()
    intent = sandbox.buy(session, CARD, **given)
    customer = sandbox.api.get(f"/customers/{intent['customer']}/")
    assert (customer["email"], customer["firstname"]) == (None, "Awa" if given else "")
    assert (customer["transactions_count"], customer["total_spent"]) == (1, 30000)
    assert sandbox.api.get(f"/checkout-sessions/{session['id']}/")["customer"] == customer["id"]
    [transaction] = sandbox.api.get("/transactions/")["data"]
    assert transaction["customer"] == customer["id"]
    assert sandbox.control.get("/emails")["data"] == []


def test_by_the_other_assumption_there_is_no_customer(sandbox: Sandbox) -> None:
    """``anonymous_customer: none``."""
    read(sandbox, anonymous_customer="none")
    assert sandbox.buy(sandbox.session(), CARD)["customer"] is None
    assert sandbox.api.get("/customers/")["data"] == []


def test_a_subscription_needs_somebody_to_tell_of_renewals(sandbox: Sandbox) -> None:
    """B-58: rejected at creation, in the words of ``POST /subscriptions/``; other modes need no email."""
    anonymous = sandbox.buy(sandbox.session())["customer"]
    body = sandbox.session_body(mode="subscription", customer=anonymous)
    error = sandbox.api.rejected("POST", "/checkout-sessions/", 422, "INVALID_FIELD", json=body)
    terms = {"customer": anonymous, "unit_amount": 500, "interval": "month"}
    same = sandbox.api.rejected("POST", "/subscriptions/", 422, "INVALID_FIELD", json=terms)
    assert (error["param"], error["errors"]) == ("customer", same["errors"])
    assert sandbox.session(customer=anonymous)["customer"] == anonymous


def test_a_plan_deactivated_meanwhile_is_still_subscribed_to(sandbox: Sandbox) -> None:
    """B-58: the session copied its terms."""
    plan = sandbox.plan()["id"]
    session = sandbox.session(mode="subscription", customer_email="a@example.com", line_items=[{"plan": plan}])
    sandbox.api.delete(f"/subscription-plans/{plan}/")
    sandbox.buy(session)
    [made] = sandbox.api.get("/subscriptions/")["data"]
    assert (made["plan"], made["status"]) == (plan, "active")


def test_anonymous_customers_are_listed_found_and_billed(sandbox: Sandbox) -> None:
    """Lists order and search them, an invoice can be made, and only a subscription needs an email."""
    anonymous = sandbox.buy(sandbox.session(), CARD)["customer"]
    sandbox.buy(sandbox.session(), CARD)
    sandbox.customer()
    for ordering in ("email", "-email"):
        emails = [each["email"] for each in sandbox.api.get("/customers/", ordering=ordering)["data"]]
        assert sorted(map(bool, emails), reverse=ordering == "-email") == list(map(bool, emails))
    assert sandbox.api.get("/customers/", search=anonymous)["pagination"]["count"] == 1
    invoice = sandbox.api.post("/invoices/", {"customer": anonymous, "line_items": [LINE]})
    sandbox.api.post(f"/invoices/{invoice['id']}/finalize/")
    assert sandbox.api.get(f"/invoices/{invoice['id']}/")["customer_email"] is None
    assert sandbox.api.request("GET", f"/invoices/{invoice['id']}/pdf/").status_code == 200
    body = {"customer": anonymous, "unit_amount": 5000, "interval": "month"}
    sandbox.api.rejected("POST", "/subscriptions/", 422, "INVALID_FIELD", json=body)


# -- saving a method

CANNOT_PAY = [
    ({**CARD, "number": "4000 0000 0000 9995"}, "1s"),
    ({**CARD, "number": "4000 0000 0000 0002"}, "1s"),
    ({"type": "mobile_money", "phone": "+24177000002"}, "1s"),
    ({"type": "mobile_money", "phone": "+24177000003"}, "180s"),
    ({"type": "paypal", "email": "fail@example.com"}, "1s"),
]


@pytest.mark.parametrize("mode", ["setup", "subscription"])
@pytest.mark.parametrize(("method", "after"), CANNOT_PAY, ids=lambda given: str(given)[-24:-2])
def test_a_method_that_could_not_pay_is_not_saved(sandbox: Sandbox, mode: str, method: Any, after: str) -> None:
    """B-58: setup and trial sessions fail, and are tried again, as payments are."""
    terms = {"subscription_data": {"interval": "month", "trial_period_days": 7}} if mode == "subscription" else {}
    customer = sandbox.customer()
    session = sandbox.session(mode=mode, customer=customer["id"], **terms)
    with sandbox.expect():
        sandbox.buy(session, method)
        sandbox.advance(after)
    assert sandbox.api.get(f"/checkout-sessions/{session['id']}/")["status"] == "payment_failed"
    assert sandbox.api.get(f"/customers/{customer['id']}/payment-methods/")["data"] == []
    with buyer(sandbox, session) as awa:
        assert awa.open().elements["problem"]["data-code"]
    assert sandbox.buy(session, CARD)["status"] == "complete"
    [saved] = sandbox.api.get(f"/customers/{customer['id']}/payment-methods/")["data"]
    assert saved["type"] == "bank_card"


@pytest.mark.parametrize("mode", ["setup", "subscription"])
def test_a_bank_account_is_saved_at_once(sandbox: Sandbox, mode: str) -> None:
    """B-54: no funds move, so that none have to arrive."""
    fields: Any = {"line_items": []}
    if mode == "subscription":
        fields = {"line_items": [{"plan": sandbox.plan(trial_period_days=7)["id"]}]}
    session = sandbox.session(mode=mode, customer=sandbox.customer()["id"], **fields)
    assert sandbox.buy(session, IBAN)["status"] == "complete"


def test_a_slow_method_keeps_the_session_processing_until_it_is_saved(sandbox: Sandbox) -> None:
    """B-54: ``…0006`` succeeds after 60 s; a second attempt is rejected."""
    session = sandbox.session(mode="setup", customer=sandbox.customer()["id"], line_items=[])
    assert sandbox.buy(session, {"type": "mobile_money", "phone": "+24177000006"})["status"] == "processing"
    with buyer(sandbox, session) as awa:
        assert awa.open().state == "waiting"
    path = f"/checkout-sessions/{session['id']}/pay"
    sandbox.control.rejected("POST", path, 422, "INVALID_STATUS_TRANSITION", json={"method": CARD})
    with sandbox.expect("checkout.session.completed"):
        sandbox.advance("60s")


# -- links


@pytest.mark.parametrize(
    ("fields", "type"), [({"amount": 5000}, "custom"), ({"products": [...]}, "product"), ({}, "donation")]
)
def test_the_type_of_a_link_follows_its_fields(sandbox: Sandbox, fields: Any, type: str) -> None:
    """B-59: ``payment_link_type`` may be left out."""
    own = {"products": [sandbox.product()["id"]]} if "products" in fields else fields
    assert sandbox.api.post("/payment-links/", {"currency": "XAF", **own})["payment_link_type"] == type
