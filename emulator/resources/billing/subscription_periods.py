"""The periods of a subscription: where the next one ends, and what is planned for the boundaries between them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from emulator.core import calendar
from emulator.core.world import World
from emulator.resources.catalog.plans import SubscriptionPlan

if TYPE_CHECKING:
    from emulator.resources.billing.subscriptions import Subscription

TRIAL_NOTICE_DAYS = 3
"""``subscription.trial_will_end`` comes so many days before the trial ends (Limits)."""


def next_period(world: World, subscription: Subscription) -> dict[str, Any]:
    """The period after the running one, counted from the anchor (B-42), at the price of the present plan (B-40)."""
    number = subscription.period + 1
    whole = subscription.interval_count * number
    plan = world.get(SubscriptionPlan, subscription.plan)
    return {
        "period": number,
        "current_period_start": subscription.current_period_end,
        "current_period_end": calendar.step(subscription.anchor, subscription.interval, whole),
        "unit_amount": subscription.unit_amount if plan is None else plan.amount,
    }


def running(world: World, subscription: Subscription) -> dict[str, Any]:
    """What changes when periods went by unseen: the one that runs now (B-48)."""
    changes: dict[str, Any] = {}
    while subscription.current_period_end <= world.now < calendar.LAST:
        changes = next_period(world, subscription)
        subscription = subscription.replace(**changes)
    return changes


def plan_renewal(world: World, subscription: Subscription) -> None:
    """The end of the running period; at the end of the calendar no further one begins.

    It is planned after the period's own charge, so that at one instant the overdue of an invoice comes first (B-96).
    """
    if subscription.current_period_end > subscription.current_period_start:
        world.schedule(subscription.current_period_end, "subscription.renew", subscription)


def plan_end(world: World, subscription: Subscription) -> None:
    """Its end date, if it has one; planned before any renewal, so that it wins at one instant (B-40)."""
    if subscription.ends_at is not None:
        world.schedule(subscription.ends_at, "subscription.expire", subscription)


def notice_at(subscription: Subscription) -> str:
    """When the end of its trial is announced."""
    return calendar.plus(subscription.trial_end or subscription.created_at, days=-TRIAL_NOTICE_DAYS)


def plan_trial_notice(world: World, subscription: Subscription) -> None:
    """The announcement, at once where its time is past (B-43)."""
    world.schedule(notice_at(subscription), "subscription.trial_notice", subscription)
