"""What merchants do to a running subscription: pause, scheduled cancel, plan move, reactivation, end date."""

from __future__ import annotations

from typing import Any

import pytest

from contract_tests.support.rules_harness import RulesHarness
from contract_tests.support.sandbox import CHARGED, FAILED, FAILING_PHONE, Sandbox
from emulator.core.errors import ApiError

# -- pause and resume (B-46)


def test_a_pause_over_two_periods(sandbox: Sandbox) -> None:
    """Periods go by uncharged; the next charge is at the next boundary of the anchor."""
    subscription = sandbox.subscribe()
    sandbox.advance_to("2026-01-20")
    with sandbox.expect():
        assert sandbox.act(subscription, "pause")["status"] == "paused"
        sandbox.advance_to("2026-03-15")
        resumed = sandbox.act(subscription, "resume")
        sandbox.advance_to("2026-03-31")
    assert resumed["status"] == "active"
    assert resumed["current_period_start"] == "2026-03-01T00:00:00.000Z"
    assert resumed["current_period_end"] == "2026-04-01T00:00:00.000Z"
    with sandbox.expect(*CHARGED):
        sandbox.advance_to("2026-04-01")


def test_a_pause_within_a_period_costs_nothing(sandbox: Sandbox) -> None:
    """The next normal period is charged as ever."""
    subscription = sandbox.subscribe()
    sandbox.act(subscription, "pause")
    sandbox.advance_to("2026-01-31")
    assert sandbox.act(subscription, "resume")["current_period_end"] == "2026-02-01T00:00:00.000Z"
    with sandbox.expect(*CHARGED):
        sandbox.advance_to("2026-02-01")


@pytest.mark.parametrize("resumed_on", ["2026-01-15", "2026-01-20"])
def test_a_trial_that_ended_while_paused_is_active_at_the_next_boundary(sandbox: Sandbox, resumed_on: str) -> None:
    """B-43, B-46: it is not announced any more, and the period after the trial went by uncharged."""
    subscription = sandbox.subscribe(trial_period_days=14)
    sandbox.act(subscription, "pause")
    with sandbox.expect():
        sandbox.advance_to(resumed_on)
        resumed = sandbox.act(subscription, "resume")
        sandbox.advance_to("2026-02-14")
    assert (resumed["status"], resumed["current_period_end"]) == ("active", "2026-02-15T00:00:00.000Z")
    with sandbox.expect(*CHARGED):
        sandbox.advance_to("2026-02-15")


# -- scheduled cancel (B-47)


def test_a_scheduled_cancel_ends_without_a_charge(sandbox: Sandbox) -> None:
    """The status stays until the period's end; canceled_at stays null until then; just these fields are answered."""
    subscription = sandbox.subscribe()
    with sandbox.expect():
        answer = sandbox.act(subscription, "cancel", cancel_at_period_end=True)
        sandbox.advance_to("2026-01-31")
    assert answer == {
        "id": subscription["id"],
        "status": "active",
        "cancel_at_period_end": True,
        "current_period_end": "2026-02-01T00:00:00.000Z",
        "canceled_at": None,
        "updated_at": "2026-01-01T00:00:00.000Z",
    }
    with sandbox.expect("subscription.canceled"):
        sandbox.advance("P1Y")
    now = sandbox.subscription(subscription["id"])
    assert (now["status"], now["canceled_at"]) == ("canceled", "2026-02-01T00:00:00.000Z")


def test_a_scheduled_cancel_taken_back(sandbox: Sandbox) -> None:
    """PATCH with cancel_at_period_end false before the end of period: renewals go on."""
    subscription = sandbox.subscribe()
    sandbox.act(subscription, "cancel", cancel_at_period_end=True)
    with sandbox.expect():
        path = f"/subscriptions/{subscription['id']}/"
        assert sandbox.api.patch(path, {"cancel_at_period_end": False})["cancel_at_period_end"] is False
    with sandbox.expect(*CHARGED):
        sandbox.advance_to("2026-02-01")
    assert sandbox.status(subscription) == "active"


def test_scheduled_by_patch_or_at_creation(sandbox: Sandbox) -> None:
    """PATCH with the flag, and the flag in the create body."""
    patched = sandbox.subscribe()
    assert sandbox.api.patch(f"/subscriptions/{patched['id']}/", {"cancel_at_period_end": True})["status"] == "active"
    sandbox.subscribe(cancel_at_period_end=True)
    with sandbox.expect("subscription.canceled", "subscription.canceled"):
        sandbox.advance("P3M")


def test_a_paused_one_ends_as_scheduled(sandbox: Sandbox) -> None:
    """A pause suspends charges, not the cancellation."""
    subscription = sandbox.subscribe(cancel_at_period_end=True)
    sandbox.act(subscription, "pause")
    with sandbox.expect("subscription.canceled"):
        sandbox.advance_to("2026-02-01")


def test_a_scheduled_one_whose_charge_fails_ends_as_scheduled(sandbox: Sandbox) -> None:
    """B-45: a weekly plan, whose last retry comes at the period's end, just before it is canceled."""
    plan = sandbox.plan(interval="week")["id"]
    with sandbox.expect("customer.created", "subscription.created", *FAILED * 5, "subscription.canceled"):
        sandbox.subscribe(FAILING_PHONE, plan=plan, cancel_at_period_end=True)
        sandbox.advance_to("2026-01-20")


# -- plan move (B-40)


def test_a_plan_move_applies_from_the_next_period(sandbox: Sandbox) -> None:
    """No charge and no event at the move; the next invoice has the new plan's amount and name."""
    subscription = sandbox.subscribe()
    dearer = sandbox.plan(name="Pro", amount=9000)["id"]
    sandbox.advance_to("2026-01-20")
    with sandbox.expect():
        moved = sandbox.api.patch(f"/subscriptions/{subscription['id']}/", {"plan": dearer})
    assert (moved["plan"], moved["unit_amount"], moved["current_period_end"]) == (
        dearer,
        5000,
        "2026-02-01T00:00:00.000Z",
    )
    with sandbox.expect(*CHARGED):
        sandbox.advance_to("2026-02-01")
    assert sandbox.subscription(subscription["id"])["unit_amount"] == 9000
    assert sandbox.invoices("total") == [5000, 9000]
    assert [lines[0]["description"] for lines in sandbox.invoices("line_items")] == ["Basic", "Pro"]


def test_a_subscription_with_its_own_price_moves_to_a_plan(sandbox: Sandbox) -> None:
    """To change a price, move subscribers by PATCH on the subscription (SubscriptionPlans)."""
    subscription = sandbox.subscribe(unit_amount=700, interval="month")
    sandbox.api.patch(f"/subscriptions/{subscription['id']}/", {"plan": sandbox.plan()["id"]})
    sandbox.advance_to("2026-02-01")
    assert sandbox.invoices("total") == [700, 5000]


@pytest.mark.parametrize(
    "plan", [{"interval": "year"}, {"interval": "week"}, {"interval_count": 3}, {"currency": "EUR"}]
)
def test_interval_and_currency_must_match(sandbox: Sandbox, plan: dict[str, Any]) -> None:
    """B-40: else 422."""
    subscription = sandbox.subscribe()
    other = sandbox.plan(**plan)["id"]
    path = f"/subscriptions/{subscription['id']}/"
    error = sandbox.api.rejected("PATCH", path, 422, "INVALID_FIELD", json={"plan": other})
    assert error["param"] == "plan"
    assert sandbox.subscription(subscription["id"]) == subscription


# -- reactivation (B-48)


def test_reactivated_before_the_running_period_ends(sandbox: Sandbox) -> None:
    """No charge now; the period stays and the next one is charged as ever."""
    subscription = sandbox.subscribe()
    sandbox.act(subscription, "cancel")
    sandbox.advance_to("2026-01-20")
    with sandbox.expect():
        back = sandbox.act(subscription, "reactivate")
        sandbox.advance_to("2026-01-31")
    assert (back["status"], back["canceled_at"], back["cancel_at_period_end"]) == ("active", None, False)
    assert back["current_period_end"] == "2026-02-01T00:00:00.000Z"
    with sandbox.expect(*CHARGED):
        sandbox.advance_to("2026-02-01")


def test_reactivated_after_the_running_period_ended(sandbox: Sandbox) -> None:
    """The next boundary of the anchor; what went by is not charged."""
    sandbox.advance_to("2026-01-31")
    subscription = sandbox.subscribe()
    sandbox.act(subscription, "cancel", cancel_at_period_end=True)
    with sandbox.expect("subscription.canceled"):
        sandbox.advance_to("2026-03-10")
    with sandbox.expect():
        back = sandbox.act(subscription, "reactivate")
        sandbox.advance_to("2026-03-30")
    assert back["cancel_at_period_end"] is False
    assert back["current_period_start"] == "2026-02-28T00:00:00.000Z"
    assert back["current_period_end"] == "2026-03-31T00:00:00.000Z"
    with sandbox.expect(*CHARGED):
        sandbox.advance_to("2026-03-31")


def test_reactivated_at_the_last_instant_of_the_grace_period(sandbox: Sandbox) -> None:
    """30 days: still possible at the end of the thirtieth, not a millisecond later."""
    subscription = sandbox.subscribe()
    late = sandbox.subscribe()
    sandbox.act(subscription, "cancel")
    sandbox.act(late, "cancel")
    sandbox.advance_to("2026-01-31")
    assert sandbox.act(subscription, "reactivate")["status"] == "active"
    sandbox.advance_to("2026-01-31T00:00:00.001Z")
    path = f"/subscriptions/{late['id']}/reactivate/"
    sandbox.api.rejected("POST", path, 422, "INVALID_STATUS_TRANSITION")
    assert sandbox.status(late) == "canceled"


@pytest.mark.parametrize(("days", "after", "possible"), [(0, 0, True), (0, 1, False), (90, 90, True), (90, 91, False)])
def test_the_grace_period_is_a_setting(days: int, after: int, possible: bool) -> None:
    """B-48, B-90: reactivation_days."""
    harness = RulesHarness(reactivation_days=days)
    subscription = harness.subscribe()
    harness.do("cancelSubscription", subscription.id)
    harness.advance(days=after)
    if possible:
        assert harness.do("reactivateSubscription", subscription.id).status == "active"
    else:
        with pytest.raises(ApiError, match="INVALID_STATUS_TRANSITION"):
            harness.do("reactivateSubscription", subscription.id)


@pytest.mark.parametrize("phone", [FAILING_PHONE, "+24177000003"], ids=["failed", "under way"])
def test_what_is_open_is_tried_again_at_the_reactivation(sandbox: Sandbox, phone: str) -> None:
    """B-48: "An invoice of it that is still open is tried again at once, as on resume", with all the retries; also one
    whose charge failed only after the cancellation.
    """
    subscription = sandbox.subscribe(phone)
    sandbox.act(subscription, "cancel")
    sandbox.advance("10d")
    sandbox.api.patch(f"/customers/{subscription['customer']}/", {"phone": FAILING_PHONE})
    with sandbox.expect(*FAILED):
        assert sandbox.act(subscription, "reactivate")["status"] == "active"
    assert sandbox.status(subscription) == "past_due"
    with sandbox.expect(*FAILED * 4):
        sandbox.advance("7d")
    assert sandbox.status(subscription) == "unpaid"
    assert sandbox.invoices("status") == ["uncollectible"]


def test_a_reactivation_pays_what_is_open(sandbox: Sandbox) -> None:
    """B-48: and no new period is charged now."""
    subscription = sandbox.subscribe(FAILING_PHONE)
    sandbox.act(subscription, "cancel")
    sandbox.api.patch(f"/customers/{subscription['customer']}/", {"phone": "+24177000000"})
    with sandbox.expect(*CHARGED):
        sandbox.act(subscription, "reactivate")
        sandbox.advance_to("2026-01-31")
    assert sandbox.status(subscription) == "active"
    assert sandbox.invoices("status") == ["paid"]


@pytest.mark.parametrize("ending", ["canceled", "expired"])
@pytest.mark.parametrize("field", ["plan", "payment_method", "collection_method", "cancel_at_period_end"])
def test_of_one_that_has_ended_only_metadata_can_be_changed(sandbox: Sandbox, ending: str, field: str) -> None:
    """B-47: "Of a canceled or expired subscription only `metadata` can be changed"."""
    subscription = sandbox.subscribe(**({"ends_at": "2026-01-02"} if ending == "expired" else {}))
    if ending == "canceled":
        sandbox.act(subscription, "cancel")
    sandbox.advance("1d")
    path = f"/subscriptions/{subscription['id']}/"
    before = sandbox.api.get(path)
    wanted = {"cancel_at_period_end": False, "collection_method": "send_invoice"}.get(field, "nothing_such")
    for body in ({field: wanted}, {field: wanted, "metadata": {"key": "value"}}):
        sandbox.api.rejected("PATCH", path, 422, "INVALID_STATUS_TRANSITION", json=body)
    assert sandbox.api.get(path) == before
    assert before["status"] == ending
    assert sandbox.api.patch(path, {"metadata": {"key": "value"}})["metadata"] == {"key": "value"}


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
        assert sandbox.control.get("/clock")["pending"] == 0
        sandbox.advance("P1Y")


def test_an_end_date_on_a_periods_end_wins(sandbox: Sandbox) -> None:
    """Expired, no charge."""
    subscription = sandbox.subscribe(ends_at="2026-03-01T00:00:00Z")
    with sandbox.expect(*CHARGED):
        sandbox.advance_to("2026-02-28")
    with sandbox.expect():
        sandbox.advance_to("2026-03-01")
    assert sandbox.status(subscription) == "expired"


def test_an_end_date_on_the_first_periods_end(sandbox: Sandbox) -> None:
    """Also where both are planned at creation, and where a cancellation is scheduled for that instant. A trial that
    ends so ends in no charge, which would be announced (B-43).
    """
    plain = sandbox.subscribe(ends_at="2026-02-01T00:00:00Z")
    scheduled = sandbox.subscribe(ends_at="2026-02-01T00:00:00Z", cancel_at_period_end=True)
    trial = sandbox.subscribe(ends_at="2026-02-01T00:00:00Z", trial_period_days=31)
    with sandbox.expect():
        sandbox.advance("P1Y")
    for subscription in (plain, scheduled, trial):
        assert sandbox.status(subscription) == "expired"


def test_the_end_date_holds_after_reactivation(sandbox: Sandbox) -> None:
    """A reactivated one ends as agreed; one whose end date has passed does not come back."""
    reactivated = sandbox.subscribe(ends_at="2026-01-20T00:00:00Z")
    gone = sandbox.subscribe(ends_at="2026-01-10T00:00:00Z")
    for subscription in (reactivated, gone):
        sandbox.act(subscription, "cancel")
    sandbox.advance_to("2026-01-10")
    path = f"/subscriptions/{gone['id']}/reactivate/"
    error = sandbox.api.rejected("POST", path, 422, "INVALID_STATUS_TRANSITION")
    assert error["message"] == "The end date of the subscription has passed."
    sandbox.advance_to("2026-01-15")
    sandbox.act(reactivated, "reactivate")
    sandbox.api.rejected("POST", path, 422, "INVALID_STATUS_TRANSITION")
    sandbox.advance_to("2026-01-20")
    assert sandbox.status(reactivated) == "expired"
    assert sandbox.status(gone) == "canceled"


# -- the customer goes (B-32)


def test_a_deleted_customers_subscriptions_are_canceled_and_its_jobs_silenced() -> None:
    """B-32: with subscription.canceled; open invoices stay and still fall overdue; nothing else happens."""
    harness = RulesHarness()
    subscription = harness.subscribe(phone=None)
    for change in ("pauseSubscription", "cancelSubscription"):
        other = harness.do("createSubscription", customer=subscription.customer, unit_amount=500, interval="day")
        harness.do(change, other.id)
    with harness.expect("customer.deleted", "subscription.canceled", "subscription.canceled"):
        harness.delete_customer(subscription.customer)
    with harness.expect(*["invoice.payment_overdue"] * 3):
        harness.advance(days=400)
    with pytest.raises(ApiError, match="INVALID_STATUS_TRANSITION"):
        harness.do("reactivateSubscription", subscription.id)
    assert harness.failed_jobs() == []
