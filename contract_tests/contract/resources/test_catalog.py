"""Products and plans: prices, identities, ends and returns (B-23, B-28, B-33, B-34)."""

from __future__ import annotations

from typing import Any

import pytest

from contract_tests.support.sandbox import FAILING_PHONE, Sandbox, path_of

BASKET = {"name": "Basket", "unit_amount": 2000, "currency": "XAF"}


# -- products


def test_of_a_free_price_the_amount_is_a_suggestion(sandbox: Sandbox) -> None:
    """B-23, B-33: also 0 or below the least charge; the bounds are settings (B-90)."""
    product = sandbox.product(price_type="free")
    for amount, code in (
        (0, None),
        (99_999_999, None),
        (-1, "INVALID_FIELD"),
        (100_000_000, "AMOUNT_TOO_LARGE"),
    ):
        for method, path, body in (
            ("POST", "/products/", {**BASKET, "price_type": "free", "unit_amount": amount}),
            ("PATCH", f"{path_of(product)}/", {"unit_amount": amount}),
        ):
            response = sandbox.api.request(method, path, json=body).json()
            assert (response.get("code"), response.get("param")) == (code, code and "unit_amount")
    sandbox.settings(minimum_amount=500, maximum_amount=600)
    for amount, code in (
        (500, None),
        (600, None),
        (499, "AMOUNT_TOO_SMALL"),
        (601, "AMOUNT_TOO_LARGE"),
    ):
        response = sandbox.api.request(
            "POST", "/products/", json={**BASKET, "unit_amount": amount}
        ).json()
        assert response.get("code") == code


@pytest.mark.parametrize(("sku", "again"), [("BSK-30", "BSK-30"), (30, 30), (30, "30")])
def test_a_sku_is_taken_once(sandbox: Sandbox, sku: Any, again: Any) -> None:
    """B-34: on creation, on PATCH, by archived products. One's own and a given-up one are free."""
    holder = sandbox.product(metadata={"sku": sku})
    sandbox.api.delete(f"{path_of(holder)}/")
    other = sandbox.product(metadata={"sku": "other"})
    body = {"metadata": {"sku": again}}
    for method, path, whole in (
        ("POST", "/products/", {**BASKET, **body}),
        ("PATCH", f"{path_of(other)}/", {"name": "New", **body}),
    ):
        error = sandbox.api.rejected(method, path, 409, "DUPLICATE_SKU", json=whole)
        assert (error["type"], error["param"]) == ("CONFLICT_ERROR", "metadata.sku")
    assert sandbox.api.get(f"{path_of(other)}/") == other
    for free in ("bsk-30", "BSK-3", "BSK-30 "):
        assert sandbox.product(metadata={"sku": free})["metadata"] == {"sku": free}
    own = {"sku": again, "season": "dry"}
    assert sandbox.api.patch(f"{path_of(holder)}/", {"metadata": own})["metadata"] == own
    for given_up in ("BSK-31", None):
        sandbox.api.patch(f"{path_of(holder)}/", {"metadata": {"sku": given_up}})
        holder = sandbox.product(metadata={"sku": again})


def test_a_sku_stays_taken_when_other_metadata_change(sandbox: Sandbox) -> None:
    """B-34: a PATCH merges metadata (B-22)."""
    holder = sandbox.product(metadata={"sku": "BSK-30"})
    sandbox.api.patch(f"{path_of(holder)}/", {"metadata": {"season": "dry"}})
    body = {**BASKET, "metadata": {"sku": "BSK-30"}}
    sandbox.api.rejected("POST", "/products/", 409, "DUPLICATE_SKU", json=body)


# -- plans


def test_a_plan_goes_once_none_of_its_subscriptions_is_active_or_trialing(sandbox: Sandbox) -> None:
    """B-28: 409 till then; past due, unpaid ones do not count. Inactive plans can be renamed."""
    unpaid, past_due, active, trialing = (sandbox.plan() for _ in range(4))
    sandbox.subscribe(FAILING_PHONE, plan=unpaid["id"])
    sandbox.advance("7d")
    sandbox.subscribe(FAILING_PHONE, plan=past_due["id"])
    sandbox.subscribe(plan=active["id"])
    sandbox.subscribe(plan=trialing["id"], trial_period_days=14)
    statuses = [
        item["status"] for item in sandbox.api.get("/subscriptions/", ordering="created_at")["data"]
    ]
    assert statuses == ["unpaid", "past_due", "active", "trialing"]
    for plan in (active, trialing):
        error = sandbox.api.rejected(
            "DELETE", f"{path_of(plan)}/", 409, "INVALID_STATUS_TRANSITION"
        )
        assert (error["type"], sandbox.api.get(f"{path_of(plan)}/")) == ("CONFLICT_ERROR", plan)
    for plan in (unpaid, past_due):
        assert sandbox.api.delete(f"{path_of(plan)}/")["active"] is False
        assert sandbox.api.patch(f"{path_of(plan)}/", {"name": "Old plan"})["name"] == "Old plan"
