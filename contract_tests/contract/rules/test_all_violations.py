"""B-12: everything that is wrong with a request is reported at once, whatever kind of rule it breaks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from contract_tests.support.sandbox import Sandbox

AWA = {"email": "awa@example.com", "name": "Awa Diop"}
SESSION = {"mode": "payment", "currency": "XAF", "success_url": "https://shop.example/ok"}
CARD = {"type": "bank_card", "number": "4242424242424241", "exp_month": 1, "exp_year": 2020, "cvc": "123"}

CASES: Mapping[str, tuple[str, dict[str, Any], set[str]]] = {
    "product: form, money": ("/products/", {"currency": "XAF", "unit_amount": 5}, {"name", "unit_amount"}),
    "product: form, form, money": (
        "/products/",
        {"currency": "XAF", "unit_amount": 5, "images": ["http://x"]},
        {"name", "images.0", "unit_amount"},
    ),
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
    "plan": (
        "/subscription-plans/",
        {"currency": "XAF", "amount": 5, "interval": "eon"},
        {"name", "interval", "amount"},
    ),
    "address": ("/customers/{customer}/addresses/", {"country": "GB", "city": "x"}, {"line1", "country"}),
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
            "expires_in",
            "customer_email",
            "subscription_data",
            "line_items.0.description",
            "line_items.1.unit_amount",
            "line_items.2.product",
            "line_items.2.quantity",
            "line_items.3.description",
            "line_items.3.unit_amount",
            "line_items.4.plan",
            "line_items.4.description",
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
    "link": (
        "/payment-links/",
        {
            "payment_link_type": "custom",
            "amount": 5,
            "currency": "XAF",
            "max_usage": 3,
            "expires_at": "2020-01-01T00:00:00Z",
            "allow_quantity": "yes",
        },
        {"amount", "max_usage", "expires_at", "allow_quantity"},
    ),
    "link to products": (
        "/payment-links/",
        {"payment_link_type": "product", "products": ["{product}", "{archived}"], "currency": "EUR", "name": 1},
        {"products.0", "products.1", "name"},
    ),
    "webhook": ("/webhooks/", {"url": "http://example.com/", "events": ["nope"]}, {"name", "url", "events.0"}),
    "card": (
        "/payment-methods/",
        {**CARD, "customer": "{customer}", "is_default": "no", "iban": "x"},
        {"number", "exp_year", "is_default", "iban"},
    ),
    "intent": (
        "/payment-intents/",
        {"amount": 5, "currency": "XAF", "customer_email": "nope"},
        {"amount", "customer_email"},
    ),
}


@pytest.fixture
def ids(sandbox: Sandbox) -> dict[str, str]:
    """The objects that the cases refer to."""
    api = sandbox.api
    product = {"name": "Basket", "unit_amount": 5000, "currency": "XAF"}
    plan = {"name": "Box", "amount": 5000, "currency": "XAF", "interval": "month", "interval_count": 1}
    return {
        "customer": api.post("/customers/", AWA)["id"],
        "product": api.post("/products/", product)["id"],
        "archived": api.post("/products/", {**product, "active": False})["id"],
        "plan": api.post("/subscription-plans/", plan)["id"],
    }


def filled(value: Any, ids: Mapping[str, str]) -> Any:
    """Return a value with ``{name}`` replaced by the id of that object."""
    if isinstance(value, str):
        return value.format(**ids)
    if isinstance(value, list):
        return [filled(part, ids) for part in value]
    return {name: filled(part, ids) for name, part in value.items()} if isinstance(value, dict) else value


@pytest.mark.parametrize("case", CASES)
def test_all_are_reported_at_once(sandbox: Sandbox, ids: dict[str, str], case: str) -> None:
    path, body, fields = CASES[case]
    answer = sandbox.api.rejected("POST", filled(path, ids), 422, "VALIDATION_ERROR", json=filled(body, ids))
    assert set(answer["errors"]) == fields
    assert "param" not in answer


def test_those_of_a_change_as_well(sandbox: Sandbox, ids: dict[str, str]) -> None:
    product = sandbox.api.rejected(
        "PATCH", f"/products/{ids['product']}/", 422, "VALIDATION_ERROR", json={"name": "", "unit_amount": 5}
    )
    assert set(product["errors"]) == {"name", "unit_amount"}
    address = sandbox.api.post(
        f"/customers/{ids['customer']}/addresses/", {"line1": "Rue 1", "city": "Libreville", "country": "GA"}
    )
    path = f"/customers/{ids['customer']}/addresses/{address['id']}/"
    answer = sandbox.api.rejected("PATCH", path, 422, "VALIDATION_ERROR", json={"city": "", "country": "GB"})
    assert set(answer["errors"]) == {"city", "country"}


def test_a_single_one_has_its_own_code(sandbox: Sandbox, ids: dict[str, str]) -> None:
    product = {"name": "x", "currency": "XAF", "unit_amount": 500}
    for change, status, code in (
        ({"unit_amount": 5}, 422, "AMOUNT_TOO_SMALL"),
        ({"currency": "GBP"}, 403, "CURRENCY_NOT_IN_PLAN"),
        ({"currency": "FOO"}, 422, "INVALID_CURRENCY"),
    ):
        answer = sandbox.api.rejected("POST", "/products/", status, code, json={**product, **change})
        assert answer["param"] == next(iter(change))
        assert set(answer["errors"]) == set(change)


def test_two_rules_about_one_field_are_one_invalid_field(sandbox: Sandbox, ids: dict[str, str]) -> None:
    line = {"plan": ids["plan"]}
    body = {**SESSION, "line_items": [line, line]}
    answer = sandbox.api.rejected("POST", "/checkout-sessions/", 422, "VALIDATION_ERROR", json=body)
    assert len(answer["errors"]["line_items.1.plan"]) == 2


def invalid(value: Any) -> Any:
    """Return a value of another type."""
    return {} if isinstance(value, str | int | bool | list) else "x"


@pytest.mark.parametrize("case", CASES)
def test_rules_cope_with_any_field_that_is_invalid_or_missing(sandbox: Sandbox, ids: dict[str, str], case: str) -> None:
    path, body, _ = CASES[case]
    path, body = filled(path, ids), filled(body, ids)
    for name in body:
        for changed in ({**body, name: invalid(body[name])}, {key: body[key] for key in body if key != name}):
            answer = sandbox.api.request("POST", path, json=changed)
            assert answer.status_code in (403, 422), changed
            assert name not in changed or name in answer.json()["errors"]


def test_a_missing_object_is_reported_once_the_fields_are_right(sandbox: Sandbox) -> None:
    """B-05: parameters and body come before objects."""
    body = {"customer": "cust_none", "line_items": [{"product": "prod_none"}, {"description": "x"}]}
    answer = sandbox.api.rejected("POST", "/invoices/", 422, "MISSING_FIELD", json=body)
    assert set(answer["errors"]) == {"line_items.1.unit_amount"}
    body["line_items"] = [{"product": "prod_none"}]
    sandbox.api.rejected("POST", "/invoices/", 404, "CUSTOMER_NOT_FOUND", json=body)
