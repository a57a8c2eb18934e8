"""Products: what they cost, what identifies them, how they are archived and brought back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from contract_tests.support.sandbox import START, Sandbox

BASKET = {"name": "Basket", "unit_amount": 2000, "currency": "XAF"}
IMAGE = "https://shop.example.com/basket.webp"


def rejected(sandbox: Sandbox, status: int, code: str, **fields: Any) -> Any:
    """Return the error of a product that is not created."""
    error = sandbox.api.rejected("POST", "/products/", status, code, json={**BASKET, **fields})
    assert set(error["errors"]) == {error["param"]}
    assert sandbox.api.get("/products/")["data"] == []
    return error


def names(sandbox: Sandbox, **query: Any) -> list[str]:
    return [product["name"] for product in sandbox.api.pages("/products/", **query)]


# POST


def test_a_product_is_made_with_everything_given(sandbox: Sandbox) -> None:
    """Product fields."""
    fields = {
        "name": "Raphia basket",
        "description": "Woven by hand.",
        "images": [IMAGE, "https://shop.example.com/side.png"],
        "unit_amount": 15000,
        "currency": "XOF",
        "price_type": "free",
        "active": False,
        "metadata": {"sku": "BSK-30"},
    }
    with sandbox.expect():
        product = sandbox.api.post("/products/", fields)
    assert product == {
        "id": product["id"],
        "object": "product",
        "app": product["app"],
        **fields,
        "livemode": False,
        "created_at": START,
        "updated_at": START,
    }
    assert sandbox.api.get(f"/products/{product['id']}/") == product


def test_what_is_left_out_has_its_default(sandbox: Sandbox) -> None:
    """price_type fixed (B-33), active true."""
    product = sandbox.product()
    assert (product["price_type"], product["active"]) == ("fixed", True)
    assert (product["description"], product["images"], product["metadata"]) == (None, [], {})


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", "n" * 255),
        ("name", "é" * 255),
        ("description", "d" * 2000),
        ("description", ""),
        ("images", [f"{IMAGE}?{number}" for number in range(8)]),
    ],
)
def test_at_the_limit(sandbox: Sandbox, field: str, value: Any) -> None:
    """Name 255 characters, description 2000, 8 images (Limits)."""
    assert sandbox.product(**{field: value})[field] == value


@pytest.mark.parametrize(
    ("field", "value", "param"),
    [
        ("name", "n" * 256, "name"),
        ("name", "", "name"),
        ("name", "  ", "name"),
        ("name", None, "name"),
        ("description", "d" * 2001, "description"),
        ("description", 5, "description"),
        ("images", [f"{IMAGE}?{number}" for number in range(9)], "images"),
        ("images", IMAGE, "images"),
        ("images", [IMAGE, "http://shop.example.com/basket.webp"], "images.1"),
        ("images", ["basket.webp"], "images.0"),
        ("images", ["https://"], "images.0"),
        ("images", [None], "images.0"),
        ("price_type", "auction", "price_type"),
        ("active", "true", "active"),
        ("unit_amount", "2000", "unit_amount"),
        ("unit_amount", 2000.0, "unit_amount"),
        ("unit_amount", True, "unit_amount"),
        ("unit_amount", None, "unit_amount"),
        ("metadata", [], "metadata"),
    ],
)
def test_a_wrong_field(sandbox: Sandbox, field: str, value: Any, param: str) -> None:
    """Limits; images are HTTPS (B-33); amounts are integers (B-23)."""
    assert rejected(sandbox, 422, "INVALID_FIELD", **{field: value})["param"] == param


# currency and price


@pytest.mark.parametrize("currency", ["xaf", "XA", "ABC", "", "franc"])
def test_a_code_that_is_no_currency(sandbox: Sandbox, currency: str) -> None:
    """B-24."""
    assert rejected(sandbox, 422, "INVALID_CURRENCY", currency=currency)["param"] == "currency"


def test_a_currency_that_is_not_enabled(sandbox: Sandbox) -> None:
    """B-24."""
    assert rejected(sandbox, 403, "CURRENCY_NOT_IN_PLAN", currency="JPY")["param"] == "currency"


@pytest.mark.parametrize(
    ("price_type", "currency", "amount"),
    [
        ("fixed", "EUR", 1),
        ("free", "XAF", 0),
        ("free", "XAF", 99),
        ("free", "XAF", 99_999_999),
    ],
)
def test_the_least_and_the_most_that_may_be_charged(
    sandbox: Sandbox, price_type: str, currency: str, amount: int
) -> None:
    """B-23: 100 in the main currency, 1 in others; of a free price the amount is a suggestion and may be 0 (B-33)."""
    fields = {"price_type": price_type, "currency": currency}
    assert sandbox.product(unit_amount=amount, **fields)["unit_amount"] == amount
    other = sandbox.product(**fields)
    assert sandbox.api.patch(f"/products/{other['id']}/", {"unit_amount": amount})["unit_amount"] == amount


@pytest.mark.parametrize(
    ("price_type", "currency", "amount", "code"),
    [
        ("fixed", "XAF", 0, "AMOUNT_TOO_SMALL"),
        ("fixed", "XAF", -1, "AMOUNT_TOO_SMALL"),
        ("fixed", "EUR", 0, "AMOUNT_TOO_SMALL"),
        ("free", "XAF", -1, "INVALID_FIELD"),
        ("free", "XAF", 100_000_000, "AMOUNT_TOO_LARGE"),
    ],
)
def test_what_may_not_be_charged(sandbox: Sandbox, price_type: str, currency: str, amount: int, code: str) -> None:
    """B-23, on creation and on PATCH."""
    fields = {"price_type": price_type, "currency": currency}
    assert rejected(sandbox, 422, code, unit_amount=amount, **fields)["param"] == "unit_amount"
    product = sandbox.product(**fields)
    path = f"/products/{product['id']}/"
    assert sandbox.api.rejected("PATCH", path, 422, code, json={"unit_amount": amount})["param"] == "unit_amount"
    assert sandbox.api.get(path) == product


def test_the_bounds_are_settings(with_settings: Callable[..., Sandbox]) -> None:
    """B-90."""
    sandbox = with_settings(minimum_amount=500, maximum_amount=600)
    assert [sandbox.product(unit_amount=amount)["unit_amount"] for amount in (500, 600)] == [500, 600]
    for amount, code in ((499, "AMOUNT_TOO_SMALL"), (601, "AMOUNT_TOO_LARGE")):
        sandbox.api.rejected("POST", "/products/", 422, code, json={**BASKET, "unit_amount": amount})


# sku


@pytest.mark.parametrize(("sku", "again"), [("BSK-30", "BSK-30"), (30, 30), (30, "30")])
def test_a_sku_is_taken_once(sandbox: Sandbox, sku: Any, again: Any) -> None:
    """B-34: on creation and on PATCH; by an archived product too."""
    holder = sandbox.product(metadata={"sku": sku})
    sandbox.api.delete(f"/products/{holder['id']}/")
    other = sandbox.product(metadata={"sku": "other"})
    body = {"metadata": {"sku": again}}
    error = sandbox.api.rejected("POST", "/products/", 409, "DUPLICATE_SKU", json={**BASKET, **body})
    assert (error["type"], error["param"]) == ("CONFLICT_ERROR", "metadata.sku")
    path = f"/products/{other['id']}/"
    error = sandbox.api.rejected("PATCH", path, 409, "DUPLICATE_SKU", json={"name": "New", **body})
    assert error["param"] == "metadata.sku"
    assert sandbox.api.get(path) == other


@pytest.mark.parametrize("sku", ["bsk-30", "BSK-3", "BSK-30 "])
def test_another_sku_is_free(sandbox: Sandbox, sku: str) -> None:
    sandbox.product(metadata={"sku": "BSK-30"})
    assert sandbox.product(metadata={"sku": sku})["metadata"] == {"sku": sku}


def test_ones_own_sku_is_free(sandbox: Sandbox) -> None:
    product = sandbox.product(metadata={"sku": "BSK-30"})
    body = {"metadata": {"sku": "BSK-30", "season": "dry"}}
    assert sandbox.api.patch(f"/products/{product['id']}/", body)["metadata"] == body["metadata"]


@pytest.mark.parametrize("sku", [None, "BSK-31"])
def test_a_sku_given_up_is_free_for_others(sandbox: Sandbox, sku: str | None) -> None:
    product = sandbox.product(metadata={"sku": "BSK-30"})
    sandbox.api.patch(f"/products/{product['id']}/", {"metadata": {"sku": sku}})
    assert sandbox.product(metadata={"sku": "BSK-30"})["metadata"] == {"sku": "BSK-30"}


def test_products_without_a_sku_do_not_collide(sandbox: Sandbox) -> None:
    assert sandbox.product()["id"] != sandbox.product()["id"]


# PATCH


def test_only_the_fields_sent_change(sandbox: Sandbox) -> None:
    product = sandbox.product(metadata={"kept": 1, "removed": 2})
    sandbox.advance("1h")
    path = f"/products/{product['id']}/"
    changes = {"name": "Big basket", "unit_amount": 2500, "active": False}
    changed = sandbox.api.patch(path, {**changes, "metadata": {"removed": None, "added": True}})
    assert changed == {**product, **changes, "metadata": {"kept": 1, "added": True}, "updated_at": sandbox.now}
    assert sandbox.api.get(path) == changed


@pytest.mark.parametrize(("field", "value"), [("name", ""), ("name", "n" * 256), ("name", None), ("active", None)])
def test_a_wrong_change(sandbox: Sandbox, field: str, value: Any) -> None:
    path = f"/products/{sandbox.product()['id']}/"
    assert sandbox.api.rejected("PATCH", path, 422, "INVALID_FIELD", json={field: value})["param"] == field


# DELETE


def test_an_archived_product_stays_readable_and_comes_back(sandbox: Sandbox) -> None:
    """200 with exactly id, active and updated_at (B-21); PATCH active: true reactivates."""
    product = sandbox.product()
    path = f"/products/{product['id']}/"
    sandbox.advance("1h")
    with sandbox.expect():
        archived = sandbox.api.delete(path)
    assert archived == {"id": product["id"], "active": False, "updated_at": sandbox.now}
    assert sandbox.api.get(path) == {**product, "active": False, "updated_at": sandbox.now}
    assert sandbox.api.delete(path)["active"] is False
    assert sandbox.api.patch(path, {"active": True})["active"] is True


# GET /products/


def test_products_are_listed_newest_first(sandbox: Sandbox) -> None:
    for name in ("a", "b", "c"):
        sandbox.product(name=name)
    assert names(sandbox) == names(sandbox, ordering="-created_at", page_size=1) == ["c", "b", "a"]
    assert names(sandbox, ordering="created_at") == ["a", "b", "c"]


def test_products_by_name_and_by_price(sandbox: Sandbox) -> None:
    for name, amount in (("b", 100), ("c", 200), ("a", 200)):
        sandbox.product(name=name, unit_amount=amount)
    assert names(sandbox, ordering="name") == ["a", "b", "c"]
    assert names(sandbox, ordering="-name") == ["c", "b", "a"]
    assert names(sandbox, ordering="unit_amount") == ["b", "c", "a"]
    assert names(sandbox, ordering="-unit_amount") == ["a", "c", "b"]  # equal ones are reversed as well (B-17)


def test_products_by_activity_and_currency(sandbox: Sandbox) -> None:
    """Without ``active`` both active and archived ones are returned."""
    for name, currency, active in (("a", "XAF", True), ("b", "EUR", True), ("c", "EUR", False)):
        sandbox.product(name=name, currency=currency, active=active)
    assert names(sandbox) == ["c", "b", "a"]
    assert names(sandbox, active="true") == ["b", "a"]
    assert names(sandbox, active="false") == ["c"]
    assert names(sandbox, currency="EUR") == ["c", "b"]
    assert names(sandbox, currency="JPY") == []
    assert names(sandbox, currency="EUR", active="true", ordering="name") == ["b"]
