"""The periods of a subscription: their boundaries, and the jobs scheduled at them."""

from __future__ import annotations

from typing import Any

from emulator.core import calendar
from emulator.core.world import World
from emulator.resources.billing.subscriptions import Subscription
from emulator.resources.catalog.plans import SubscriptionPlan

TRIAL_NOTICE_DAYS = 3
"""``subscription.trial_will_end`` is sent this many days before the trial ends (Limits)."""


def next_period(world: World, subscription: Subscription) -> dict[str, Any]:
    """The fields of the following period, counted from the anchor (B-42), at the plan's price if it has one (B-40)."""
    number = subscription.period + 1
    intervals = subscription.interval_count * number
    plan = world.get(SubscriptionPlan, subscription.plan)
    return {
        "period": number,
        "current_period_start": subscription.current_period_end,
        "current_period_end": calendar.step(subscription.anchor, subscription.interval, intervals),
        "unit_amount": subscription.unit_amount if plan is None else plan.amount,
    }


def current_period(world: World, subscription: Subscription) -> dict[str, Any]:
    """The fields of the period that runs now; empty where that is the stored one (B-48)."""
    changes: dict[str, Any] = {}
    while subscription.current_period_end <= world.now < calendar.LAST:
        changes = next_period(world, subscription)
        subscription = subscription.replace(**changes)
    return changes


def schedule_renewal(world: World, subscription: Subscription) -> None:
    """Renew at the end of the current period; at the end of the calendar no further period begins.

    Scheduled after the period's own charge, so that at one instant an invoice falls overdue first (B-96).
    """
    if subscription.current_period_end > subscription.current_period_start:
        world.schedule(subscription.current_period_end, "subscription.renew", subscription)


def schedule_expiry(world: World, subscription: Subscription) -> None:
    """Expire at ``ends_at``, if there is one; scheduled before any renewal, so that it runs first (B-40)."""
    if subscription.ends_at is not None:
        world.schedule(subscription.ends_at, "subscription.expire", subscription)


def trial_notice_at(subscription: Subscription) -> str:
    """When ``subscription.trial_will_end`` is sent."""
    return calendar.plus(subscription.trial_end or subscription.created_at, days=-TRIAL_NOTICE_DAYS)


def schedule_trial_notice(world: World, subscription: Subscription) -> None:
    """Send the notice at its time, or at once where that is past; each trial has one (B-43)."""
    world.cancel_jobs(subscription, "subscription.trial_notice")
    if ends_in_charge(world, subscription):
        world.schedule(trial_notice_at(subscription), "subscription.trial_notice", subscription)


def ends_in_charge(world: World, subscription: Subscription) -> bool:
    """Whether it is in a trial whose end is ahead, was not announced yet, and will be charged (B-43)."""
    trial_end = subscription.trial_end
    if trial_end is None or trial_end <= world.now or subscription.trial_noticed:
        return False
    goes_on = subscription.status in ("trialing", "active") and not subscription.cancel_at_period_end
    return goes_on and (subscription.ends_at is None or subscription.ends_at > trial_end)
