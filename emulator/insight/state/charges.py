"""The charges of subscriptions that are planned, and what can pay an invoice already."""

from __future__ import annotations

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
