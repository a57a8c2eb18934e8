"""Subscription plans: prices that never change, and the end of those without subscribers."""

from __future__ import annotations

from typing import Any

import pytest

from contract_tests.support.sandbox import START, Sandbox

PHONE = "+24177000000"


def subscribe(sandbox: Sandbox, plan: Any, **fields: Any) -> Any:
    customer = sandbox.customer(phone=fields.pop("phone", PHONE))
    return sandbox.api.post("/subscriptions/", {"customer": customer["id"], "plan": plan["id"], **fields})


def path_of(plan: Any) -> str:
    return f"/subscription-plans/{plan['id']}/"


# POST


@pytest.mark.parametrize("interval", ["day", "week", "month", "year"])
def test_the_longest_period_stays_within_the_calendar(sandbox: Sandbox, interval: str) -> None:
    plan = sandbox.plan(interval=interval, interval_count=365)
    assert START < subscribe(sandbox, plan)["current_period_end"] < "2391-01-02"


# DELETE


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


def test_a_deactivated_plan_can_still_be_renamed(sandbox: Sandbox) -> None:
    plan = sandbox.plan()
    sandbox.api.delete(path_of(plan))
    assert sandbox.api.patch(path_of(plan), {"name": "Old plan"})["name"] == "Old plan"
