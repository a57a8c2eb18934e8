"""Trials: one that converts, one that is canceled, one whose first charge fails (B-43)."""

from __future__ import annotations

import pytest

from contract_tests.support.sandbox import CHARGED, FAILED, FAILING_PHONE, Sandbox

CREATED = ("customer.created", "subscription.created")
NOTICE = "subscription.trial_will_end"


def test_a_trial_that_converts(sandbox: Sandbox) -> None:
    """The trial is the first period; its end is announced three days before, and then the first paid period begins."""
    with sandbox.expect(*CREATED):
        subscription = sandbox.subscribe(trial_period_days=14)
        sandbox.advance_to("2026-01-11T23:59:59.999Z")
    assert subscription["status"] == "trialing"
    assert subscription["trial_start"] == subscription["current_period_start"] == "2026-01-01T00:00:00.000Z"
    assert subscription["trial_end"] == subscription["current_period_end"] == "2026-01-15T00:00:00.000Z"
    with sandbox.expect(NOTICE):
        sandbox.advance_to("2026-01-12")
        sandbox.advance_to("2026-01-14T23:59:59.999Z")
    assert sandbox.invoices() == []
    with sandbox.expect(*CHARGED):
        sandbox.advance_to("2026-01-15")
    now = sandbox.subscription(subscription["id"])
    assert (now["status"], now["current_period_end"]) == ("active", "2026-02-15T00:00:00.000Z")
    assert now["trial_end"] == "2026-01-15T00:00:00.000Z"
    with sandbox.expect(*CHARGED):
        sandbox.advance_to("2026-02-15")


@pytest.mark.parametrize("later", [True, False])
def test_a_trial_that_is_canceled_is_never_charged(sandbox: Sandbox, later: bool) -> None:
    """B-47: at once, or scheduled for the trial's end; either way without a charge, which would be announced (B-43)."""
    subscription = sandbox.subscribe(trial_period_days=14)
    answer = sandbox.act(subscription, "cancel", cancel_at_period_end=later)
    assert answer["status"] == ("trialing" if later else "canceled")
    sandbox.advance("P3M")
    assert [event["type"] for event in sandbox.events()] == [*CREATED, "subscription.canceled"]
    now = sandbox.subscription(subscription["id"])
    assert (now["status"], now["canceled_at"][:10]) == ("canceled", "2026-01-15" if later else "2026-01-01")
    assert sandbox.invoices() == []


def test_a_trial_whose_first_charge_fails(sandbox: Sandbox) -> None:
    """B-43: the first paid period is charged as a renewal, and so it fails as one."""
    with sandbox.expect(*CREATED, NOTICE, *FAILED):
        subscription = sandbox.subscribe(FAILING_PHONE, trial_period_days=14)
        sandbox.advance_to("2026-01-15")
    assert sandbox.status(subscription) == "past_due"


@pytest.mark.parametrize(("days", "announced"), [(1, "2026-01-01"), (3, "2026-01-01"), (4, "2026-01-02")])
def test_a_short_trial_is_announced_at_creation(sandbox: Sandbox, days: int, announced: str) -> None:
    """B-43: three days before the end, or at creation if that is past."""
    sandbox.subscribe(trial_period_days=days)
    sandbox.advance("2d")
    assert [each["created_at"][:10] for each in sandbox.events() if each["type"] == NOTICE] == [announced]


def test_a_plan_brings_its_trial_and_the_body_overrules_it(sandbox: Sandbox) -> None:
    """Create body: trial_period_days overrides the plan trial; 0 is no trial, whatever the plan says (B-43)."""
    plan = sandbox.plan(trial_period_days=7)["id"]
    assert sandbox.subscribe(plan=plan)["trial_end"] == "2026-01-08T00:00:00.000Z"
    assert sandbox.subscribe(plan=plan, trial_period_days=1)["trial_end"] == "2026-01-02T00:00:00.000Z"
    untried = sandbox.subscribe(plan=plan, trial_period_days=0)
    assert (untried["status"], untried["trial_end"], untried["trial_start"]) == ("active", None, None)


# -- announced once (B-43)


@pytest.mark.parametrize(
    ("suspend", "go_on", "status"), [("pause", "resume", "trialing"), ("cancel", "reactivate", "active")]
)
@pytest.mark.parametrize("late", [False, True])
def test_a_notice_that_fell_due_before_is_sent_at_the_resume_or_reactivation(
    sandbox: Sandbox, suspend: str, go_on: str, status: str, late: bool
) -> None:
    """B-43: "once for each trial that is going to end in a charge: at trial end − 3 days"; "one that fell due while
    paused or canceled is sent at the resume or reactivation, if the trial end is still ahead".
    """
    subscription = sandbox.subscribe(trial_period_days=14)
    sandbox.act(subscription, suspend)
    with sandbox.expect():
        sandbox.advance_to("2026-01-13" if late else "2026-01-05")
    with sandbox.expect(*[NOTICE] * late):
        assert sandbox.act(subscription, go_on)["status"] == status
    with sandbox.expect(*[NOTICE] * (not late)):
        sandbox.advance_to("2026-01-14T23:59:59.999Z")
    with sandbox.expect(*CHARGED):
        sandbox.advance_to("2026-01-20")


def test_a_trial_is_announced_once(sandbox: Sandbox) -> None:
    """B-43: also where it is paused, canceled or scheduled to be canceled after that, and goes on again."""
    subscription = sandbox.subscribe(trial_period_days=14)
    path = f"/subscriptions/{subscription['id']}/"
    with sandbox.expect(NOTICE):
        sandbox.advance_to("2026-01-13")
    with sandbox.expect("subscription.canceled"):
        for action in ("pause", "resume", "cancel", "reactivate"):
            sandbox.act(subscription, action)
        for scheduled in (True, False):
            sandbox.api.patch(path, {"cancel_at_period_end": scheduled})
        sandbox.advance_to("2026-01-14")


@pytest.mark.parametrize("taken_back", ["2026-01-10", "2026-01-13"])
def test_a_trial_whose_cancellation_is_taken_back_is_announced(sandbox: Sandbox, taken_back: str) -> None:
    """B-43: it is going to end in a charge again; at once where its notice would have come before."""
    subscription = sandbox.subscribe(trial_period_days=14, cancel_at_period_end=True)
    with sandbox.expect():
        sandbox.advance_to(taken_back)
    with sandbox.expect(NOTICE):
        sandbox.api.patch(f"/subscriptions/{subscription['id']}/", {"cancel_at_period_end": False})
        sandbox.advance_to("2026-01-14")


def test_one_that_was_active_before_the_pause_is_active_again(sandbox: Sandbox) -> None:
    """B-46: "returns to trialing if it was paused in its trial and the trial end is still ahead, else active"."""
    subscription = sandbox.subscribe(trial_period_days=14)
    for _ in range(2):
        for action in ("cancel", "reactivate", "pause"):
            sandbox.act(subscription, action)
        assert sandbox.act(subscription, "resume")["status"] == "active"
