"""Products: what they cost, what identifies them, how they are archived and brought back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from contract_tests.support.sandbox import Sandbox

BASKET = {"name": "Basket", "unit_amount": 2000, "currency": "XAF"}


def rejected(sandbox: Sandbox, status: int, code: str, **fields: Any) -> Any:
    """Return the error of a product that is not created."""
    error = sandbox.api.rejected("POST", "/products/", status, code, json={**BASKET, **fields})
    assert set(error["errors"]) == {error["param"]}
    assert sandbox.api.get("/products/")["data"] == []
    return error


# currency and price


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


def test_an_archived_product_comes_back(sandbox: Sandbox) -> None:
    """PATCH active: true reactivates."""
    path = f"/products/{sandbox.product()['id']}/"
    sandbox.api.delete(path)
    assert sandbox.api.patch(path, {"active": True})["active"] is True
