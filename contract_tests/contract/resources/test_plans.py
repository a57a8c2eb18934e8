"""Subscription plans: prices that never change, and the end of those without subscribers."""

from __future__ import annotations

from typing import Any

import pytest

from contract_tests.support.sandbox import START, Sandbox

BASIC = {"name": "Basic", "amount": 5000, "currency": "XAF", "interval": "month"}
PHONE = "+24177000000"


def rejected(sandbox: Sandbox, status: int, code: str, **fields: Any) -> Any:
    """Return the error of a plan that is not created."""
    error = sandbox.api.rejected("POST", "/subscription-plans/", status, code, json={**BASIC, **fields})
    assert sandbox.api.get("/subscription-plans/")["data"] == []
    return error


def subscribe(sandbox: Sandbox, plan: Any, **fields: Any) -> Any:
    customer = sandbox.customer(phone=fields.pop("phone", PHONE))
    return sandbox.api.post("/subscriptions/", {"customer": customer["id"], "plan": plan["id"], **fields})


def path_of(plan: Any) -> str:
    return f"/subscription-plans/{plan['id']}/"


# POST


def test_a_plan_is_made_with_everything_given(sandbox: Sandbox) -> None:
    """SubscriptionPlan fields; active at once."""
    fields = {
        "name": "Premium",
        "description": "Everything.",
        "amount": 10000,
        "currency": "EUR",
        "interval": "week",
        "interval_count": 2,
        "trial_period_days": 14,
        "metadata": {"tier": "premium"},
    }
    with sandbox.expect():
        plan = sandbox.api.post("/subscription-plans/", fields)
    assert plan == {
        "id": plan["id"],
        "object": "subscription_plan",
        **fields,
        "active": True,
        "livemode": False,
        "created_at": START,
        "updated_at": START,
    }
    assert sandbox.api.get(path_of(plan)) == plan


@pytest.mark.parametrize("left_out", [{}, {"description": None}])
def test_what_is_left_out_has_its_default(sandbox: Sandbox, left_out: dict[str, None]) -> None:
    plan = sandbox.plan(**left_out)
    assert (plan["interval_count"], plan["trial_period_days"]) == (1, 0)
    assert (plan["description"], plan["metadata"]) == (None, {})


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *[("interval", interval) for interval in ("day", "week", "month", "year")],
        ("interval_count", 1),
        ("interval_count", 365),
        ("trial_period_days", 0),
        ("trial_period_days", 730),
        ("currency", "USD"),
    ],
)
def test_at_the_limit(sandbox: Sandbox, field: str, value: Any) -> None:
    """B-23, B-43."""
    assert sandbox.plan(**{field: value})[field] == value


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", ""),
        ("name", " "),
        ("name", None),
        ("description", 5),
        ("amount", "5000"),
        ("amount", 5000.0),
        ("amount", True),
        ("interval", "quarter"),
        ("interval", None),
        ("interval_count", 0),
        ("interval_count", 366),
        ("interval_count", 1.5),
        ("trial_period_days", -1),
        ("trial_period_days", 731),
        ("trial_period_days", "14"),
        ("active", False),
    ],
)
def test_a_wrong_field(sandbox: Sandbox, field: str, value: Any) -> None:
    error = rejected(sandbox, 422, "INVALID_FIELD", **{field: value})
    assert (error["param"], set(error["errors"])) == (field, {field})


@pytest.mark.parametrize(
    ("fields", "status", "code", "param"),
    [
        ({"amount": 0}, 422, "AMOUNT_TOO_SMALL", "amount"),
        ({"amount": 0, "currency": "EUR"}, 422, "AMOUNT_TOO_SMALL", "amount"),
        ({"currency": "xaf"}, 422, "INVALID_CURRENCY", "currency"),
        ({"currency": "ABC"}, 422, "INVALID_CURRENCY", "currency"),
        ({"currency": "JPY"}, 403, "CURRENCY_NOT_IN_PLAN", "currency"),
    ],
)
def test_a_price_the_app_may_not_charge(
    sandbox: Sandbox, fields: dict[str, Any], status: int, code: str, param: str
) -> None:
    """B-23, B-24."""
    assert rejected(sandbox, status, code, **fields)["param"] == param


@pytest.mark.parametrize("interval", ["day", "week", "month", "year"])
def test_the_longest_period_stays_within_the_calendar(sandbox: Sandbox, interval: str) -> None:
    plan = sandbox.plan(interval=interval, interval_count=365)
    assert START < subscribe(sandbox, plan)["current_period_end"] < "2391-01-02"


# PATCH


def test_only_the_fields_sent_change(sandbox: Sandbox) -> None:
    plan = sandbox.plan(description="Old", metadata={"kept": 1, "removed": 2})
    sandbox.advance("1h")
    changed = sandbox.api.patch(path_of(plan), {"name": "New", "metadata": {"removed": None, "added": "x"}})
    assert changed == {**plan, "name": "New", "metadata": {"kept": 1, "added": "x"}, "updated_at": sandbox.now}
    assert sandbox.api.patch(path_of(plan), {"description": None})["description"] is None
    assert sandbox.api.patch(path_of(plan), {"description": "Back"})["description"] == "Back"


@pytest.mark.parametrize(("field", "value"), [("name", ""), ("name", "  "), ("name", None), ("description", 5)])
def test_a_wrong_change(sandbox: Sandbox, field: str, value: Any) -> None:
    path = path_of(sandbox.plan())
    assert sandbox.api.rejected("PATCH", path, 422, "INVALID_FIELD", json={field: value})["param"] == field


@pytest.mark.parametrize(
    ("field", "value"),
    [("amount", 6000), ("currency", "EUR"), ("interval", "year"), ("interval_count", 2), ("trial_period_days", 7)],
)
def test_what_never_changes(sandbox: Sandbox, field: str, value: Any) -> None:
    """Immutable (SubscriptionPlan); B-13: rejected even where it repeats what is there."""
    plan = sandbox.plan()
    for sent in (value, plan[field]):
        error = sandbox.api.rejected("PATCH", path_of(plan), 422, "INVALID_FIELD", json={"name": "New", field: sent})
        assert (error["param"], error["errors"]) == (field, {field: ["cannot be changed"]})
    assert sandbox.api.get(path_of(plan)) == plan


# DELETE


def test_a_plan_without_subscribers_is_deactivated(sandbox: Sandbox) -> None:
    """200 with exactly id, active and updated_at (B-21); soft."""
    plan = sandbox.plan()
    sandbox.advance("1h")
    with sandbox.expect():
        answer = sandbox.api.delete(path_of(plan))
    assert answer == {"id": plan["id"], "active": False, "updated_at": sandbox.now}
    assert sandbox.api.get(path_of(plan)) == {**plan, "active": False, "updated_at": sandbox.now}
    assert sandbox.api.delete(path_of(plan))["active"] is False


@pytest.mark.parametrize(("trial_period_days", "status"), [(0, "active"), (14, "trialing")])
def test_a_plan_in_use_stays(sandbox: Sandbox, trial_period_days: int, status: str) -> None:
    """409 while it has subscriptions that are active or trialing."""
    plan = sandbox.plan()
    assert subscribe(sandbox, plan, trial_period_days=trial_period_days)["status"] == status
    error = sandbox.api.rejected("DELETE", path_of(plan), 409, "INVALID_STATUS_TRANSITION")
    assert (error["type"], error["status"]) == ("CONFLICT_ERROR", 409)
    assert sandbox.api.get(path_of(plan)) == plan


def test_a_plan_whose_subscriptions_are_past_due_or_unpaid_goes(sandbox: Sandbox) -> None:
    """Only active and trialing ones count; this buyer never has the money (B-54)."""
    past_due, unpaid = sandbox.plan(), sandbox.plan()
    subscribe(sandbox, unpaid, phone="+24177000001")
    sandbox.advance("7d")
    subscribe(sandbox, past_due, phone="+24177000001")
    statuses = [item["status"] for item in sandbox.api.get("/subscriptions/")["data"]]
    assert statuses == ["past_due", "unpaid"]
    for plan in (past_due, unpaid):
        assert sandbox.api.delete(path_of(plan))["active"] is False


def test_a_deactivated_plan_takes_no_new_subscription(sandbox: Sandbox) -> None:
    """B-15: 422 INVALID_FIELD, param plan."""
    plan, customer = sandbox.plan(), sandbox.customer(phone=PHONE)
    sandbox.api.delete(path_of(plan))
    body = {"customer": customer["id"], "plan": plan["id"]}
    assert sandbox.api.rejected("POST", "/subscriptions/", 422, "INVALID_FIELD", json=body)["param"] == "plan"


def test_a_deactivated_plan_can_still_be_renamed(sandbox: Sandbox) -> None:
    plan = sandbox.plan()
    sandbox.api.delete(path_of(plan))
    assert sandbox.api.patch(path_of(plan), {"name": "Old plan"})["name"] == "Old plan"


# GET /subscription-plans/


def test_plans_are_listed_newest_first_and_filtered(sandbox: Sandbox) -> None:
    def names(**query: Any) -> list[str]:
        return [plan["name"] for plan in sandbox.api.pages("/subscription-plans/", **query)]

    sandbox.plan(name="a")
    sandbox.plan(name="b", interval="year")
    sandbox.api.delete(path_of(sandbox.plan(name="c", currency="EUR")))
    assert names() == names(page_size=1) == ["c", "b", "a"]
    assert names(active="true") == ["b", "a"]
    assert names(active="false") == names(currency="EUR") == ["c"]
    assert names(interval="year") == ["b"]
    assert names(interval="month", active="true", currency="XAF") == ["a"]
    assert names(currency="JPY") == []
