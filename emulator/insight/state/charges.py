"""The charges of subscriptions that are planned, and what can pay an invoice already."""

from __future__ import annotations

from itertools import pairwise

from emulator.core.jobs import Job
from emulator.core.world import World
from emulator.resources.billing import renewals, subscriptions
from emulator.resources.billing.invoices import Invoice
from emulator.resources.billing.subscriptions import Subscription
from emulator.resources.payments import payment_intents


def planned_jobs(world: World, id: str) -> dict[str, str]:
    """Return the next instant of the object's planned jobs, by kind, soonest first."""
    instants: dict[str, str] = {}
    for job in sorted(world.table(Job).where("about", id), key=lambda job: (job.due, job.sequence)):
        instants.setdefault(job.name, job.due)
    return instants


def open_invoices(world: World, subscription: Subscription) -> list[Invoice]:
    return [
        invoice
        for invoice in world.table(Invoice).where("subscription", subscription.id)
        if invoice.status == "open"
    ]


def is_claimed(world: World, invoice: Invoice) -> bool:
    """Return whether a payment that is under way or not yet settled can pay it (B-62)."""
    return payment_intents.current_payment(world, invoice) is not None


def next_retry(world: World, subscription: Subscription) -> str | None:
    """Return when the failed charge is tried again, unless the subscription ends before.

    Nor is it where a payment that succeeded has yet to be settled (B-61).
    """
    retry = planned_jobs(world, subscription.id).get("subscription.retry")
    owed = world.get(Invoice, subscription.unpaid_invoice)
    payment = payment_intents.current_payment(world, owed) if owed else None
    if retry is None or (payment is not None and payment.status == "succeeded"):
        return None
    end = subscriptions.end_of(subscription)
    return retry if end is None or retry < end else None


def last_retry(world: World, subscription: Subscription) -> str | None:
    """Return the last one of several retries, unless the subscription ends before it."""
    if subscription.failed_at is None or next_retry(world, subscription) is None:
        return None
    retries = renewals.retries_left(world, subscription)
    end = subscriptions.end_of(subscription)
    if len(retries) < 2 or (end is not None and end <= retries[-1]):
        return None
    return retries[-1]


def is_charge_planned(world: World, subscription: Subscription) -> bool:
    """Return whether a charge of this subscription is planned that can succeed or fail."""
    planned = planned_jobs(world, subscription.id)
    if subscription.collection_method != "charge_automatically":
        return False
    if subscription.status in ("trialing", "active"):
        return "subscription.renew" in planned and not subscription.cancel_at_period_end
    return subscription.status == "past_due" and "subscription.retry" in planned


def charged_after(world: World, invoice: Invoice) -> Invoice | None:
    """Return the invoice whose payment has this open one charged again, if any (B-45).

    Where every period is charged, those that failed beside the first one follow it, the oldest
    first, one by one.
    """
    subscription = world.get(Subscription, invoice.subscription)
    first = world.get(Invoice, subscription.unpaid_invoice) if subscription else None
    if subscription is None or first is None or not renewals.charges_every_period(world):
        return None
    is_owed = subscription.status in ("past_due", "unpaid")
    is_followed = (
        renewals.recovers_with(world, subscription, first)
        if is_owed
        else subscription.status == "active"
    )
    if subscription.collection_method == "send_invoice" or not is_followed:
        return None
    others = [other for other in open_invoices(world, subscription) if other.id != first.id]
    queue = [first, *others]
    return next((earlier for earlier, own in pairwise(queue) if own.id == invoice.id), None)


def can_be_charged_first(world: World, invoice: Invoice) -> bool:
    """Return whether a payment that is planned or under way can have it charged by itself."""
    subscription = world.get(Subscription, invoice.subscription)
    if subscription is None or charged_after(world, invoice) is None:
        return False
    own = world.table(Invoice).where("subscription", subscription.id)
    return next_retry(world, subscription) is not None or any(
        is_claimed(world, other) for other in own
    )
