"""A subscription's life beside the simulator, whose model knows periods, charges and events.

The thin path as a merchant sees it, trials, changes, and the end.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

from contract_tests.support.receiver import Receiver
from contract_tests.support.rules_harness import RulesHarness
from contract_tests.support.sandbox import CHARGED, FAILING_PHONE, Sandbox
from emulator.core.errors import ApiError


def test_a_renewal_is_whole_from_invoice_to_signed_events(
    sandbox: Sandbox, receiver: Receiver
) -> None:
    """B-44, B-56, B-60, B-67: each period has an invoice, also in the event, and a transaction.

    The invoice shows its payment; the transaction has fee and net: 2.9 % of 5000 is 145. The
    customer counts the paid amount (B-30), and a renewal can be refunded.
    """
    endpoint = sandbox.endpoint(receiver.url)
    subscription = sandbox.subscribe()
    assert (subscription["status"], subscription["current_period_end"]) == (
        "active",
        "2026-02-01T00:00:00.000Z",
    )
    response = sandbox.advance("31d")
    assert (response["from"], response["now"]) == (
        "2026-01-01T00:00:00.000Z",
        "2026-02-01T00:00:00.000Z",
    )
    assert response["events"] == dict.fromkeys(CHARGED, 1)
    renewed = sandbox.shown(subscription)
    assert (renewed["status"], renewed["current_period_start"]) == (
        "active",
        "2026-02-01T00:00:00.000Z",
    )
    assert renewed["current_period_end"] == "2026-03-01T00:00:00.000Z"
    bills = sandbox.api.get("/invoices/", subscription=subscription["id"])["data"]
    paid = sandbox.api.get("/transactions/")["data"]
    assert [bill["invoice_number"] for bill in bills] == ["INV-2026-000002", "INV-2026-000001"]
    for bill, deposit, day in zip(bills, paid, ("2026-02-01", "2026-01-01"), strict=True):
        assert (bill["status"], bill["transaction"], deposit["created_at"][:10]) == (
            "paid",
            deposit["id"],
            day,
        )
        intent = sandbox.api.get(f"/payment-intents/{bill['payment_intent']}/")
        assert (intent["invoice"], intent["transaction"]) == (bill["id"], deposit["id"])
        assert (deposit["amount"], deposit["fee"], deposit["net_amount"]) == (5000, 145, 4855)
        assert (deposit["type"], deposit["customer"]) == ("deposit", subscription["customer"])
    customer = sandbox.api.get(f"/customers/{subscription['customer']}/")
    assert (customer["transactions_count"], customer["total_spent"]) == (2, 10000)
    types = ["customer.created", "subscription.created", *CHARGED, *CHARGED]
    assert [event["type"] for event in receiver.events] == types
    assert receiver.events == sandbox.events()
    assert [event["data"]["object"] for event in receiver.events[4::3]] == bills[::-1]
    assert all(item.signed_with(endpoint["secret"]) for item in receiver.received)
    assert (
        sandbox.api.post("/refunds/", {"transaction": bills[0]["transaction"]})["amount"]
        == bills[0]["total"]
    )


@pytest.mark.parametrize(
    ("days", "end"),
    [
        pytest.param({}, "2026-01-08", id="the plan's"),
        pytest.param({"trial_period_days": 1}, "2026-01-02", id="the body's"),
    ],
)
def test_a_trial_is_the_bodys_or_else_the_plans(
    sandbox: Sandbox, days: dict[str, int], end: str
) -> None:
    """Create body: trial_period_days overrides the plan's."""
    made = sandbox.subscribe(plan=sandbox.plan(trial_period_days=7)["id"], **days)
    assert (made["status"], made["trial_end"][:10], made["current_period_end"]) == (
        "trialing",
        end,
        made["trial_end"],
    )
    assert made["trial_start"] == made["current_period_start"] == "2026-01-01T00:00:00.000Z"


def test_a_trial_of_0_days_is_none_whatever_the_plan_has(sandbox: Sandbox) -> None:
    """B-43."""
    plan = sandbox.plan(trial_period_days=7)["id"]
    untried = sandbox.subscribe(plan=plan, trial_period_days=0)
    assert (untried["status"], untried["trial_end"], untried["trial_start"]) == (
        "active",
        None,
        None,
    )


@pytest.mark.parametrize(
    ("stop", "go_on"), [("pause", "resume"), ("cancel", "reactivate")], ids=["pause", "cancel"]
)
@pytest.mark.parametrize(
    ("stopped", "gone_on"),
    [pytest.param("1d", "1d", id="ahead"), pytest.param("6d", "2d", id="while it stood still")],
)
def test_a_trial_that_goes_on_is_announced(
    sandbox: Sandbox, stop: str, go_on: str, stopped: str, gone_on: str
) -> None:
    """B-43: three days before its end, or at once where that time is past."""
    trial = sandbox.subscribe(trial_period_days=10)
    sandbox.advance(stopped)
    sandbox.act(trial, stop)
    sandbox.advance(gone_on)
    with sandbox.expect("subscription.trial_will_end"):
        sandbox.act(trial, go_on)
        sandbox.advance_to("2026-01-10")


@pytest.mark.parametrize("stop", ["pause", "cancel"])
def test_a_trial_that_stands_still_is_not_announced(sandbox: Sandbox, stop: str) -> None:
    """B-43."""
    sandbox.act(sandbox.subscribe(trial_period_days=10), stop)
    with sandbox.expect():
        sandbox.advance_to("2026-01-10")


def test_a_trial_is_announced_once(sandbox: Sandbox) -> None:
    """B-43: not again after a pause."""
    trial = sandbox.subscribe(trial_period_days=10)
    with sandbox.expect("subscription.trial_will_end"):
        sandbox.advance_to("2026-01-09")
    with sandbox.expect():
        sandbox.act(trial, "pause")
        sandbox.act(trial, "resume")
        sandbox.advance_to("2026-01-10")


@pytest.mark.parametrize(("day", "status"), [("2026-01-10", "trialing"), ("2026-01-11", "active")])
def test_a_paused_trial_goes_on_until_its_end(sandbox: Sandbox, day: str, status: str) -> None:
    """B-46: to be resumed at the very end of the trial, or later, is to be active."""
    trial = sandbox.subscribe(trial_period_days=10)
    sandbox.act(trial, "pause")
    sandbox.advance_to(day)
    assert sandbox.act(trial, "resume")["status"] == status


def test_what_was_paused_when_active_is_active_again(sandbox: Sandbox) -> None:
    """B-46, B-48: a trial that was reactivated is active although its end is ahead."""
    trial = sandbox.subscribe(trial_period_days=10)
    for action in ("cancel", "reactivate", "pause"):
        sandbox.act(trial, action)
    assert sandbox.act(trial, "resume")["status"] == "active"


def test_periods_of_a_pause_go_by_without_a_charge(sandbox: Sandbox) -> None:
    """B-46: the next charge is at the next boundary of the anchor."""
    subscription = sandbox.subscribe()
    sandbox.act(subscription, "pause")
    sandbox.advance_to("2026-03-10")
    paused = sandbox.shown(subscription)
    assert (paused["status"], paused["current_period_end"]) == (
        "paused",
        "2026-04-01T00:00:00.000Z",
    )
    with sandbox.expect():
        sandbox.act(subscription, "resume")
    sandbox.advance_to("2026-04-01")
    invoiced = [invoice["created_at"][:10] for invoice in sandbox.api.get("/invoices/")["data"]]
    assert invoiced == ["2026-04-01", "2026-01-01"]


# -- changes


def test_a_cancel_is_scheduled_by_action_change_or_creation(sandbox: Sandbox) -> None:
    """B-47: also for a subscription that is then paused."""
    by_action, by_patch = sandbox.subscribe(), sandbox.subscribe()
    at_creation, paused = (sandbox.subscribe(cancel_at_period_end=True) for _ in range(2))
    path = f"/subscriptions/{by_patch['id']}/"
    with sandbox.expect():
        sandbox.act(by_action, "cancel", cancel_at_period_end=True)
        assert sandbox.api.patch(path, {"cancel_at_period_end": True})["status"] == "active"
        sandbox.act(paused, "pause")
    for subscription in (by_action, by_patch, at_creation, paused):
        assert sandbox.shown(subscription)["cancel_at_period_end"] is True


def test_a_scheduled_cancel_ends_it_without_a_charge(sandbox: Sandbox) -> None:
    """B-47, States of a subscription."""
    subscription = sandbox.subscribe()
    sandbox.act(subscription, "cancel", cancel_at_period_end=True)
    with sandbox.expect("subscription.canceled"):
        sandbox.advance_to("2026-02-01")
    assert sandbox.shown(subscription)["canceled_at"] == sandbox.now


def test_a_reactivation_clears_the_cancellation(sandbox: Sandbox) -> None:
    """B-48."""
    subscription = sandbox.subscribe(cancel_at_period_end=True)
    sandbox.act(subscription, "cancel")
    reactivated = sandbox.act(subscription, "reactivate")
    assert (reactivated["canceled_at"], reactivated["cancel_at_period_end"]) == (None, False)


def test_a_reactivated_subscription_ends_on_its_end_date(sandbox: Sandbox) -> None:
    """B-40, B-48."""
    subscription = sandbox.subscribe(ends_at="2026-02-10T00:00:00Z")
    for action in ("cancel", "reactivate"):
        sandbox.act(subscription, action)
    sandbox.advance_to("2026-02-09")
    assert sandbox.status(subscription) == "active"
    sandbox.advance_to("2026-02-10")
    assert sandbox.status(subscription) == "expired"


def test_what_is_past_its_end_date_is_not_reactivated(sandbox: Sandbox) -> None:
    """B-40, B-48."""
    subscription = sandbox.subscribe(ends_at="2026-01-05T00:00:00Z")
    sandbox.act(subscription, "cancel")
    sandbox.advance_to("2026-01-05")
    path = f"/subscriptions/{subscription['id']}/reactivate/"
    sandbox.api.rejected("POST", path, 422, "INVALID_STATUS_TRANSITION")


def test_a_scheduled_cancel_is_taken_back(sandbox: Sandbox) -> None:
    """B-47."""
    subscription = sandbox.subscribe()
    path = f"/subscriptions/{subscription['id']}/"
    with sandbox.expect():
        assert sandbox.api.patch(path, {"cancel_at_period_end": True})["status"] == "active"
        taken_back = sandbox.api.patch(path, {"cancel_at_period_end": False})
    assert taken_back["cancel_at_period_end"] is False
    assert sandbox.shown(subscription)["cancel_at_period_end"] is False


def test_a_trial_whose_cancel_is_taken_back_late_is_announced_at_once(sandbox: Sandbox) -> None:
    """B-43: it ends in a charge again, and the time of the notice has passed."""
    trial = sandbox.subscribe(trial_period_days=10, cancel_at_period_end=True)
    path = f"/subscriptions/{trial['id']}/"
    with sandbox.expect():
        sandbox.advance_to("2026-01-09")
    with sandbox.expect("subscription.trial_will_end"):
        sandbox.api.patch(path, {"cancel_at_period_end": False})
        sandbox.settle()


def test_the_response_of_a_cancel_has_its_own_fields(sandbox: Sandbox) -> None:
    """B-47."""
    by_action = sandbox.subscribe()
    response = sandbox.act(by_action, "cancel", cancel_at_period_end=True)
    assert response == {
        "id": by_action["id"],
        "status": "active",
        "cancel_at_period_end": True,
        "current_period_end": "2026-02-01T00:00:00.000Z",
        "canceled_at": None,
        "updated_at": "2026-01-01T00:00:00.000Z",
    }


def test_a_plan_move_does_nothing_to_the_running_period(sandbox: Sandbox) -> None:
    """B-40: no charge and no event at the move, and the amount stays.

    A subscription with a price of its own moves alike; an interval or a currency that does not
    match is a 422.
    """
    subscription, own = sandbox.subscribe(), sandbox.subscribe(unit_amount=700, interval="month")
    paths = [f"/subscriptions/{canceled['id']}/" for canceled in (subscription, own)]
    for terms in (
        {"interval": "year"},
        {"interval": "week"},
        {"interval_count": 3},
        {"currency": "EUR"},
    ):
        body = {"plan": sandbox.plan(**terms)["id"]}
        assert (
            sandbox.api.rejected("PATCH", paths[0], 422, "INVALID_FIELD", json=body)["param"]
            == "plan"
        )
    dearer = sandbox.plan(name="Pro", amount=9000)["id"]
    sandbox.advance_to("2026-01-20")
    with sandbox.expect():
        for path, amount in zip(paths, (5000, 700), strict=True):
            moved = sandbox.api.patch(path, {"plan": dearer})
            assert (moved["plan"], moved["unit_amount"]) == (dearer, amount)
            assert moved["current_period_end"] == "2026-02-01T00:00:00.000Z"


def test_the_period_after_a_plan_move_has_the_amount_of_the_plan(sandbox: Sandbox) -> None:
    """B-40."""
    subscription = sandbox.subscribe()
    dearer = sandbox.plan(name="Pro", amount=9000)["id"]
    sandbox.api.patch(f"/subscriptions/{subscription['id']}/", {"plan": dearer})
    sandbox.advance_to("2026-02-01")
    totals = [invoice["total"] for invoice in sandbox.api.get("/invoices/")["data"]]
    assert (totals, sandbox.shown(subscription)["unit_amount"]) == ([9000, 5000], 9000)


def emailed(sandbox: Sandbox, kind: str) -> str:
    """Return the text of the newest email of a kind, on one line."""
    email = next(sandbox.control.pages("/emails", kind=kind))
    html = sandbox.control.request("GET", f"/emails/{email['id']}/html").text
    return " ".join(re.sub(r"<[^>]*>", " ", html).split())


def test_a_trial_that_is_moved_announces_plan_and_price_of_its_first_payment(
    sandbox: Sandbox,
) -> None:
    """B-40, B-43; until then, its name for people has the plan and the price that it began with."""
    subscription = sandbox.subscribe(plan=sandbox.plan(name="Silver")["id"], trial_period_days=10)
    dearer = sandbox.plan(name="Gold", amount=9000)["id"]
    sandbox.api.patch(f"/subscriptions/{subscription['id']}/", {"plan": dearer})
    assert "Silver · 5,000" in named(sandbox, subscription)
    sandbox.advance("7d")
    text = emailed(sandbox, "trial_ending")
    assert "first payment of 9,000 XAF" in text
    assert "Subscription Gold Price 9,000 XAF / month" in text
    sandbox.advance("3d")
    assert "Gold · 9,000" in named(sandbox, subscription)


def named(sandbox: Sandbox, thing: Any) -> str:
    name: str = sandbox.control.get(f"/explain/{thing['id']}")["name"]
    return name.replace("\N{NO-BREAK SPACE}", " ")


def test_emails_about_the_running_period_name_the_plan_that_has_its_price(
    sandbox: Sandbox,
) -> None:
    """B-40: a failed charge and a cancellation after a move are about what was charged before."""
    plan = sandbox.plan(name="Silver")["id"]
    subscription = sandbox.subscribe(FAILING_PHONE, plan=plan)
    dearer = sandbox.plan(name="Gold", amount=9000)["id"]
    sandbox.api.patch(f"/subscriptions/{subscription['id']}/", {"plan": dearer})
    sandbox.advance("1d")
    assert "Subscription Silver Price 5,000 XAF / month" in emailed(sandbox, "renewal_failed")
    sandbox.act(subscription, "cancel")
    assert "Subscription Silver Price 5,000 XAF / month" in emailed(
        sandbox, "subscription_canceled"
    )


def test_a_price_of_its_own_has_no_name_until_a_plan_applies(sandbox: Sandbox) -> None:
    """B-40: moved to a plan, it is not named after it at once."""
    subscription = sandbox.subscribe(unit_amount=700, interval="month")
    plan = sandbox.plan(name="Gold", amount=9000)["id"]
    sandbox.api.patch(f"/subscriptions/{subscription['id']}/", {"plan": plan})
    assert "Gold" not in named(sandbox, subscription)
    sandbox.advance("31d")
    assert "Gold · 9,000" in named(sandbox, subscription)


@pytest.mark.parametrize("days", [0, 30, 90])
def test_the_grace_period_is_a_setting(days: int) -> None:
    """B-48, B-90: reactivation_days; possible at its last instant, and not a millisecond later."""
    harness = RulesHarness(reactivation_days=days)
    subscription, late = harness.subscribe(), harness.subscribe()
    for canceled in (subscription, late):
        harness.do("cancelSubscription", canceled.id)
    harness.advance(days=days)
    assert harness.do("reactivateSubscription", subscription.id).status == "active"
    harness.advance(seconds=0.001)
    with pytest.raises(ApiError, match="INVALID_STATUS_TRANSITION"):
        harness.do("reactivateSubscription", late.id)


# -- the end


def test_an_end_date_on_a_periods_end_wins(sandbox: Sandbox) -> None:
    """B-40: no charge, also if both come at creation, or with a cancellation for that instant.

    A trial that ends so ends in no charge, which would be announced (B-43). No event of the list
    reports this end.
    """
    ends = {"ends_at": "2026-02-01T00:00:00Z"}
    first = [sandbox.subscribe(**ends, **more) for more in ({}, {"cancel_at_period_end": True})]
    trial = sandbox.subscribe(**ends, trial_period_days=31)
    sandbox.settle()
    with sandbox.expect():
        sandbox.advance("P1Y")
    assert {sandbox.status(subscription) for subscription in (*first, trial)} == {"expired"}


def subscribe_in_each_state(harness: RulesHarness) -> Any:
    """Return a subscription of a customer who has a paused one and a canceled one besides."""
    subscription = harness.subscribe(phone=None)
    for change in ("pauseSubscription", "cancelSubscription"):
        other = harness.do(
            "createSubscription", customer=subscription.customer, unit_amount=500, interval="day"
        )
        harness.do(change, other.id)
    return subscription


def test_a_deleted_customers_subscriptions_are_canceled() -> None:
    """B-32: with subscription.canceled, for good."""
    harness = RulesHarness()
    subscription = subscribe_in_each_state(harness)
    with harness.expect("customer.deleted", "subscription.canceled", "subscription.canceled"):
        harness.do("deleteCustomer", subscription.customer)
    with pytest.raises(ApiError, match="INVALID_STATUS_TRANSITION"):
        harness.do("reactivateSubscription", subscription.id)


def test_a_deleted_customers_jobs_are_silenced() -> None:
    """B-32: open invoices stay, may fall overdue; no more happens."""
    harness = RulesHarness()
    subscription = subscribe_in_each_state(harness)
    harness.do("deleteCustomer", subscription.customer)
    with harness.expect(*["invoice.payment_overdue"] * 3):
        harness.advance(days=400)
    assert harness.failed_jobs() == []
