"""A thorough test suite of an integrator: each test catches the mutants that are named above it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from contract_tests.support.sandbox import CARD
from emulator.testing import Emulator, RequestRefused

Story = Callable[[Emulator], None]

CAUGHT_BY: dict[str, Story] = {}
"""By each mutant the test that catches it."""

DECLINED = "+24177000001"


def catches(names: str) -> Callable[[Story], Story]:
    def register(story: Story) -> Story:
        CAUGHT_BY.update(dict.fromkeys(names.split(), story))
        return story

    return register


def pay(payments: Emulator, buyer: Any, method: dict[str, Any] = CARD, **fields: Any) -> Any:
    saved = payments.api.post("/v1/payment-methods/", {"customer": buyer["id"], **method})
    body = {"amount": 5000, "currency": "XAF", "payment_method": saved["id"], **fields}
    intent = payments.api.post("/v1/payment-intents/", body)
    return payments.api.post(f"/v1/payment-intents/{intent['id']}/confirm/")


def deposit(payments: Emulator, intent: Any) -> Any:
    return payments.api.get(f"/v1/transactions/{intent['transaction']}/")


def mobile(phone: str) -> dict[str, Any]:
    return {"type": "mobile_money", "phone": phone}


def now(payments: Emulator, made: Any) -> Any:
    return payments.api.get(f"/v1/{made['object'].replace('_', '-')}s/{made['id']}/")


def invoice(payments: Emulator, **fields: Any) -> Any:
    return payments.api.get(f"/v1/invoices/{payments.invoice(**fields)['id']}/")


def listed(payments: Emulator, kind: str) -> list[Any]:
    return list(payments.api.get(f"/v1/{kind}/")["data"])


@catches(
    "payment-failed-with-2xx payment-short payment-twice payment-succeeded-never-sent"
    " transaction-other-currency transaction-without-fee transaction-never-sent"
    " customer-spent-too-much receipt-never-emailed webhook-about-another-customer"
    " webhook-without-metadata webhook-amount-too-high webhook-signed-over-other-bytes"
    " webhook-unsigned"
)
def test_a_payment_collects_what_was_asked_once_and_is_announced(payments: Emulator) -> None:
    assert payments.webhooks.secret
    buyer = payments.customer()
    with payments.expect("payment_intent.succeeded", "transaction.succeeded"):
        intent = pay(payments, buyer, metadata={"order": 7})
    assert intent["status"] == "succeeded"
    paid = deposit(payments, intent)
    assert (paid["amount"], paid["currency"], paid["status"]) == (5000, "XAF", "completed")
    assert 0 < paid["net_amount"] == paid["amount"] - paid["fee"] < 5000
    assert len(listed(payments, "transactions")) == 1
    assert now(payments, buyer)["total_spent"] == 5000
    assert len(payments.emails.to(buyer["email"], "receipt")) == 1
    [event] = payments.webhooks.assert_delivered("payment_intent.succeeded", intent)
    snapshot: Any = event["data"]["object"]
    assert (snapshot["customer"], snapshot["amount"], snapshot["metadata"]) == (
        buyer["id"],
        5000,
        {"order": 7},
    )


@catches("payment-declined-as-succeeded payment-other-reason payment-failed-never-sent")
def test_a_declined_payment_says_why(payments: Emulator) -> None:
    buyer = payments.customer()
    with payments.expect("payment_intent.failed"):
        intent = pay(payments, buyer, mobile(DECLINED))
    assert intent["status"] == "canceled"
    assert intent["last_error"]["code"] == "INSUFFICIENT_FUNDS"


@catches(
    "payment-never-answered capture-whole transaction-never-settled transaction-dispute-hidden"
)
def test_a_payment_is_answered_captured_settled_and_disputed_later(payments: Emulator) -> None:
    slow = pay(payments, payments.customer(), mobile("+24177000006"))
    assert slow["status"] == "requires_action"
    held = pay(payments, payments.customer(), capture_method="manual")
    captured = payments.api.post(f"/v1/payment-intents/{held['id']}/capture/", {"amount": 3000})
    assert captured["amount_received"] == 3000
    numbers = ("4000 0000 0000 0077", "4000 0000 0000 0259")
    settles, disputed = (
        pay(payments, payments.customer(), {**CARD, "number": number}) for number in numbers
    )
    assert deposit(payments, settles)["status"] == "approved"
    payments.clock.advance("1d")
    assert now(payments, slow)["status"] == "succeeded"
    assert deposit(payments, settles)["status"] == "completed"
    assert deposit(payments, disputed)["status"] == "disputed"


@catches(
    "refund-short refund-never-answered refund-succeeded-never-sent refund-not-counted"
    " refund-never-emailed"
)
def test_a_refund_returns_what_was_asked(payments: Emulator) -> None:
    intent = pay(payments, payments.customer())
    refund = payments.api.post(
        "/v1/refunds/", {"transaction": intent["transaction"], "amount": 2000}
    )
    with payments.expect("refund.succeeded"):
        payments.clock.advance("7d")
    done = now(payments, refund)
    assert (done["status"], done["amount"]) == ("succeeded", 2000)
    assert deposit(payments, intent)["amount_refunded"] == 2000
    assert len(payments.emails.of("refund")) == 1


@catches("refund-failed-as-succeeded refund-failed-never-sent")
def test_a_refund_that_fails_says_so(payments: Emulator) -> None:
    intent = pay(payments, payments.customer(), mobile("+24177000008"))
    refund = payments.api.post("/v1/refunds/", {"transaction": intent["transaction"]})
    with payments.expect("refund.failed"):
        payments.clock.advance("7d")
    assert now(payments, refund)["status"] == "failed"


@catches(
    "session-completed-never-sent session-total-too-high session-stays-open session-never-expires"
)
def test_a_session_is_paid_or_expires(payments: Emulator) -> None:
    made, other = payments.session(), payments.session()
    assert made["amount_total"] == 3000
    payments.pay(made)
    assert now(payments, made)["status"] == "complete"
    assert "checkout.session.completed" in payments.events.types
    payments.clock.advance("2d")
    assert now(payments, other)["status"] == "expired"


@catches(
    "invoice-paid-never-sent invoice-stays-open invoice-total-too-high invoice-without-tax"
    " invoice-paid-twice"
)
def test_an_invoice_is_paid_once(payments: Emulator) -> None:
    payments.configure(tax_rate=10)
    opened = invoice(payments)
    assert (opened["total"], opened["tax_amount"]) == (3300, 300)
    payments.pay(opened)
    paid = now(payments, opened)
    assert (paid["status"], paid["amount_remaining"]) == ("paid", 0)
    assert "invoice.paid" in payments.events.types
    assert len(listed(payments, "transactions")) == 1


@catches("invoice-overdue-never-sent invoice-due-early invoice-void-undone")
def test_an_invoice_falls_overdue_or_is_voided(payments: Emulator) -> None:
    void = invoice(payments)
    assert payments.api.post(f"/v1/invoices/{void['id']}/void/")["status"] == "void"
    due = payments.clock.now[:8] + "28"
    assert invoice(payments, due_date=due)["due_date"] == due
    with payments.expect("invoice.payment_overdue"):
        payments.clock.advance("31d")


@catches("first-charge-fails renewal-never subscription-too-dear period-ends-late")
def test_access_begins_with_the_first_paid_invoice_and_renews(payments: Emulator) -> None:
    made = now(payments, payments.subscription())
    assert made["status"] == "active"
    assert made["current_period_end"].startswith("2026-02-01")
    payments.clock.advance("31d")
    assert [invoice["total"] for invoice in listed(payments, "invoices")] == [5000, 5000]


@catches("trial-never-ends trial-ends-early trial-notice-never-sent")
def test_a_trial_is_charged_when_it_ends(payments: Emulator) -> None:
    made = payments.subscription(trial_period_days=14)
    with payments.expect("subscription.trial_will_end"):
        payments.clock.advance("P13DT23H")
    assert listed(payments, "invoices") == []
    payments.clock.advance("1h")
    assert now(payments, made)["status"] == "active"


@catches(
    "paused-hidden subscription-canceled-never-sent canceled-hidden cancellation-forgotten"
    " expiry-never"
)
def test_a_subscription_is_paused_canceled_and_ends(payments: Emulator) -> None:
    paused, canceled, ending = (payments.subscription() for _ in range(3))
    payments.api.post(f"/v1/subscriptions/{paused['id']}/pause/")
    with payments.expect("subscription.canceled"):
        payments.api.post(f"/v1/subscriptions/{canceled['id']}/cancel/")
    payments.api.post(f"/v1/subscriptions/{ending['id']}/cancel/", {"cancel_at_period_end": True})
    expiring = payments.subscription(ends_at="2026-01-20T00:00:00Z")
    payments.clock.advance("31d")
    statuses = [
        now(payments, subscription)["status"] for subscription in (paused, canceled, expiring)
    ]
    assert statuses == ["paused", "canceled", "expired"]
    assert len(listed(payments, "invoices")) == 4


@catches(
    "renewal-failed-never-sent renewal-never-retried renewal-failed-never-emailed past-due-hidden"
    " unpaid-hidden"
)
def test_a_charge_that_fails_is_tried_again_until_the_last_time(payments: Emulator) -> None:
    made = payments.subscription(customer=payments.customer(phone=DECLINED))
    assert now(payments, made)["status"] == "past_due"
    with payments.expect("payment_intent.failed", "subscription.payment_failed"):
        payments.clock.advance("1d")
    assert len(payments.emails.of("renewal_failed")) == 2
    payments.clock.advance("6d")
    assert now(payments, made)["status"] == "unpaid"


@catches("metadata-lost customer-change-lost customer-deleted-never-sent")
def test_a_customer_is_stored_changed_and_deleted(payments: Emulator) -> None:
    made = payments.customer(metadata={"order": 7})
    payments.api.patch(f"/v1/customers/{made['id']}/", {"phone": "+24177123456"})
    stored = now(payments, made)
    assert (stored["metadata"], stored["phone"]) == ({"order": 7}, "+24177123456")
    with payments.expect("customer.deleted"):
        payments.api.delete(f"/v1/customers/{made['id']}/")


@catches("webhook-never-retried")
def test_a_webhook_that_failed_comes_again(payments: Emulator) -> None:
    payments.webhooks.answer(500)
    payments.customer()
    payments.clock.advance("1m")
    assert len(payments.webhooks.deliveries) == 2


@catches("event-before-response")
def test_a_receiver_may_meet_what_is_not_stored_yet(payments: Emulator) -> None:
    """A careless one waits a second for the stored customer, and forgets the event.

    A wrong service responds once the receiver has, or after two seconds: each side of the verdict
    has a second to be slow.
    """
    stored, welcomed = threading.Event(), []

    def receive(environ: dict[str, Any], start: Callable[..., Any]) -> list[bytes]:
        welcomed.append(stored.wait(1))
        start("200 OK", [])
        return [b""]

    payments.webhooks.forward_to(receive)
    payments.customer()
    stored.set()
    payments.settle()
    assert welcomed == [True]


@catches("idempotency-ignored")
def test_a_request_is_done_once(payments: Emulator) -> None:
    body = {"name": "Basket", "unit_amount": 2000, "currency": "XAF"}
    ids = [
        payments.api.post("/v1/products/", body, **{"Idempotency-Key": "one"})["id"]
        for _ in range(2)
    ]
    assert ids[0] == ids[1]


@catches("filters-ignored list-skips-one list-ends-early list-reversed")
def test_lists_have_what_was_asked_for(payments: Emulator) -> None:
    made = [payments.customer()["id"] for _ in range(3)]
    first = payments.api.get("/v1/customers/", page_size=2)
    assert [intent["id"] for intent in first["data"]] == [made[2], made[1]]
    assert first["pagination"]["next"] is not None
    assert [intent["id"] for intent in payments.api.get(first["pagination"]["next"])["data"]] == [
        made[0]
    ]
    assert len(payments.api.get("/v1/customers/", search="customer-1@")["data"]) == 1


@catches("error-code-unknown")
def test_an_error_has_its_code(payments: Emulator) -> None:
    with pytest.raises(RequestRefused) as rejected:
        payments.customer(email=payments.customer()["email"])
    assert rejected.value.code == "customer_email_exists"
