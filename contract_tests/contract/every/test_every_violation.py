"""B-12 at every operation: any two violations of one request are reported together, whatever rules they break."""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping
from itertools import combinations
from typing import Any, NamedTuple

import pytest

from contract_tests.support.sandbox import CARD, Sandbox
from emulator.document import bundles
from emulator.document.bundles import operation_specs
from emulator.document.references import filled
from emulator.resources.registry import CHECKS

FULL = {f"key_{number}": number for number in range(49)}
"""Metadata to which one more key may be added, and not two."""

TOO_MANY = {"one": 1, "two": 2}

LONG_AGO = "2020-01-01T00:00:00Z"


class Case(NamedTuple):
    """A valid request of an operation, and values that each make one field of it invalid, by dotted path."""

    path: str
    valid: dict[str, Any]
    invalid: dict[str, Any]


WRITTEN: Mapping[str, Case] = {
    "createCustomer": Case(
        "/customers/",
        {"email": "new@example.com", "name": "Ben Ali"},
        {"email": "nope", "name": " ", "phone": "077", "metadata.x": [], "unknown": 1},
    ),
    "updateCustomer": Case(
        "/customers/{customer}/", {}, {"email": "nope", "name": "", "phone": "077", "metadata": TOO_MANY, "status": "x"}
    ),
    "createAddress": Case(
        "/customers/{customer}/addresses/",
        {"line1": "Rue 1", "city": "Libreville", "country": "GA"},
        {"line1": "", "city": 1, "country": "GB", "is_default": "yes", "unknown": 1},
    ),
    "updateAddress": Case(
        "/customers/{customer}/addresses/{address}/", {}, {"line1": "", "city": 1, "country": "GB", "customer": "x"}
    ),
    "createProduct": Case(
        "/products/",
        {"name": "Basket", "unit_amount": 500, "currency": "XAF"},
        {"name": "", "unit_amount": 5, "images": "x", "active": 1, "metadata.x": None, "unknown": 1},
    ),
    "updateProduct": Case(
        "/products/{product}/",
        {},
        {"name": "", "unit_amount": 10**9, "active": 1, "metadata": TOO_MANY, "currency": "EUR"},
    ),
    "createSubscriptionPlan": Case(
        "/subscription-plans/",
        {"name": "Box", "amount": 500, "currency": "XAF", "interval": "month"},
        {"name": "", "amount": 5, "interval": "eon", "interval_count": 0, "trial_period_days": -1, "unknown": 1},
    ),
    "updateSubscriptionPlan": Case(
        "/subscription-plans/{plan}/", {}, {"name": "", "description": 1, "metadata": TOO_MANY, "amount": 1}
    ),
    "createSubscription": Case(
        "/subscriptions/",
        {"customer": "{customer}", "unit_amount": 500, "interval": "month"},
        {
            "unit_amount": 5,
            "interval": "eon",
            "product": "{archived}",
            "payment_method": "{method of another}",
            "ends_at": LONG_AGO,
            "trial_period_days": -1,
            "unknown": 1,
        },
    ),
    "createSubscription on a plan": Case(
        "/subscriptions/",
        {"customer": "{anonymous}", "plan": "{plan}"},
        {"unit_amount": 500, "interval": "year", "interval_count": 7, "currency": "EUR", "ends_at": LONG_AGO},
    ),
    "updateSubscription": Case(
        "/subscriptions/{subscription}/",
        {},
        {
            "payment_method": "{method of another}",
            "plan": "{yearly}",
            "collection_method": "x",
            "metadata": TOO_MANY,
            "unit_amount": 1,
        },
    ),
    "cancelSubscription": Case(
        "/subscriptions/{subscription}/cancel/", {}, {"cancel_at_period_end": "yes", "unknown": 1}
    ),
    "createSecurityProfile": Case(
        "/security-profiles/",
        {"name": "Office"},
        {
            "name": "",
            "allowed_ips.0": "10.0.0.1/8",
            "allowed_domains.0": "https://x",
            "max_amount": 0.5,
            "blocked_countries.0": "Gabon",
            "unknown": 1,
        },
    ),
    "updateSecurityProfile": Case(
        "/security-profiles/{profile}/",
        {},
        {"name": "", "allowed_ips.0": "10.0.0.1/8", "allowed_payment_methods.0": "cash", "livemode": True},
    ),
    "createInvoice": Case(
        "/invoices/",
        {"customer": "{customer}", "line_items": [{"product": "{product}"}, {"description": "x", "unit_amount": 1}]},
        {
            "line_items.0.product": "{archived}",
            "line_items.1.unit_amount": 10**9,
            "line_items.1.quantity": 0,
            "due_date": "2020-01-01",
            "footer": 1,
            "unknown": 1,
        },
    ),
    "updateInvoice": Case(
        "/invoices/{draft}/",
        {},
        {"currency": "EUR", "due_date": "2020-01-01", "footer": 1, "metadata": TOO_MANY, "customer": "x"},
    ),
    "finalizeInvoice": Case("/invoices/{draft}/finalize/", {}, {"auto_send": "yes", "unknown": 1}),
    "createRefund": Case(
        "/refunds/",
        {"transaction": "{deposit}", "amount": 500},
        {"amount": 10**6, "reason": "x", "description": 1, "metadata.x": [], "unknown": 1},
    ),
    "createCheckoutSession": Case(
        "/checkout-sessions/",
        {"currency": "XAF", "customer": "{customer}", "line_items": [{"product": "{product}"}]},
        {
            "success_url": "x",
            "customer_email": "a@example.com",
            "line_items.0.product": "{archived}",
            "subscription_data": {"interval": "month"},
            "expires_in": 1,
            "unknown": 1,
        },
    ),
    "createCheckoutSession that subscribes": Case(
        "/checkout-sessions/",
        {"currency": "XAF", "mode": "subscription", "line_items": [{"description": "x", "unit_amount": 500}]},
        {"line_items.0.unit_amount": 10**9, "subscription_data.interval": "eon", "cancel_url": "x", "expires_in": 1},
    ),
    "createPaymentLink": Case(
        "/payment-links/",
        {"payment_link_type": "custom", "currency": "XAF", "amount": 500},
        {"amount": 5, "max_usage": 3, "expires_at": LONG_AGO, "redirect_url.success": "x", "unknown": 1},
    ),
    "createPaymentLink to products": Case(
        "/payment-links/",
        {"currency": "XAF", "products": ["{product}"]},
        {"products.0": "{archived}", "max_usage": 3, "payment_method_types.0": "cash", "allow_quantity": "yes"},
    ),
    "updatePaymentLink": Case(
        "/payment-links/{link}/",
        {},
        {"max_usage": 3, "expires_at": LONG_AGO, "name": 1, "metadata": TOO_MANY, "amount": 500},
    ),
    "updateTransaction": Case(
        "/transactions/{deposit}/", {}, {"description": 1, "metadata": TOO_MANY, "amount": 1, "unknown": 1}
    ),
    "createWebhook": Case(
        "/webhooks/",
        {"name": "Shop", "url": "https://shop.example/", "events": ["*"]},
        {
            "name": "",
            "url": "http://shop.example/",
            "events.0": "x",
            "retry_policy.max_attempts": 11,
            "ssl_verification": 1,
        },
    ),
    "updateWebhook": Case(
        "/webhooks/{webhook}/",
        {},
        {"name": "", "url": "http://shop.example/", "events.0": "x", "metadata": TOO_MANY, "enabled": False},
    ),
    "testWebhook": Case("/webhooks/{webhook}/test/", {}, {"event": "x", "unknown": 1}),
    "createPaymentIntent": Case(
        "/payment-intents/",
        {"amount": 500, "currency": "XAF", "customer": "{customer}"},
        {"amount": 5, "payment_method": "{method of another}", "customer_email": "x", "capture_method": "x"},
    ),
    "confirmPaymentIntent": Case(
        "/payment-intents/{intent}/confirm/", {}, {"payment_method": "{method of another}", "unknown": 1}
    ),
    "capturePaymentIntent": Case("/payment-intents/{authorised}/capture/", {}, {"amount": 10**6, "unknown": 1}),
    "createPaymentMethod": Case(
        "/payment-methods/",
        {"customer": "{customer}", **CARD},
        {"number": "4242 4242 4242 4241", "exp_year": 2020, "cvc": "x", "iban": "x", "phone": "+24177000000"},
    ),
}
"""By operationId, and more after a space where one request cannot show every rule."""


def by_the_document(name: str) -> Case:
    """Return the case of an operation about which no more is known: its example, and each field of another type."""
    [(path, operation)] = [
        (path, operation)
        for path, item in bundles.load("service")["paths"].items()
        for operation in item.values()
        if isinstance(operation, dict) and operation.get("operationId") == name
    ]
    fields = operation_specs()[name].fields.names
    example = operation["requestBody"]["content"]["application/json"]["example"]
    return Case(path, example, {**{field: [{}] for field in fields}, "unknown": 1})


WITH_A_BODY = {name for name, spec in operation_specs().items() if spec.fields.names}

CASES: Mapping[str, Case] = {
    **WRITTEN,
    **{name: by_the_document(name) for name in sorted(WITH_A_BODY - {each.partition(" ")[0] for each in WRITTEN})},
}


@pytest.fixture
def ids(sandbox: Sandbox) -> dict[str, str]:
    """The objects that the cases refer to."""
    api = sandbox.api
    customer, other = sandbox.customer(phone="+24177000010", metadata=FULL), sandbox.customer()
    plan = sandbox.plan(metadata=FULL)["id"]
    card = sandbox.method(customer)
    line = {"product": sandbox.product()["id"]}
    objects = {
        "customer": customer,
        "address": api.post(
            f"/customers/{customer['id']}/addresses/", {"line1": "Rue 1", "city": "Libreville", "country": "GA"}
        ),
        "product": sandbox.product(metadata=FULL),
        "archived": sandbox.product(active=False),
        "yearly": sandbox.plan(interval="year"),
        "subscription": api.post("/subscriptions/", {"customer": customer["id"], "plan": plan, "metadata": FULL}),
        "profile": api.post("/security-profiles/", {"name": "Office"}),
        "draft": api.post("/invoices/", {"customer": customer["id"], "line_items": [line], "metadata": FULL}),
        "method of another": sandbox.method(other),
        "link": sandbox.link(metadata=FULL),
        "webhook": sandbox.endpoint(f"{sandbox.url}/_emulator/inbox/shop?app={sandbox.key[8:]}", metadata=FULL),
        "intent": sandbox.intent(card),
        "authorised": sandbox.pay(card, capture_method="manual"),
        "deposit": sandbox.deposit(card, metadata=FULL),
    }
    anonymous = sandbox.buy(sandbox.session())["customer"]
    return {**{name: each["id"] for name, each in objects.items()}, "plan": plan, "anonymous": anonymous}


def with_value(body: Any, path: str, value: Any) -> Any:
    """Return the body with a value at a dotted path; a list that is not there is made."""
    name, _, rest = path.partition(".")
    if isinstance(body, list):
        entries = body or [None]
        own = with_value(entries[int(name)], rest, value) if rest else value
        return [*entries[: int(name)], own, *entries[int(name) + 1 :]]
    own = body.get(name, [] if rest[:1].isdigit() else {})
    return {**body, name: with_value(own, rest, value) if rest else value}


def method_of(name: str) -> str:
    return "PATCH" if name.startswith("update") else "POST"


def violations(sandbox: Sandbox, method: str, path: str, body: Any) -> tuple[str, set[str]]:
    """Return the code and the fields that an invalid request is answered with."""
    answer = sandbox.api.request(method, path, json=body).json()
    error = answer.get("error", answer)
    return error["code"], set(error["errors"]) if "errors" in error else {error["param"]}


ALWAYS = {"createSubscription on a plan": {"customer"}}
"""What is invalid in every request of a case: a customer without an email is another field's violation each time."""


@pytest.mark.parametrize("name", CASES)
def test_any_two_violations_are_reported_together(sandbox: Sandbox, ids: dict[str, str], name: str) -> None:
    case, always = CASES[name], ALWAYS.get(name, set())
    method, path = method_of(name), filled(case.path, ids.__getitem__)
    for field, value in case.invalid.items():
        body = filled(with_value(copy.deepcopy(case.valid), field, value), ids.__getitem__)
        code, fields = violations(sandbox, method, path, body)
        assert fields == {field, *always}, field
        assert always or code == "INVALID_FIELD" or field.endswith("amount"), code
    for one, two in combinations(case.invalid, 2):
        body = case.valid
        for field in (one, two):
            body = with_value(body, field, case.invalid[field])
        answer = sandbox.api.rejected(method, path, 422, "VALIDATION_ERROR", json=filled(body, ids.__getitem__))
        assert set(answer["errors"]) == {one, two, *always}, (one, two)


# -- violations of several kinds

SESSION = {"mode": "payment", "currency": "XAF", "success_url": "https://shop.example/ok"}

TOGETHER: Mapping[str, tuple[str, dict[str, Any], set[str]]] = {
    "product: a price of no valid type is not judged": (
        "/products/",
        {"name": "x", "currency": "GBP", "unit_amount": 5, "price_type": "nope"},
        {"price_type", "currency"},
    ),
    "product: currency, money": (
        "/products/",
        {"name": "x", "currency": "GBP", "unit_amount": 0},
        {"currency", "unit_amount"},
    ),
    "session": (
        "/checkout-sessions/",
        {
            **SESSION,
            "expires_in": 1,
            "customer": "{customer}",
            "customer_email": "a@example.com",
            "subscription_data": {"interval": "month"},
            "line_items": [
                {"unit_amount": 500},
                {"description": "y"},
                {"product": "{archived}", "quantity": 0},
                {"product": "{product}", "description": "z", "unit_amount": 700},
                {"plan": "{plan}", "description": "z"},
            ],
        },
        {
            *("expires_in", "customer_email", "subscription_data", "line_items.0.description"),
            *("line_items.1.unit_amount", "line_items.2.product", "line_items.2.quantity"),
            *("line_items.3.description", "line_items.3.unit_amount", "line_items.4.plan", "line_items.4.description"),
        },
    ),
    "session without a currency": (
        "/checkout-sessions/",
        {"success_url": "https://shop.example/ok", "line_items": [{"description": "y"}]},
        {"currency", "line_items.0.unit_amount"},
    ),
    "invoice": (
        "/invoices/",
        {
            "customer": "{customer}",
            "currency": "GBP",
            "due_date": "2020-01-01",
            "footer": 1,
            "line_items": [{"description": "x"}, {"product": "{archived}"}],
        },
        {"currency", "due_date", "footer", "line_items.0.unit_amount", "line_items.1.product"},
    ),
    "subscription": (
        "/subscriptions/",
        {
            "customer": "{customer}",
            "plan": "{plan}",
            "unit_amount": 500,
            "interval": "year",
            "currency": "EUR",
            "ends_at": "2020-01-01T00:00:00Z",
            "collection_method": "nope",
        },
        {"unit_amount", "interval", "currency", "ends_at", "collection_method"},
    ),
    "subscription without a plan": (
        "/subscriptions/",
        {"unit_amount": 5, "product": "{archived}", "ends_at": "2020-01-01T00:00:00Z"},
        {"customer", "interval", "unit_amount", "product", "ends_at"},
    ),
    "link to products": (
        "/payment-links/",
        {"payment_link_type": "product", "products": ["{product}", "{archived}"], "currency": "EUR", "name": 1},
        {"products.0", "products.1", "name"},
    ),
}
"""Bodies that break rules of several kinds, and the fields at fault."""


@pytest.mark.parametrize("case", TOGETHER)
def test_all_are_reported_at_once(sandbox: Sandbox, ids: dict[str, str], case: str) -> None:
    path, body, fields = TOGETHER[case]
    answer = sandbox.api.rejected(
        "POST", filled(path, ids.__getitem__), 422, "VALIDATION_ERROR", json=filled(body, ids.__getitem__)
    )
    assert set(answer["errors"]) == fields
    assert "param" not in answer


def test_two_rules_about_one_field_are_one_invalid_field(sandbox: Sandbox, ids: dict[str, str]) -> None:
    line = {"plan": ids["plan"]}
    body = {**SESSION, "line_items": [line, line]}
    answer = sandbox.api.rejected("POST", "/checkout-sessions/", 422, "VALIDATION_ERROR", json=body)
    assert len(answer["errors"]["line_items.1.plan"]) == 2


def invalid(value: Any) -> Any:
    """Return a value of another type."""
    return {} if isinstance(value, str | int | bool | list) else "x"


@pytest.mark.parametrize("name", CASES)
def test_rules_cope_with_any_field_that_is_invalid_or_missing(sandbox: Sandbox, ids: dict[str, str], name: str) -> None:
    """Beside every violation of the case, which are reported at once."""
    case, body = CASES[name], CASES[name].valid
    for field, value in case.invalid.items():
        body = with_value(body, field, value)
    method, path, body = method_of(name), filled(case.path, ids.__getitem__), filled(body, ids.__getitem__)
    answer = sandbox.api.rejected(method, path, 422, "VALIDATION_ERROR", json=body)
    assert set(answer["errors"]) == {*case.invalid, *ALWAYS.get(name, ())}
    for field in body:
        for changed in ({**body, field: invalid(body[field])}, {key: body[key] for key in body if key != field}):
            answer = sandbox.api.request(method, path, json=changed).json()
            assert field not in changed or field in answer.get("errors", {answer.get("param"): ""}), changed


def test_a_missing_object_is_reported_once_the_fields_are_right(sandbox: Sandbox) -> None:
    """B-05: parameters and body come before objects."""
    body = {"customer": "cust_none", "line_items": [{"product": "prod_none"}, {"description": "x"}]}
    answer = sandbox.api.rejected("POST", "/invoices/", 422, "MISSING_FIELD", json=body)
    assert set(answer["errors"]) == {"line_items.1.unit_amount"}
    body["line_items"] = [{"product": "prod_none"}]
    sandbox.api.rejected("POST", "/invoices/", 404, "CUSTOMER_NOT_FOUND", json=body)


def test_each_operation_on_an_object_and_each_check_has_its_case() -> None:
    """No rule is added whose violations mask each other; of the others the document says enough."""
    assert [name for name, case in CASES.items() if "{id}" in case.path] == []
    assert CHECKS.keys() <= {name.partition(" ")[0] for name in WRITTEN}


def test_each_rule_for_metadata_has_its_case() -> None:
    """B-22: the number of keys is judged with those that the object has already."""
    updates = {
        name
        for name, spec in operation_specs().items()
        if name.startswith("update") and "metadata" in spec.fields.names
    }
    assert {name for name in CASES if CASES[name].invalid.get("metadata") == TOO_MANY} == updates


@pytest.mark.parametrize("name", [name for name in CASES if name.startswith("update")])
def test_a_change_of_nothing_changes_nothing(sandbox: Sandbox, ids: dict[str, str], name: str) -> None:
    """B-21: 200, and ``updated_at`` stays; a body may be left out."""
    path = filled(CASES[name].path, ids.__getitem__)
    before = sandbox.api.get(path)
    sandbox.advance("1h")
    for body in ({}, None):
        assert sandbox.api.patch(path, body) == sandbox.api.get(path) == before


OPERATIONS = [
    (method.upper(), path)
    for path, item in bundles.load("service")["paths"].items()
    for method, operation in item.items()
    if isinstance(operation, dict)
]


@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_every_unknown_parameter_and_field_is_reported(sandbox: Sandbox, method: str, path: str) -> None:
    """Of every operation, those without a body or a query included."""
    url = re.sub(r"\{\w+\}", "x", path) + "?one=1&two=2"
    takes_a_body = method in ("POST", "PATCH")
    body = {"three": 3, "four": 4} if takes_a_body else None
    code = "VALIDATION_ERROR" if takes_a_body else "INVALID_FILTER_PARAM"
    answer = sandbox.api.rejected(method, url, 422, code, json=body)
    assert {"one", "two", *(body or ())} <= set(answer["errors"])


# -- What the API says of a value in the wrong format: how a right one is written


URL = "must be an http:// or https:// URL"
PAGE = "must be an https:// URL; http:// is for loopback hosts only"
APP = "must be an http:// or https:// URL, or one of an app's own scheme such as myapp://thanks"
SPACE = "must have no spaces or control characters; a space is written %20"
HOST = "must have a host of ASCII letters, digits, '.', '_' and '-'; other letters are written as xn--…"
PASSWORD = "must have no user name or password in it; they would show up in logs"
RETURN, WEBHOOK = ("/checkout-sessions/", "success_url"), ("/webhooks/", "url")
PHONE = "must be a phone number in E.164 form: + and 7 to 15 digits, no spaces or dashes"
EMAIL = "must be an email address of at most 254 characters, such as name@example.com"
INSTANT = "must be an ISO 8601 date or instant, such as 2026-01-31 or 2026-01-31T09:30:00Z"
DOMAIN = "must be a bare domain name: no protocol, port, path or wildcard"
COUNTRY = "must be an ISO 3166-1 alpha-2 code in upper case"
NO_COUNTRIES = ("AC", "CP", "CQ", "DG", "EA", "EU", "EZ", "IC", "QO", "TA", "UN", "XA", "XB", "XK", "ZZ")
"""Codes that the CLDR knows and ISO 3166-1 does not assign to a country."""
NETWORK = "must be an IPv4 address or a CIDR range without host bits"


@pytest.mark.parametrize(
    ("path", "field", "value", "message"),
    [
        ("/customers/", "email", "awa", EMAIL),
        ("/customers/", "name", " ", "must not be blank"),
        ("/customers/", "phone", "077 12 34 56", PHONE),
        (*RETURN, "shop.example.com", APP),
        (*RETURN, "https:/shop.example.com", APP),
        (*RETURN, "javascript://shop.example.com/%0aalert(1)", APP),
        *((*RETURN, f"{scheme}://x", APP) for scheme in ("data", "vbscript", "file", "blob", "about", "ftp")),
        (*RETURN, "HTTPS://shop.example.com/", "must have its scheme in lower case, such as https://"),
        (*RETURN, "https://münchen.example/", HOST),
        (*RETURN, "https://a;b/", HOST),
        (*RETURN, "https://shop.example.com/a b", SPACE),
        (*RETURN, "https://shop.example.com:99999/", "must have a port of at most 65535"),
        (*RETURN, "https://shop.example.com:x/", "must have a port of at most 65535"),
        (*RETURN, "https:///thanks", "must have a host after ://"),
        (*RETURN, "https://[::1/", "must have an IPv6 address in its brackets"),
        (*RETURN, "https://[::z]/", "must have an IPv6 address in its brackets"),
        (*RETURN, "https://awa:secret@shop.example.com/", PASSWORD),
        (*WEBHOOK, "https://awa:secret@shop.example.com/", PASSWORD),
        (*WEBHOOK, "myapp://hooks", URL),
        (*WEBHOOK, "Http://localhost/", "must have its scheme in lower case, such as https://"),
        ("/checkout-sessions/", "cancel_url", "http://shop.example.com", PAGE),
        ("/checkout-sessions/", "cancel_url", "myapp://cart", PAGE),
        ("/products/", "images", ["http://localhost/a.png"], "must be an https:// URL"),
        ("/invoices/", "due_date", "31/01/2026", "must be a date YYYY-MM-DD"),
        ("/payment-intents/", "currency", "xaf", "must be an ISO 4217 code in upper case"),
        ("/payment-links/", "expires_at", "2026-01-31 09:30:00Z", INSTANT),
        ("/customers/", "name", 7, "must be a string"),
        ("/invoices/", "customer", {}, "must be a string"),
        ("/invoices/", "line_items", {}, "must be an array"),
        ("/invoices/", "metadata", [], "must be an object"),
        ("/payment-intents/", "amount", "5000", "must be an integer"),
        ("/subscription-plans/", "interval", "decade", "must be one of day, week, month, year"),
        ("/security-profiles/", "allowed_domains", ["https://shop.example.com"], DOMAIN),
        ("/security-profiles/", "allowed_ips", ["10.0.0.1/8"], NETWORK),
        ("/security-profiles/", "blocked_countries", ["kp"], COUNTRY),
        *(("/security-profiles/", "blocked_countries", [region], COUNTRY) for region in NO_COUNTRIES),
    ],
)
def test_a_message_says_how_a_value_is_written(
    sandbox: Sandbox, path: str, field: str, value: Any, message: str
) -> None:
    error = sandbox.api.rejected("POST", path, 422, "VALIDATION_ERROR", json={field: value})
    [said] = [
        messages for name, messages in error["errors"].items() if name.partition("[")[0].partition(".")[0] == field
    ]
    assert said == [message]
