"""Conditions between fields: what ``x-conditions`` says, the served documents forbid and the server rejects."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from contract_tests.contract.document.judges import Judge, StrictJudge
from contract_tests.support.sandbox import Sandbox
from emulator.document import bundles
from emulator.document.tree import CONDITIONS

Body = dict[str, Any]

FREE = {"description": "Basket", "unit_amount": 500}
SESSION: Body = {"currency": "XAF", "line_items": [FREE]}
LINK: Body = {"currency": "XAF", "name": "L"}
LATER = "2030-01-01T00:00:00Z"
METHODS: dict[str, Body] = {
    "mobile_money": {"phone": "+24177000000"},
    "bank_card": {"number": "4242424242424242", "exp_month": 12, "exp_year": 2040, "cvc": "123"},
    "bank_transfer": {"iban": "FR1420041010050500013M02606"},
    "paypal": {"email": "awa@example.com"},
}
"""The fields of each type of payment method."""


class Rule(NamedTuple):
    """A condition of a schema: a body that breaks it, and the nearest one that does not."""

    schema: str
    path: str
    wrong: Body
    right: Body


def _method(type: str, fields: Body) -> Body:
    return {"customer": "CUSTOMER", "type": type, **fields}


RULES = (
    Rule(
        "CheckoutSessionCreate",
        "/checkout-sessions/",
        SESSION | {"customer": "CUSTOMER", "customer_email": "awa@example.com"},
        SESSION | {"customer": "CUSTOMER"},
    ),
    Rule(
        "CheckoutSessionCreate",
        "/checkout-sessions/",
        SESSION | {"line_items": []},
        SESSION | {"line_items": [], "mode": "setup", "customer": "CUSTOMER"},
    ),
    Rule(
        "CheckoutSessionCreate",
        "/checkout-sessions/",
        SESSION | {"subscription_data": {"interval": "month"}},
        SESSION | {"subscription_data": {"interval": "month"}, "mode": "subscription"},
    ),
    Rule("CheckoutLineInput", "/checkout-sessions/", SESSION | {"line_items": [{"description": "Basket"}]}, SESSION),
    Rule(
        "InvoiceLineInput",
        "/invoices/",
        {"customer": "CUSTOMER", "line_items": [{"description": "Basket"}]},
        {"customer": "CUSTOMER", "line_items": [FREE]},
    ),
    Rule(
        "InvoiceLineInput",
        "/invoices/",
        {"customer": "CUSTOMER", "line_items": [{"product": "PRODUCT", "description": "Basket"}]},
        {"customer": "CUSTOMER", "line_items": [{"product": "PRODUCT"}]},
    ),
    Rule(
        "CheckoutLineInput",
        "/checkout-sessions/",
        SESSION | {"line_items": [{"product": "PRODUCT", "description": "Basket"}]},
        SESSION | {"line_items": [{"product": "PRODUCT"}]},
    ),
    Rule(
        "CheckoutLineInput",
        "/checkout-sessions/",
        SESSION | {"mode": "subscription", "line_items": [{"plan": "PLAN", "quantity": 2}]},
        SESSION | {"mode": "subscription", "line_items": [{"plan": "PLAN", "quantity": 1}]},
    ),
    Rule(
        "PaymentLinkCreate",
        "/payment-links/",
        LINK | {"max_usage": 2},
        LINK | {"validity_type": "limited", "max_usage": 2},
    ),
    Rule(
        "PaymentLinkCreate",
        "/payment-links/",
        LINK | {"expires_at": LATER, "validity_type": "unlimited"},
        LINK | {"expires_at": LATER, "validity_type": "limited"},
    ),
    Rule(
        "PaymentLinkCreate",
        "/payment-links/",
        LINK | {"payment_link_type": "product", "products": []},
        LINK | {"payment_link_type": "donation", "products": []},
    ),
    Rule(
        "SubscriptionCreate",
        "/subscriptions/",
        {"customer": "CUSTOMER", "plan": "PLAN", "unit_amount": 5000},
        {"customer": "CUSTOMER", "plan": "PLAN"},
    ),
    Rule(
        "WebhookCreate",
        "/webhooks/",
        {"name": "Shop", "url": "INBOX", "events": ["*", "invoice.paid"]},
        {"name": "Shop", "url": "INBOX", "events": ["*"]},
    ),
    Rule(
        "OutcomeInput",
        "/_emulator/outcomes",
        {"operation": "payment", "result": "succeeded", "code": "INSUFFICIENT_FUNDS"},
        {"operation": "payment", "result": "failed", "code": "INSUFFICIENT_FUNDS"},
    ),
    *(
        Rule("PaymentMethodCreate", "/payment-methods/", _method(type, {}), _method(type, fields))
        for type, fields in METHODS.items()
    ),
)
"""One row for each condition, but for those of schemas that are written like another one."""

FIELDS_OF_OTHER_TYPES = tuple(
    Rule(
        "PaymentMethodCreate",
        "/payment-methods/",
        _method(type, own | {name: value}),
        _method(type, own),
    )
    for type, own in METHODS.items()
    for name, value in ChainMap(*METHODS.values()).items()
    if name not in own
)

ALIKE = {"AnswerInput", "PromptAnswer", "WebhookUpdate"}


def conditions() -> Iterator[str]:
    """Yield the name of the schema of each condition of both documents, be it of the object or of one of its fields."""
    for document in map(bundles.load, ("service", "control")):
        for name, schema in document["components"]["schemas"].items():
            for each in (schema, *schema.get("properties", {}).values()):
                yield from [name] * len(each.get(CONDITIONS, ()))


def test_each_condition_has_a_row() -> None:
    assert sorted(rule.schema for rule in RULES) == sorted(name for name in conditions() if name not in ALIKE)


@pytest.mark.parametrize("rule", RULES + FIELDS_OF_OTHER_TYPES, ids=lambda rule: f"{rule.schema} {sorted(rule.wrong)}")
def test_the_document_and_the_server_reject_the_same(rule: Rule, sandbox: Sandbox) -> None:
    made = {"CUSTOMER": sandbox.customer(), "PLAN": sandbox.plan(), "PRODUCT": sandbox.product()}
    values = {name: each["id"] for name, each in made.items()} | {"INBOX": f"{sandbox.url}/_emulator/inbox/rejected"}
    wrong, right = (_filled(body, values) for body in rule[2:])
    is_control = rule.path.startswith("/_emulator")
    api, path = (sandbox.control, rule.path.removeprefix("/_emulator")) if is_control else (sandbox.api, rule.path)
    assert api.request("POST", path, json=wrong).status_code == 422
    assert api.request("POST", path, json=right).status_code == 201
    for version in ("-3.0", "-3.1"):
        document = bundles.load(("control" if is_control else "service") + version)
        judge: Any = StrictJudge(document) if version == "-3.0" else Judge(document)
        body = _body_schema(document, path)
        assert judge.faults(body, wrong) != []
        assert judge.faults(body, right) == []


def _filled(value: Any, values: dict[str, str]) -> Any:
    """Return a body with ids and addresses in the places of their names."""
    if isinstance(value, dict):
        return {key: _filled(each, values) for key, each in value.items()}
    if isinstance(value, list):
        return [_filled(each, values) for each in value]
    return values.get(str(value), value)


def _body_schema(document: dict[str, Any], path: str) -> tuple[str, ...]:
    return ("paths", path, "post", "requestBody", "content", "application/json", "schema")
