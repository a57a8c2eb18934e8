"""What merchants do to a running subscription: pause, scheduled cancel, plan move, reactivation, end date."""

from __future__ import annotations

import pytest

from contract_tests.support.rules_harness import RulesHarness
from contract_tests.support.sandbox import CHARGED, Sandbox
from emulator.core.errors import ApiError

CANCELED = "subscription.canceled"

# -- pause and resume (B-46)


def test_a_pause_costs_nothing(sandbox: Sandbox) -> None:
    """Periods go by uncharged; which one begins with the end of the pause, the simulator's model knows."""
    subscription = sandbox.subscribe()
    sandbox.advance_to("2026-01-20")
    with sandbox.expect():
        assert sandbox.act(subscription, "pause")["status"] == "paused"
        sandbox.advance_to("2026-03-15")
        assert sandbox.act(subscription, "resume")["status"] == "active"


# -- scheduled cancel (B-47)


def test_a_cancel_is_scheduled_and_taken_back(sandbox: Sandbox) -> None:
    """By the action, which answers just these fields, by PATCH or at creation; a pause does not suspend it."""
    by_action, by_patch, taken_back = (sandbox.subscribe() for _ in range(3))
    at_creation, paused = (sandbox.subscribe(cancel_at_period_end=True) for _ in range(2))
    paths = [f"/subscriptions/{each['id']}/" for each in (by_patch, taken_back)]
    with sandbox.expect():
        answer = sandbox.act(by_action, "cancel", cancel_at_period_end=True)
        for path in paths:
            assert sandbox.api.patch(path, {"cancel_at_period_end": True})["status"] == "active"
        assert sandbox.api.patch(paths[1], {"cancel_at_period_end": False})["cancel_at_period_end"] is False
        sandbox.act(paused, "pause")
    every = (by_action, by_patch, at_creation, paused, taken_back)
    assert answer == {
        "id": by_action["id"],
        "status": "active",
        "cancel_at_period_end": True,
        "current_period_end": "2026-02-01T00:00:00.000Z",
        "canceled_at": None,
        "updated_at": "2026-01-01T00:00:00.000Z",
    }
    assert [sandbox.subscription(each["id"])["cancel_at_period_end"] for each in every] == [True] * 4 + [False]


# -- plan move (B-40)


def test_a_plan_move_applies_from_the_next_period(sandbox: Sandbox) -> None:
    """No charge and no event at the move; the next invoice has the new plan's amount and name. One with a price of its
    own moves alike, and an interval or a currency that does not match is a 422.
    """
    subscription, own = sandbox.subscribe(), sandbox.subscribe(unit_amount=700, interval="month")
    paths = [f"/subscriptions/{each['id']}/" for each in (subscription, own)]
    for terms in ({"interval": "year"}, {"interval": "week"}, {"interval_count": 3}, {"currency": "EUR"}):
        body = {"plan": sandbox.plan(**terms)["id"]}
        assert sandbox.api.rejected("PATCH", paths[0], 422, "INVALID_FIELD", json=body)["param"] == "plan"
    dearer = sandbox.plan(name="Pro", amount=9000)["id"]
    sandbox.advance_to("2026-01-20")
    with sandbox.expect():
        for path, amount in zip(paths, (5000, 700), strict=True):
            moved = sandbox.api.patch(path, {"plan": dearer})
            assert (moved["plan"], moved["unit_amount"]) == (dearer, amount)
            assert moved["current_period_end"] == "2026-02-01T00:00:00.000Z"
    with sandbox.expect(*CHARGED * 2):
        sandbox.advance_to("2026-02-01")
    assert sandbox.subscription(own["id"])["unit_amount"] == 9000
    billed = [(total, lines[0]["description"]) for total, lines in sandbox.invoices("total", "line_items")]
    assert billed == [(5000, "Basic"), (700, "Subscription"), (9000, "Pro"), (9000, "Pro")]


# -- reactivation (B-48)


def test_a_reactivated_one_is_not_charged_before_the_next_boundary(sandbox: Sandbox) -> None:
    """The running period stays."""
    sandbox.advance_to("2026-01-31")
    subscription = sandbox.subscribe()
    sandbox.act(subscription, "cancel")
    sandbox.advance_to("2026-02-10")
    with sandbox.expect():
        back = sandbox.act(subscription, "reactivate")
        sandbox.advance("17d")
    assert (back["status"], back["canceled_at"], back["cancel_at_period_end"]) == ("active", None, False)
    period = (back["current_period_start"][:10], back["current_period_end"][:10])
    assert period == ("2026-01-31", "2026-02-28")


@pytest.mark.parametrize("days", [0, 30, 90])
def test_the_grace_period_is_a_setting(days: int) -> None:
    """B-48, B-90: reactivation_days; possible at its last instant, and not a millisecond later."""
    harness = RulesHarness(reactivation_days=days)
    subscription, late = harness.subscribe(), harness.subscribe()
    for each in (subscription, late):
        harness.do("cancelSubscription", each.id)
    harness.advance(days=days)
    assert harness.do("reactivateSubscription", subscription.id).status == "active"
    harness.advance(seconds=0.001)
    with pytest.raises(ApiError, match="INVALID_STATUS_TRANSITION"):
        harness.do("reactivateSubscription", late.id)


# -- end date (B-40)


def test_the_end_date_expires_it(sandbox: Sandbox) -> None:
    """At that instant; no event of the list reports it, and nothing is charged any more."""
    subscription = sandbox.subscribe(ends_at="2026-01-20T12:00:00+02:00")
    assert subscription["ends_at"] == "2026-01-20T10:00:00.000Z"
    sandbox.advance_to("2026-01-20T09:59:59.999Z")
    assert sandbox.status(subscription) == "active"
    with sandbox.expect():
        sandbox.advance_to("2026-01-20T10:00:00.000Z")
        assert sandbox.status(subscription) == "expired"
        sandbox.advance("P1Y")


def test_an_end_date_on_a_periods_end_wins(sandbox: Sandbox) -> None:
    """No charge: also where both are planned at creation, and where a cancellation is scheduled for that instant. A
    trial that ends so ends in no charge, which would be announced (B-43).
    """
    ends = {"ends_at": "2026-02-01T00:00:00Z"}
    first = [sandbox.subscribe(**ends, **more) for more in ({}, {"cancel_at_period_end": True})]
    trial = sandbox.subscribe(**ends, trial_period_days=31)
    sandbox.settle()
    with sandbox.expect():
        sandbox.advance("P1Y")
    assert {sandbox.status(each) for each in (*first, trial)} == {"expired"}


# -- the customer goes (B-32)


def test_a_deleted_customers_subscriptions_are_canceled_and_its_jobs_silenced() -> None:
    """B-32: with subscription.canceled; open invoices stay and still fall overdue; nothing else happens."""
    harness = RulesHarness()
    subscription = harness.subscribe(phone=None)
    for change in ("pauseSubscription", "cancelSubscription"):
        other = harness.do("createSubscription", customer=subscription.customer, unit_amount=500, interval="day")
        harness.do(change, other.id)
    with harness.expect("customer.deleted", CANCELED, CANCELED):
        harness.delete_customer(subscription.customer)
    with harness.expect(*["invoice.payment_overdue"] * 3):
        harness.advance(days=400)
    with pytest.raises(ApiError, match="INVALID_STATUS_TRANSITION"):
        harness.do("reactivateSubscription", subscription.id)
    assert harness.failed_jobs() == []
