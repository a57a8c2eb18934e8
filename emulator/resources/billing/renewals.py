"""Renewals: each period's invoice and its charge, and the retries of a charge that failed (B-41 to B-46)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from emulator.core.jobs import Job
from emulator.core.world import World
from emulator.resources.app import security_profiles
from emulator.resources.app.settings import settings
from emulator.resources.billing import dunning, invoice_lines, invoices, subscriptions
from emulator.resources.billing import subscription_periods as periods
from emulator.resources.billing.invoices import Invoice
from emulator.resources.billing.subscriptions import STATE_MACHINE, Subscription
from emulator.resources.catalog.plans import SubscriptionPlan
from emulator.resources.catalog.products import Product
from emulator.resources.customers import payment_methods
from emulator.resources.customers.customer_records import Customer
from emulator.resources.customers.payment_details import ONE_TYPE
from emulator.resources.payments import charging, current_payment, payment_intents

# -- jobs


def send_trial_notice(world: World, job: Job) -> None:
    """Job ``subscription.trial_notice``: three days before the trial ends, if it is going to end in a charge (B-43)."""
    subscription = world.get(Subscription, job.about)
    if subscription is not None and periods.ends_in_charge(world, subscription):
        world.emit("subscription.trial_will_end", world.replace(subscription, trial_noticed=True))


def first_charge(world: World, job: Job) -> None:
    """Job ``subscription.charge``: the first period, due at creation (B-41)."""
    subscription = world.get(Subscription, job.about)
    if subscription is not None and subscription.status == "active":
        charge(world, subscription)
        periods.schedule_renewal(world, subscription)


def renew(world: World, job: Job) -> None:
    """Job ``subscription.renew``, at the end of a period: cancel it if that was scheduled, else begin the next period.

    The period is charged unless the subscription is paused or an earlier charge has failed (B-43 to B-47).
    """
    subscription = world.get(Subscription, job.about)
    if subscription is None or not STATE_MACHINE.allows(subscription, "renew"):
        return
    if subscription.status == "past_due" and _retry_due(world, subscription):
        # Scheduled again, the boundary comes after the retry of the same instant (B-45).
        world.schedule(world.now, "subscription.renew", subscription)
        return
    if subscription.cancel_at_period_end:
        subscriptions.end(world, subscription, "end")
        return
    subscription = STATE_MACHINE.transition(world, subscription, "renew", **periods.next_period(world, subscription))
    if is_charged(world, subscription):
        charge(world, subscription)
    periods.schedule_renewal(world, subscription)


def _retry_due(world: World, subscription: Subscription) -> bool:
    """Whether the failed charge is to be retried at this very instant."""
    return any(job.due <= world.now for job in dunning.retries(world, subscription))


def is_charged(world: World, subscription: Subscription) -> bool:
    """Whether a period is charged that begins now.

    Active ones are; past due ones are invoiced (B-96) unless a failed charge is still being retried (B-45).
    """
    if subscription.status == "active":
        return True
    if subscription.status not in ("past_due", "unpaid"):
        return False
    if subscription.status == "past_due" and (
        subscription.unpaid_invoice is None or subscription.collection_method == "send_invoice"
    ):
        return True
    return dunning.charges_every_period(world)


def expire(world: World, job: Job) -> None:
    """Job ``subscription.expire``: the end date is reached; a canceled one stays canceled (B-40)."""
    subscription = world.get(Subscription, job.about)
    if subscription is not None and STATE_MACHINE.allows(subscription, "expire"):
        world.cancel_jobs(subscription)
        STATE_MACHINE.transition(world, subscription, "expire")


def retry(world: World, job: Job) -> None:
    """Job ``subscription.retry``: charge the failed invoice again, unless it was paid or voided since (B-45).

    It waits for a payment of the invoice that is under way (B-62): :func:`dunning.attempt_ended` schedules it again.
    Under ``send_invoice`` the invoice is emailed instead.
    """
    subscription = world.get(Subscription, job.about)
    if subscription is None or subscription.status not in ("active", "past_due"):
        return
    invoice = world.get(Invoice, subscription.unpaid_invoice)
    if invoice is None or invoice.status != "open" or current_payment.of(world, invoice) is not None:
        return
    if subscription.collection_method == "charge_automatically":
        collect(world, subscription, invoice)
    else:
        invoices.send_email(world, invoice)
        dunning.skip_retry(world, subscription)


# -- charging


def charge(world: World, subscription: Subscription) -> None:
    """Bill the current period: an invoice that is charged or emailed (B-41, B-44)."""
    customer = world.get(Customer, subscription.customer)
    if customer is None:
        return
    invoice = invoices.finalize_now(world, _draft(world, subscription, customer))
    if invoice.status == "open":
        if _is_collected(world, subscription, customer):
            collect(world, subscription, invoice)
        else:
            invoices.send_email(world, invoice)
        invoices.schedule_overdue(world, world.require(Invoice, invoice.id))


def _is_collected(world: World, subscription: Subscription, customer: Customer) -> bool:
    """Whether its invoices are charged; one of a customer who never had a method is emailed, under one assumption (B-41)."""
    if subscription.collection_method == "send_invoice":
        return False
    if subscription.payment_method is not None or payment_methods.has_had_method(world, customer):
        return True
    return settings(world).assumptions.renewal_without_method == "fail"


def next_charge(world: World, subscription: Subscription) -> Mapping[str, Any]:
    """The amounts of the next period's invoice (minor units) and its tax rate, as price and settings are now."""
    amount = periods.next_period(world, subscription)["unit_amount"]
    line = invoice_lines.line(product=None, description="", quantity=1, unit_amount=amount)
    return invoice_lines.totals(world, (line,))


def _draft(world: World, subscription: Subscription, customer: Customer) -> Invoice:
    line = invoice_lines.line(
        product=subscription.product,
        description=item_name(world, subscription) or "Subscription",
        quantity=1,
        unit_amount=subscription.unit_amount,
    )
    # The line shows the product, so the plan's name goes into the header (B-67).
    plan = world.get(SubscriptionPlan, subscription.plan) if subscription.product is not None else None
    header = None if plan is None else plan.name
    return invoices.draft(
        world, customer, (line,), subscription.currency, description=header, subscription=subscription.id
    )


def item_name(world: World, subscription: Subscription) -> str | None:
    """The name that invoices and emails show: the product's, else the plan's, else None."""
    sold = world.get(Product, subscription.product) or world.get(SubscriptionPlan, subscription.plan)
    return None if sold is None else sold.name


def collect(world: World, subscription: Subscription, invoice: Invoice) -> None:
    """Charge an invoice to the stored method; the outcome arrives through the intent's events.

    Without an active method (B-41), or where a profile forbids the payment (rules 3 and 4), it fails without an intent.
    """
    method = payment_methods.usable(world, subscription.customer, subscription.payment_method)
    if method is None or not security_profiles.permits(world, invoice.subtotal, method.type):
        dunning.record_failure(world, subscription, invoice)
        return
    intent = payment_intents.start(
        world,
        method,
        subtotal=invoice.subtotal,
        payment_method_types=ONE_TYPE[method.type],
        amount=invoice.amount_remaining,
        currency=invoice.currency,
        customer=invoice.customer,
        customer_email=invoice.customer_email,
        description=f"Invoice {invoice.invoice_number}",
        invoice=invoice.id,
        subscription=subscription.id,
        product=subscription.product,
    )
    charging.confirm(world, intent, method, off_session=True)


JOBS = {
    "subscription.charge": first_charge,
    "subscription.renew": renew,
    "subscription.retry": retry,
    "subscription.trial_notice": send_trial_notice,
    "subscription.expire": expire,
}
