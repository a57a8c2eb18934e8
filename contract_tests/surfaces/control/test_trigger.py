"""Triggers: each event can be caused on demand, on objects that are named or made for it."""

from __future__ import annotations

import re
from contextlib import nullcontext
from typing import Any

import pytest

from contract_tests.contract.document import specification
from contract_tests.support.receiver import Receiver
from contract_tests.support.sandbox import CHARGED, FAILED, Sandbox
from emulator.control.trigger import TRIGGERS, kinds
from emulator.core.event_types import EVENTS
from emulator.document import bundles

WITH: dict[str, tuple[str, ...]] = {
    "payment_intent.succeeded": ("customer.created", "transaction.succeeded"),
    "transaction.succeeded": ("customer.created", "payment_intent.succeeded"),
    "payment_intent.failed": ("customer.created",),
    "refund.succeeded": ("customer.created", "payment_intent.succeeded", "transaction.succeeded"),
    "refund.failed": ("customer.created", "payment_intent.succeeded", "transaction.succeeded"),
    "invoice.paid": ("customer.created", "payment_intent.succeeded", "transaction.succeeded"),
    "invoice.payment_overdue": ("customer.created",),
    "checkout.session.completed": ("customer.created", "payment_intent.succeeded", "transaction.succeeded"),
    "subscription.created": ("customer.created", *CHARGED),
    "subscription.canceled": ("customer.created", "subscription.created"),
    "subscription.payment_failed": ("customer.created", "subscription.created", "payment_intent.failed"),
    "subscription.trial_will_end": ("customer.created", "subscription.created"),
    "customer.created": (),
    "customer.deleted": ("customer.created",),
}
"""What else happens where every object is made for it."""


def trigger(sandbox: Sandbox, event: str, **overrides: Any) -> Any:
    return sandbox.control.post("/trigger", {"event": event, "overrides": overrides})


def test_there_is_a_recipe_for_every_event_and_the_document_names_the_objects_that_can_be_used() -> None:
    assert TRIGGERS.keys() == EVENTS.keys()
    assert WITH.keys() == specification.EVENT_TYPES
    overrides = bundles.load("control")["components"]["schemas"]["TriggerInput"]["properties"]["overrides"]
    assert re.findall("`([a-z_]+)`", overrides["description"].partition(". ")[0]) == list(kinds())


@pytest.mark.parametrize("type", EVENTS)
def test_an_event_comes_of_nothing(sandbox: Sandbox, receiver: Receiver, type: str) -> None:
    """With everything that comes with it, a delivery included; the clock stays where it is."""
    endpoint = sandbox.endpoint(receiver.url, type)
    now = sandbox.now
    with sandbox.expect(type, *WITH[type]) if type in WITH else nullcontext():
        event = trigger(sandbox, type)
    assert event["type"] == type
    assert event["data"]["object"]["object"] == EVENTS[type].object
    assert event == sandbox.control.get("/events", type=type)["data"][0]
    assert [each["event"] for each in sandbox.deliveries(endpoint)] == [event["id"]]
    assert [each["id"] for each in receiver.events] == [event["id"]]
    assert sandbox.now == now
    assert sandbox.control.get("/outcomes")["data"] == []


@pytest.mark.parametrize("type", EVENTS)
def test_it_can_be_had_again_and_again_however_the_app_is_set(sandbox: Sandbox, type: str) -> None:
    """An unanswered phone, an operator that takes its time, refunds under review, another currency."""
    slow = {"mobile_money": "handset", "refund_review": True, "main_currency": "EUR", "tax_rate": 18}
    for settings in (slow, {"mobile_money": "auto", "operator_delay": 60}):
        sandbox.settings(**settings)
        assert trigger(sandbox, type)["type"] == type


def test_what_is_named_is_used(sandbox: Sandbox) -> None:
    """The customer of a method that is named is the customer of what is made with it."""
    customer = sandbox.customer(phone="+24177000000")
    assert trigger(sandbox, "customer.deleted", customer=customer["id"])["data"]["object"] == customer
    intent = sandbox.intent(sandbox.method())
    with sandbox.expect("payment_intent.succeeded", "transaction.succeeded"):
        paid = trigger(sandbox, "payment_intent.succeeded", payment_intent=intent["id"])
    assert paid["data"]["object"]["id"] == intent["id"]
    deposit = paid["data"]["object"]["transaction"]
    with sandbox.expect("refund.failed"):
        refund = trigger(sandbox, "refund.failed", transaction=deposit, amount=100, code="UPSTREAM_ERROR")
    shown = refund["data"]["object"]
    assert (shown["transaction"], shown["amount"], shown["failure_reason"]) == (deposit, 100, "UPSTREAM_ERROR")
    method = sandbox.method()
    with sandbox.expect("subscription.created", *CHARGED):
        event = trigger(sandbox, "subscription.created", payment_method=method["id"])
    assert event["data"]["object"]["customer"] == method["customer"]
    with sandbox.expect("subscription.created", *CHARGED):
        plan = sandbox.plan(amount=700)["id"]
        event = trigger(sandbox, "subscription.created", customer=method["customer"], plan=plan)
    assert event["data"]["object"]["unit_amount"] == 700
    sandbox.settings(mobile_money="handset")
    for type in ("payment_intent.failed", "payment_intent.succeeded"):
        intent = sandbox.pay(sandbox.method(type="mobile_money", phone="+24177000000"))
        assert intent["status"] == "requires_action"
        assert trigger(sandbox, type, payment_intent=intent["id"])["data"]["object"]["id"] == intent["id"]


def test_a_charge_of_a_living_subscription_fails(sandbox: Sandbox) -> None:
    """Its periods stay as they are; the next one fails the retry, and a subscription that owes recovers by itself."""
    subscription = sandbox.subscribe()
    with sandbox.expect(*FAILED):
        event = trigger(sandbox, "subscription.payment_failed", subscription=subscription["id"])
    shown = event["data"]["object"]
    assert (shown["id"], shown["status"]) == (subscription["id"], "past_due")
    assert shown["current_period_end"] == subscription["current_period_end"]
    with sandbox.expect(*FAILED):
        trigger(sandbox, "subscription.payment_failed", subscription=subscription["id"], code="UPSTREAM_ERROR")
    with sandbox.expect(*CHARGED):
        sandbox.advance("3d")
    assert sandbox.subscription(subscription["id"])["status"] == "active"


def test_an_invoice_falls_overdue_and_is_paid(sandbox: Sandbox) -> None:
    overdue = trigger(sandbox, "invoice.payment_overdue")["data"]["object"]
    assert (overdue["status"], overdue["due_date"]) == ("open", "2025-12-31")
    paid = trigger(sandbox, "invoice.paid", invoice=overdue["id"])["data"]["object"]
    assert (paid["id"], paid["status"], paid["amount_remaining"]) == (overdue["id"], "paid", 0)


def test_fields_go_to_what_is_made(sandbox: Sandbox) -> None:
    """By kind, or to the first that has them, beginning with what the event is about; null leaves a field out."""
    name = {"name": "Jean-Claude Ondo", "metadata": {"vip": True}}
    event = trigger(
        sandbox, "payment_intent.failed", amount=700, customer=name, phone="+24177999999", code="UPSTREAM_ERROR"
    )
    intent = event["data"]["object"]
    assert (intent["amount"], intent["last_error"]["code"]) == (700, "UPSTREAM_ERROR")
    assert intent["customer"] is not None
    customer = sandbox.api.get(f"/customers/{intent['customer']}/")
    assert (customer["lastname"], customer["metadata"]) == ("Ondo", {"vip": True})
    method = sandbox.api.get(f"/payment-methods/{intent['payment_method']}/")
    assert method["details"]["phone"] == "+24177999999"
    assert trigger(sandbox, "customer.created", name="$plan $number")["data"]["object"]["lastname"] == "$number"
    event = trigger(sandbox, "subscription.created", plan=None, unit_amount=900, interval="week")
    assert (event["data"]["object"]["plan"], event["data"]["object"]["unit_amount"]) == (None, 900)


@pytest.mark.parametrize(
    ("type", "overrides", "code", "param"),
    [
        ("webhook.ping", {}, "INVALID_FIELD", "event"),
        ("pigs.fly", {}, "INVALID_FIELD", "event"),
        (None, {}, "INVALID_FIELD", "event"),
        (7, {}, "INVALID_FIELD", "event"),
        ("customer.created", {"colour": "red"}, "INVALID_FIELD", "overrides.colour"),
        ("customer.created", {"invoice": "inv_1"}, "INVALID_FIELD", "overrides.invoice"),
        ("customer.created", {"customer": "cust_1"}, "INVALID_FIELD", "overrides.customer"),
        ("customer.created", {"code": "UPSTREAM_ERROR"}, "INVALID_FIELD", "overrides.code"),
        ("customer.created", {"email": "nobody"}, "INVALID_FIELD", "overrides.email"),
        ("payment_intent.failed", {"code": "BAD_LUCK"}, "INVALID_FIELD", "overrides.code"),
        ("payment_intent.failed", {"code": 7}, "INVALID_FIELD", "overrides.code"),
        ("customer.deleted", {"customer": 7}, "INVALID_FIELD", "overrides.customer"),
        ("payment_intent.succeeded", {"amount": 1}, "AMOUNT_TOO_SMALL", "overrides.amount"),
        ("payment_intent.succeeded", {"amount": "much"}, "INVALID_FIELD", "overrides.amount"),
        ("invoice.paid", {"amount": 1}, "INVALID_FIELD", "overrides.amount"),
        ("invoice.paid", {"tax_rate": 1}, "INVALID_FIELD", "overrides.tax_rate"),
    ],
    ids=str,
)
def test_what_does_not_go_with_it_is_rejected(
    sandbox: Sandbox, type: Any, overrides: Any, code: str, param: str
) -> None:
    """Nothing is left of what was made on the way; who names an override that is none learns which there are."""
    before = sandbox.control.get("/counts")
    rejected = sandbox.control.rejected("POST", "/trigger", 422, code, json={"event": type, "overrides": overrides})
    assert rejected["param"] == param
    assert sandbox.control.get("/counts") == before
    if type == "invoice.paid":
        assert "is not an override of invoice.paid here; there are: " in rejected["message"]
        assert {"customer", "invoice", "line_items"} <= set(rejected["message"].replace(",", "").split())


def test_where_an_event_does_not_come_nothing_is_done(sandbox: Sandbox) -> None:
    trialing = sandbox.subscribe(trial_period_days=30)
    for type in ("subscription.payment_failed", "subscription.trial_will_end"):
        if type == "subscription.trial_will_end":
            trigger(sandbox, "subscription.canceled", subscription=trialing["id"])
        body = {"event": type, "overrides": {"subscription": trialing["id"]}}
        before = sandbox.api.get("/invoices/")
        with sandbox.expect():
            rejected = sandbox.control.rejected("POST", "/trigger", 422, "INVALID_FIELD", json=body)
        assert rejected["param"] == "overrides"
        assert "does not come of this subscription" in rejected["message"]
        assert sandbox.api.get("/invoices/") == before


def test_a_rule_that_forbids_it_is_named(sandbox: Sandbox) -> None:
    customer = sandbox.customer()
    sandbox.control.patch(f"/objects/{customer['id']}", {"is_blacklisted": True})
    canceled = sandbox.api.post(f"/payment-intents/{sandbox.intent()['id']}/cancel/")["id"]
    counts = sandbox.control.get("/counts")
    for event, overrides, says in [
        ("payment_intent.succeeded", {"customer": customer["id"]}, "CUSTOMER_BLACKLISTED"),
        ("refund.succeeded", {"payment_intent": canceled}, "payment"),
    ]:
        body = {"event": event, "overrides": overrides}
        rejected = sandbox.control.rejected("POST", "/trigger", 422, "INVALID_FIELD", json=body)
        assert says in rejected["message"]
    assert rejected["param"] == "overrides.payment_intent"
    missing = {"event": "invoice.paid", "overrides": {"invoice": "inv_1"}}
    sandbox.control.rejected("POST", "/trigger", 404, "INVOICE_NOT_FOUND", json=missing)
    assert sandbox.control.get("/counts") == counts
