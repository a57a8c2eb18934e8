"""A subscription: its record and state machine, the terms agreed in a request, and its periods.

Operations and renewals are modules beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import msgspec

from emulator.core import calendar
from emulator.core.calendar import Timestamp
from emulator.core.errors import invalid_field
from emulator.core.handlers import get_handler, get_or_404, list_handler
from emulator.core.records import HIDDEN, N_, Metadata, Record, pick
from emulator.core.state_machine import StateMachine
from emulator.core.violations import Body, Violations
from emulator.core.world import World
from emulator.resources.app import amounts
from emulator.resources.catalog.plans import SubscriptionPlan
from emulator.resources.catalog.products import Product
from emulator.resources.customers import payment_methods
from emulator.resources.customers.customer_records import Customer
from emulator.resources.customers.payment_methods import PaymentMethod

# -- the record and its states


class FailureCause(msgspec.Struct, frozen=True, kw_only=True):
    """Why a charge failed (B-45): the operator's code, or a ``failure_causes`` row of wording.yaml.

    ``profile`` is the name of the security profile that forbade it, ``max_amount`` (minor units)
    its limit, ``type`` that of the payment method.
    """

    name: str
    profile: str | None = None
    max_amount: int | None = None
    type: str | None = None


class Subscription(Record, frozen=True, kw_only=True):
    """``unit_amount`` is minor units per period; a period is ``interval_count`` intervals."""

    prefix: ClassVar[str] = "sub"
    names: ClassVar[tuple[str, str] | None] = (N_("Subscription"), N_("Subscriptions"))
    indexes: ClassVar[tuple[str, ...]] = ("customer", "status", "plan", "product")

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
    # Internal state without a field in the service's objects: the instant periods are counted from,
    # the number of the current period (0 is the trial), whether the end of the trial was announced,
    # when and in which status it was last paused, and the failed charge that is being retried: the
    # time of its first failure, one more than the number of retry days that are used up, its
    # invoice, and why it failed last; when it became unpaid, or past due without a charge; the plan
    # at whose price the current period is, which keeps it when another plan is set (B-40).
    anchor: Annotated[str, HIDDEN]
    period: Annotated[int, HIDDEN] = 1
    trial_noticed: Annotated[bool, HIDDEN] = False
    paused_at: Annotated[str | None, HIDDEN] = None
    paused_from: Annotated[str | None, HIDDEN] = None
    failed_at: Annotated[str | None, HIDDEN] = None
    failures: Annotated[int, HIDDEN] = 0
    unpaid_invoice: Annotated[str | None, HIDDEN] = None
    failure: Annotated[FailureCause | None, HIDDEN] = None
    behind_since: Annotated[str | None, HIDDEN] = None
    priced_by: Annotated[str | None, HIDDEN] = None


NOTHING_FAILED: Mapping[str, Any] = {
    "failed_at": None,
    "failures": 0,
    "unpaid_invoice": None,
    "failure": None,
}
"""The fields of a subscription without a failed charge."""

UP_TO_DATE: Mapping[str, Any] = {**NOTHING_FAILED, "behind_since": None}
"""The fields of a subscription that is not behind either."""


def event_metadata(world: World, subscription: Subscription, event: str) -> Mapping[str, Any]:
    """``subscription.created`` and ``subscription.canceled`` carry the plan's metadata (Events)."""
    plan = world.get(SubscriptionPlan, subscription.plan)
    carries = plan is not None and event in ("subscription.created", "subscription.canceled")
    return {"plan": plan.metadata} if plan is not None and carries else {}


STATE_MACHINE = StateMachine(
    Subscription,
    (None, "start", "active", "subscription.created"),
    (None, "start trial", "trialing", "subscription.created"),
    # At the end of every period, charged or not (B-44, B-45, B-46).
    ("trialing active", "renew", "active"),
    ("past_due unpaid paused", "renew", None),
    ("trialing active", "pause", "paused"),
    ("paused", "resume", "active"),
    ("paused", "resume trial", "trialing"),
    ("active past_due", "fail", "past_due", "subscription.payment_failed"),
    # An attempt that began before it came into one of these states (Events: one event per failed
    # attempt).
    ("paused unpaid canceled expired", "fail", None, "subscription.payment_failed"),
    ("active", "fall behind", "past_due"),
    ("active past_due", "give up", "unpaid", "subscription.payment_failed"),
    ("past_due unpaid", "recover", "active"),
    ("trialing active", "schedule cancel", None),
    ("trialing active past_due unpaid paused", "take back cancel", None),
    ("trialing active past_due unpaid", "cancel", "canceled", "subscription.canceled"),
    # A scheduled cancellation falls due, or the customer is deleted.
    ("trialing active past_due unpaid paused", "end", "canceled", "subscription.canceled"),
    ("trialing active past_due unpaid paused", "expire", "expired"),
    ("canceled", "reactivate", "active"),
    event_metadata=event_metadata,
)


def end(world: World, subscription: Subscription, trigger: str) -> Subscription:
    """Cancel a subscription now, without jobs or retries unless reactivated (B-48)."""
    world.cancel_jobs(subscription)
    changes = {
        **UP_TO_DATE,
        "unpaid_invoice": subscription.unpaid_invoice,
        "canceled_at": world.now,
    }
    return STATE_MACHINE.transition(world, subscription, trigger, **changes)


def end_with_customer(world: World, customer: Customer) -> None:
    """Reaction to ``customer.deleted``: its live subscriptions are canceled (B-32).

    All lose their method, which is deleted as well (B-41).
    """
    for subscription in world.table(Subscription).where("customer", customer.id):
        is_live = STATE_MACHINE.allows(subscription, "end")
        ended = end(world, subscription, "end") if is_live else subscription
        if ended.payment_method is not None:
            world.replace(ended, payment_method=None)


def release_method(world: World, method: PaymentMethod) -> None:
    """Have a removed method's subscriptions charge the customer's default (B-41, B-52)."""
    for subscription in world.table(Subscription).where("customer", method.customer):
        if subscription.payment_method == method.id:
            world.replace(subscription, payment_method=None)


OPERATIONS = {
    "listSubscriptions": list_handler(Subscription),
    "getSubscription": get_handler(Subscription),
}


# -- terms: price and period, plan and product, payment method and end date


Terms = dict[str, Any]
"""``plan``, ``product``, ``currency``, ``unit_amount``, ``interval`` and ``interval_count`` as in a
subscription, and ``trial_period_days``.
"""


def agreed(violations: Violations, world: World, body: Body) -> Terms:
    """Return the terms of the plan, else of the body (B-40); incomplete if a rule is broken."""
    terms: Terms = {}
    product: Product | None = None
    with violations:
        product = (
            get_or_404(world, Product, body["product"], "product") if "product" in body else None
        )
        if product is not None and not product.active:
            raise invalid_field("product", "this product is archived")
    with violations:
        terms = (
            _from_plan(violations, world, body)
            if "plan" in body
            else _from_body(violations, world, body, product)
        )
    return {**terms, "product": product and product.id}


def _from_plan(violations: Violations, world: World, body: Body) -> Terms:
    plan = get_or_404(world, SubscriptionPlan, body["plan"], "plan")
    with violations:
        _require_chargeable(world, plan)
    with violations:
        amounts.enabled(world, plan.currency, "plan")
    with violations:
        if "unit_amount" in body:
            raise invalid_field("unit_amount", "cannot be given beside a plan")
    for field in ("interval", "interval_count", "currency"):
        with violations:
            if body.get(field, getattr(plan, field)) != getattr(plan, field):
                raise invalid_field(field, f"must equal the plan's, {getattr(plan, field)}")
    copied = pick(plan, "currency", "interval", "interval_count", "trial_period_days")
    return {"plan": plan.id, "unit_amount": plan.amount, **copied}


def _from_body(violations: Violations, world: World, body: Body, product: Product | None) -> Terms:
    currency: str | None = None
    with violations:
        wanted = product.currency if product else amounts.currency_or_main(world, body)
        if product is not None and body.get("currency", wanted) != wanted:
            raise invalid_field("currency", f"must equal the product's, {wanted}")
        currency = amounts.enabled(
            world, wanted, "product" if product and "currency" not in body else "currency"
        )
    return {
        "plan": None,
        "currency": currency,
        "unit_amount": amounts.chargeable(world, body["unit_amount"], currency, "unit_amount"),
        "interval": body["interval"],
        "interval_count": body.get("interval_count", 1),
        "trial_period_days": 0,
    }


def _require_chargeable(world: World, plan: SubscriptionPlan) -> None:
    """Raise 422 for a deactivated plan or an amount the App does not charge (B-15, B-23)."""
    if not plan.active:
        raise invalid_field("plan", "this plan is deactivated")
    amounts.chargeable(world, plan.amount, plan.currency, "plan")


def new_plan(violations: Violations, world: World, id: str, subscription: Subscription) -> str:
    """Return a subscription's new plan: active, of the same period and currency (B-40)."""
    plan = get_or_404(world, SubscriptionPlan, id, "plan")
    with violations:
        _require_chargeable(world, plan)
    for field in ("interval", "interval_count", "currency"):
        with violations:
            if getattr(plan, field) != getattr(subscription, field):
                message = (
                    f"its {field} must equal the subscription's, {getattr(subscription, field)}"
                )
                raise invalid_field("plan", message)
    return plan.id


def require_email(customer: Customer | None) -> None:
    """Raise 422 for a customer who cannot be told of renewals (Subscriptions, POST)."""
    if customer is not None and customer.email is None:
        raise invalid_field("customer", "must have an email, to which renewals are notified")


def payment_method(world: World, customer: str, body: Mapping[str, Any]) -> str | None:
    """Return the charged method's id: the body's, active and the customer's, or the default's."""
    if "payment_method" not in body:
        default = payment_methods.default(world, customer)
        return None if default is None else default.id
    method = get_or_404(world, PaymentMethod, body["payment_method"], "payment_method")
    if method.customer != customer or method.status != "active":
        raise invalid_field("payment_method", "must be an active method of this customer")
    return method.id


def end_date(world: World, body: Mapping[str, Any]) -> str | None:
    """Return the instant it expires, which must be in the future (B-40)."""
    if "ends_at" not in body:
        return None
    ends_at = calendar.normalise(body["ends_at"])
    if ends_at <= world.now:
        raise invalid_field("ends_at", "must be in the future")
    return ends_at


# -- periods: their boundaries, and the jobs scheduled at them


TRIAL_NOTICE_DAYS = 3
"""``subscription.trial_will_end`` is sent this many days before the trial ends (Limits)."""


def next_period(world: World, subscription: Subscription) -> dict[str, Any]:
    """Return the next period's fields, from the anchor (B-42), at the plan's price (B-40)."""
    number = subscription.period + 1
    intervals = subscription.interval_count * number
    plan = world.get(SubscriptionPlan, subscription.plan)
    return {
        "period": number,
        "current_period_start": subscription.current_period_end,
        "current_period_end": calendar.step(subscription.anchor, subscription.interval, intervals),
        "unit_amount": subscription.unit_amount if plan is None else plan.amount,
        "priced_by": subscription.plan,
    }


def current_plan(world: World, subscription: Subscription) -> SubscriptionPlan | None:
    """Return the plan that ``unit_amount`` is the price of: a new one applies later (B-40).

    Of a subscription that a version without ``priced_by`` stored, its plan if the price is its own.
    """
    plan = world.get(SubscriptionPlan, subscription.plan)
    if plan is None or subscription.priced_by == plan.id:
        return plan
    if subscription.priced_by is None:
        return plan if plan.amount == subscription.unit_amount else None
    return world.get(SubscriptionPlan, subscription.priced_by)


def current_period(world: World, subscription: Subscription) -> dict[str, Any]:
    """Return the running period's fields; empty if it is the stored one (B-48, B-89)."""
    changes: dict[str, Any] = {}
    while subscription.current_period_end <= world.now < calendar.LAST:
        changes = next_period(world, subscription)
        subscription = subscription.replace(**changes)
    return changes


def schedule_renewal(world: World, subscription: Subscription) -> None:
    """Renew at the end of the current period; at the end of the calendar no further period begins.

    Scheduled after the period's own charge, so that at one instant an invoice falls overdue first
    (B-96).
    """
    if subscription.current_period_start < calendar.LAST:
        world.schedule(subscription.current_period_end, "subscription.renew", subscription)


def end_of(subscription: Subscription) -> Timestamp | None:
    """Return when it ends by its end date or its cancellation at the period's end, if it does."""
    cancels = subscription.current_period_end if subscription.cancel_at_period_end else None
    return min(filter(None, (subscription.ends_at, cancels)), default=None)


def schedule_expiry(world: World, subscription: Subscription) -> None:
    """Expire at ``ends_at``, if any; scheduled before renewals, so that it runs first (B-40)."""
    if subscription.ends_at is not None:
        world.schedule(subscription.ends_at, "subscription.expire", subscription)


def trial_notice_at(subscription: Subscription) -> str:
    return calendar.plus(subscription.trial_end or subscription.created_at, days=-TRIAL_NOTICE_DAYS)


def schedule_trial_notice(world: World, subscription: Subscription) -> None:
    """Send the notice at its time, or at once where that is past; each trial has one (B-43)."""
    world.cancel_jobs(subscription, "subscription.trial_notice")
    if ends_in_charge(world, subscription):
        world.schedule(trial_notice_at(subscription), "subscription.trial_notice", subscription)


def ends_in_charge(world: World, subscription: Subscription) -> bool:
    """Return whether a trial's end is ahead, not yet announced, and will be charged (B-43)."""
    trial_end = subscription.trial_end
    if trial_end is None or trial_end <= world.now or subscription.trial_noticed:
        return False
    goes_on = (
        subscription.status in ("trialing", "active") and not subscription.cancel_at_period_end
    )
    return goes_on and (subscription.ends_at is None or subscription.ends_at > trial_end)
