"""A thorough test suite of an integrator: each test catches the mutants that are named above it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from emulator.testing import Emulator, RequestRefused

Story = Callable[[Emulator], None]

CAUGHT_BY: dict[str, Story] = {}
"""By each mutant the test that catches it."""

CARD = {"type": "bank_card", "number": "4242 4242 4242 4242", "exp_month": 12, "exp_year": 2030, "cvc": "123"}
DECLINED = "+24177000001"
SLOW = "+24177000006"
REFUND_FAILS = "+24177000008"
IBAN = {"type": "bank_transfer", "iban": "FR14 2004 1010 0505 0001 3M02 606"}
DISPUTED = {**CARD, "number": "4000 0000 0000 0259"}


def catches(*names: str) -> Callable[[Story], Story]:
    def register(story: Story) -> Story:
        CAUGHT_BY.update(dict.fromkeys(names, story))
        return story

    return register


def customer(payments: Emulator, number: int = 1, **fields: Any) -> Any:
    return payments.api.post("/v1/customers/", {"email": f"buyer{number}@example.com", "name": "Awa Diop", **fields})


def pay(payments: Emulator, buyer: Any, method: dict[str, Any] | None = None, **fields: Any) -> Any:
    """Return a confirmed payment of 5,000 XAF, as the service shows it afterwards."""
    saved = payments.api.post("/v1/payment-methods/", {"customer": buyer["id"], **(method or CARD)})
    body = {"amount": 5000, "currency": "XAF", "payment_method": saved["id"], **fields}
    intent = payments.api.post("/v1/payment-intents/", body)
    return payments.api.post(f"/v1/payment-intents/{intent['id']}/confirm/")


def deposit(payments: Emulator, intent: Any) -> Any:
    return payments.api.get(f"/v1/transactions/{intent['transaction']}/")


def mobile(phone: str) -> dict[str, Any]:
    return {"type": "mobile_money", "phone": phone}


def invoice(payments: Emulator, buyer: Any, **fields: Any) -> Any:
    body = {"customer": buyer["id"], "line_items": [{"description": "Basket", "unit_amount": 2000}], **fields}
    draft = payments.api.post("/v1/invoices/", body)
    payments.api.post(f"/v1/invoices/{draft['id']}/finalize/")
    return payments.api.get(f"/v1/invoices/{draft['id']}/")


def subscribe(payments: Emulator, phone: str = "+24177123456", **fields: Any) -> Any:
    """Return a subscription of a new customer to a plan of 5,000 XAF a month."""
    plan = {"name": "Premium", "amount": 5000, "currency": "XAF", "interval": "month"}
    body = {
        "customer": customer(payments, phone=phone)["id"],
        "plan": payments.api.post("/v1/subscription-plans/", plan)["id"],
    }
    return payments.api.post("/v1/subscriptions/", {**body, **fields})


def subscription(payments: Emulator, made: Any) -> Any:
    return payments.api.get(f"/v1/subscriptions/{made['id']}/")


def session(payments: Emulator, **fields: Any) -> Any:
    body = {
        "mode": "payment",
        "currency": "XAF",
        "success_url": "https://shop.example.com/thanks",
        "customer_email": "awa@example.com",
        "line_items": [{"description": "Basket", "unit_amount": 2000, "quantity": 3}],
        **fields,
    }
    return payments.api.post("/v1/checkout-sessions/", body)


def listed(payments: Emulator, kind: str) -> list[Any]:
    return list(payments.api.get(f"/v1/{kind}/")["data"])


# -- payments


@catches("payment-failed-with-2xx")
def test_a_payment_counts_when_it_says_that_it_succeeded(payments: Emulator) -> None:
    assert pay(payments, customer(payments))["status"] == "succeeded"


@catches(
    "payment-short", "payment-twice", "transaction-other-currency", "transaction-without-fee", "customer-spent-too-much"
)
def test_a_payment_collects_what_was_asked_once(payments: Emulator) -> None:
    buyer = customer(payments)
    paid = deposit(payments, pay(payments, buyer))
    assert (paid["amount"], paid["currency"], paid["status"]) == (5000, "XAF", "completed")
    assert 0 < paid["net_amount"] == paid["amount"] - paid["fee"] < 5000
    assert len(listed(payments, "transactions")) == 1
    assert payments.api.get(f"/v1/customers/{buyer['id']}/")["total_spent"] == 5000


@catches("payment-succeeded-never-sent", "transaction-never-sent", "receipt-never-emailed")
def test_a_payment_is_announced(payments: Emulator) -> None:
    buyer = customer(payments)
    with payments.expect("payment_intent.succeeded", "transaction.succeeded"):
        pay(payments, buyer)
    assert len(payments.emails.to("buyer1@example.com", "receipt")) == 1


@catches("payment-declined-as-succeeded", "payment-other-reason", "payment-failed-never-sent")
def test_a_declined_payment_says_why(payments: Emulator) -> None:
    buyer = customer(payments)
    with payments.expect("payment_intent.failed"):
        intent = pay(payments, buyer, mobile(DECLINED))
    assert intent["status"] == "canceled"
    assert intent["last_error"]["code"] == "INSUFFICIENT_FUNDS"


@catches("payment-never-answered")
def test_a_slow_payment_succeeds_after_a_minute(payments: Emulator) -> None:
    intent = pay(payments, customer(payments), mobile(SLOW))
    assert intent["status"] == "requires_action"
    payments.clock.advance("1m")
    assert payments.api.get(f"/v1/payment-intents/{intent['id']}/")["status"] == "succeeded"


@catches("capture-whole")
def test_a_part_is_captured(payments: Emulator) -> None:
    intent = pay(payments, customer(payments), capture_method="manual")
    captured = payments.api.post(f"/v1/payment-intents/{intent['id']}/capture/", {"amount": 3000})
    assert captured["amount_received"] == 3000


@catches("transaction-never-settled")
def test_the_money_of_a_card_that_settles_later_arrives(payments: Emulator) -> None:
    intent = pay(payments, customer(payments), {**CARD, "number": "4000 0000 0000 0077"})
    assert deposit(payments, intent)["status"] == "approved"
    payments.clock.advance("1d")
    assert deposit(payments, intent)["status"] == "completed"


@catches("transaction-dispute-hidden")
def test_a_dispute_is_seen(payments: Emulator) -> None:
    intent = pay(payments, customer(payments), DISPUTED)
    payments.clock.advance("1d")
    assert deposit(payments, intent)["status"] == "disputed"


# -- refunds


@catches(
    "refund-short", "refund-never-answered", "refund-succeeded-never-sent", "refund-not-counted", "refund-never-emailed"
)
def test_a_refund_returns_what_was_asked(payments: Emulator) -> None:
    intent = pay(payments, customer(payments))
    refund = payments.api.post("/v1/refunds/", {"transaction": intent["transaction"], "amount": 2000})
    with payments.expect("refund.succeeded"):
        payments.clock.advance("7d")
    done = payments.api.get(f"/v1/refunds/{refund['id']}/")
    assert (done["status"], done["amount"]) == ("succeeded", 2000)
    assert deposit(payments, intent)["amount_refunded"] == 2000
    assert len(payments.emails.of("refund")) == 1


@catches("refund-failed-as-succeeded", "refund-failed-never-sent")
def test_a_refund_that_fails_says_so(payments: Emulator) -> None:
    intent = pay(payments, customer(payments), mobile(REFUND_FAILS))
    refund = payments.api.post("/v1/refunds/", {"transaction": intent["transaction"]})
    with payments.expect("refund.failed"):
        payments.clock.advance("7d")
    assert payments.api.get(f"/v1/refunds/{refund['id']}/")["status"] == "failed"


# -- checkout


@catches("session-completed-never-sent", "session-total-too-high", "session-stays-open")
def test_a_session_is_paid(payments: Emulator) -> None:
    made = session(payments)
    assert made["amount_total"] == 6000
    payments.pay(made)
    assert payments.api.get(f"/v1/checkout-sessions/{made['id']}/")["status"] == "complete"
    assert "checkout.session.completed" in payments.events.types


@catches("session-never-expires")
def test_a_session_expires(payments: Emulator) -> None:
    made = session(payments)
    payments.clock.advance("2d")
    assert payments.api.get(f"/v1/checkout-sessions/{made['id']}/")["status"] == "expired"


# -- invoices


@catches(
    "invoice-paid-never-sent",
    "invoice-stays-open",
    "invoice-total-too-high",
    "invoice-without-tax",
    "invoice-paid-twice",
)
def test_an_invoice_is_paid_once(payments: Emulator) -> None:
    payments.configure(tax_rate=10)
    opened = invoice(payments, customer(payments))
    assert (opened["total"], opened["tax_amount"]) == (2200, 200)
    payments.pay(opened)
    paid = payments.api.get(f"/v1/invoices/{opened['id']}/")
    assert (paid["status"], paid["amount_remaining"]) == ("paid", 0)
    assert "invoice.paid" in payments.events.types
    assert len(listed(payments, "transactions")) == 1


@catches("invoice-overdue-never-sent", "invoice-due-early")
def test_an_invoice_falls_overdue(payments: Emulator) -> None:
    due = payments.clock.now[:8] + "28"
    opened = invoice(payments, customer(payments), due_date=due)
    assert opened["due_date"] == due
    with payments.expect("invoice.payment_overdue"):
        payments.clock.advance("31d")


@catches("invoice-void-undone")
def test_an_invoice_is_voided(payments: Emulator) -> None:
    opened = invoice(payments, customer(payments))
    assert payments.api.post(f"/v1/invoices/{opened['id']}/void/")["status"] == "void"


# -- subscriptions


@catches("renewal-never", "subscription-too-dear", "period-ends-late")
def test_a_subscription_renews(payments: Emulator) -> None:
    made = subscribe(payments)
    assert made["current_period_end"].startswith("2026-02-01")
    payments.clock.advance("31d")
    assert [each["total"] for each in listed(payments, "invoices")] == [5000, 5000]


@catches("trial-never-ends", "trial-ends-early", "trial-notice-never-sent")
def test_a_trial_is_charged_when_it_ends(payments: Emulator) -> None:
    made = subscribe(payments, trial_period_days=14)
    with payments.expect("subscription.trial_will_end"):
        payments.clock.advance("P13DT23H")
    assert listed(payments, "invoices") == []
    payments.clock.advance("1h")
    assert subscription(payments, made)["status"] == "active"


@catches("subscription-canceled-never-sent", "canceled-hidden")
def test_a_subscription_is_canceled(payments: Emulator) -> None:
    made = subscribe(payments)
    with payments.expect("subscription.canceled"):
        payments.api.post(f"/v1/subscriptions/{made['id']}/cancel/")
    assert subscription(payments, made)["status"] == "canceled"


@catches("cancellation-forgotten")
def test_a_subscription_ends_with_its_period(payments: Emulator) -> None:
    made = subscribe(payments)
    payments.api.post(f"/v1/subscriptions/{made['id']}/cancel/", {"cancel_at_period_end": True})
    payments.clock.advance("31d")
    assert len(listed(payments, "invoices")) == 1


@catches(
    "renewal-failed-never-sent",
    "renewal-never-retried",
    "renewal-failed-never-emailed",
    "past-due-hidden",
    "unpaid-hidden",
)
def test_a_charge_that_fails_is_tried_again_until_the_last_time(payments: Emulator) -> None:
    made = subscribe(payments, DECLINED)
    assert subscription(payments, made)["status"] == "past_due"
    with payments.expect("payment_intent.failed", "subscription.payment_failed"):
        payments.clock.advance("1d")
    assert len(payments.emails.of("renewal_failed")) == 2
    payments.clock.advance("6d")
    assert subscription(payments, made)["status"] == "unpaid"


@catches("paused-hidden")
def test_a_subscription_is_paused(payments: Emulator) -> None:
    made = subscribe(payments)
    payments.api.post(f"/v1/subscriptions/{made['id']}/pause/")
    assert subscription(payments, made)["status"] == "paused"


@catches("expiry-never")
def test_a_subscription_expires(payments: Emulator) -> None:
    made = subscribe(payments, ends_at="2026-01-20T00:00:00Z")
    payments.clock.advance("20d")
    assert subscription(payments, made)["status"] == "expired"


# -- customers


@catches("metadata-lost")
def test_metadata_is_stored(payments: Emulator) -> None:
    made = customer(payments, metadata={"order": 7})
    assert payments.api.get(f"/v1/customers/{made['id']}/")["metadata"] == {"order": 7}


@catches("customer-change-lost")
def test_a_customer_has_another_phone(payments: Emulator) -> None:
    made = customer(payments)
    payments.api.patch(f"/v1/customers/{made['id']}/", {"phone": "+24177123456"})
    assert payments.api.get(f"/v1/customers/{made['id']}/")["phone"] == "+24177123456"


@catches("customer-deleted-never-sent")
def test_a_customer_is_deleted(payments: Emulator) -> None:
    made = customer(payments)
    with payments.expect("customer.deleted"):
        payments.api.delete(f"/v1/customers/{made['id']}/")


# -- webhooks


@catches("webhook-about-another-customer", "webhook-without-metadata", "webhook-amount-too-high")
def test_a_webhook_shows_the_payment(payments: Emulator) -> None:
    assert payments.webhooks.secret
    buyer = customer(payments)
    intent = pay(payments, buyer, metadata={"order": 7})
    [event] = payments.webhooks.assert_delivered("payment_intent.succeeded", intent)
    shown = event["data"]["object"]
    assert (shown["customer"], shown["amount"], shown["metadata"]) == (buyer["id"], 5000, {"order": 7})


@catches("webhook-signed-over-other-bytes", "webhook-unsigned")
def test_a_webhook_is_signed(payments: Emulator) -> None:
    assert payments.webhooks.secret
    customer(payments)
    payments.webhooks.assert_delivered("customer.created")


@catches("webhook-never-retried")
def test_a_webhook_that_failed_comes_again(payments: Emulator) -> None:
    payments.webhooks.answer(500)
    customer(payments)
    payments.clock.advance("1m")
    assert len(payments.webhooks.deliveries) == 2


# -- requests


@catches("idempotency-ignored")
def test_a_request_that_is_repeated_does_nothing_more(payments: Emulator) -> None:
    body = {"name": "Basket", "unit_amount": 2000, "currency": "XAF"}
    ids = [payments.api.post("/v1/products/", body, **{"Idempotency-Key": "one"})["id"] for _ in range(2)]
    assert ids[0] == ids[1]


@catches("filters-ignored", "list-skips-one", "list-ends-early", "list-reversed")
def test_lists_have_what_was_asked_for(payments: Emulator) -> None:
    made = [customer(payments, number)["id"] for number in range(3)]
    first = payments.api.get("/v1/customers/", page_size=2)
    assert [each["id"] for each in first["data"]] == [made[2], made[1]]
    assert first["pagination"]["next"] is not None
    assert [each["id"] for each in payments.api.get(first["pagination"]["next"])["data"]] == [made[0]]
    assert len(payments.api.get("/v1/customers/", search="buyer1@")["data"]) == 1


@catches("error-code-unknown")
def test_an_error_has_its_code(payments: Emulator) -> None:
    customer(payments)
    with pytest.raises(RequestRefused) as rejected:
        customer(payments)
    assert rejected.value.code == "customer_email_exists"


@catches("first-charge-fails")
def test_access_begins_with_the_first_invoice_that_is_paid(payments: Emulator) -> None:
    made = subscribe(payments)
    assert subscription(payments, made)["status"] == "active"


@catches("event-before-response")
def test_a_receiver_may_meet_what_is_not_stored_yet(payments: Emulator) -> None:
    """This one is careless: it waits only a third of a second for the customer to be stored, and forgets the event."""
    stored, welcomed = threading.Event(), []

    def receive(environ: dict[str, Any], start: Callable[..., Any]) -> list[bytes]:
        welcomed.append(stored.wait(0.35))
        start("200 OK", [])
        return [b""]

    payments.webhooks.forward_to(receive)
    customer(payments)
    stored.set()
    payments.settle()
    assert welcomed == [True]
