"""The thin path: a customer subscribes, a month goes by, and the merchant gets the events, signed and in order."""

from __future__ import annotations

from typing import Any

from contract_tests.support.contract import Contract
from contract_tests.support.receiver import Receiver
from contract_tests.support.sandbox import Sandbox

CHARGED = ("payment_intent.succeeded", "transaction.succeeded", "invoice.paid")
"""The events of one successful charge, in order (B-44)."""


def subscribe(sandbox: Sandbox, phone: str = "+24177000000", **fields: Any) -> Any:
    customer = sandbox.customer(phone=phone)
    return sandbox.api.post("/subscriptions/", {"customer": customer["id"], "plan": sandbox.plan()["id"], **fields})


def test_a_subscription_renews_and_the_receiver_holds_signed_events_in_order(
    sandbox: Sandbox, receiver: Receiver, service_contract: Contract
) -> None:
    endpoint = sandbox.api.post("/webhooks/", {"name": "Shop", "url": receiver.url, "events": ["*"]})
    assert [item.event["type"] for item in receiver.received] == ["webhook.ping"]

    subscription = subscribe(sandbox)
    assert subscription["status"] == "active"
    assert subscription["current_period_end"] == "2026-02-01T00:00:00.000Z"

    answer = sandbox.advance("31d")
    assert answer["from"] == "2026-01-01T00:00:00.000Z"
    assert answer["now"] == "2026-02-01T00:00:00.000Z"
    assert answer["events"] == dict.fromkeys(CHARGED, 1)

    renewed = sandbox.api.get(f"/subscriptions/{subscription['id']}/")
    assert renewed["status"] == "active"
    assert renewed["current_period_start"] == "2026-02-01T00:00:00.000Z"
    assert renewed["current_period_end"] == "2026-03-01T00:00:00.000Z"
    assert [invoice["status"] for invoice in sandbox.api.get("/invoices/")["data"]] == ["paid", "paid"]
    assert [item["created_at"] for item in sandbox.api.get("/transactions/")["data"]] == [
        "2026-02-01T00:00:00.000Z",
        "2026-01-01T00:00:00.000Z",
    ]

    types = ["customer.created", "subscription.created", *CHARGED, *CHARGED]
    assert [event["type"] for event in receiver.events] == types
    assert receiver.events == sandbox.events()
    for item in receiver.received:
        assert item.signed_with(endpoint["secret"]), item
        assert service_contract.event_faults(item.body) == []


def test_each_period_has_an_invoice_and_a_transaction_with_fee_and_net(sandbox: Sandbox) -> None:
    """B-44, B-56: 2.9 % of 5000 is 145."""
    subscription = subscribe(sandbox)
    sandbox.advance("59d")
    invoices = sandbox.api.get("/invoices/")["data"]
    assert [invoice["invoice_number"] for invoice in invoices] == [f"INV-2026-00000{number}" for number in (3, 2, 1)]
    for transaction in sandbox.api.get("/transactions/")["data"]:
        assert (transaction["amount"], transaction["fee"], transaction["net_amount"]) == (5000, 145, 4855)
        assert transaction["type"] == "deposit"
        assert transaction["customer"] == subscription["customer"]


def test_the_customer_counts_what_was_paid(sandbox: Sandbox) -> None:
    """B-30: completed deposits."""
    subscription = subscribe(sandbox)
    sandbox.advance("31d")
    customer = sandbox.api.get(f"/customers/{subscription['customer']}/")
    assert (customer["transactions_count"], customer["total_spent"]) == (2, 10000)


def test_a_failing_method_leads_through_the_retry_days_to_unpaid(sandbox: Sandbox) -> None:
    """B-45: past due, retries 1, 3, 5 and 7 days after the first failure, then unpaid and its invoice uncollectible."""
    with sandbox.expect(
        "customer.created", "subscription.created", *["payment_intent.failed", "subscription.payment_failed"] * 5
    ):
        subscription = subscribe(sandbox, phone="+24177000001")
        assert subscription["status"] == "active"
        assert sandbox.api.get(f"/subscriptions/{subscription['id']}/")["status"] == "past_due"
        sandbox.advance("7d")
    assert sandbox.api.get(f"/subscriptions/{subscription['id']}/")["status"] == "unpaid"
    assert [invoice["status"] for invoice in sandbox.api.get("/invoices/")["data"]] == ["uncollectible"]
    failed = [event["created_at"][:10] for event in sandbox.events() if event["type"] == "subscription.payment_failed"]
    assert failed == ["2026-01-01", "2026-01-02", "2026-01-04", "2026-01-06", "2026-01-08"]


def test_a_trial_is_not_charged_and_its_end_is_announced(sandbox: Sandbox) -> None:
    """B-43: the trial is the first period; a notice three days before; then the first paid period."""
    with sandbox.expect("customer.created", "subscription.created"):
        subscription = subscribe(sandbox, trial_period_days=14)
        sandbox.advance("P10D")
    assert subscription["status"] == "trialing"
    assert subscription["trial_end"] == subscription["current_period_end"] == "2026-01-15T00:00:00.000Z"
    with sandbox.expect("subscription.trial_will_end"):
        sandbox.advance("1d")
    with sandbox.expect(*CHARGED):
        sandbox.advance("3d")
    assert sandbox.api.get(f"/subscriptions/{subscription['id']}/")["status"] == "active"


def test_a_subscription_without_a_usable_method_leaves_its_invoice_open(sandbox: Sandbox) -> None:
    """B-41: collected as with send_invoice; the subscription stays active."""
    customer = sandbox.customer()
    body = {"customer": customer["id"], "unit_amount": 700, "interval": "week"}
    subscription = sandbox.api.post("/subscriptions/", body)
    assert subscription["payment_method"] is None
    assert sandbox.api.get(f"/subscriptions/{subscription['id']}/")["status"] == "active"
    assert [invoice["status"] for invoice in sandbox.api.get("/invoices/")["data"]] == ["open"]
