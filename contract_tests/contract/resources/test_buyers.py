"""Buyers: methods, identities, payment of sessions, invoices (B-14, B-45, B-54, B-58, B-97)."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import pytest

from contract_tests.support.client import Client
from contract_tests.support.contract import contract
from contract_tests.support.sandbox import (
    CARD,
    CHARGED,
    FAILED,
    FAILING_PHONE,
    RunningServer,
    Sandbox,
)
from contract_tests.surfaces.pages.buyer import Buyer

PAID = ("payment_intent.succeeded", "transaction.succeeded")
DONE = (*PAID, "checkout.session.completed")
ANONYMOUS = ("customer.created",)
"""A buyer without an email becomes a customer without one (B-58)."""
POOR = {"type": "mobile_money", "phone": FAILING_PHONE}
SLOW = {"type": "mobile_money", "phone": "+24177000006"}
THREE_STEP = {**CARD, "number": "4000 0000 0000 3220"}
IBAN = {"type": "bank_transfer", "iban": "FR14 2004 1010 0505 0001 3M02 606"}
AWA = {"name": "Awa Diop", "email": "awa@example.com"}


def event_types(sandbox: Sandbox) -> list[str]:
    """Return the types of all events, in order."""
    return [event["type"] for event in sandbox.events()]


# -- a session in payment mode


@pytest.mark.parametrize(
    "method",
    [
        {"type": "mobile_money", "phone": "+24177123456"},
        CARD,
        {"type": "paypal", "email": "awa@example.com"},
    ],
    ids=lambda method: method["type"],
)
def test_a_payment_completes_the_session(sandbox: Sandbox, method: Any) -> None:
    """open → processing → complete; the events in the order of B-44."""
    session = sandbox.session(metadata={"order": "7"})
    intent = sandbox.buy(session, method)
    assert event_types(sandbox) == [*ANONYMOUS, *DONE]
    assert (intent["status"], intent["amount"], intent["checkout_session"]) == (
        "succeeded",
        30000,
        session["id"],
    )
    assert (intent["payment_method_type"], intent["customer_email"]) == (method["type"], None)
    paid = {"status": "complete", "payment_intent": intent["id"], "customer": intent["customer"]}
    assert sandbox.shown(session) == {**session, **paid}
    assert sandbox.events()[-1]["data"] == {"object": sandbox.shown(session)}
    assert sandbox.control.get("/schedule")["data"] == []


def test_a_failed_or_canceled_payment_leaves_the_session_open_for_another(sandbox: Sandbox) -> None:
    """B-14, B-50, B-58: each attempt is an intent; no event reports the merchant's own cancel."""
    session = sandbox.session()
    with sandbox.expect(*ANONYMOUS, "payment_intent.failed"):
        failed = sandbox.buy(session, POOR)
    assert (failed["status"], failed["last_error"]["code"]) == ("canceled", "INSUFFICIENT_FUNDS")
    now = sandbox.shown(session)
    assert (now["status"], now["payment_intent"]) == ("payment_failed", failed["id"])
    slow = sandbox.buy(session, SLOW)
    with sandbox.expect():
        sandbox.act(slow, "cancel")
        sandbox.advance("2m")
    now = sandbox.shown(session)
    assert (now["status"], now["payment_intent"]) == ("payment_failed", slow["id"])
    with sandbox.expect(*DONE):
        paid = sandbox.buy(session)
    now = sandbox.shown(session)
    assert (now["status"], now["payment_intent"]) == ("complete", paid["id"])
    assert sandbox.api.get("/payment-intents/")["pagination"]["count"] == 3


def test_a_session_whose_payment_failed_expires_at_its_time(sandbox: Sandbox) -> None:
    """B-58."""
    session = sandbox.session(expires_in=300)
    sandbox.buy(session, POOR)
    sandbox.advance("299s")
    assert sandbox.status(session) == "payment_failed"
    sandbox.advance("1s")
    assert sandbox.status(session) == "expired"


@pytest.mark.parametrize("fails", [False, True])
def test_a_bank_transfer_outlives_the_session(sandbox: Sandbox, fails: bool) -> None:
    """B-58: a processing session does not expire; it ends complete with the funds, else expired."""
    session = sandbox.session(expires_in=300)
    intent = sandbox.buy(session, IBAN)
    sandbox.advance("23h")
    assert sandbox.status(session) == "processing"
    with sandbox.expect(*(["payment_intent.failed"] if fails else DONE)):
        if fails:
            sandbox.answer(intent, "failed")
        sandbox.advance("1h")
    assert sandbox.status(session) == ("expired" if fails else "complete")
    sandbox.buy_rejected(
        session, "CHECKOUT_SESSION_EXPIRED" if fails else "INVALID_STATUS_TRANSITION"
    )


SESSIONS: Any = {
    "payment": {},
    "setup": {"mode": "setup", "line_items": []},
    "trial": {
        "mode": "subscription",
        "subscription_data": {"interval": "month", "trial_period_days": 7},
    },
}


@pytest.mark.parametrize("fields", SESSIONS.values(), ids=SESSIONS)
def test_a_check_that_nobody_passes_leaves_the_session_to_another_attempt(
    sandbox: Sandbox, fields: Any
) -> None:
    """B-54: after ``confirmation_timeout``, with its session at the latest; a message says why."""
    sandbox.settings(confirmation_timeout=60)
    session = sandbox.session(customer=sandbox.customer()["id"], expires_in=300, **fields)
    sandbox.buy(session, THREE_STEP)
    sandbox.advance("59s")
    assert sandbox.status(session) == "processing"
    with sandbox.expect(*["payment_intent.failed"] * (fields == {})):
        sandbox.advance("1s")
    assert sandbox.status(session) == "payment_failed"
    for intent in sandbox.api.get("/payment-intents/")["data"]:
        message = "The buyer did not confirm the payment in time."
        assert intent["last_error"] == {"code": "PAYMENT_METHOD_NOT_SUPPORTED", "message": message}
    with Buyer(sandbox.url, urlsplit(session["url"]).path) as buyer:
        assert "The payment was not confirmed in time." in buyer.open().text
    sandbox.settings(confirmation_timeout=900)
    last = sandbox.buy(session, THREE_STEP)
    expected = session["expires_at"]
    assert last.get("next_action", {}).get("expires_at", session["expires_at"]) == expected
    sandbox.advance("239s")
    assert sandbox.status(session) == "processing"
    sandbox.advance("1s")
    assert sandbox.status(session) == "expired"
    assert [job["kind"] for job in sandbox.control.get("/schedule")["data"]] == []


def test_product_metadata_is_carried_of_the_first_line(sandbox: Sandbox) -> None:
    """B-80, B-97: in ``payment_intent.succeeded`` and ``checkout.session.completed``."""
    products = [sandbox.product(metadata={"kind": kind})["id"] for kind in ("hat", "basket")]
    lines = [
        {"description": "Gift wrap", "unit_amount": 100},
        *({"product": product} for product in products),
    ]
    sandbox.buy(sandbox.session(line_items=lines))
    carried = {event["type"]: event["data"].get("metadata") for event in sandbox.events()}
    sold = {"product": {"kind": "hat"}}
    assert carried == {ANONYMOUS[0]: None, PAID[0]: sold, PAID[1]: None, DONE[2]: sold}


# -- who pays


def test_a_buyer_with_an_email_becomes_a_customer(sandbox: Sandbox) -> None:
    """B-58: found or made at payment; with a phone, which brings its method (B-31)."""
    session = sandbox.session()
    with sandbox.expect("customer.created", *DONE):
        intent = sandbox.buy(session, CARD, customer={**AWA, "phone": "+24177123456"})
    customer = sandbox.api.get(f"/customers/{intent['customer']}/")
    assert (customer["firstname"], customer["lastname"], customer["phone"]) == (
        "Awa",
        "Diop",
        "+24177123456",
    )
    assert (customer["transactions_count"], customer["total_spent"]) == (1, 30000)
    now = sandbox.shown(session)
    assert (now["customer"], now["customer_email"]) == (customer["id"], AWA["email"])
    with sandbox.expect(*DONE):
        again = sandbox.buy(
            sandbox.session(), CARD, customer={"email": "AWA@example.com", "name": "Other"}
        )
    assert again["customer"] == customer["id"]


def test_the_customer_of_a_session_stays(sandbox: Sandbox) -> None:
    """B-32: whoever pays, and also after its deletion where the session is complete."""
    customer = sandbox.customer()
    session = sandbox.session(customer=customer["id"])
    assert sandbox.buy(session, customer=AWA)["customer"] == customer["id"]
    sandbox.api.delete(f"/customers/{customer['id']}/")
    assert sandbox.shown(session)["customer"] == customer["id"]


def test_an_open_session_lets_its_deleted_customer_go(sandbox: Sandbox) -> None:
    """B-32: nothing makes it anew."""
    customer = sandbox.customer()
    left = sandbox.session(customer=customer["id"])
    sandbox.api.delete(f"/customers/{customer['id']}/")
    assert sandbox.shown(left)["customer"] is None
    with sandbox.expect("customer.created", *DONE):
        assert sandbox.buy(left)["customer_email"] is None
    assert sandbox.api.get("/customers/", search=customer["email"])["data"] == []


def test_a_session_whose_payment_failed_lets_its_deleted_customer_go(sandbox: Sandbox) -> None:
    """B-32: it is open to another attempt."""
    customer = sandbox.customer()
    left = sandbox.session(customer=customer["id"])
    sandbox.buy(left, POOR)
    sandbox.api.delete(f"/customers/{customer['id']}/")
    now = sandbox.shown(left)
    assert (now["status"], now["customer"], now["customer_email"]) == ("payment_failed", None, None)


def test_a_blacklisted_customers_payment_fails(sandbox: Sandbox) -> None:
    """B-14, B-32, B-55: 200, no transaction. Without a charge the method is not saved (B-58)."""
    for change in ({"status": "blocked"}, {"is_blacklisted": True}):
        customer = sandbox.customer()
        sandbox.control.patch(f"/objects/{customer['id']}", change)
        session = sandbox.session(customer=customer["id"])
        with sandbox.expect("payment_intent.failed"):
            failed = sandbox.buy(session)
        assert (failed["last_error"]["code"], failed["canceled_at"]) == (
            "CUSTOMER_BLACKLISTED",
            sandbox.now,
        )
        assert sandbox.status(session) == "payment_failed"
    assert sandbox.api.get("/transactions/")["data"] == []
    setup = sandbox.session(mode="setup", customer=customer["id"])
    assert sandbox.buy(setup)["status"] == sandbox.status(setup) == "payment_failed"
    with Buyer(sandbox.url, urlsplit(setup["url"]).path) as buyer:
        assert buyer.twin()["problem"][1].endswith("does not accept payments from this account.")


# -- what they fill in


@pytest.mark.parametrize(
    ("fields", "code", "param"),
    [
        ({"method": {"type": "bank_card"}}, "VALIDATION_ERROR", None),
        ({"method": {"type": "mobile_money"}}, "MISSING_FIELD", "method.phone"),
        ({"method": {**CARD, "number": "4242424242424241"}}, "INVALID_FIELD", "method.number"),
        ({"method": {**CARD, "phone": "+24177123456"}}, "INVALID_FIELD", "method.phone"),
        ({"method": {"type": "cash"}}, "INVALID_FIELD", "method.type"),
        ({"quantity": 1}, "INVALID_FIELD", "quantity"),
        ({"amount": 5}, "INVALID_FIELD", "amount"),
        ({"product": "prod_x"}, "INVALID_FIELD", "product"),
        ({"customer": {"email": "nobody"}}, "INVALID_FIELD", "customer.email"),
        ({"tip": 5}, "INVALID_FIELD", "tip"),
    ],
    ids=str,
)
def test_a_payment_that_will_not_do_is_only_rejected(
    sandbox: Sandbox, fields: Any, code: str, param: str | None
) -> None:
    """B-12, B-13: nothing is made, and the session stays open."""
    session = sandbox.session()
    with sandbox.expect():
        error = sandbox.buy_rejected(session, code, **fields)
    assert error.get("param") == param
    assert param is not None or all(name.startswith("method.") for name in error["errors"])
    assert sandbox.shown(session) == session
    assert sandbox.api.get("/payment-intents/")["data"] == []


def test_without_payments_no_buyer_can_pay(server: RunningServer) -> None:
    """B-04: every buyer's payment."""
    client = Client(server.url, contract("control"), "sk_test_paymentsoff7")
    for what in ("checkout-sessions/sess_x", "payment-links/link_x", "invoices/inv_x"):
        client.rejected(
            "POST", f"/{what}/pay", 403, "COMPANY_PAYMENTS_DISABLED", json={"method": CARD}
        )
    client.close()


# -- subscription mode


def test_a_paid_session_starts_a_subscription_whose_first_period_is_paid(sandbox: Sandbox) -> None:
    """B-58, B-67, B-97: events in order; the first names the later objects; its method pays on."""
    sandbox.settings(tax_rate=18)
    plan = sandbox.plan()
    session = sandbox.session(mode="subscription", line_items=[{"plan": plan["id"]}])
    intent = sandbox.buy(session, customer=AWA)
    types = [
        "customer.created",
        *PAID,
        "subscription.created",
        "invoice.paid",
        "checkout.session.completed",
    ]
    assert event_types(sandbox) == types
    [subscription] = sandbox.api.get("/subscriptions/")["data"]
    assert (subscription["status"], subscription["plan"], subscription["unit_amount"]) == (
        "active",
        plan["id"],
        5000,
    )
    assert subscription["current_period_end"] == "2026-02-01T00:00:00.000Z"
    assert subscription["customer"] == intent["customer"]
    [invoice] = sandbox.api.get("/invoices/")["data"]
    assert (invoice["status"], invoice["total"], invoice["amount_paid"]) == (
        "paid",
        5900,
        intent["amount"],
    )
    assert invoice["subscription"] == subscription["id"]
    assert (invoice["payment_intent"], invoice["transaction"]) == (
        intent["id"],
        intent["transaction"],
    )
    now = sandbox.shown(intent)
    for session in (now, sandbox.events()[1]["data"]["object"]):
        assert (session["subscription"], session["invoice"]) == (subscription["id"], invoice["id"])
    assert now["payment_method"] == subscription["payment_method"]
    method = sandbox.api.get(f"/payment-methods/{subscription['payment_method']}/")
    assert (method["type"], method["is_default"]) == ("mobile_money", True)


@pytest.fixture
def declined(sandbox: Sandbox) -> Any:
    """A session for a subscription whose first payment was declined."""
    session = sandbox.session(mode="subscription", line_items=[{"plan": sandbox.plan()["id"]}])
    with sandbox.expect("customer.created", "payment_intent.failed"):
        sandbox.buy(session, POOR, customer=AWA)
    return session


def test_the_method_of_a_paid_subscription_leaves_the_default_as_it_is(sandbox: Sandbox) -> None:
    """B-52, B-58: only a customer who has none gets it as the default."""
    customer = sandbox.customer(phone="+24177000000")
    sandbox.buy(sandbox.session(mode="subscription", customer=customer["id"]), CARD)
    listed = sandbox.api.get(f"/customers/{customer['id']}/payment-methods/")["data"]
    assert [(method["type"], method["is_default"]) for method in listed] == [
        ("bank_card", False),
        ("mobile_money", True),
    ]


@pytest.mark.usefixtures("declined")
def test_a_declined_attempt_starts_no_subscription(sandbox: Sandbox) -> None:
    failed = sandbox.events()[-1]["data"]["object"]
    assert (failed["subscription"], failed["invoice"]) == (None, None)
    assert sandbox.api.get("/subscriptions/")["data"] == sandbox.invoices("id") == []


def test_an_attempt_after_a_declined_one_starts_the_subscription(
    sandbox: Sandbox, declined: Any
) -> None:
    with sandbox.expect(*DONE, "subscription.created", "invoice.paid"):
        sandbox.buy(declined, IBAN)
        sandbox.advance("1d")
    [subscription] = sandbox.api.get("/subscriptions/")["data"]
    assert subscription["current_period_start"] == "2026-01-02T00:00:00.000Z"


def test_a_card_that_fails_without_its_buyer_pays_once(sandbox: Sandbox) -> None:
    """B-54: ``…0341`` pays while the buyer is there, and fails a subscription's charges."""
    method = sandbox.method(number="4000000000000341")
    assert (
        sandbox.buy(sandbox.session(), {**CARD, "number": "4000000000000341"})["status"]
        == "succeeded"
    )
    terms = {"customer": method["customer"], "unit_amount": 500, "interval": "month"}
    with sandbox.expect("subscription.created", *FAILED):
        sandbox.api.post("/subscriptions/", terms)
    expected = "PAYMENT_METHOD_NOT_SUPPORTED"
    assert sandbox.api.get("/payment-intents/")["data"][0]["last_error"]["code"] == expected


def test_a_customer_deleted_during_a_payment_leaves_the_payment(sandbox: Sandbox) -> None:
    """B-32: "payments in progress lose the customer reference", and so do pending transactions."""
    session = sandbox.session(mode="subscription", line_items=[{"plan": sandbox.plan()["id"]}])
    intent = sandbox.buy(session, IBAN, customer=AWA)
    sandbox.api.delete(f"/customers/{intent['customer']}/")
    assert sandbox.api.get(f"/transactions/{intent['transaction']}/")["customer"] is None
    with sandbox.expect(*DONE):
        sandbox.advance("1d")


# -- invoices


def test_an_invoice_is_paid_by_its_buyer(sandbox: Sandbox) -> None:
    """A payment that failed leaves no trace on it (B-67); product metadata is carried."""
    product = sandbox.product(metadata={"kind": "basket"})
    invoice = sandbox.invoice(line_items=[{"product": product["id"]}])
    assert sandbox.buy(invoice, POOR)["status"] == "canceled"
    assert sandbox.shown(invoice) == invoice
    with sandbox.expect(*CHARGED):
        intent = sandbox.buy(invoice)
    assert (intent["invoice"], intent["amount"], intent["customer"]) == (
        invoice["id"],
        2000,
        invoice["customer"],
    )
    [event] = [event for event in sandbox.events() if event["type"] == CHARGED[0]]
    assert event["data"]["metadata"] == {"product": {"kind": "basket"}}


@pytest.mark.parametrize("status", ["paid", "draft", "void"])
def test_an_invoice_that_is_not_owed_cannot_be_paid(sandbox: Sandbox, status: str) -> None:
    invoice = sandbox.draft() if status == "draft" else sandbox.invoice()
    sandbox.control.patch(f"/objects/{invoice['id']}", {"status": status})
    message = f"This invoice is {status}: it cannot be paid."
    assert sandbox.buy_rejected(invoice)["message"] == message
