"""A subscription: its record and its state machine. Periods, terms, operations and renewals are modules beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from emulator.core.events import Event
from emulator.core.handlers import get_handler, list_handler
from emulator.core.jobs import Job
from emulator.core.records import HIDDEN, Metadata, Record
from emulator.core.state_machine import StateMachine
from emulator.core.translatable import N_
from emulator.core.world import World
from emulator.resources.catalog.plans import SubscriptionPlan


class Subscription(Record, frozen=True, kw_only=True):
    """``unit_amount`` is minor units per period; a period is ``interval_count`` intervals."""

    kind: ClassVar[str] = "subscription"
    prefix: ClassVar[str] = "sub"
    names: ClassVar[tuple[str, str] | None] = (N_("Subscription"), N_("Subscriptions"))
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
    # Internal state without a field in the service's objects: the instant periods are counted from, the number of the
    # current period (0 is the trial), whether the end of the trial was announced, when and in which status it was last
    # paused, and the failed charge that is being retried: the time of its first failure, one more than the number of
    # retry days that are used up, and its invoice; when it became unpaid, or past due without a charge.
    anchor: Annotated[str, HIDDEN]
    period: Annotated[int, HIDDEN] = 1
    trial_noticed: Annotated[bool, HIDDEN] = False
    paused_at: Annotated[str | None, HIDDEN] = None
    paused_from: Annotated[str | None, HIDDEN] = None
    failed_at: Annotated[str | None, HIDDEN] = None
    failures: Annotated[int, HIDDEN] = 0
    unpaid_invoice: Annotated[str | None, HIDDEN] = None
    behind_since: Annotated[str | None, HIDDEN] = None


NOTHING_FAILED: Mapping[str, Any] = {"failed_at": None, "failures": 0, "unpaid_invoice": None, "behind_since": None}
"""The fields of a subscription without a failed charge."""


def event_metadata(world: World, subscription: Subscription, event: str) -> Mapping[str, Any]:
    """``subscription.created`` and ``subscription.canceled`` carry the plan's metadata (Events)."""
    plan = world.get(SubscriptionPlan, subscription.plan)
    return {"plan": plan.metadata} if plan is not None and event in _CARRYING_PLAN else {}


_CARRYING_PLAN = ("subscription.created", "subscription.canceled")

STATE_MACHINE = StateMachine(
    Subscription,
    (None, "start", "active", "subscription.created"),
    (None, "start trial", "trialing", "subscription.created"),
    # At the end of every period, charged or not (B-44, B-45, B-46).
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
    # An attempt that began before it came into one of these states (Events: one event per failed attempt).
    ("paused", "fail", "paused", "subscription.payment_failed"),
    ("unpaid", "fail", "unpaid", "subscription.payment_failed"),
    ("canceled", "fail", "canceled", "subscription.payment_failed"),
    ("expired", "fail", "expired", "subscription.payment_failed"),
    ("active", "fall behind", "past_due"),
    ("active", "give up", "unpaid", "subscription.payment_failed"),
    ("past_due", "give up", "unpaid", "subscription.payment_failed"),
    ("past_due", "recover", "active"),
    ("unpaid", "recover", "active"),
    ("trialing", "schedule cancel", "trialing"),
    ("active", "schedule cancel", "active"),
    ("trialing", "take back cancel", "trialing"),
    ("active", "take back cancel", "active"),
    ("past_due", "take back cancel", "past_due"),
    ("unpaid", "take back cancel", "unpaid"),
    ("paused", "take back cancel", "paused"),
    ("trialing", "cancel", "canceled", "subscription.canceled"),
    ("active", "cancel", "canceled", "subscription.canceled"),
    ("past_due", "cancel", "canceled", "subscription.canceled"),
    ("unpaid", "cancel", "canceled", "subscription.canceled"),
    # A scheduled cancellation falls due, or the customer is deleted.
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


def end(world: World, subscription: Subscription, trigger: str) -> Subscription:
    """Cancel it now: its jobs are removed and a failed charge is not retried, unless it is reactivated (B-48)."""
    world.cancel_jobs(subscription)
    cleared = {"failed_at": None, "failures": 0, "behind_since": None}
    return STATE_MACHINE.transition(world, subscription, trigger, canceled_at=world.now, **cleared)


def end_with_customer(world: World, event: Event) -> None:
    """Reaction to ``customer.deleted``: its live subscriptions are canceled (B-32)."""
    for subscription in world.table(Subscription).where("customer", event.data.object.id):
        if STATE_MACHINE.allows(subscription, "end"):
            end(world, subscription, "end")


def release_method(world: World, job: Job) -> None:
    """Job ``payment_method.removed``: subscriptions on it charge the customer's default from now on (B-41, B-52)."""
    for subscription in world.table(Subscription).where("customer", job.data["customer"]):
        if subscription.payment_method == job.about:
            world.replace(subscription, payment_method=None)


retrieve = get_handler(Subscription)
index = list_handler(Subscription)

OPERATIONS = {"listSubscriptions": index, "getSubscription": retrieve}
JOBS = {"payment_method.removed": release_method}
