"""Products and plans: what they cost, what identifies them, how they end and come back (B-23, B-28, B-33, B-34)."""

from __future__ import annotations

from typing import Any

import pytest

from contract_tests.support.sandbox import FAILING_PHONE, START, Sandbox

BASKET = {"name": "Basket", "unit_amount": 2000, "currency": "XAF"}


def path_of(made: Any) -> str:
    return f"/products/{made['id']}/" if made["object"] == "product" else f"/subscription-plans/{made['id']}/"


# -- products


def test_the_least_and_the_most_that_may_be_charged(sandbox: Sandbox) -> None:
    """B-23: 100 in the main currency, 1 in others; of a free price the amount is a suggestion and may be 0 (B-33). On
    creation and on PATCH; the bounds are settings (B-90).
    """
    for price_type, currency, amount, code in (
        ("fixed", "EUR", 1, None),
        ("free", "XAF", 0, None),
        ("free", "XAF", 99_999_999, None),
        ("fixed", "XAF", 0, "AMOUNT_TOO_SMALL"),
        ("fixed", "XAF", -1, "AMOUNT_TOO_SMALL"),
        ("fixed", "EUR", 0, "AMOUNT_TOO_SMALL"),
        ("free", "XAF", -1, "INVALID_FIELD"),
        ("free", "XAF", 100_000_000, "AMOUNT_TOO_LARGE"),
    ):
        fields = {"price_type": price_type, "currency": currency}
        product = sandbox.product(**fields)
        for method, path, body in (
            ("POST", "/products/", {**BASKET, **fields, "unit_amount": amount}),
            ("PATCH", path_of(product), {"unit_amount": amount}),
        ):
            if code is None:
                assert sandbox.api.request(method, path, json=body).json()["unit_amount"] == amount
            else:
                assert sandbox.api.rejected(method, path, 422, code, json=body)["param"] == "unit_amount"
                assert sandbox.api.get(path_of(product)) == product
    sandbox.settings(minimum_amount=500, maximum_amount=600)
    for amount, code in ((500, None), (600, None), (499, "AMOUNT_TOO_SMALL"), (601, "AMOUNT_TOO_LARGE")):
        answer = sandbox.api.request("POST", "/products/", json={**BASKET, "unit_amount": amount}).json()
        assert answer.get("code") == code


@pytest.mark.parametrize(("sku", "again"), [("BSK-30", "BSK-30"), (30, 30), (30, "30")])
def test_a_sku_is_taken_once(sandbox: Sandbox, sku: Any, again: Any) -> None:
    """B-34: on creation and on PATCH; by an archived product too. One's own, and one that was given up, are free."""
    holder = sandbox.product(metadata={"sku": sku})
    sandbox.api.delete(path_of(holder))
    other = sandbox.product(metadata={"sku": "other"})
    body = {"metadata": {"sku": again}}
    for method, path, whole in (
        ("POST", "/products/", {**BASKET, **body}),
        ("PATCH", path_of(other), {"name": "New", **body}),
    ):
        error = sandbox.api.rejected(method, path, 409, "DUPLICATE_SKU", json=whole)
        assert (error["type"], error["param"]) == ("CONFLICT_ERROR", "metadata.sku")
    assert sandbox.api.get(path_of(other)) == other
    for free in ("bsk-30", "BSK-3", "BSK-30 "):
        assert sandbox.product(metadata={"sku": free})["metadata"] == {"sku": free}
    own = {"sku": again, "season": "dry"}
    assert sandbox.api.patch(path_of(holder), {"metadata": own})["metadata"] == own
    for given_up in ("BSK-31", None):
        sandbox.api.patch(path_of(holder), {"metadata": {"sku": given_up}})
        holder = sandbox.product(metadata={"sku": again})


def test_an_archived_product_comes_back(sandbox: Sandbox) -> None:
    """PATCH active: true reactivates."""
    path = path_of(sandbox.product())
    sandbox.api.delete(path)
    assert sandbox.api.patch(path, {"active": True})["active"] is True


# -- plans


@pytest.mark.parametrize("interval", ["day", "week", "month", "year"])
def test_the_longest_period_stays_within_the_calendar(sandbox: Sandbox, interval: str) -> None:
    plan = sandbox.plan(interval=interval, interval_count=365)
    assert START < sandbox.subscribe(plan=plan["id"])["current_period_end"] < "2391-01-02"


def test_a_plan_goes_once_none_of_its_subscriptions_is_active_or_trialing(sandbox: Sandbox) -> None:
    """B-28: 409 till then; past due and unpaid ones do not count. A deactivated plan can still be renamed."""
    unpaid, past_due, active, trialing = (sandbox.plan() for _ in range(4))
    sandbox.subscribe(FAILING_PHONE, plan=unpaid["id"])
    sandbox.advance("7d")
    sandbox.subscribe(FAILING_PHONE, plan=past_due["id"])
    sandbox.subscribe(plan=active["id"])
    sandbox.subscribe(plan=trialing["id"], trial_period_days=14)
    statuses = [item["status"] for item in sandbox.api.get("/subscriptions/", ordering="created_at")["data"]]
    assert statuses == ["unpaid", "past_due", "active", "trialing"]
    for plan in (active, trialing):
        error = sandbox.api.rejected("DELETE", path_of(plan), 409, "INVALID_STATUS_TRANSITION")
        assert (error["type"], sandbox.api.get(path_of(plan))) == ("CONFLICT_ERROR", plan)
    for plan in (unpaid, past_due):
        assert sandbox.api.delete(path_of(plan))["active"] is False
        assert sandbox.api.patch(path_of(plan), {"name": "Old plan"})["name"] == "Old plan"
