"""Buyers: what they pay with, who they are, and how sessions and invoices are paid (B-14, B-45, B-54, B-58, B-97)."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from contract_tests.support.client import Client
from contract_tests.support.contract import Contract
from contract_tests.support.sandbox import CARD, CHARGED, FAILED, FAILING_PHONE, RunningServer, Sandbox
from contract_tests.surfaces.pages.buyer import Buyer

PAID = ("payment_intent.succeeded", "transaction.succeeded")
DONE = (*PAID, "checkout.session.completed")
ANONYMOUS = ("customer.created",)
"""A buyer without an email becomes a customer without one (B-58)."""
POOR = {"type": "mobile_money", "phone": FAILING_PHONE}
SLOW = {"type": "mobile_money", "phone": "+24177000006"}
SETTLING = {**CARD, "number": "4000 0000 0000 0077"}
THREE_STEP = {**CARD, "number": "4000 0000 0000 3220"}
IBAN = {"type": "bank_transfer", "iban": "FR14 2004 1010 0505 0001 3M02 606"}
AWA = {"name": "Awa Diop", "email": "awa@example.com"}


def seen(sandbox: Sandbox, session: Any) -> Any:
    """Return the session as it stands now."""
    return sandbox.api.get(f"/checkout-sessions/{session['id']}/")


def event_types(sandbox: Sandbox) -> list[str]:
    """Return the types of all events, in order."""
    return [event["type"] for event in sandbox.events()]


def pay_rejected(sandbox: Sandbox, what: str, status: int, code: str, method: Any = CARD, **fields: Any) -> Any:
    return sandbox.control.rejected("POST", f"/{what}/pay", status, code, json={"method": method, **fields})


# -- a session in payment mode


@pytest.mark.parametrize(
    "method",
    [{"type": "mobile_money", "phone": "+24177123456"}, CARD, {"type": "paypal", "email": "awa@example.com"}],
    ids=lambda method: method["type"],
)
def test_a_payment_completes_the_session(sandbox: Sandbox, method: Any) -> None:
    """open → processing → complete; the events in the order of B-44."""
    session = sandbox.session(metadata={"order": "7"})
    with sandbox.expect(*ANONYMOUS, *DONE):
        intent = sandbox.buy(session, method)
    assert event_types(sandbox) == [*ANONYMOUS, *DONE]
    assert (intent["status"], intent["amount"], intent["checkout_session"]) == ("succeeded", 30000, session["id"])
    assert (intent["payment_method_type"], intent["customer_email"]) == (method["type"], None)
    paid = {"status": "complete", "payment_intent": intent["id"], "customer": intent["customer"]}
    assert seen(sandbox, session) == {**session, **paid}
    completed = sandbox.events()[-1]
    assert completed["data"] == {"object": seen(sandbox, session)}
    assert sandbox.control.get("/schedule")["data"] == []


def test_a_declined_payment_leaves_the_session_open_for_another(sandbox: Sandbox) -> None:
    """B-14, B-58: processing → payment_failed → processing → complete; each attempt is an intent of its own."""
    session = sandbox.session()
    with sandbox.expect(*ANONYMOUS, "payment_intent.failed"):
        failed = sandbox.buy(session, POOR)
    assert (failed["status"], failed["last_error"]["code"]) == ("canceled", "INSUFFICIENT_FUNDS")
    assert (seen(sandbox, session)["status"], seen(sandbox, session)["payment_intent"]) == (
        "payment_failed",
        failed["id"],
    )
    with sandbox.expect(*DONE):
        paid = sandbox.buy(session)
    assert paid["id"] != failed["id"]
    assert (seen(sandbox, session)["status"], seen(sandbox, session)["payment_intent"]) == ("complete", paid["id"])


def test_a_buyer_who_takes_time_keeps_the_session_processing(sandbox: Sandbox) -> None:
    """B-54: ``…0006`` succeeds after 60 s. Until then, and afterwards, no second payment is taken."""
    session = sandbox.session()
    path = f"checkout-sessions/{session['id']}"
    assert sandbox.buy(session, SLOW)["status"] == "requires_action"
    assert seen(sandbox, session)["status"] == "processing"
    pay_rejected(sandbox, path, 422, "INVALID_STATUS_TRANSITION")
    sandbox.api.rejected("POST", f"/{path}/expire/", 422, "INVALID_STATUS_TRANSITION")
    with sandbox.expect(*DONE):
        sandbox.advance("60s")
    error = pay_rejected(sandbox, path, 422, "INVALID_STATUS_TRANSITION")
    assert error["message"] == "This checkout session is complete: it cannot be paid."
    error = sandbox.api.rejected("POST", f"/{path}/expire/", 422, "INVALID_STATUS_TRANSITION")
    assert error["message"] == "This checkout session is complete: it cannot expire."
    assert sandbox.api.get("/payment-intents/")["pagination"]["count"] == 1


def test_a_bank_transfer_outlives_the_session(sandbox: Sandbox) -> None:
    """B-58: a processing session does not expire; it is complete once the funds arrive."""
    session = sandbox.session(expires_in=300)
    sandbox.buy(session, IBAN)
    sandbox.advance("23h")
    assert seen(sandbox, session)["status"] == "processing"
    with sandbox.expect(*DONE):
        sandbox.advance("1h")
    assert seen(sandbox, session)["status"] == "complete"


def test_a_card_that_settles_later_completes_it_at_once(sandbox: Sandbox) -> None:
    """B-61: the payment is received with its intent; the transaction of ``…0077`` stays ``approved`` for a day."""
    session = sandbox.session()
    with sandbox.expect(*ANONYMOUS, "payment_intent.succeeded", "checkout.session.completed"):
        sandbox.buy(session, SETTLING)
    assert seen(sandbox, session)["status"] == "complete"
    with sandbox.expect("transaction.succeeded"):
        sandbox.advance("1d")


def test_by_the_other_assumption_it_is_complete_once_the_transaction_is(sandbox: Sandbox) -> None:
    """B-61, ``payment_received: transaction``; until then the page shows the payment under way."""
    sandbox.control.patch("/app", {"settings": {"assumptions": {"payment_received": "transaction"}}})
    session = sandbox.session()
    with sandbox.expect(*ANONYMOUS, "payment_intent.succeeded"):
        sandbox.buy(session, SETTLING)
    assert seen(sandbox, session)["status"] == "processing"
    pay_rejected(sandbox, f"checkout-sessions/{session['id']}", 422, "INVALID_STATUS_TRANSITION")
    with sandbox.expect("transaction.succeeded", "checkout.session.completed"):
        sandbox.advance("1d")


def test_an_attempt_that_fails_after_the_sessions_time_ends_it(sandbox: Sandbox) -> None:
    """B-58: ``payment_failed`` expires like ``open``."""
    session = sandbox.session(expires_in=300)
    intent = sandbox.buy(session, IBAN)
    sandbox.advance("10m")
    with sandbox.expect("payment_intent.failed"):
        sandbox.control.post(f"/payment-intents/{intent['id']}/answer", {"result": "failed"})
    assert seen(sandbox, session)["status"] == "expired"
    pay_rejected(sandbox, f"checkout-sessions/{session['id']}", 422, "CHECKOUT_SESSION_EXPIRED")


@pytest.mark.parametrize("by_hand", [True, False])
def test_a_failed_session_expires_like_an_open_one(sandbox: Sandbox, by_hand: bool) -> None:
    """payment_failed → expired, by the merchant or in its time (B-58)."""
    session = sandbox.session()
    sandbox.buy(session, POOR)
    with sandbox.expect():
        if by_hand:
            sandbox.api.post(f"/checkout-sessions/{session['id']}/expire/")
        else:
            sandbox.advance("30m")
    assert seen(sandbox, session)["status"] == "expired"
    pay_rejected(sandbox, f"checkout-sessions/{session['id']}", 422, "CHECKOUT_SESSION_EXPIRED")


def test_a_payment_the_merchant_cancels_leaves_the_session_to_another(sandbox: Sandbox) -> None:
    """B-50: no event reports it."""
    session = sandbox.session()
    intent = sandbox.buy(session, SLOW)
    with sandbox.expect():
        sandbox.api.post(f"/payment-intents/{intent['id']}/cancel/")
        assert seen(sandbox, session)["status"] == "payment_failed"
        sandbox.advance("2m")
    with sandbox.expect(*DONE):
        sandbox.buy(session)


@pytest.mark.parametrize(
    ("result", "status", "events"),
    [("succeeded", "complete", DONE), ("failed", "payment_failed", ("payment_intent.failed",))],
)
def test_a_card_with_a_check_waits_for_it(sandbox: Sandbox, result: str, status: str, events: Any) -> None:
    """B-54: ``…3220`` is ``requires_action`` until confirmed."""
    session = sandbox.session()
    intent = sandbox.buy(session, THREE_STEP)
    ends = {"type": "confirm_card", "expires_at": "2026-01-01T00:15:00.000Z"}
    assert (intent["status"], intent["next_action"]) == ("requires_action", ends)
    with sandbox.expect(*events):
        sandbox.control.post(f"/payment-intents/{intent['id']}/answer", {"result": result})
    assert seen(sandbox, session)["status"] == status


SESSIONS: Any = {
    "payment": {},
    "setup": {"mode": "setup", "line_items": []},
    "trial": {"mode": "subscription", "subscription_data": {"interval": "month", "trial_period_days": 7}},
}


@pytest.mark.parametrize("fields", SESSIONS.values(), ids=SESSIONS)
def test_a_check_that_nobody_passes_leaves_the_session_to_another_attempt(sandbox: Sandbox, fields: Any) -> None:
    """B-54: after ``confirmation_timeout``; the message says that it was not confirmed."""
    sandbox.settings(confirmation_timeout=60)
    session = sandbox.session(customer=sandbox.customer()["id"], **fields)
    sandbox.buy(session, THREE_STEP)
    sandbox.advance("59s")
    assert seen(sandbox, session)["status"] == "processing"
    with sandbox.expect(*["payment_intent.failed"] * (fields == {})):
        sandbox.advance("1s")
    assert seen(sandbox, session)["status"] == "payment_failed"
    for intent in sandbox.api.get("/payment-intents/")["data"]:
        assert intent["status"] == "canceled"
        message = "The buyer did not confirm the payment in time."
        assert intent["last_error"] == {"code": "PAYMENT_METHOD_NOT_SUPPORTED", "message": message}
    page = httpx.get(session["url"]).text
    assert "The payment was not confirmed in time." in page
    sandbox.buy(session, CARD)
    assert seen(sandbox, session)["status"] == "complete"


@pytest.mark.parametrize("fields", SESSIONS.values(), ids=SESSIONS)
def test_a_check_ends_with_its_session_at_the_latest(sandbox: Sandbox, fields: Any) -> None:
    """B-54: "in a session at its `expires_at` at the latest, the intent first, then the session"."""
    session = sandbox.session(expires_in=300, customer=sandbox.customer()["id"], **fields)
    answer = sandbox.buy(session, THREE_STEP)
    assert answer.get("next_action", {}).get("expires_at", session["expires_at"]) == session["expires_at"]
    sandbox.advance("299s")
    assert seen(sandbox, session)["status"] == "processing"
    sandbox.advance("1s")
    assert seen(sandbox, session)["status"] == "expired"
    assert sandbox.control.get("/schedule")["data"] == []


def test_a_check_that_is_passed_in_time_is_not_failed_later(sandbox: Sandbox) -> None:
    for capture in ("automatic", "manual"):
        method = sandbox.method(number="4000 0000 0000 3220")
        intent = sandbox.pay(method, capture_method=capture)
        answered = sandbox.control.post(f"/payment-intents/{intent['id']}/answer", {"result": "succeeded"})
        sandbox.advance("1d")
        assert sandbox.api.get(f"/payment-intents/{intent['id']}/") == answered


def test_product_metadata_is_carried_of_the_first_line(sandbox: Sandbox) -> None:
    """B-80, B-97: in ``payment_intent.succeeded`` and ``checkout.session.completed``."""
    hat = sandbox.product(name="Hat", metadata={"kind": "hat"})
    lines = [{"description": "Gift wrap", "unit_amount": 100}, {"product": hat["id"]}]
    sandbox.buy(sandbox.session(line_items=[*lines, {"product": sandbox.product(metadata={"kind": "basket"})["id"]}]))
    carried = {event["type"]: event["data"].get("metadata") for event in sandbox.events()}
    sold = {"product": {"kind": "hat"}}
    assert carried == {
        ANONYMOUS[0]: None,
        "payment_intent.succeeded": sold,
        "transaction.succeeded": None,
        DONE[2]: sold,
    }


# -- who pays


def test_a_buyer_with_an_email_becomes_a_customer(sandbox: Sandbox) -> None:
    """B-58: found or made at payment; with a phone, which brings its method (B-31)."""
    session = sandbox.session()
    with sandbox.expect("customer.created", *DONE):
        intent = sandbox.buy(session, CARD, customer={**AWA, "phone": "+24177123456"})
    customer = sandbox.api.get(f"/customers/{intent['customer']}/")
    assert (customer["firstname"], customer["lastname"], customer["phone"]) == ("Awa", "Diop", "+24177123456")
    assert (customer["transactions_count"], customer["total_spent"]) == (1, 30000)
    assert (seen(sandbox, session)["customer"], seen(sandbox, session)["customer_email"]) == (
        customer["id"],
        AWA["email"],
    )
    with sandbox.expect(*DONE):
        again = sandbox.buy(sandbox.session(), CARD, customer={"email": "AWA@example.com", "name": "Other"})
    assert again["customer"] == customer["id"]


def test_the_sessions_own_email_wins_and_a_nameless_buyer_is_called_after_it(sandbox: Sandbox) -> None:
    session = sandbox.session(customer_email="ben@example.com")
    with sandbox.expect("customer.created", *DONE):
        intent = sandbox.buy(session, customer={"email": "awa@example.com"})
    customer = sandbox.api.get(f"/customers/{intent['customer']}/")
    assert (customer["email"], customer["firstname"], customer["lastname"]) == ("ben@example.com", "ben", "")


def test_a_known_customer_stays_and_a_deleted_one_is_let_go(sandbox: Sandbox) -> None:
    customer = sandbox.customer()
    session, left = sandbox.session(customer=customer["id"]), sandbox.session(customer=customer["id"])
    assert sandbox.buy(session, customer=AWA)["customer"] == customer["id"]
    sandbox.api.delete(f"/customers/{customer['id']}/")
    assert seen(sandbox, left)["customer"] is None
    assert seen(sandbox, session)["customer"] == customer["id"]
    with sandbox.expect("customer.created", *DONE):
        assert sandbox.buy(left)["customer_email"] is None


def test_a_blacklisted_customers_payment_fails(sandbox: Sandbox) -> None:
    """B-32, B-55; where nothing is charged the method is not saved (B-58)."""
    customer = sandbox.customer()
    sandbox.control.patch(f"/objects/{customer['id']}", {"is_blacklisted": True})
    session = sandbox.session(customer=customer["id"])
    with sandbox.expect("payment_intent.failed"):
        assert sandbox.buy(session)["last_error"]["code"] == "CUSTOMER_BLACKLISTED"
    assert seen(sandbox, session)["status"] == "payment_failed"
    setup = sandbox.session(mode="setup", customer=customer["id"])
    assert sandbox.buy(setup)["status"] == seen(sandbox, setup)["status"] == "payment_failed"
    with Buyer(sandbox.url, urlsplit(setup["url"]).path) as buyer:
        assert buyer.twin()["problem"][1].endswith("does not accept payments from this account.")


# -- what they fill in


@pytest.mark.parametrize(
    ("fields", "code", "param"),
    [
        ({"method": {"type": "bank_card"}}, "VALIDATION_ERROR", None),
        ({"method": {"type": "mobile_money"}}, "MISSING_FIELD", "method.phone"),
        ({"method": {**CARD, "number": "4242424242424241"}}, "INVALID_FIELD", "method.number"),
        ({"method": {**CARD, "number": "42"}}, "INVALID_FIELD", "method.number"),
        ({"method": {**CARD, "exp_year": 2025}}, "INVALID_FIELD", "method.exp_year"),
        ({"method": {**CARD, "phone": "+24177123456"}}, "INVALID_FIELD", "method.phone"),
        ({"method": {"type": "cash"}}, "INVALID_FIELD", "method.type"),
        ({"method": {"type": "paypal", "email": "nobody"}}, "INVALID_FIELD", "method.email"),
        ({"method": {"type": "mobile_money", "phone": "077123456"}}, "INVALID_FIELD", "method.phone"),
        ({"quantity": 1}, "INVALID_FIELD", "quantity"),
        ({"amount": 5}, "INVALID_FIELD", "amount"),
        ({"product": "prod_x"}, "INVALID_FIELD", "product"),
        ({"customer": {"email": "nobody"}}, "INVALID_FIELD", "customer.email"),
        ({"tip": 5}, "INVALID_FIELD", "tip"),
    ],
    ids=str,
)
def test_an_unusable_payment_method_is_rejected(sandbox: Sandbox, fields: Any, code: str, param: str | None) -> None:
    """B-12, B-13: nothing is made, and the session stays open."""
    session = sandbox.session()
    body = {"method": CARD, **fields}
    with sandbox.expect():
        answer = sandbox.control.rejected("POST", f"/checkout-sessions/{session['id']}/pay", 422, code, json=body)
    assert answer.get("param") == param
    assert all(name.startswith("method.") for name in answer["errors"]) or param is not None
    assert seen(sandbox, session) == session
    assert sandbox.api.get("/payment-intents/")["data"] == []


def test_a_link_that_asks_who_pays_names_all_that_is_missing(sandbox: Sandbox) -> None:
    """B-12, B-59."""
    link = sandbox.api.post("/payment-links/", {"currency": "XAF", "payment_link_type": "custom", "amount": 500})
    path = f"/payment-links/{link['id']}/pay"
    error = sandbox.control.rejected("POST", path, 422, "VALIDATION_ERROR", json={"method": CARD})
    assert set(error["errors"]) == {"customer.name", "customer.email"}
    assert sandbox.api.get(f"/payment-links/{link['id']}/") == link


def test_a_type_the_session_does_not_allow_is_rejected(sandbox: Sandbox) -> None:
    """B-55: 422, nothing made."""
    session = sandbox.session(payment_method_types=["mobile_money"])
    pay_rejected(sandbox, f"checkout-sessions/{session['id']}", 422, "PAYMENT_METHOD_NOT_SUPPORTED")
    assert seen(sandbox, session) == session
    assert sandbox.buy(session)["payment_method_types"] == ["mobile_money"]


@pytest.mark.parametrize("what", ["checkout-sessions/sess_x", "payment-links/link_x", "invoices/inv_x"])
def test_without_payments_no_buyer_can_pay(
    server: RunningServer, contracts: tuple[Contract, Contract], what: str
) -> None:
    """B-04: every buyer's payment."""
    client = Client(server.url, contracts[1], "sk_test_paymentsoff7")
    client.rejected("POST", f"/{what}/pay", 403, "COMPANY_PAYMENTS_DISABLED", json={"method": CARD})
    client.close()


# -- subscription mode


def test_a_paid_session_starts_a_subscription_whose_first_period_is_paid(sandbox: Sandbox) -> None:
    """B-58, B-97: the events in order; then it renews by what the buyer paid with."""
    sandbox.settings(tax_rate=18)
    plan = sandbox.plan(metadata={"tier": "basic"})
    session = sandbox.session(mode="subscription", line_items=[{"plan": plan["id"]}])
    intent = sandbox.buy(session, customer=AWA)
    assert event_types(sandbox) == [
        "customer.created",
        *PAID,
        "subscription.created",
        "invoice.paid",
        "checkout.session.completed",
    ]
    [subscription] = sandbox.api.get("/subscriptions/")["data"]
    assert (subscription["status"], subscription["plan"], subscription["unit_amount"]) == ("active", plan["id"], 5000)
    assert (subscription["current_period_start"], subscription["current_period_end"]) == (
        "2026-01-01T00:00:00.000Z",
        "2026-02-01T00:00:00.000Z",
    )
    assert subscription["customer"] == intent["customer"]
    [invoice] = sandbox.api.get("/invoices/")["data"]
    assert (invoice["status"], invoice["total"], invoice["amount_paid"]) == ("paid", 5900, intent["amount"])
    now = sandbox.api.get(f"/payment-intents/{intent['id']}/")
    assert (now["subscription"], now["invoice"]) == (subscription["id"], invoice["id"])
    assert now["payment_method"] == subscription["payment_method"]
    method = sandbox.api.get(f"/payment-methods/{subscription['payment_method']}/")
    assert (method["type"], method["is_default"]) == ("mobile_money", True)
    assert sandbox.advance_to("2026-02-01")["events"] == dict.fromkeys(CHARGED, 1)
    assert sandbox.invoices("total", "status") == [(5900, "paid"), (5900, "paid")]


def test_lines_may_give_the_amount_and_data_the_period(sandbox: Sandbox) -> None:
    """B-58: ``subscription_data`` with the lines' total; the product names renewals."""
    basket = sandbox.product()
    lines = [{"product": basket["id"], "quantity": 2}, {"description": "Delivery", "unit_amount": 500}]
    session = sandbox.session(
        mode="subscription", line_items=lines, subscription_data={"interval": "week", "interval_count": 2}
    )
    sandbox.buy(session, customer=AWA)
    [subscription] = sandbox.api.get("/subscriptions/")["data"]
    assert (subscription["unit_amount"], subscription["interval"], subscription["interval_count"]) == (4500, "week", 2)
    assert (subscription["product"], subscription["plan"]) == (basket["id"], None)
    [invoice] = sandbox.api.get("/invoices/")["data"]
    assert [line["description"] for line in invoice["line_items"]] == ["Basket", "Delivery"]
    sandbox.advance("14d")
    assert sandbox.invoices("total") == [4500, 4500]


def test_a_line_beside_the_plan_is_paid_once(sandbox: Sandbox) -> None:
    lines = [{"plan": sandbox.plan()["id"]}, {"description": "Installation", "unit_amount": 2000}]
    sandbox.buy(sandbox.session(mode="subscription", line_items=lines), customer=AWA)
    sandbox.advance("31d")
    assert sandbox.invoices("total") == [7000, 5000]


def test_a_declined_attempt_starts_nothing_and_a_later_one_does(sandbox: Sandbox) -> None:
    session = sandbox.session(mode="subscription", line_items=[{"plan": sandbox.plan()["id"]}])
    with sandbox.expect("customer.created", "payment_intent.failed"):
        sandbox.buy(session, POOR, customer=AWA)
    assert sandbox.api.get("/subscriptions/")["data"] == []
    assert sandbox.invoices("id") == []
    with sandbox.expect(*DONE, "subscription.created", "invoice.paid"):
        sandbox.buy(session, IBAN)
        sandbox.advance("1d")
    [subscription] = sandbox.api.get("/subscriptions/")["data"]
    assert subscription["current_period_start"] == "2026-01-02T00:00:00.000Z"


@pytest.mark.parametrize("by_plan", [True, False])
def test_with_a_trial_nothing_is_paid_and_the_method_is_saved(sandbox: Sandbox, by_plan: bool) -> None:
    """B-58, B-97: the session is the answer; the first charge comes at the trial's end."""
    if by_plan:
        terms: Any = {"line_items": [{"plan": sandbox.plan(trial_period_days=7)["id"]}]}
    else:
        terms = {"subscription_data": {"interval": "month", "trial_period_days": 7}}
    session = sandbox.session(mode="subscription", **terms)
    with sandbox.expect("customer.created", "subscription.created", "checkout.session.completed"):
        answer = sandbox.buy(session, CARD, customer=AWA)
    assert (answer["object"], answer["status"], answer["payment_intent"]) == ("checkout_session", "complete", None)
    [subscription] = sandbox.api.get("/subscriptions/")["data"]
    assert (subscription["status"], subscription["trial_end"]) == ("trialing", "2026-01-08T00:00:00.000Z")
    assert subscription["payment_method"] is not None
    with sandbox.expect("subscription.trial_will_end", *CHARGED):
        sandbox.advance("7d")


@pytest.mark.parametrize("mode", ["subscription", "setup"])
def test_where_the_method_is_stored_there_must_be_a_customer(sandbox: Sandbox, mode: str) -> None:
    """B-58: renewals are notified by email; a saved method needs a customer, who may be anonymous under one assumption."""
    sandbox.control.patch("/app", {"settings": {"assumptions": {"anonymous_customer": "none"}}})
    data = {"subscription_data": {"interval": "month"}} if mode == "subscription" else {}
    session = sandbox.session(mode=mode, **data)
    answer = pay_rejected(sandbox, f"checkout-sessions/{session['id']}", 422, "MISSING_FIELD")
    assert answer["param"] == "customer.email"


def test_a_card_that_fails_without_its_buyer_pays_once(sandbox: Sandbox) -> None:
    """B-54: ``…0341`` pays while the buyer is there and fails whenever a subscription charges it."""
    session = sandbox.session(mode="subscription", line_items=[{"plan": sandbox.plan()["id"]}])
    with sandbox.expect("customer.created", *DONE, "subscription.created", "invoice.paid"):
        sandbox.buy(session, {**CARD, "number": "4000000000000341"}, customer=AWA)
    with sandbox.expect(*FAILED):
        sandbox.advance("31d")


def test_a_customer_deleted_during_a_payment_leaves_the_payment(sandbox: Sandbox) -> None:
    session = sandbox.session(mode="subscription", line_items=[{"plan": sandbox.plan()["id"]}])
    intent = sandbox.buy(session, IBAN, customer=AWA)
    sandbox.api.delete(f"/customers/{intent['customer']}/")
    with sandbox.expect(*DONE):
        sandbox.advance("1d")


# -- setup mode


def test_setup_saves_the_method_as_the_default(sandbox: Sandbox) -> None:
    """B-58: no intent; the session is the answer."""
    customer = sandbox.customer(phone="+24177123456")
    session = sandbox.session(mode="setup", customer=customer["id"], line_items=[], success_url=...)
    with sandbox.expect("checkout.session.completed"):
        answer = sandbox.buy(session, CARD)
    assert answer == {**session, "status": "complete"}
    methods = sandbox.api.get(f"/customers/{customer['id']}/payment-methods/")["data"]
    assert [(each["type"], each["is_default"]) for each in methods] == [("bank_card", True), ("mobile_money", False)]
    assert sandbox.api.get("/payment-intents/")["data"] == []


CHECKED = {**CARD, "number": "4000000000003220"}
SLOW = {"type": "mobile_money", "phone": "+24177000006"}


@pytest.mark.parametrize("method", [CHECKED, SLOW], ids=["card check", "slow phone"])
@pytest.mark.parametrize(("result", "ends"), [("succeeded", "complete"), ("failed", "payment_failed")])
def test_a_tester_answers_whether_a_method_is_saved(sandbox: Sandbox, method: Any, result: str, ends: str) -> None:
    """B-54, B-58: a session that saves a method has no intent to answer, so the session itself is answered."""
    session = sandbox.session(mode="setup", customer=sandbox.customer()["id"])
    assert sandbox.buy(session, method)["status"] == "processing"
    answered = sandbox.control.post(f"/checkout-sessions/{session['id']}/answer", {"result": result})
    assert answered["status"] == seen(sandbox, session)["status"] == ends
    again = sandbox.control.request("POST", f"/checkout-sessions/{session['id']}/answer", json={"result": result})
    assert (again.status_code, again.json()["code"]) == (422, "INVALID_STATUS_TRANSITION")
    sandbox.advance("1h")
    assert seen(sandbox, session)["status"] in (ends, "expired")


def test_a_phone_that_is_known_is_not_saved_twice(sandbox: Sandbox) -> None:
    customer = sandbox.customer(phone="+24177123456")
    sandbox.method(customer, is_default=True)
    sandbox.buy(sandbox.session(mode="setup", customer=customer["id"]))
    methods = sandbox.api.get(f"/customers/{customer['id']}/payment-methods/")["data"]
    assert [(each["type"], each["is_default"]) for each in methods] == [("bank_card", False), ("mobile_money", True)]


# -- invoices


def test_an_invoice_is_paid_by_its_buyer(sandbox: Sandbox) -> None:
    """open → paid by a payment; the events in the order of B-44; product metadata is carried."""
    product = sandbox.product(metadata={"kind": "basket"})
    invoice = sandbox.invoice(line_items=[{"product": product["id"]}])
    with sandbox.expect(*CHARGED):
        intent = sandbox.buy(invoice)
    assert event_types(sandbox)[-3:] == list(CHARGED)
    assert (intent["invoice"], intent["amount"], intent["customer"]) == (invoice["id"], 2000, invoice["customer"])
    assert sandbox.api.get(f"/invoices/{invoice['id']}/")["status"] == "paid"
    assert sandbox.events()[-3]["data"]["metadata"] == {"product": {"kind": "basket"}}
    pay_rejected(sandbox, f"invoices/{invoice['id']}", 422, "INVALID_STATUS_TRANSITION")


@pytest.mark.parametrize("status", ["draft", "void"])
def test_only_what_is_owed_can_be_paid(sandbox: Sandbox, status: str) -> None:
    invoice = sandbox.invoice()
    sandbox.control.patch(f"/objects/{invoice['id']}", {"status": status})
    error = pay_rejected(sandbox, f"invoices/{invoice['id']}", 422, "INVALID_STATUS_TRANSITION")
    assert error["message"] == f"This invoice is {status}: it cannot be paid."


def test_a_buyers_declined_attempt_is_no_failed_renewal(sandbox: Sandbox) -> None:
    """B-45: paying the open or the uncollectible invoice on its page makes the subscription active."""
    subscription = sandbox.subscribe(phone=FAILING_PHONE)
    [invoice] = sandbox.api.get("/invoices/")["data"]
    with sandbox.expect("payment_intent.failed"):
        assert sandbox.buy(invoice, POOR)["subscription"] is None
    assert sandbox.subscription(subscription["id"])["status"] == "past_due"
    sandbox.advance("7d")
    assert sandbox.subscription(subscription["id"])["status"] == "unpaid"
    with sandbox.expect(*CHARGED):
        sandbox.buy(invoice, CARD)
    assert sandbox.subscription(subscription["id"])["status"] == "active"
