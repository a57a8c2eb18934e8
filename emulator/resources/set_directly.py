"""A tester's direct settings: an object's planned work follows its status and dates as set.

The setting itself sends no event. Each kind of object that has planned work has one
:class:`PlannedWork` here (B-89): the fields that the work follows, the jobs at its dates, and how
to plan them. A new status cancels every job of the object.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from emulator.core.errors import invalid_field
from emulator.core.records import Record
from emulator.core.world import World
from emulator.resources import reckoned_fields, set_actions, set_bounds, set_sums
from emulator.resources.billing import invoices, subscriptions
from emulator.resources.billing.invoices import Invoice
from emulator.resources.billing.subscriptions import UP_TO_DATE, Subscription
from emulator.resources.checkout import checkout_sessions
from emulator.resources.checkout.checkout_sessions import CheckoutSession
from emulator.resources.customers import payment_methods
from emulator.resources.customers.payment_methods import PaymentMethod
from emulator.resources.payments import refunds
from emulator.resources.payments.payment_intents import PaymentIntent
from emulator.resources.payments.refunds import Refund
from emulator.resources.payments.transactions import Transaction
from emulator.resources.webhooks import deliveries
from emulator.resources.webhooks.deliveries import WebhookDelivery
from emulator.resources.webhooks.endpoints import WebhookEndpoint

Values = Mapping[str, Any]


class PlannedWork(NamedTuple):
    """``fields``: the fields that planned work follows; ``jobs``: the jobs that ``plan`` renews."""

    fields: tuple[str, ...]
    jobs: tuple[str, ...]
    plan: Callable[[World, Any, Any], object]


def set_fields(world: World, record: Record, values: Values) -> Record:
    """Set fields of a record past its rules, and plan its consequences anew."""
    world.arrange()
    rule = RULES.get(type(record))
    changed = {field: value for field, value in values.items() if getattr(record, field) != value}
    reckoned_fields.check(record, changed, changed.get("status"))
    set_bounds.check(world, record, changed)
    derived = set_sums.follow(world, record, changed)
    if isinstance(record, Subscription):
        derived |= _derive_subscription(world, record, values)
    new = world.replace(record, **{**values, **derived})
    if rule is not None and any(
        getattr(record, field) != getattr(new, field) for field in rule.fields
    ):
        kept = getattr(record, "status", None) == getattr(new, "status", None)
        world.cancel_jobs(new, *(rule.jobs if kept else ()))
        rule.plan(world, record, new)
    set_sums.carry_on(world, record, new)
    return world.require(type(new), new.id)


# -- subscriptions


def _derive_subscription(world: World, old: Subscription, values: Values) -> Values:
    """Return the further fields that the values decide; 422 for values that contradict."""
    new = old.replace(**values)
    changes: dict[str, Any] = {}
    ends = {
        values[field]
        for field in ("trial_end", "current_period_end")
        if values.get(field) is not None
    }
    if new.status == "trialing" and ends:
        if len(ends) > 1:
            raise invalid_field(
                "trial_end", "must equal current_period_end, which is the end of the trial"
            )
        [end] = ends
        changes = {
            field: end for field in ("trial_end", "current_period_end") if field not in values
        }
    if (end := changes.get("current_period_end", new.current_period_end)) != old.current_period_end:
        changes |= {"anchor": end, "period": 0}
    return changes | (_derive_status(world, old, new, values) if new.status != old.status else {})


def _derive_status(
    world: World, old: Subscription, new: Subscription, values: Values
) -> dict[str, Any]:
    """Return a new status's fields: no charge being retried; paused or canceled as of now."""
    changes = dict(UP_TO_DATE)
    if new.status == "canceled":
        changes |= {"unpaid_invoice": old.unpaid_invoice, "canceled_at": world.now}
    elif new.status != "expired":
        changes["canceled_at"] = None
    if new.status == "paused":
        live = old.status in ("trialing", "active")
        changes |= {"paused_at": world.now, "paused_from": old.status if live else "active"}
    return {field: value for field, value in changes.items() if field not in values}


def _plan_subscription(world: World, old: Subscription, new: Subscription) -> None:
    if new.status in ("canceled", "expired"):
        return
    subscriptions.schedule_expiry(world, new)
    subscriptions.schedule_trial_notice(world, new)
    subscriptions.schedule_renewal(world, new)


# -- checkout sessions


def _plan_session(world: World, old: CheckoutSession, new: CheckoutSession) -> None:
    """Let a session expire on time, with any attempt that waits for the buyer."""
    if checkout_sessions.STATE_MACHINE.allows(new, "expire"):
        checkout_sessions.schedule_expiry(world, new)
    elif new.status == "processing":
        intent = world.get(PaymentIntent, new.payment_intent)
        waiting = world.jobs.where("about", new.id) + (
            world.jobs.where("about", intent.id) if intent else []
        )
        for job in waiting:
            is_check = job.name in ("payment_intent.unconfirmed", "checkout_session.unconfirmed")
            # A prompt on a phone has a time of its own (B-54).
            if is_check and "code" not in job.data:
                world.replace(job, due=max(min(job.due, new.expires_at), world.now))


# -- webhooks


def _plan_delivery(world: World, old: WebhookDelivery, new: WebhookDelivery) -> None:
    if new.status == "pending":
        world.schedule(new.next_attempt_at or world.now, "webhook.attempt", new)


def _plan_endpoint(world: World, old: WebhookEndpoint, new: WebhookEndpoint) -> None:
    if not new.enabled:
        deliveries.fail_waiting(world, new)


RULES: Mapping[type[Record], PlannedWork] = {
    Subscription: PlannedWork(
        ("status", "current_period_end", "trial_end", "ends_at", "cancel_at_period_end"),
        ("subscription.renew", "subscription.expire", "subscription.trial_notice"),
        _plan_subscription,
    ),
    Invoice: PlannedWork(
        ("status", "due_date"),
        ("invoice.overdue",),
        lambda world, _, new: invoices.schedule_overdue(world, new),
    ),
    CheckoutSession: PlannedWork(
        ("status", "expires_at"), ("checkout_session.expire",), _plan_session
    ),
    PaymentIntent: PlannedWork(
        ("status", "next_action"), ("payment_intent.unconfirmed",), set_actions.plan
    ),
    Transaction: PlannedWork(("status",), (), lambda world, old, new: None),
    Refund: PlannedWork(("status",), (), lambda world, _, new: refunds.plan(world, new)),
    PaymentMethod: PlannedWork(
        ("status", "details"),
        ("payment_method.expire",),
        lambda world, _, new: payment_methods.schedule_expiry(world, new),
    ),
    WebhookDelivery: PlannedWork(
        ("status", "next_attempt_at"), ("webhook.attempt",), _plan_delivery
    ),
    WebhookEndpoint: PlannedWork(("enabled",), (), _plan_endpoint),
}
"""The kinds that have planned work. A payment link's dates are looked at when it is used."""
