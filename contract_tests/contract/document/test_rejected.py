"""The conditions of ``x-conditions``: the server and the document of 3.1 reject the same."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from contract_tests.contract.document.judges import judge_of
from contract_tests.support.sandbox import Sandbox
from emulator.document import bundles
from emulator.document.references import filled
from emulator.document.tree import CONDITIONS

Body = dict[str, Any]


class Rule(NamedTuple):
    """A schema's condition: a common body, its breach, and the nearest body without a breach."""

    schema: str
    path: str
    body: Body
    wrong: Body
    right: Body


METHODS: dict[str, Body] = {
    "mobile_money": {"phone": "+24177000000"},
    "bank_card": {"number": "4242424242424242", "exp_month": 12, "exp_year": 2040, "cvc": "123"},
    "bank_transfer": {"iban": "FR1420041010050500013M02606"},
    "paypal": {"email": "awa@example.com"},
}
"""The fields of each type of payment method."""

BUYER, TO_PLAN = {"customer": "{customer}"}, {"customer": "{customer}", "plan": "{plan}"}
FREE, CALLED, SOLD = (
    {"description": "Basket", "unit_amount": 500},
    {"description": "Basket"},
    {"product": "{product}"},
)
MONTHLY = {"subscription_data": {"interval": "month"}}
LATER = {"expires_at": "2030-01-01T00:00:00Z"}


def session(wrong: Body, right: Body) -> Rule:
    body = {"currency": "XAF", "line_items": [FREE]}
    return Rule("CheckoutSessionCreate", "/checkout-sessions/", body, wrong, right)


def line(kind: str, wrong: Body, right: Body, **fields: Any) -> Rule:
    path, body = {
        "Checkout": ("/checkout-sessions/", {"currency": "XAF"}),
        "Invoice": ("/invoices/", BUYER),
    }[kind]
    return Rule(
        f"{kind}LineInput",
        path,
        {**body, **fields},
        {"line_items": [wrong]},
        {"line_items": [right]},
    )


def link(wrong: Body, right: Body) -> Rule:
    return Rule(
        "PaymentLinkCreate", "/payment-links/", {"currency": "XAF", "name": "L"}, wrong, right
    )


def method(type: str, wrong: Body) -> Rule:
    return Rule(
        "PaymentMethodCreate", "/payment-methods/", {**BUYER, "type": type}, wrong, METHODS[type]
    )


RULES = (
    session(BUYER | {"customer_email": "awa@example.com"}, BUYER),
    session({"line_items": []}, {"line_items": [], "mode": "setup", **BUYER}),
    session(MONTHLY, MONTHLY | {"mode": "subscription"}),
    line("Checkout", CALLED, FREE),
    line("Checkout", SOLD | CALLED, SOLD),
    line(
        "Checkout",
        {"plan": "{plan}", "quantity": 2},
        {"plan": "{plan}", "quantity": 1},
        mode="subscription",
    ),
    line("Invoice", CALLED, FREE),
    line("Invoice", SOLD | CALLED, SOLD),
    link({"max_usage": 2}, {"max_usage": 2, "validity_type": "limited"}),
    link({**LATER, "validity_type": "unlimited"}, {**LATER, "validity_type": "limited"}),
    link(
        {"payment_link_type": "product", "products": []},
        {"payment_link_type": "donation", "products": []},
    ),
    Rule("SubscriptionCreate", "/subscriptions/", TO_PLAN, {"unit_amount": 5000}, {}),
    Rule(
        "WebhookCreate",
        "/webhooks/",
        {"name": "Shop", "url": "{inbox}"},
        {"events": ["*", "invoice.paid"]},
        {"events": ["*"]},
    ),
    Rule(
        "OutcomeInput",
        "/_emulator/outcomes",
        {"operation": "payment", "code": "INSUFFICIENT_FUNDS"},
        {"result": "succeeded"},
        {"result": "failed"},
    ),
    *(method(type, {}) for type in METHODS),
)
"""One row for each condition, but for those of schemas that are written like another one."""

FIELDS_OF_OTHER_TYPES = tuple(
    method(type, own | {name: value})
    for type, own in METHODS.items()
    for name, value in ChainMap(*METHODS.values()).items()
    if name not in own
)

ALIKE = {"AnswerInput", "PromptAnswer", "WebhookUpdate"}


def conditions() -> Iterator[str]:
    """Yield the schema's name for each condition of both documents, of an object or a field."""
    for document in map(bundles.load, ("service", "control")):
        for name, schema in document["components"]["schemas"].items():
            for part in (schema, *schema.get("properties", {}).values()):
                yield from [name] * len(part.get(CONDITIONS, ()))


def test_each_condition_has_a_row() -> None:
    assert sorted(rule.schema for rule in RULES) == sorted(
        name for name in conditions() if name not in ALIKE
    )


@pytest.mark.parametrize(
    "rule", RULES + FIELDS_OF_OTHER_TYPES, ids=lambda rule: f"{rule.schema} {sorted(rule.wrong)}"
)
def test_the_document_and_the_server_reject_the_same(rule: Rule, sandbox: Sandbox) -> None:
    made = {"customer": sandbox.customer(), "plan": sandbox.plan(), "product": sandbox.product()}
    values = {name: object["id"] for name, object in made.items()} | {
        "inbox": f"{sandbox.url}/_emulator/inbox/rejected"
    }
    wrong, right = (
        filled(rule.body | fields, values.__getitem__) for fields in (rule.wrong, rule.right)
    )
    name, api = (
        ("control", sandbox.control)
        if rule.path.startswith("/_emulator")
        else ("service", sandbox.api)
    )
    path = rule.path.removeprefix("/_emulator")
    assert api.request("POST", path, json=wrong).status_code == 422
    assert api.request("POST", path, json=right).status_code == 201
    schema = ("paths", path, "post", "requestBody", "content", "application/json", "schema")
    judges = [judge_of(f"{name}-{version}") for version in ("3.0", "3.1")]
    assert [judge.faults(schema, right) for judge in judges] == [[], []]
    assert judges[1].faults(schema, wrong), "the document of 3.0 has no keyword for it but not"
