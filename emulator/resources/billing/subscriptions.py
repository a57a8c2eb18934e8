"""A subscription: a customer charged again and again, period by period from an anchor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from emulator.core import calendar
from emulator.core.events import Event
from emulator.core.handlers import get_handler, get_or_404, list_handler
from emulator.core.records import HIDDEN, Metadata, Record, merge_metadata, pick
from emulator.core.state_machine import StateMachine
from emulator.core.world import World
from emulator.errors import ApiError
from emulator.resources.app.settings import settings
from emulator.resources.billing import subscription_periods as periods
from emulator.resources.billing import subscription_terms as terms
from emulator.resources.catalog.plans import SubscriptionPlan
from emulator.resources.customers.records import Customer


class Subscription(Record, frozen=True, kw_only=True):
    """``unit_amount`` is minor units per period; a period is ``interval_count`` intervals."""

    kind: ClassVar[str] = "subscription"
    prefix: ClassVar[str] = "sub"
    not_found_code: ClassVar[str] = "SUBSCRIPTION_NOT_FOUND"
    indexes: ClassVar[tuple[str, ...]] = ("customer", "status", "plan")

    object: str = "subscription"
    app: str
    customer: str
    status: str
    plan: str | None
    product: str | None
    currency: str
    unit_amount: int
    interval: str
    interval_count: int
    collection_method: str
    current_period_start: str
    current_period_end: str
    trial_start: str | None
    trial_end: str | None
    canceled_at: str | None = None
    cancel_at_period_end: bool
    ends_at: str | None
    payment_method: str | None
    metadata: Metadata
    created_at: str
    updated_at: str
    # Bookkeeping of the emulator, with no field in the service's objects: where periods are counted from, the number
    # of the running one (0 is the trial), when it was last paused, and the charge that failed and is not settled.
    anchor: Annotated[str, HIDDEN]
    period: Annotated[int, HIDDEN] = 1
    paused_at: Annotated[str | None, HIDDEN] = None
    failed_at: Annotated[str | None, HIDDEN] = None
    failures: Annotated[int, HIDDEN] = 0
    unpaid_invoice: Annotated[str | None, HIDDEN] = None


def event_metadata(world: World, subscription: Subscription, event: str) -> Mapping[str, Any]:
    """Plan metadata goes with ``subscription.created`` and ``subscription.canceled`` (Events section)."""
    plan = world.get(SubscriptionPlan, subscription.plan)
    return {"plan": plan.metadata} if plan is not None and event in _WITH_PLAN else {}


_WITH_PLAN = ("subscription.created", "subscription.canceled")

LIFECYCLE = StateMachine(
    Subscription,
    (None, "start", "active", "subscription.created"),
    (None, "start trial", "trialing", "subscription.created"),
    # Every period's end, charged or not: the calendar goes on whatever the customer does (B-44, B-45, B-46).
    ("trialing", "renew", "active"),
    ("active", "renew", "active"),
    ("past_due", "renew", "past_due"),
    ("unpaid", "renew", "unpaid"),
    ("paused", "renew", "paused"),
    ("trialing", "pause", "paused"),
    ("active", "pause", "paused"),
    ("paused", "resume", "active"),
    ("paused", "resume trial", "trialing"),
    ("active", "fail", "past_due", "subscription.payment_failed"),
    ("past_due", "fail", "past_due", "subscription.payment_failed"),
    ("active", "fall behind", "past_due"),
    ("past_due", "give up", "unpaid"),
    ("past_due", "recover", "active"),
    ("unpaid", "recover", "active"),
    ("trialing", "schedule cancel", "trialing"),
    ("active", "schedule cancel", "active"),
    ("trialing", "take back cancel", "trialing"),
    ("active", "take back cancel", "active"),
    ("trialing", "cancel", "canceled", "subscription.canceled"),
    ("active", "cancel", "canceled", "subscription.canceled"),
    ("past_due", "cancel", "canceled", "subscription.canceled"),
    ("unpaid", "cancel", "canceled", "subscription.canceled"),
    # A scheduled cancellation that comes due, or a customer who is deleted.
    ("trialing", "end", "canceled", "subscription.canceled"),
    ("active", "end", "canceled", "subscription.canceled"),
    ("past_due", "end", "canceled", "subscription.canceled"),
    ("unpaid", "end", "canceled", "subscription.canceled"),
    ("paused", "end", "canceled", "subscription.canceled"),
    ("trialing", "expire", "expired"),
    ("active", "expire", "expired"),
    ("past_due", "expire", "expired"),
    ("unpaid", "expire", "expired"),
    ("paused", "expire", "expired"),
    ("canceled", "reactivate", "active"),
    event_metadata=event_metadata,
)


# -- what merchants do


def create(world: World, body: Mapping[str, Any]) -> Subscription:
    """POST /subscriptions/ (B-40, B-41, B-43): ``active`` and charged as the next job, or ``trialing``."""
    customer = get_or_404(world, Customer, body["customer"], "customer")
    agreed = terms.agreed(world, body)
    if "trial_period_days" in body:
        agreed["trial_period_days"] = body["trial_period_days"]
    subscription = begin(
        world,
        agreed,
        customer=customer.id,
        collection_method=body["collection_method"],
        cancel_at_period_end=body["cancel_at_period_end"],
        ends_at=terms.end(world, body),
        payment_method=terms.method(world, customer.id, body),
        metadata=body.get("metadata", {}),
    )
    if subscription.status == "active":
        world.schedule(world.now, "subscription.charge", subscription)
    return subscription


def begin(world: World, agreed: terms.Terms, **fields: Any) -> Subscription:
    """A new one on these terms, ``trialing`` or ``active``; the first period of an active one is not charged yet."""
    agreed = dict(agreed)
    trial_days = agreed.pop("trial_period_days")
    trial_end = calendar.plus(world.now, days=trial_days) if trial_days else None
    subscription = Subscription(
        id=world.new_id(Subscription),
        app=world.app,
        status="trialing" if trial_end else "active",
        current_period_start=world.now,
        current_period_end=trial_end or calendar.step(world.now, agreed["interval"], agreed["interval_count"]),
        trial_start=world.now if trial_end else None,
        trial_end=trial_end,
        created_at=world.now,
        updated_at=world.now,
        anchor=trial_end or world.now,
        period=0 if trial_end else 1,
        **agreed,
        **fields,
    )
    subscription = LIFECYCLE.create(world, "start trial" if trial_end else "start", subscription)
    periods.plan_end(world, subscription)
    if trial_end:
        periods.plan_trial_notice(world, subscription)
        periods.plan_renewal(world, subscription)
    return subscription


def update(world: World, id: str, body: Mapping[str, Any]) -> Subscription:
    """PATCH /subscriptions/{id}/; a new plan's amount applies from the next period (B-40)."""
    subscription = get_or_404(world, Subscription, id)
    changes: dict[str, Any] = {}
    if "payment_method" in body:
        changes["payment_method"] = terms.method(world, subscription.customer, body)
    if "collection_method" in body:
        changes["collection_method"] = body["collection_method"]
    if "plan" in body:
        changes["plan"] = terms.new_plan(world, body["plan"], subscription)
    if "metadata" in body:
        changes["metadata"] = merge_metadata(subscription.metadata, body["metadata"])
    if "cancel_at_period_end" in body:
        return _schedule_cancel(world, subscription, body["cancel_at_period_end"], **changes)
    return world.replace(subscription, **changes) if changes else subscription


def _schedule_cancel(world: World, subscription: Subscription, scheduled: bool, **changes: Any) -> Subscription:
    trigger = "schedule cancel" if scheduled else "take back cancel"
    return LIFECYCLE.transition(world, subscription, trigger, cancel_at_period_end=scheduled, **changes)


def cancel(world: World, id: str, body: Mapping[str, Any]) -> Subscription | dict[str, Any]:
    """POST /subscriptions/{id}/cancel/: at once, or at the end of the running period (B-47)."""
    subscription = get_or_404(world, Subscription, id)
    if subscription.status == "canceled":
        raise ApiError("SUBSCRIPTION_ALREADY_CANCELED")
    if not body["cancel_at_period_end"]:
        return end(world, subscription, "cancel")
    subscription = _schedule_cancel(world, subscription, True)
    return pick(subscription, "id", "status", "cancel_at_period_end", "current_period_end", "canceled_at", "updated_at")


def reactivate(world: World, id: str) -> Subscription:
    """POST /subscriptions/{id}/reactivate/: within the grace period, with no charge now (B-48)."""
    subscription = get_or_404(world, Subscription, id)
    if subscription.status == "canceled" and (reason := _gone_for_good(world, subscription)):
        raise ApiError("INVALID_STATUS_TRANSITION", message=reason)
    running = periods.running(world, subscription)
    subscription = LIFECYCLE.transition(
        world, subscription, "reactivate", canceled_at=None, cancel_at_period_end=False, **running
    )
    periods.plan_end(world, subscription)
    periods.plan_renewal(world, subscription)
    return subscription


def _gone_for_good(world: World, subscription: Subscription) -> str | None:
    """Why a canceled subscription cannot come back, or None."""
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
    return LIFECYCLE.transition(world, subscription, "pause", paused_at=world.now)


def resume(world: World, id: str) -> Subscription:
    """POST /subscriptions/{id}/resume/: the next charge comes at the next boundary (B-46)."""
    subscription = get_or_404(world, Subscription, id)
    trial = subscription.trial_end is not None and subscription.trial_end > world.now
    subscription = LIFECYCLE.transition(world, subscription, "resume trial" if trial else "resume")
    if trial and periods.notice_at(subscription) > (subscription.paused_at or world.now):
        periods.plan_trial_notice(world, subscription)
    return subscription


# -- the end


def end(world: World, subscription: Subscription, trigger: str) -> Subscription:
    """It is canceled now: nothing more is planned, and no failed charge is waited for."""
    world.cancel_jobs(subscription)
    return LIFECYCLE.transition(
        world, subscription, trigger, canceled_at=world.now, failed_at=None, failures=0, unpaid_invoice=None
    )


def end_with_customer(world: World, event: Event) -> None:
    """Reaction to ``customer.deleted``: the live subscriptions are canceled (B-32)."""
    for subscription in world.table(Subscription).where("customer", event.data.object.id):
        if LIFECYCLE.allows(subscription, "end"):
            end(world, subscription, "end")


retrieve = get_handler(Subscription)
index = list_handler(Subscription)

OPERATIONS = {
    "createSubscription": create,
    "listSubscriptions": index,
    "getSubscription": retrieve,
    "updateSubscription": update,
    "cancelSubscription": cancel,
    "reactivateSubscription": reactivate,
    "pauseSubscription": pause,
    "resumeSubscription": resume,
}
