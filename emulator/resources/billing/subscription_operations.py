"""Operations on subscriptions: create, update, cancel, reactivate, pause, resume, end a plan."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from emulator.core import calendar
from emulator.core.errors import ApiError
from emulator.core.handlers import get_or_404
from emulator.core.records import merge_metadata, pick
from emulator.core.violations import Body, Violations, with_rules
from emulator.core.world import World
from emulator.resources.app.settings import settings
from emulator.resources.billing import renewals, subscriptions
from emulator.resources.billing.subscriptions import STATE_MACHINE, Subscription, Terms, end
from emulator.resources.catalog.plans import SubscriptionPlan
from emulator.resources.customers.customer_records import Customer


@with_rules
def create(world: World, body: Body) -> Subscription:
    """POST /subscriptions/ (B-40, B-41, B-43): ``trialing``, or ``active`` with a charge next."""
    violations = Violations(body)
    customer: Customer | None = None
    with violations:
        customer = get_or_404(world, Customer, body["customer"], "customer")
    terms = subscriptions.agreed(violations, world, body)
    with violations:
        ends_at = subscriptions.end_date(world, body)
    with violations:
        subscriptions.require_email(customer)
    with violations:
        if customer is not None:
            payment_method = subscriptions.payment_method(world, customer.id, body)
    violations.done()
    if "trial_period_days" in body:
        terms["trial_period_days"] = body["trial_period_days"]
    subscription = start(
        world,
        terms,
        ends_at=ends_at,
        payment_method=payment_method,
        **{field: body[field] for field in COPIED_FIELDS if field in body},
    )
    if subscription.status == "active":
        world.schedule(world.now, "subscription.charge", subscription)
    return subscription


COPIED_FIELDS = ("customer", "collection_method", "cancel_at_period_end", "metadata")
"""The fields of the request that the new subscription takes over unchanged."""


def start(world: World, agreed: Terms, **fields: Any) -> Subscription:
    """Return a new subscription, ``trialing`` or ``active``; the caller charges the active one."""
    trial_days = agreed["trial_period_days"]
    trial_end = calendar.plus(world.now, days=trial_days) if trial_days else None
    subscription = STATE_MACHINE.create(
        world,
        "start trial" if trial_end else "start",
        agreed,
        current_period_start=world.now,
        current_period_end=trial_end
        or calendar.step(world.now, agreed["interval"], agreed["interval_count"]),
        trial_start=world.now if trial_end else None,
        trial_end=trial_end,
        anchor=trial_end or world.now,
        period=0 if trial_end else 1,
        priced_by=agreed["plan"],
        **fields,
    )
    subscriptions.schedule_expiry(world, subscription)
    if trial_end:
        subscriptions.schedule_trial_notice(world, subscription)
        subscriptions.schedule_renewal(world, subscription)
    return subscription


ENDED_SUBSCRIPTIONS = ("canceled", "expired")
"""States in which only the metadata can be changed (B-47)."""


@with_rules
def update(world: World, id: str, body: Body) -> Subscription:
    """PATCH /subscriptions/{id}/; a new plan's amount applies from the next period (B-40, B-47).

    Without a method of its own the customer's default is charged (B-41).
    """
    subscription = get_or_404(world, Subscription, id)
    violations = Violations(body)
    changes: dict[str, Any] = {}
    if subscription.status in ENDED_SUBSCRIPTIONS:
        with violations:
            if body.keys() - {"metadata"}:
                raise ApiError(
                    "INVALID_STATUS_TRANSITION",
                    object="subscription",
                    status=subscription.status,
                    trigger="be changed",
                )
    else:
        with violations:
            if body.get("payment_method") is not None:
                subscriptions.payment_method(world, subscription.customer, body)
        with violations:
            if "plan" in body:
                changes["plan"] = subscriptions.new_plan(
                    violations, world, body["plan"], subscription
                )
    with violations:
        if "metadata" in body:
            changes["metadata"] = merge_metadata(subscription.metadata, body["metadata"])
    violations.done()
    changes |= {
        field: body[field] for field in ("payment_method", "collection_method") if field in body
    }
    if "cancel_at_period_end" in body:
        return _schedule_cancel(world, subscription, body["cancel_at_period_end"], **changes)
    return world.replace(subscription, **changes) if changes else subscription


def _schedule_cancel(
    world: World, subscription: Subscription, scheduled: bool, **changes: Any
) -> Subscription:
    """Schedule the cancellation at the period's end, or remove the scheduled one (B-47)."""
    trigger = "schedule cancel" if scheduled else "take back cancel"
    if scheduled == subscription.cancel_at_period_end and STATE_MACHINE.allows(
        subscription, trigger
    ):
        return world.replace(subscription, **changes) if changes else subscription
    subscription = STATE_MACHINE.transition(
        world, subscription, trigger, cancel_at_period_end=scheduled, **changes
    )
    subscriptions.schedule_trial_notice(world, subscription)
    return subscription


def cancel(world: World, id: str, body: Mapping[str, Any]) -> Subscription | dict[str, Any]:
    """POST /subscriptions/{id}/cancel/: at once or at period end; ``past_due``: at once (B-47)."""
    subscription = get_or_404(world, Subscription, id)
    if subscription.status == "canceled":
        raise ApiError("SUBSCRIPTION_ALREADY_CANCELED")
    if not body["cancel_at_period_end"] or subscription.status == "past_due":
        return end(world, subscription, "cancel")
    subscription = _schedule_cancel(world, subscription, True)
    return pick(
        subscription,
        "id",
        "status",
        "cancel_at_period_end",
        "current_period_end",
        "canceled_at",
        "updated_at",
    )


def reactivate(world: World, id: str) -> Subscription:
    """POST /subscriptions/{id}/reactivate/: within the grace period, with no new charge now (B-48).

    An invoice whose charge failed and that is still open is tried again at once.
    """
    subscription = get_or_404(world, Subscription, id)
    if subscription.status == "canceled" and (reason := why_not_reactivated(world, subscription)):
        raise ApiError("INVALID_STATUS_TRANSITION", message=reason)
    period = subscriptions.current_period(world, subscription)
    subscription = STATE_MACHINE.transition(
        world, subscription, "reactivate", canceled_at=None, cancel_at_period_end=False, **period
    )
    subscriptions.schedule_expiry(world, subscription)
    subscriptions.schedule_trial_notice(world, subscription)
    subscriptions.schedule_renewal(world, subscription)
    return renewals.begin_again(world, subscription)


def why_not_reactivated(world: World, subscription: Subscription) -> str | None:
    """Return why a canceled subscription cannot be reactivated, or None where it can."""
    days = settings(world).reactivation_days
    if calendar.plus(subscription.canceled_at or world.now, days=days) < world.now:
        return f"The subscription was canceled more than {days} days ago."
    if subscription.ends_at is not None and subscription.ends_at <= world.now:
        return "The end date of the subscription has passed."
    if world.get(Customer, subscription.customer) is None:
        return "The customer of the subscription was deleted."
    return None


def pause(world: World, id: str) -> Subscription:
    """POST /subscriptions/{id}/pause/: periods go by uncharged (B-46)."""
    subscription = get_or_404(world, Subscription, id)
    world.cancel_jobs(subscription, "subscription.trial_notice")
    return STATE_MACHINE.transition(
        world, subscription, "pause", paused_at=world.now, paused_from=subscription.status
    )


def resume(world: World, id: str) -> Subscription:
    """POST /subscriptions/{id}/resume/: charge next at the next boundary, or the trial's (B-46).

    A charge that failed during the pause is tried again at once (B-45).
    """
    subscription = get_or_404(world, Subscription, id)
    trial = (
        subscription.paused_from != "active" and (subscription.trial_end or world.now) > world.now
    )
    subscription = STATE_MACHINE.transition(
        world, subscription, "resume trial" if trial else "resume"
    )
    subscriptions.schedule_trial_notice(world, subscription)
    return renewals.begin_again(world, subscription)


BLOCKING = ("active", "trialing")
"""Subscription states that keep a plan from being deactivated (SubscriptionPlans, DELETE)."""


def deactivate_plan(world: World, id: str) -> dict[str, Any]:
    """DELETE /subscription-plans/{id}/: soft; 409 with active or trialing subscriptions."""
    plan = get_or_404(world, SubscriptionPlan, id)
    if any(
        subscription.status in BLOCKING
        for subscription in world.table(Subscription).where("plan", id)
    ):
        raise ApiError("PLAN_IN_USE")
    return pick(world.replace(plan, active=False), "id", "active", "updated_at")


OPERATIONS = {
    "createSubscription": create,
    "updateSubscription": update,
    "cancelSubscription": cancel,
    "reactivateSubscription": reactivate,
    "pauseSubscription": pause,
    "resumeSubscription": resume,
    "deleteSubscriptionPlan": deactivate_plan,
}
