"""Events on demand, and payments: without a method, and by the handset of a buyer."""

from __future__ import annotations

import re
from contextlib import nullcontext
from typing import Any

import pytest

from contract_tests.contract.document import specification
from contract_tests.support.receiver import Receiver
from contract_tests.support.sandbox import (
    CHARGED,
    FAILED,
    FAILING_PHONE,
    Sandbox,
)
from emulator.control.trigger import TRIGGERS, kinds
from emulator.core.event_types import EVENTS
from emulator.document import bundles
from emulator.resources.customers.payment_details import EVERY_TYPE

PAID = ("customer.created", "payment_intent.succeeded", "transaction.succeeded")

WITH: dict[str, tuple[str, ...]] = {
    "payment_intent.succeeded": PAID,
    "transaction.succeeded": PAID,
    "payment_intent.failed": ("customer.created", "payment_intent.failed"),
    "refund.succeeded": (*PAID, "refund.succeeded"),
    "refund.failed": (*PAID, "refund.failed"),
    "invoice.paid": (*PAID, "invoice.paid"),
    "invoice.payment_overdue": ("customer.created", "invoice.payment_overdue"),
    "checkout.session.completed": (*PAID, "checkout.session.completed"),
    "subscription.created": ("customer.created", "subscription.created", *CHARGED),
    "subscription.canceled": ("customer.created", "subscription.created", "subscription.canceled"),
    "subscription.payment_failed": ("customer.created", "subscription.created", *FAILED),
    "subscription.trial_will_end": (
        "customer.created",
        "subscription.created",
        "subscription.trial_will_end",
    ),
    "customer.created": ("customer.created",),
    "customer.deleted": ("customer.created", "customer.deleted"),
}
"""Everything that happens where every object is made for it."""


def trigger(sandbox: Sandbox, event: str, **overrides: Any) -> Any:
    return sandbox.control.post("/trigger", {"event": event, "overrides": overrides})


def test_there_is_a_recipe_for_every_event() -> None:
    assert TRIGGERS.keys() == EVENTS.keys()
    assert WITH.keys() == specification.EVENT_TYPES


def test_the_document_names_the_objects_that_a_recipe_takes() -> None:
    overrides = bundles.load("control")["components"]["schemas"]["TriggerInput"]["properties"][
        "overrides"
    ]
    assert re.findall("`([a-z_]+)`", overrides["description"].partition(". ")[0]) == list(kinds())


@pytest.mark.parametrize("type", EVENTS)
def test_an_event_comes_of_nothing(sandbox: Sandbox, receiver: Receiver, type: str) -> None:
    """With all its companions, a delivery included; the clock stays where it is.

    It is repeatable under any settings of the App: an unanswered phone, an operator that takes its
    time, refunds under review, another currency.
    """
    endpoint = sandbox.endpoint(receiver.url, type)
    now = sandbox.now
    with sandbox.expect(*WITH[type]) if type in WITH else nullcontext():
        event = trigger(sandbox, type)
    assert (event["type"], event["data"]["object"]["object"]) == (type, EVENTS[type].object)
    assert event == sandbox.control.get("/events", type=type)["data"][0]
    assert [delivery["event"] for delivery in sandbox.deliveries(endpoint)] == [event["id"]]
    assert [event["id"] for event in receiver.events] == [event["id"]]
    assert (sandbox.now, sandbox.control.get("/outcomes")["data"]) == (now, [])
    slow = {
        "mobile_money": "handset",
        "refund_review": True,
        "main_currency": "EUR",
        "tax_rate": 18,
    }
    for settings in (slow, {"mobile_money": "auto", "operator_delay": 60}):
        sandbox.settings(**settings)
        assert trigger(sandbox, type)["type"] == type


def test_what_is_named_is_used(sandbox: Sandbox) -> None:
    """The customer of a method that is named is the customer of what is made with it."""
    customer = sandbox.customer(phone="+24177000000")
    assert (
        trigger(sandbox, "customer.deleted", customer=customer["id"])["data"]["object"] == customer
    )
    intent = sandbox.intent(sandbox.method())["id"]
    with sandbox.expect("payment_intent.succeeded", "transaction.succeeded"):
        paid = trigger(sandbox, "payment_intent.succeeded", payment_intent=intent)["data"]["object"]
    assert paid["id"] == intent
    deposit = paid["transaction"]
    with sandbox.expect("refund.failed"):
        refund = trigger(
            sandbox, "refund.failed", transaction=deposit, amount=100, code="UPSTREAM_ERROR"
        )
    object = refund["data"]["object"]
    assert (object["transaction"], object["amount"], object["failure_reason"]) == (
        deposit,
        100,
        "UPSTREAM_ERROR",
    )
    method, plan = sandbox.method(), sandbox.plan(amount=700)["id"]
    with sandbox.expect("subscription.created", *CHARGED):
        subscription = trigger(
            sandbox, "subscription.created", payment_method=method["id"], plan=plan
        )["data"]["object"]
    assert (subscription["customer"], subscription["unit_amount"]) == (method["customer"], 700)
    living = sandbox.subscribe()["id"]
    with sandbox.expect(*FAILED):
        subscription = trigger(sandbox, "subscription.payment_failed", subscription=living)["data"][
            "object"
        ]
    assert (subscription["id"], subscription["status"]) == (living, "past_due")
    sandbox.settings(mobile_money="handset")
    for type in ("payment_intent.failed", "payment_intent.succeeded"):
        intent = sandbox.pay(sandbox.method(type="mobile_money", phone="+24177000000"))["id"]
        assert trigger(sandbox, type, payment_intent=intent)["data"]["object"]["id"] == intent
    authorized = sandbox.pay(sandbox.method(), capture_method="manual")["id"]
    trigger(sandbox, "transaction.succeeded", payment_intent=authorized)
    assert sandbox.control.get("/outcomes")["data"] == [], "none that nobody has arranged"


def test_fields_go_to_what_is_made(sandbox: Sandbox) -> None:
    """By kind, or to the first with such fields, the event's object before all; null omits one."""
    name = {"name": "Jean-Claude Ondo", "metadata": {"vip": True}}
    failed = {"amount": 700, "customer": name, "phone": "+24177999999", "code": "UPSTREAM_ERROR"}
    intent = trigger(sandbox, "payment_intent.failed", **failed)["data"]["object"]
    assert (intent["amount"], intent["last_error"]["code"]) == (700, "UPSTREAM_ERROR")
    customer = sandbox.api.get(f"/customers/{intent['customer']}/")
    assert (customer["lastname"], customer["metadata"]) == ("Ondo", {"vip": True})
    method = sandbox.api.get(f"/payment-methods/{intent['payment_method']}/")
    assert method["details"]["phone"] == "+24177999999"
    assert (
        trigger(sandbox, "customer.created", name="$plan $number")["data"]["object"]["lastname"]
        == "$number"
    )
    subscription = trigger(
        sandbox, "subscription.created", plan=None, unit_amount=900, interval="week"
    )["data"]["object"]
    assert (subscription["plan"], subscription["unit_amount"]) == (None, 900)
    overdue = trigger(sandbox, "invoice.payment_overdue")["data"]["object"]
    assert (overdue["status"], overdue["due_date"]) == ("open", "2025-12-31")
    paid = trigger(sandbox, "invoice.paid", invoice=overdue["id"])["data"]["object"]
    assert (paid["id"], paid["status"], paid["amount_remaining"]) == (overdue["id"], "paid", 0)


def test_what_is_made_has_the_defaults_of_a_request(sandbox: Sandbox) -> None:
    """Those of its lines, too."""
    line = {"description": "Raphia basket", "unit_amount": 500}
    for type in ("invoice.paid", "checkout.session.completed"):
        (shown,) = trigger(sandbox, type, line_items=[line])["data"]["object"]["line_items"]
        assert (shown["quantity"], shown["unit_amount"]) == (1, 500), type


@pytest.mark.parametrize("type", EVERY_TYPE)
def test_a_payment_is_made_with_a_type_that_is_named_or_allowed(
    sandbox: Sandbox, type: str
) -> None:
    """With the entries of that type, unless they are overridden too."""
    for event, overrides in (
        ("payment_intent.succeeded", {"type": type}),
        ("payment_intent.succeeded", {"payment_method": {"type": type}}),
        ("payment_intent.succeeded", {"payment_method_types": [type]}),
        ("checkout.session.completed", {"payment_method_types": [type]}),
    ):
        trigger(sandbox, event, **overrides)
        intent = sandbox.control.get("/events", type="payment_intent.succeeded")["data"][0]
        assert intent["data"]["object"]["payment_method_type"] == type, overrides
    card = {"number": "5555555555554444", "exp_month": 3, "exp_year": 2031, "cvc": "123"}
    paid = trigger(sandbox, "payment_intent.succeeded", type="bank_card", **card)["data"]["object"]
    method = sandbox.api.get(f"/payment-methods/{paid['payment_method']}/")
    assert method["details"]["exp_year"] == 2031


def test_what_does_not_go_with_it_is_rejected(sandbox: Sandbox) -> None:
    """No trace of made objects is left; the error for an unknown override names the known ones."""
    blacklisted = sandbox.control.patch(
        f"/objects/{sandbox.customer()['id']}", {"is_blacklisted": True}
    )["id"]
    canceled = sandbox.api.post(f"/payment-intents/{sandbox.intent()['id']}/cancel/")["id"]
    trialing, ended = (sandbox.subscribe(trial_period_days=30) for _ in range(2))
    sandbox.act(ended, "cancel")
    nothing = "does not come of this subscription"
    before = sandbox.control.get("/counts")
    for type, overrides, param, says in (
        ("webhook.ping", {}, "event", ""),
        ("customer.created", {"colour": "red"}, "overrides.colour", ""),
        ("customer.created", {"customer": "cust_1"}, "overrides.customer", ""),
        ("customer.created", {"code": "UPSTREAM_ERROR"}, "overrides.code", ""),
        ("customer.created", {"email": "nobody"}, "overrides.email", ""),
        ("invoice.paid", {"customer": {"email": "nobody"}}, "overrides.customer.email", ""),
        ("customer.deleted", {"customer": 7}, "overrides.customer", ""),
        ("payment_intent.failed", {"code": "BAD_LUCK"}, "overrides.code", ""),
        ("payment_intent.succeeded", {"amount": 1}, "overrides.amount", "at least 100"),
        (
            "payment_intent.succeeded",
            {"customer": blacklisted},
            "overrides",
            "CUSTOMER_BLACKLISTED",
        ),
        ("refund.succeeded", {"payment_intent": canceled}, "overrides.payment_intent", "payment"),
        ("invoice.paid", {"tax_rate": 1}, "overrides.tax_rate", "here; there are: "),
        *(
            ("invoice.payment_overdue", overrides, "overrides.due_date", "by the trigger itself")
            for overrides in ({"due_date": "2027-01-01"}, {"invoice": {"due_date": "2027-01-01"}})
        ),
        ("subscription.payment_failed", {"subscription": trialing["id"]}, "overrides", nothing),
        ("subscription.trial_will_end", {"subscription": ended["id"]}, "overrides", nothing),
    ):
        with sandbox.expect():
            rejected = sandbox.control.request(
                "POST", "/trigger", json={"event": type, "overrides": overrides}
            )
        assert (rejected.status_code, rejected.json()["param"]) == (422, param), overrides
        assert says in rejected.json()["message"]
        assert sandbox.control.get("/counts") == before


PHONE = "+24177123456"


def paid(sandbox: Sandbox, path: str) -> Any:
    return sandbox.control.request("POST", f"{path}/pay").json()


def test_without_a_method_one_is_taken_that_works(sandbox: Sandbox) -> None:
    """The customer's default method comes first unless forbidden or expired; a stored card acts as
    it did.
    """
    for type in ("mobile_money", "bank_card", "paypal"):
        intent = paid(
            sandbox, f"/checkout-sessions/{sandbox.session(payment_method_types=[type])['id']}"
        )
        assert (intent["status"], intent["payment_method_types"]) == ("succeeded", [type])
    poor, card, late = sandbox.customer(phone=FAILING_PHONE), sandbox.customer(), sandbox.customer()
    sandbox.method(card, number="4000 0000 0000 9995", is_default=True)
    sandbox.method(late, exp_year=2026, exp_month=1, is_default=True)
    sandbox.advance_to("2026-02-01")
    for customer, types, code in [
        (poor, [], "INSUFFICIENT_FUNDS"),
        (card, [], "INSUFFICIENT_FUNDS"),
        (poor, ["bank_card"], None),
        (late, [], None),
    ]:
        session = sandbox.session(customer=customer["id"], payment_method_types=types)
        intent = paid(sandbox, f"/checkout-sessions/{session['id']}")
        assert (intent["last_error"] or {}).get("code") == code
    sandbox.settings(mobile_money="handset")  # which no handset has to approve
    for path in (
        f"/payment-links/{sandbox.link(collect_customer_info=False)['id']}",
        f"/invoices/{sandbox.invoice()['id']}",
        f"/checkout-sessions/{sandbox.session()['id']}",
    ):
        assert paid(sandbox, path)["status"] == "succeeded"


def test_without_a_method_one_is_taken_that_the_profiles_permit(sandbox: Sandbox) -> None:
    """Also by what was made before the profile (B-55)."""
    customer = sandbox.customer()
    sandbox.method(customer, is_default=True)
    paths = [
        f"/invoices/{sandbox.invoice(customer)['id']}",
        f"/checkout-sessions/{sandbox.session(customer=customer['id'])['id']}",
    ]
    sandbox.api.post(
        "/security-profiles/", {"name": "Phones", "allowed_payment_methods": ["mobile_money"]}
    )
    for path in paths:
        intent = paid(sandbox, path)
        assert (intent["status"], intent["payment_method_type"]) == ("succeeded", "mobile_money")


@pytest.fixture
def handset(sandbox: Sandbox) -> Sandbox:
    """A world whose buyers answer on their phones."""
    sandbox.settings(mobile_money="handset")
    return sandbox


def asked(sandbox: Sandbox, phone: str = PHONE, **fields: Any) -> Any:
    intent = sandbox.pay(sandbox.method(type="mobile_money", phone=phone), **fields)
    assert intent["status"] == "requires_action"
    return intent


def planned(handset: Sandbox) -> list[str]:
    return [job["kind"] for job in handset.control.pages("/schedule")]


def prompts(sandbox: Sandbox, phone: str = PHONE) -> list[Any]:
    return list(sandbox.control.get(f"/phones/{phone}")["data"])


def answer(sandbox: Sandbox, body: Any, phone: str = PHONE) -> Any:
    return sandbox.control.post(f"/phones/{phone}/answer", body)


def test_a_prompt_says_what_is_asked(handset: Sandbox) -> None:
    intent = asked(handset, description="Raphia basket")
    (prompt,) = prompts(handset)
    fields = {
        "object": "prompt",
        "payment_intent": intent["id"],
        "merchant": handset.key.removeprefix("sk_test_"),
    }
    fields |= {"amount": 5000, "currency": "XAF", "description": "Raphia basket"}
    assert prompt == {
        **fields,
        "created_at": handset.now,
        "expires_at": intent["next_action"]["expires_at"],
    }
    assert prompts(handset, PHONE.removeprefix("+")) == [prompt]
    assert prompts(handset, "+24177000000") == []
    assert [job["kind"] for job in handset.control.pages("/schedule")] == [
        "payment_intent.unconfirmed"
    ]


def test_what_the_buyer_says_counts_at_once(handset: Sandbox) -> None:
    """After approval the number decides (B-54); no PIN is stored. An ignored prompt waits on."""
    for phone, code, buyer_answer in (
        (PHONE, None, {"answer": "approve", "pin": "9173"}),
        (PHONE, "MOBILE_MONEY_REJECTED", {"answer": "reject"}),
        (FAILING_PHONE, "INSUFFICIENT_FUNDS", {"answer": "approve"}),
        ("+24177000002", None, {"answer": "approve"}),
    ):
        intent = asked(handset, phone)
        assert answer(handset, {"answer": "ignore"}, phone) == intent
        assert [prompt["payment_intent"] for prompt in prompts(handset, phone)] == [intent["id"]]
        assert [job["kind"] for job in handset.control.pages("/schedule")] == [
            "payment_intent.unconfirmed"
        ]
        answered = answer(handset, buyer_answer, phone)
        assert (answered["id"], answered["status"]) == (
            intent["id"],
            "canceled" if code else "succeeded",
        )
        assert (answered["last_error"] or {}).get("code") == code
        assert answered == handset.api.get(f"/payment-intents/{intent['id']}/")
        assert prompts(handset, phone) == []
    entries = handset.control.get("/requests", operation="answerPrompt")["data"]
    assert "9173" not in str([handset.control.get(f"/requests/{entry['id']}") for entry in entries])


def test_of_several_prompts_the_newest_or_the_one_that_is_named(handset: Sandbox) -> None:
    """One that waits, by a phone that there can be, with one of three answers."""
    path = f"/phones/{PHONE}/answer"
    approve = {"answer": "approve"}
    error = handset.control.rejected("POST", path, 422, "INVALID_STATUS_TRANSITION", json=approve)
    assert error["message"] == f"No prompt waits on {PHONE}."
    first, second, third = (asked(handset)["id"] for _ in range(3))
    assert [prompt["payment_intent"] for prompt in prompts(handset)] == [third, second, first]
    assert answer(handset, {"answer": "reject"})["id"] == third
    named = {**approve, "payment_intent": first}
    assert answer(handset, named)["id"] == first
    error = handset.control.rejected("POST", path, 422, "INVALID_STATUS_TRANSITION", json=named)
    assert error["message"] == f"No such prompt waits on {PHONE}."
    handset.control.rejected(
        "POST", path, 404, "PAYMENT_INTENT_NOT_FOUND", json={**named, "payment_intent": "pi_1"}
    )
    for number in ("7", "abc", "+0241", "+2417712345678901234"):
        handset.control.rejected("GET", f"/phones/{number}", 404, "NOT_FOUND")
        handset.control.rejected("POST", f"/phones/{number}/answer", 404, "NOT_FOUND", json=approve)
