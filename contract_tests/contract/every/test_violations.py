"""B-12 at every operation: any two violations are reported together, under any two rules."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from itertools import combinations
from typing import Any, NamedTuple

import pytest

from contract_tests.contract.document.judges import judge_of
from contract_tests.contract.document.reader import Part, flat, properties
from contract_tests.contract.every.values import (
    BY_ID,
    SCHEMAS,
    SERVICE,
    fields_of,
    of_service,
    valid_request,
    with_value,
)
from contract_tests.support.sandbox import CARD, Sandbox
from emulator.checks.document.object_factory import ObjectFactory
from emulator.core.violations import has_rules
from emulator.document.references import filled
from emulator.resources.registry import OPERATIONS

FULL = {f"key_{number}": number for number in range(49)}
"""Metadata to which one more key may be added, and not two."""

TOO_MANY = {"one": 1, "two": 2}

LONG_AGO = "2020-01-01T00:00:00Z"


class Case(NamedTuple):
    """Values, each making one field (dotted path) invalid; a valid body unless the factory has it.

    Of a change it is what the object is changed to first.
    """

    invalid: dict[str, Any]
    valid: dict[str, Any] | None = None


FREE_LINE = {"description": "x", "unit_amount": 500}

RULED: Mapping[str, Case] = {
    "createAddress": Case({"line1": "", "city": 1, "country": "GB", "is_default": "yes"}),
    "updateAddress": Case({"line1": "", "city": 1, "country": "GB", "customer": "x"}),
    "createProduct": Case(
        {"name": "", "unit_amount": 5, "images": "x", "active": 1, "metadata.x": None}
    ),
    "updateProduct": Case({"name": "", "unit_amount": 10**9, "active": 1, "currency": "EUR"}),
    "createSubscriptionPlan": Case(
        {"name": "", "amount": 5, "interval": "eon", "interval_count": 0, "trial_period_days": -1}
    ),
    "createSubscription": Case(
        {
            "unit_amount": 5,
            "interval": "eon",
            "product": "{archived}",
            "payment_method": "{method of another}",
            "ends_at": LONG_AGO,
            "trial_period_days": -1,
        },
        {"customer": "{customer}", "unit_amount": 500, "interval": "month"},
    ),
    "createSubscription on a plan": Case(
        {
            "unit_amount": 500,
            "interval": "year",
            "interval_count": 7,
            "currency": "EUR",
            "ends_at": LONG_AGO,
        },
        {"customer": "{anonymous}", "plan": "{plan}"},
    ),
    "updateSubscription": Case(
        {
            "payment_method": "{method of another}",
            "plan": "{yearly}",
            "collection_method": "x",
            "unit_amount": 1,
        }
    ),
    "createInvoice": Case(
        {
            "line_items.0.product": "{archived}",
            "line_items.1.unit_amount": 10**9,
            "line_items.1.quantity": 0,
            "due_date": "2020-01-01",
            "footer": 1,
        },
        {"customer": "{customer}", "line_items": [{"product": "{product}"}, FREE_LINE]},
    ),
    "updateInvoice": Case(
        {"currency": "EUR", "due_date": "2020-01-01", "footer": 1, "customer": "x"},
        {"line_items": [{"product": "{product}"}]},
    ),
    "createRefund": Case({"amount": 10**6, "reason": "x", "description": 1, "metadata.x": []}),
    "createCheckoutSession": Case(
        {
            "success_url": "x",
            "customer_email": "a@example.com",
            "line_items.0.product": "{archived}",
            "subscription_data": {"interval": "month"},
            "expires_in": 1,
        },
        {"currency": "XAF", "customer": "{customer}", "line_items": [{"product": "{product}"}]},
    ),
    "createCheckoutSession that subscribes": Case(
        {
            "line_items.0.unit_amount": 10**9,
            "subscription_data.interval": "eon",
            "cancel_url": "x",
            "expires_in": 1,
        },
        {"currency": "XAF", "mode": "subscription", "line_items": [FREE_LINE]},
    ),
    "createPaymentLink": Case(
        {"amount": 5, "max_usage": 3, "expires_at": LONG_AGO, "redirect_url.success": "x"}
    ),
    "createPaymentLink that is limited": Case(
        {"max_usage": 0, "expires_at": LONG_AGO, "amount": 5},
        {"currency": "XAF", "amount": 500, "validity_type": "limited", "max_usage": 5},
    ),
    "createPaymentLink to products": Case(
        {
            "products.0": "{archived}",
            "max_usage": 3,
            "payment_method_types.0": "cash",
            "allow_quantity": "yes",
        },
        {"currency": "XAF", "products": ["{product}"]},
    ),
    "updatePaymentLink": Case({"max_usage": 3, "expires_at": LONG_AGO, "name": 1, "amount": 500}),
    "createWebhook": Case(
        {
            "name": "",
            "url": "http://shop.example/",
            "events.0": "x",
            "retry_policy.max_attempts": 11,
            "ssl_verification": 1,
        }
    ),
    "updateWebhook": Case(
        {"name": "", "url": "http://shop.example/", "events.0": "x", "enabled": False}
    ),
    "createPaymentIntent": Case(
        {
            "amount": 5,
            "payment_method": "{method of another}",
            "customer_email": "x",
            "capture_method": "x",
        }
    ),
    "confirmPaymentIntent": Case({"payment_method": "{method of another}"}),
    "capturePaymentIntent": Case({"amount": 10**6}),
    "createPaymentMethod": Case(
        {
            "number": "4242 4242 4242 4241",
            "exp_month": 13,
            "exp_year": 2020,
            "cvc": "x",
            "iban": "x",
            "phone": "+24177000000",
        },
        {"customer": "{customer}", **CARD},
    ),
}
"""Operations with rules beyond schemas, by operationId; more after a space if one is not enough."""

METADATA_ALONE = {
    id
    for id in SCHEMAS.keys() - RULED.keys()
    if BY_ID[id].method == "PATCH" and "metadata" in fields_of(id)
}
"""Operations whose one rule counts metadata keys; changes with metadata are tried with too many."""

BY_THE_DOCUMENT = {
    id: Case(
        {
            field: {} if flat(SERVICE, part).node.get("type") == "array" else [{}]
            for field, part in fields_of(id).items()
        }
    )
    for id in SCHEMAS
    if id not in RULED
}
"""Of other operations the document says enough: each field of another type."""

CASES = {**RULED, **BY_THE_DOCUMENT}


class Prepared(NamedTuple):
    """A case in a world: the request that succeeds, and the values at their places."""

    method: str
    path: str
    valid: dict[str, Any]
    invalid: dict[str, Any]

    def body(self, *fields: str) -> dict[str, Any]:
        body = self.valid
        for field in fields:
            body = with_value(body, tuple(field.split(".")), self.invalid[field])
        return body


def prepared(sandbox: Sandbox, factory: ObjectFactory, name: str) -> Prepared:
    case, id = CASES[name], name.partition(" ")[0]
    path, body = valid_request(factory, BY_ID[id], {})
    method = BY_ID[id].method
    invalid = {**case.invalid, "unknown": 1}
    ids = references(sandbox, f"{case}")
    valid = filled(case.valid or body, ids.__getitem__)
    if method == "PATCH":
        if case.valid:
            sandbox.api.patch(path, valid)
        valid = {}
        if "metadata" in fields_of(id):
            sandbox.api.patch(path, {"metadata": FULL})
            invalid["metadata"] = TOO_MANY
    return Prepared(method, path, valid, filled(invalid, ids.__getitem__))


def references(sandbox: Sandbox, case: str) -> dict[str, str]:
    made = {
        "customer": sandbox.customer,
        "anonymous": lambda: {"id": sandbox.buy(sandbox.session())["customer"]},
        "product": sandbox.product,
        "archived": lambda: sandbox.product(active=False),
        "plan": sandbox.plan,
        "yearly": lambda: sandbox.plan(interval="year"),
        "method of another": sandbox.method,
    }
    return {name: make()["id"] for name, make in made.items() if f"{{{name}}}" in case}


def violations(sandbox: Sandbox, case: Prepared, body: Any) -> tuple[str, set[str]]:
    response = sandbox.api.request(case.method, case.path, json=body).json()
    error = response.get("error", response)
    return error["code"], set(error["errors"]) if "errors" in error else {error["param"]}


ALWAYS = {"createSubscription on a plan": {"customer"}}
"""Invalid in every request of a case: a customer without an email violates another field."""


@pytest.mark.parametrize("name", CASES)
def test_any_two_violations_are_reported_together(
    sandbox: Sandbox, factory: ObjectFactory, name: str
) -> None:
    case, always = prepared(sandbox, factory, name), ALWAYS.get(name, set())
    for field in case.invalid:
        code, fields = violations(sandbox, case, case.body(field))
        assert fields == {field, *always}, field
        assert (
            always or code in ("INVALID_FIELD", "INVALID_CURRENCY") or field.endswith("amount")
        ), code
    for one, two in combinations(case.invalid, 2):
        response = sandbox.api.rejected(
            case.method, case.path, 422, "VALIDATION_ERROR", json=case.body(one, two)
        )
        assert set(response["errors"]) == {one, two, *always}, (one, two)
        assert response["message"] == f"Invalid fields: {', '.join(response['errors'])}."


DEPENDS = {
    "createProduct": {"unit_amount": {"currency", "price_type"}},
    "createSubscriptionPlan": {"amount": {"currency"}},
    "createSubscription": {
        "unit_amount": {"plan", "currency"},
        "interval": {"plan"},
        "interval_count": {"plan"},
        "currency": {"plan"},
        "payment_method": {"customer"},
    },
    "updateInvoice": {"currency": {"line_items"}},
    "createRefund": {"amount": {"transaction"}},
    "createCheckoutSession": {"customer_email": {"customer"}, "subscription_data": {"mode"}},
    "createPaymentLink": {
        "amount": {"currency", "payment_link_type", "products"},
        "max_usage": {"validity_type"},
        "products.0": {"payment_link_type"},
    },
    "createPaymentIntent": {"amount": {"currency"}, "payment_method": {"customer"}},
    "createPaymentMethod": {field: {"type"} for field in ("number", "exp_year", "iban", "phone")},
}
"""The fields on whose value it depends whether a rule is broken by another field."""


@pytest.mark.parametrize("name", RULED)
def test_a_rule_is_judged_whatever_field_it_does_not_depend_on_is_malformed(
    sandbox: Sandbox, factory: ObjectFactory, name: str
) -> None:
    case, id, kinds = prepared(sandbox, factory, name), name.partition(" ")[0], kinds_of(name)
    for field in [field for field in case.invalid if kinds[field] == "rule"]:
        others = fields_of(id).keys() - DEPENDS.get(id, {}).get(field, set())
        for other in others - {field.partition(".")[0]}:
            part = flat(SERVICE, fields_of(id)[other]).node
            malformed: Any = {} if part.get("type") == "array" else [{}]
            body = {**case.body(field), other: malformed}
            _, fields = violations(sandbox, case, body)
            assert field in fields, other


def test_a_limit_of_a_link_is_judged_beside_a_malformed_one(sandbox: Sandbox) -> None:
    link = sandbox.link(validity_type="limited", max_usage=5)
    error = sandbox.api.rejected(
        "PATCH",
        f"/payment-links/{link['id']}/",
        422,
        "VALIDATION_ERROR",
        json={"max_usage": 0, "expires_at": LONG_AGO},
    )
    assert error["errors"].keys() == {"max_usage", "expires_at"}


def test_each_check_has_its_case() -> None:
    """No rule is added whose violations mask each other."""
    ruled = {name for name, function in OPERATIONS.items() if has_rules(function)}
    assert ruled == {name.partition(" ")[0] for name in RULED} | METADATA_ALONE


PREFIXES = {
    "archived": "prod",
    "anonymous": "cust",
    "yearly": "plan",
    "method of another": "pm",
    "customer": "cust",
    "product": "prod",
    "plan": "plan",
}
"""The prefix of the id that a reference of a case stands for."""


def schema_at(id: str, field: str) -> Part | None:
    """Return the schema of a field (dotted path) of an operation; None for an unknown field."""
    part = SCHEMAS[id]
    for name in field.split("."):
        pointer, node = flat(SERVICE, part)
        inner = properties(SERVICE, part)
        if not name.isdigit() and name not in inner:
            return None
        part = Part((*pointer, "items"), node["items"]) if name.isdigit() else inner[name]
    return part


def kinds_of(name: str) -> dict[str, str]:
    """Return for each invalid field of a case whether its form is wrong or only a rule forbids it.

    More metadata than a change leaves room for is forbidden by a rule.
    """
    id = name.partition(" ")[0]
    kinds = {"unknown": "form"}
    for field, value in CASES[name].invalid.items():
        schema = schema_at(id, field)
        whole = filled(value, lambda kind: f"{PREFIXES[kind]}_{'x' * 24}")
        is_formal = schema is not None and judge_of("service").accepts(schema.pointer, whole)
        kinds[field] = "rule" if is_formal else "form"
    if BY_ID[id].method == "PATCH" and "metadata" in fields_of(id):
        kinds["metadata"] = "rule"
    return kinds


@pytest.mark.parametrize("name", CASES)
def test_each_case_has_pairs_of_the_kinds_that_may_meet(name: str) -> None:
    """Else the rule about two violations would have nothing to decide above."""
    kinds = kinds_of(name)
    pairs = {frozenset((kinds[one], kinds[two])) for one, two in combinations(kinds, 2)}
    has_rule = name in RULED or name in METADATA_ALONE
    assert pairs >= {frozenset({"form", "rule"}) if has_rule else frozenset({"form"})}


def test_some_cases_break_two_rules_at_once() -> None:
    """Else nobody would see that rules hide each other."""
    broken = {name: [*kinds_of(name).values()].count("rule") for name in RULED}
    assert {name for name, rules in broken.items() if rules > 1} >= {
        "createSubscription",
        "createInvoice",
        "createCheckoutSession",
        "createPaymentLink",
        "createPaymentIntent",
        "createPaymentMethod",
    }


# -- violations of several kinds

LINES = [
    {"unit_amount": 500},
    {"description": "y"},
    {"product": "{archived}", "quantity": 0},
    {"product": "{product}", "description": "z", "unit_amount": 700},
    {"plan": "{plan}", "description": "z"},
]
WRONG_LINES = (
    "0.description 1.unit_amount 2.product 2.quantity 3.description 3.unit_amount 4.plan"
    " 4.description"
)


def test_each_line_is_reported_by_itself(sandbox: Sandbox) -> None:
    body = {"currency": "XAF", "line_items": LINES}
    body = filled(body, references(sandbox, str(body)).__getitem__)
    response = sandbox.api.rejected(
        "POST", "/checkout-sessions/", 422, "VALIDATION_ERROR", json=body
    )
    assert response["errors"].keys() == {f"line_items.{field}" for field in WRONG_LINES.split()}
    assert "param" not in response


def test_two_rules_about_one_field_are_one_invalid_field(sandbox: Sandbox) -> None:
    line = {"plan": sandbox.plan()["id"]}
    body = {"currency": "XAF", "line_items": [line, line]}
    response = sandbox.api.rejected(
        "POST", "/checkout-sessions/", 422, "VALIDATION_ERROR", json=body
    )
    assert len(response["errors"]["line_items.1.plan"]) == 2


def test_every_unknown_name_is_reported(sandbox: Sandbox) -> None:
    """Of every operation, those without a body or a query included."""
    for operation in of_service():
        url = re.sub(r"\{\w+\}", "x", operation.path) + "?one=1&two=2"
        takes_a_body = operation.method in ("POST", "PATCH")
        body = {"three": 3, "four": 4} if takes_a_body else None
        code = "VALIDATION_ERROR" if takes_a_body else "INVALID_FILTER_PARAM"
        response = sandbox.api.rejected(operation.method, url, 422, code, json=body)
        assert {"one", "two", *(body or ())} <= set(response["errors"]), operation.name


# -- how a right value is written, where one is in the wrong format


MESSAGES = """
/customers/ email ["awa"] EMAIL
/customers/ name [" "] must not be blank
/customers/ phone ["077 12 34 56"] PHONE
RETURN ["shop.example.com", "https:/shop.example.com"] APP
RETURN ["javascript://shop.example.com/%0aalert(1)", "data://x", "vbscript://x"] APP
RETURN ["file://x", "blob://x", "about://x", "ftp://x"] APP
RETURN ["HTTPS://shop.example.com/"] must have its scheme in lower case, such as https://
RETURN ["https://münchen.example/", "https://a;b/"] HOST
RETURN ["https://shop.example.com/a b"] SPACES
RETURN ["https://shop.example.com:99999/", "https://shop.example.com:x/"] PORT
RETURN ["https:///thanks"] must have a host after ://
RETURN ["https://[::1/", "https://[::z]/"] must have an IPv6 address in its brackets
RETURN ["https://awa:secret@shop.example.com/"] LOGIN
/webhooks/ url ["https://awa:x@example.com/"] LOGIN
/webhooks/ url ["Http://localhost/"] must have its scheme in lower case, such as https://
/webhooks/ url ["myapp://hooks"] must be an http:// or https:// URL
/checkout-sessions/ cancel_url ["http://example.com", "myapp://cart"] PAGE
/checkout-sessions/ cancel_url ["http://localhost.example.com/", "http://[::2]/"] PAGE
/checkout-sessions/ cancel_url ["http://127.0.0.1.example.com"] PAGE
/checkout-sessions/ cancel_url ["http://localhost:99999/"] PORT
/products/ images [["http://localhost/a.png"]] must be an https:// URL
/invoices/ due_date ["31/01/2026"] must be a date YYYY-MM-DD
/payment-intents/ currency ["xaf"] must be an ISO 4217 code in upper case
/payment-links/ expires_at ["2026-01-31 09:30:00Z"] INSTANT
/invoices/ customer [7, {}] must be a string
/invoices/ line_items [{}] must be an array
/invoices/ metadata [[]] must be an object
/payment-intents/ amount ["5000"] must be an integer
/subscription-plans/ interval ["decade"] must be one of day, week, month, year
/security-profiles/ allowed_domains [["https://example.com"]] DOMAIN
/security-profiles/ allowed_ips [["10.0.0.1/8"]] RANGE
/security-profiles/ blocked_countries [["kp"], ["AC"], ["CP"], ["CQ"], ["DG"], ["EA"]] COUNTRY
/security-profiles/ blocked_countries [["EU"], ["EZ"], ["IC"], ["QO"], ["TA"], ["UN"]] COUNTRY
/security-profiles/ blocked_countries [["XA"], ["XB"], ["XK"], ["ZZ"]] COUNTRY
"""
"""The message on a field's values. CLDR knows these countries; ISO 3166-1 does not assign them."""

WRITTEN = {
    "RETURN": "/checkout-sessions/ success_url",
    "EMAIL": "must be an email address of at most 254 characters, such as name@example.com",
    "PHONE": "must be a phone number in E.164 form: + and 7 to 15 digits, no spaces or dashes",
    "SPACES": "must have no spaces or control characters; a space is written %20",
    "PORT": "must have a port of at most 65535",
    "LOGIN": "must have no user name or password in it; they would show up in logs",
    "RANGE": "must be an IPv4 address or a CIDR range without host bits",
    "APP": (
        "must be an http:// or https:// URL, or one of an app's own scheme such as myapp://thanks"
    ),
    "PAGE": "must be an https:// URL; http:// is for loopback hosts only",
    "HOST": (
        "must have a host of ASCII letters, digits, '.', '_' and '-'; other letters are written as"
        " xn--…"
    ),
    "INSTANT": "must be an ISO 8601 date or instant, such as 2026-01-31 or 2026-01-31T09:30:00Z",
    "DOMAIN": "must be a bare domain name: no protocol, port, path or wildcard",
    "COUNTRY": "must be an ISO 3166-1 alpha-2 code in upper case",
}


@pytest.mark.parametrize("row", MESSAGES.strip().splitlines())
def test_a_message_says_how_a_value_is_written(sandbox: Sandbox, row: str) -> None:
    path, field, rest = re.sub(
        "RETURN|[A-Z]{3,}$", lambda match: WRITTEN.get(match[0], match[0]), row
    ).split(" ", 2)
    values, end = json.JSONDecoder().raw_decode(rest)
    for value in values:
        errors = sandbox.api.rejected("POST", path, 422, "VALIDATION_ERROR", json={field: value})[
            "errors"
        ]
        sentences = [
            messages for name, messages in errors.items() if re.split(r"[.\[]", name)[0] == field
        ]
        assert sentences == [[rest[end + 1 :]]], value
