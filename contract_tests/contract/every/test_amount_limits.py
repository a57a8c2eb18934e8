"""The limits of amounts (B-23): at every entrance of a price they measure what the client sends, before tax."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from contract_tests.support.sandbox import CARD, Sandbox

MOST = 99_999_999

Entrance = Callable[[Sandbox, int], tuple[str, str, dict[str, Any]]]
"""The request (method, path, body) by which a price enters."""


def lines(*amounts: int) -> list[dict[str, Any]]:
    return [{"description": "Basket", "unit_amount": amount} for amount in amounts]


def customer(sandbox: Sandbox) -> str:
    return str(sandbox.customer(phone="+24177000000")["id"])


def unlimited(sandbox: Sandbox, make: Callable[[], Any]) -> str:
    """Return the id of an object made while the App has other limits."""
    sandbox.settings(minimum_amount=1, maximum_amount=10**9)
    made = make()
    sandbox.settings(minimum_amount=100, maximum_amount=MOST)
    return str(made["id"])


def subscription(sandbox: Sandbox, amount: int) -> tuple[str, str, dict[str, Any]]:
    return "POST", "/subscriptions/", {"customer": customer(sandbox), "interval": "month", "unit_amount": amount}


def subscription_to_plan(sandbox: Sandbox, amount: int) -> tuple[str, str, dict[str, Any]]:
    plan = unlimited(sandbox, lambda: sandbox.plan(amount=amount))
    return "POST", "/subscriptions/", {"customer": customer(sandbox), "plan": plan}


def move_to_plan(sandbox: Sandbox, amount: int) -> tuple[str, str, dict[str, Any]]:
    plan = unlimited(sandbox, lambda: sandbox.plan(amount=amount))
    return "PATCH", f"/subscriptions/{sandbox.subscribe()['id']}/", {"plan": plan}


def link_to_product(sandbox: Sandbox, amount: int) -> tuple[str, str, dict[str, Any]]:
    product = unlimited(sandbox, lambda: sandbox.product(unit_amount=amount))
    return "POST", "/payment-links/", {"currency": "XAF", "products": [product]}


PRODUCT = {"name": "Basket", "currency": "XAF"}
PLAN = {"name": "Basic", "currency": "XAF", "interval": "month"}
ENTRANCES: dict[str, tuple[Entrance, str]] = {
    "product": (lambda _, amount: ("POST", "/products/", {**PRODUCT, "unit_amount": amount}), "unit_amount"),
    "product's new price": (
        lambda sandbox, amount: ("PATCH", f"/products/{sandbox.product()['id']}/", {"unit_amount": amount}),
        "unit_amount",
    ),
    "plan": (lambda _, amount: ("POST", "/subscription-plans/", {**PLAN, "amount": amount}), "amount"),
    "subscription": (subscription, "unit_amount"),
    "subscription to a plan": (subscription_to_plan, "plan"),
    "move to a plan": (move_to_plan, "plan"),
    "session": (
        lambda sandbox, amount: (
            "POST",
            "/checkout-sessions/",
            sandbox.session_body(line_items=lines(50, amount - 50)),
        ),
        "line_items",
    ),
    "session that subscribes": (
        lambda sandbox, amount: (
            *("POST", "/checkout-sessions/"),
            sandbox.session_body(mode="subscription", line_items=lines(50, amount - 50)),
        ),
        "line_items",
    ),
    "link": (lambda sandbox, amount: ("POST", "/payment-links/", sandbox.link_body(amount=amount)), "amount"),
    "link to a product": (link_to_product, "products.0"),
    "payment intent": (
        lambda _, amount: ("POST", "/payment-intents/", {"currency": "XAF", "amount": amount}),
        "amount",
    ),
}
"""Each with the field that an error names."""


def invoice_update(sandbox: Sandbox, amount: int) -> tuple[str, str, dict[str, Any]]:
    draft = sandbox.draft(line_items=lines(1))
    return "PATCH", f"/invoices/{draft['id']}/", {"line_items": lines(50, amount - 50)}


INVOICES: dict[str, tuple[Entrance, str]] = {
    "invoice": (
        lambda sandbox, amount: (
            *("POST", "/invoices/"),
            {"customer": customer(sandbox), "line_items": lines(50, amount - 50)},
        ),
        "line_items",
    ),
    "invoice's new lines": (invoice_update, "line_items"),
}


@pytest.mark.parametrize("name", [*ENTRANCES, *INVOICES])
def test_the_largest_amount_is_taken_whatever_the_tax(sandbox: Sandbox, name: str) -> None:
    """B-23: "Both limits measure what the client sends (one amount, or the sum of the lines after a discount), before
    tax, wherever that price enters: creation, a change of plan or price, a session, a link".
    """
    sandbox.settings(tax_rate=18)
    enter, field = {**ENTRANCES, **INVOICES}[name]
    method, path, body = enter(sandbox, MOST)
    assert sandbox.api.request(method, path, json=body).is_success
    method, path, body = enter(sandbox, MOST + 1)
    error = sandbox.api.rejected(method, path, 422, "AMOUNT_TOO_LARGE", json=body)
    measured = "" if field.endswith("amount") else f"comes to {MOST + 1}; "
    assert error["errors"] == {field: [f"{measured}must be at most {MOST}"]}, "names the figure that was measured"


@pytest.mark.parametrize("name", ENTRANCES)
def test_the_smallest_amount_likewise(sandbox: Sandbox, name: str) -> None:
    """B-23, for what is charged at once."""
    enter, field = ENTRANCES[name]
    method, path, body = enter(sandbox, 100)
    assert sandbox.api.request(method, path, json=body).is_success
    method, path, body = enter(sandbox, 99)
    error = sandbox.api.rejected(method, path, 422, "AMOUNT_TOO_SMALL", json=body)
    measured = "" if field.endswith("amount") else "comes to 99; "
    assert error["errors"] == {field: [f"{measured}must be at least 100"]}


def test_a_total_with_tax_may_exceed_the_maximum(sandbox: Sandbox) -> None:
    """B-23: at finalization, on its page, at a renewal and in a session that subscribes."""
    body = {"customer": customer(sandbox), "line_items": lines(MOST)}
    draft = sandbox.api.post("/invoices/", body)
    sandbox.subscribe(unit_amount=MOST, interval="month")
    sandbox.advance("1d")
    sandbox.settings(tax_rate=10)
    invoice = sandbox.api.post(f"/invoices/{draft['id']}/finalize/")
    assert invoice["total"] == 109_999_999
    assert sandbox.buy(sandbox.api.get(f"/invoices/{draft['id']}/"), CARD)["amount_received"] == 109_999_999
    session = sandbox.session(mode="subscription", customer=customer(sandbox), line_items=lines(MOST))
    assert sandbox.buy(session, CARD)["amount_received"] == 109_999_999
    sandbox.advance("31d")
    renewals = [each for each in sandbox.api.get("/payment-intents/")["data"] if each["amount"] == 109_999_999]
    assert [each["status"] for each in renewals] == ["succeeded"] * 4


def test_a_captured_part_and_an_invoice_may_be_below_the_minimum(sandbox: Sandbox) -> None:
    """B-23."""
    intent = sandbox.pay(capture_method="manual")
    captured = sandbox.api.post(f"/payment-intents/{intent['id']}/capture/", {"amount": 1})
    assert captured["amount_received"] == 1
    assert sandbox.buy(sandbox.invoice(line_items=lines(50)), CARD)["amount_received"] == 50


@pytest.mark.parametrize("amount", [0, -5, MOST + 1])
@pytest.mark.parametrize("currency", [..., "franc", "GBP"])
@pytest.mark.parametrize("name", ["product", "plan", "session", "link", "payment intent"])
def test_an_amount_that_no_currency_allows_is_reported_beside_a_wrong_currency(
    sandbox: Sandbox, name: str, currency: Any, amount: int
) -> None:
    """B-12: "An amount that no currency allows (0, negative, above the maximum) is reported also where the currency is
    missing or wrong".
    """
    enter, field = ENTRANCES[name]
    method, path, body = enter(sandbox, amount)
    if name == "session":
        body["line_items"] = lines(amount)
        field = "line_items.0.unit_amount" if amount != 0 else field
    body = {key: value for key, value in {**body, "currency": currency}.items() if value is not ...}
    error = sandbox.api.rejected(method, path, 422, "VALIDATION_ERROR", json=body)
    assert {"currency", field} <= error["errors"].keys()
    assert any(limit in error["errors"][field][0] for limit in ("at least", "at most")), error["errors"]
