"""State rules: each code of an operation rejects a request that the document allows."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from contract_tests.contract.document.judges import judge_of
from contract_tests.contract.document.reader import Operation, operations, request_schema
from contract_tests.contract.every.values import BY_ID, NESTED, fields_of, id_of, request
from contract_tests.support.sandbox import CARD, Sandbox
from emulator.checks.document.exceptions import OF_CONTROL_OPERATION, OF_OPERATION
from emulator.checks.document.object_factory import ObjectFactory
from emulator.core.errors import ERRORS
from emulator.document.references import value_at

UNKNOWN = "unknown"
HUGE = 10**15
GONE = "http://127.0.0.1:9/hook"
WRONG_STATE = "INVALID_STATUS_TRANSITION"

FLAT = {
    "customer_email_exists": "DUPLICATE_EMAIL",
    "transaction_not_refundable": WRONG_STATE,
    "refund_amount_exceeds_available": "AMOUNT_TOO_LARGE",
}
"""Nested errors, and what they are in an App whose errors are all flat (B-10)."""

STATUSES = {
    "deleteSubscriptionPlan INVALID_STATUS_TRANSITION": 409,
    "getRecording INVALID_STATUS_TRANSITION": 409,
    "createRefund INVALID_STATUS_TRANSITION": 409,
    "createRefund AMOUNT_TOO_LARGE": 400,
}
"""A code's status at one operation: a plan in use, a recording without its past, flat errors."""


class Row(NamedTuple):
    """A rejected request: its path's ids, body and query; ``first``: another one before it.

    References are those of the factory, ``{first.id}``, and names of :data:`MADE`.
    """

    ids: str = ""
    body: Any = None
    query: str = ""
    first: tuple[str, Any] | None = None


def anonymous(sandbox: Sandbox) -> Any:
    return sandbox.draft({"id": sandbox.buy(sandbox.session(), CARD)["customer"]})


def paid_session(sandbox: Sandbox) -> Any:
    session = sandbox.session()
    sandbox.buy(session)
    return session


def canceled_refund(sandbox: Sandbox) -> Any:
    sandbox.settings(refund_review=True)
    return sandbox.act(
        sandbox.api.post("/refunds/", {"transaction": sandbox.deposit()["id"]}), "cancel"
    )


def past_gone(sandbox: Sandbox) -> Any:
    """Load a world whose journal lacks the subscription's start, which the recording needs."""
    subscription = sandbox.subscribe()
    sandbox.control.post("/snapshots", {"name": "before"})
    sandbox.control.post("/snapshots/before/restore")
    return subscription


MADE: dict[str, Callable[[Sandbox], Any]] = {
    "other": Sandbox.customer,
    "anonymous": anonymous,
    "paid session": paid_session,
    "canceled refund": canceled_refund,
    "past gone": past_gone,
}
"""Objects that no operation alone makes."""

SKU = {"name": "Basket", "unit_amount": 2000, "currency": "XAF", "metadata": {"sku": "B-1"}}
INTENT = {"currency": "XAF", "amount": 5000}
BY_PAYPAL = INTENT | {"payment_method_types": ["paypal"]}
EXPIRED = ("/checkout-sessions/{session.id}/expire/", {})
SUCCEEDED = {"result": "succeeded"}

ROWS = {
    "createCustomer customer_email_exists": Row(body={"email": "{customer.email}", "name": "Awa"}),
    "updateCustomer customer_email_exists": Row("{customer.id}", {"email": "{other.email}"}),
    "createProduct DUPLICATE_SKU": Row(body=SKU, first=("/products/", SKU)),
    "updateProduct DUPLICATE_SKU": Row(
        "{product.id}", {"metadata": {"sku": "B-1"}}, first=("/products/", SKU)
    ),
    "deleteSubscriptionPlan INVALID_STATUS_TRANSITION": Row("{subscription.plan}"),
    "updateSubscription INVALID_STATUS_TRANSITION": Row(
        "{canceled subscription.id}", {"cancel_at_period_end": True}
    ),
    "cancelSubscription SUBSCRIPTION_ALREADY_CANCELED": Row("{canceled subscription.id}"),
    "cancelSubscription INVALID_STATUS_TRANSITION": Row("{paused subscription.id}"),
    "reactivateSubscription INVALID_STATUS_TRANSITION": Row("{subscription.id}"),
    "pauseSubscription INVALID_STATUS_TRANSITION": Row("{canceled subscription.id}"),
    "resumeSubscription INVALID_STATUS_TRANSITION": Row("{subscription.id}"),
    "updateInvoice INVOICE_NOT_DRAFTABLE": Row("{open invoice.id}", {"footer": "Thank you"}),
    "finalizeInvoice INVALID_STATUS_TRANSITION": Row("{open invoice.id}"),
    "finalizeInvoice INVALID_FIELD": Row("{anonymous.id}", {"auto_send": True}),
    "sendInvoice INVALID_STATUS_TRANSITION": Row("{invoice.id}"),
    "sendInvoice INVALID_FIELD": Row(
        "{anonymous.id}", first=("/invoices/{anonymous.id}/finalize/", {})
    ),
    "voidInvoice INVALID_STATUS_TRANSITION": Row("{invoice.id}"),
    "payInvoice INVALID_STATUS_TRANSITION": Row("{invoice.id}"),
    "getInvoicePdf PDF_NOT_AVAILABLE": Row("{invoice.id}"),
    "createRefund transaction_not_refundable": Row(body={"transaction": "{refund.transaction}"}),
    "createRefund refund_amount_exceeds_available": Row(
        body={"transaction": "{transaction.id}", "amount": HUGE}
    ),
    "cancelRefund INVALID_STATUS_TRANSITION": Row("{refund.id}"),
    "expireCheckoutSession CHECKOUT_SESSION_EXPIRED": Row("{session.id}", first=EXPIRED),
    "expireCheckoutSession INVALID_STATUS_TRANSITION": Row("{paid session.id}"),
    "archivePaymentLink INVALID_STATUS_TRANSITION": Row("{archived link.id}"),
    "restorePaymentLink INVALID_STATUS_TRANSITION": Row("{link.id}"),
    "cancelTransaction INVALID_STATUS_TRANSITION": Row("{transaction.id}"),
    "createWebhook WEBHOOK_ENDPOINT_UNREACHABLE": Row(
        body={"name": "Shop", "url": GONE, "events": ["*"]}
    ),
    "updateWebhook WEBHOOK_ENDPOINT_UNREACHABLE": Row("{webhook.id}", {"url": GONE}),
    "testWebhook INVALID_STATUS_TRANSITION": Row("{disabled webhook.id}"),
    "retryWebhookDelivery INVALID_STATUS_TRANSITION": Row(
        "{webhook.id} {first.id}", first=("/webhooks/{webhook.id}/test/", {})
    ),
    "createPaymentIntent PAYMENT_METHOD_NOT_SUPPORTED": Row(
        body=BY_PAYPAL | {"payment_method": "{method.id}"}
    ),
    "confirmPaymentIntent PAYMENT_METHOD_NOT_SUPPORTED": Row(
        "{first.id}", {"payment_method": "{method.id}"}, first=("/payment-intents/", BY_PAYPAL)
    ),
    "confirmPaymentIntent PAYMENT_INTENT_NOT_CONFIRMABLE": Row(
        "{first.id}", first=("/payment-intents/", INTENT)
    ),
    "capturePaymentIntent PAYMENT_INTENT_NOT_CAPTURABLE": Row("{intent.id}"),
    "capturePaymentIntent CAPTURE_AMOUNT_EXCEEDS_ORIGINAL": Row(
        "{held intent.id}", {"amount": HUGE}
    ),
    "cancelPaymentIntent PAYMENT_INTENT_UNCANCELABLE": Row("{paid intent.id}"),
    # the control API
    "listObjects NOT_FOUND": Row(query="?kind=customer&related=unknown"),
    "countObjects NOT_FOUND": Row(query="?related=unknown"),
    "rewind NOT_FOUND": Row(body={"to": UNKNOWN}),
    "getRecording NOT_FOUND": Row(query="?since=unknown"),
    "getRecording INVALID_STATUS_TRANSITION": Row(
        first=("/subscriptions/{past gone.id}/pause/", {})
    ),
    "stopRecording NOT_FOUND": Row(),
    "answerPaymentIntent INVALID_STATUS_TRANSITION": Row("{paid intent.id}", SUCCEEDED),
    "answerCheckoutSession INVALID_STATUS_TRANSITION": Row("{paid session.id}", SUCCEEDED),
    "answerRefund INVALID_STATUS_TRANSITION": Row("{canceled refund.id}", SUCCEEDED),
    "answerPrompt PAYMENT_INTENT_NOT_FOUND": Row(
        "+24177000000", {"answer": "approve", "payment_intent": UNKNOWN}
    ),
    "answerPrompt INVALID_STATUS_TRANSITION": Row(
        "+24177000000", {"answer": "approve", "payment_intent": "{paid intent.id}"}
    ),
    "payCheckoutSession CHECKOUT_SESSION_EXPIRED": Row("{session.id}", first=EXPIRED),
    "payCheckoutSession INVALID_STATUS_TRANSITION": Row("{paid session.id}"),
    "payPaymentLink INVALID_STATUS_TRANSITION": Row("{archived link.id}"),
    "payInvoicePage INVALID_STATUS_TRANSITION": Row("{invoice.id}"),
    **{
        f"trigger {code}": Row(body={"event": event, "overrides": {kind: UNKNOWN}})
        for code, event, kind in (
            ("CUSTOMER_NOT_FOUND", "customer.deleted", "customer"),
            ("NOT_FOUND", "subscription.created", "plan"),
            ("SUBSCRIPTION_NOT_FOUND", "subscription.payment_failed", "subscription"),
            ("PAYMENT_METHOD_NOT_FOUND", "subscription.created", "payment_method"),
            ("INVOICE_NOT_FOUND", "invoice.paid", "invoice"),
            ("CHECKOUT_SESSION_NOT_FOUND", "checkout.session.completed", "checkout_session"),
            ("PAYMENT_INTENT_NOT_FOUND", "payment_intent.succeeded", "payment_intent"),
            ("TRANSACTION_NOT_FOUND", "refund.succeeded", "transaction"),
            ("REFUND_NOT_FOUND", "refund.succeeded", "refund"),
        )
    },
}
"""By operation and code."""

PLACES: dict[str, tuple[tuple[str, Any], ...]] = {
    "CURRENCY_NOT_IN_PLAN": (("currency", "GBP"),),
    "CUSTOMER_NOT_FOUND": (("customer", UNKNOWN),),
    "PRODUCT_NOT_FOUND": (
        ("product", UNKNOWN),
        ("products", [UNKNOWN]),
        ("line_items", [{"product": UNKNOWN}]),
    ),
    "PAYMENT_METHOD_NOT_FOUND": (("payment_method", UNKNOWN),),
    "TRANSACTION_NOT_FOUND": (("transaction", UNKNOWN),),
    "NOT_FOUND": (("plan", UNKNOWN), ("line_items", [{"plan": UNKNOWN}])),
}
"""The value that such a code rejects, in the first of the fields that an operation takes."""


def codes_of(id: str) -> list[str]:
    """Return an operation's codes tried here; limits and inner objects have tests of their own."""
    listed = [*{**OF_OPERATION, **OF_CONTROL_OPERATION}[id]]
    elsewhere = {FLAT.get(code) for code in listed} | {"AMOUNT_TOO_SMALL", "AMOUNT_TOO_LARGE"}
    return [
        code
        for code in listed
        if code not in elsewhere | ({"NOT_FOUND"} if BY_ID.get(id) in NESTED else set())
    ]


def test_each_row_is_one_of_the_list() -> None:
    assert {
        name.partition(" ")[2]
        for name in ROWS
        if name.partition(" ")[2] not in codes_of(name.split()[0])
    } == set()


@pytest.mark.parametrize("id", [*OF_OPERATION, *OF_CONTROL_OPERATION])
def test_the_document_allows_what_a_rule_of_state_rejects(
    sandbox: Sandbox, factory: ObjectFactory, id: str
) -> None:
    name, api = ("service", sandbox.api) if id in BY_ID else ("control", sandbox.control)
    judge = judge_of(f"{name}-3.0")
    [operation] = [operation for operation in operations(judge.document) if id_of(operation) == id]
    schema = request_schema(judge.document, operation)
    for code in codes_of(id):
        path, body = rejected(sandbox, factory, operation, code)
        shapes = {"nested": code, "flat": FLAT[code]} if code in FLAT else {"": code}
        for shape, expected in shapes.items():
            if shape:
                sandbox.settings(error_shape=shape)
            status = STATUSES.get(f"{id} {expected}", ERRORS[expected].status)
            error = api.rejected(operation.method, path, status, expected, json=body)
        if body and UNKNOWN in str(body) and id != "rewind":
            assert value_at(body, error["param"]) == UNKNOWN
        assert body is None or (schema and judge.faults(schema.pointer, body) == [])


def rejected(
    sandbox: Sandbox, factory: ObjectFactory, operation: Operation, code: str
) -> tuple[str, Any]:
    id, scene = id_of(operation), dict[str, Any]()
    row = ROWS.get(f"{id} {code}")
    if row is None:
        assert code in PLACES, f"add a row '{id} {code}' to ROWS: a request that brings it about"
        field, value = next(
            (field, value) for field, value in PLACES[code] if field in fields_of(id)
        )
        path, body = request(factory, BY_ID[id], field, scene)
        own = {"mode": "subscription"} if "plan" in str(value) and "mode" in fields_of(id) else {}
        return path, {**body, field: value, **own}
    scene |= {kind: make(sandbox) for kind, make in MADE.items() if f"{{{kind}." in str(row)}
    if row.first:
        scene["first"] = sandbox.api.post(*factory.filled(row.first, scene))
    ids = iter(factory.filled(row.ids, scene).split())
    path = re.sub(r"\{\w+\}", lambda _: next(ids), operation.path)
    return path + factory.filled(row.query, scene), factory.filled(row.body, scene)


def test_a_message_about_an_object_does_not_name_the_field_around_it(sandbox: Sandbox) -> None:
    sent = {"event": "customer.deleted", "overrides": {"customer": UNKNOWN}}
    error = sandbox.control.rejected("POST", "/trigger", 404, "CUSTOMER_NOT_FOUND", json=sent)
    assert (error["param"], error["message"]) == (
        "overrides.customer",
        "There is no customer unknown.",
    )
