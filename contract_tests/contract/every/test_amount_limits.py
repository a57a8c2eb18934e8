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


def plan_at(sandbox: Sandbox, amount: int) -> str:
    return unlimited(sandbox, lambda: sandbox.plan(amount=amount))


def post(path: str, body: Callable[[Sandbox, int], dict[str, Any]]) -> Entrance:
    return lambda sandbox, amount: ("POST", f"/{path}/", body(sandbox, amount))


def change(path: str, made: Callable[[Sandbox], Any], body: Callable[[Sandbox, int], dict[str, Any]]) -> Entrance:
    return lambda sandbox, amount: ("PATCH", f"/{path}/{made(sandbox)['id']}/", body(sandbox, amount))


PRODUCT = {"name": "Basket", "currency": "XAF"}
PLAN = {"name": "Basic", "currency": "XAF", "interval": "month"}
ENTRANCES: dict[str, tuple[Entrance, str]] = {
    "product": (post("products", lambda _, amount: {**PRODUCT, "unit_amount": amount}), "unit_amount"),
    "product's new price": (change("products", Sandbox.product, lambda _, amount: {"unit_amount": amount}), "unit_amount"),
    "plan": (post("subscription-plans", lambda _, amount: {**PLAN, "amount": amount}), "amount"),
    "subscription": (
        post("subscriptions", lambda world, amount: {"customer": customer(world), "interval": "month", "unit_amount": amount}),
        "unit_amount",
    ),
    "subscription to a plan": (
        post("subscriptions", lambda world, amount: {"customer": customer(world), "plan": plan_at(world, amount)}),
        "plan",
    ),
    "move to a plan": (
        change("subscriptions", Sandbox.subscribe, lambda world, amount: {"plan": plan_at(world, amount)}),
        "plan",
    ),
    "session": (
        post("checkout-sessions", lambda world, amount: world.session_body(line_items=lines(50, amount - 50))),
        "line_items",
    ),
    "session that subscribes": (
        post(
            "checkout-sessions",
            lambda world, amount: world.session_body(mode="subscription", line_items=lines(50, amount - 50)),
        ),
        "line_items",
    ),
    "link": (post("payment-links", lambda world, amount: world.link_body(amount=amount)), "amount"),
    "link to a product": (
        post("payment-links", lambda world, amount: {"currency": "XAF", "products": [
            unlimited(world, lambda: world.product(unit_amount=amount))
        ]}),
        "products.0",
    ),
    "payment intent": (post("payment-intents", lambda _, amount: {"currency": "XAF", "amount": amount}), "amount"),
}  # fmt: skip
"""Each with the field that an error names."""

INVOICES: dict[str, tuple[Entrance, str]] = {
    "invoice": (
        post("invoices", lambda world, amount: {"customer": customer(world), "line_items": lines(50, amount - 50)}),
        "line_items",
    ),
    "invoice's new lines": (
        change("invoices", Sandbox.draft, lambda _, amount: {"line_items": lines(50, amount - 50)}),
        "line_items",
    ),
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
