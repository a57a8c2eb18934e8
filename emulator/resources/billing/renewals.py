"""Renewals: each period's invoice and charge, retries after a failed charge, and recovery (B-41 to B-46)."""

from __future__ import annotations

from emulator.core import calendar
from emulator.core.calendar import Timestamp
from emulator.core.events import Event
from emulator.core.jobs import Job
from emulator.core.world import World
from emulator.resources.app import security_profiles
from emulator.resources.app.settings import settings
from emulator.resources.billing import invoice_lines, invoices, subscriptions
from emulator.resources.billing import subscription_periods as periods
from emulator.resources.billing.invoices import Invoice
from emulator.resources.billing.subscriptions import STATE_MACHINE, Subscription
from emulator.resources.catalog.plans import SubscriptionPlan
from emulator.resources.catalog.products import Product
from emulator.resources.customers import payment_methods
from emulator.resources.customers.payment_methods import PaymentMethod
from emulator.resources.customers.records import Customer
from emulator.resources.payments import charging, payment_intents
from emulator.resources.payments.payment_intents import PaymentIntent

# -- jobs


def send_trial_notice(world: World, job: Job) -> None:
    """Job ``subscription.trial_notice``: three days before the trial ends."""
    subscription = world.get(Subscription, job.about)
    if subscription is not None and subscription.status == "trialing":
        world.emit("subscription.trial_will_end", subscription)


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
    if subscription.cancel_at_period_end:
        subscriptions.end(world, subscription, "end")
        return
    subscription = STATE_MACHINE.transition(world, subscription, "renew", **periods.next_period(world, subscription))
    if _is_charged(subscription):
        charge(world, subscription)
    periods.schedule_renewal(world, subscription)


def _is_charged(subscription: Subscription) -> bool:
    """Active ones are; past due ones are invoiced (B-96) unless a failed charge is still being retried (B-45)."""
    if subscription.status == "past_due":
        return subscription.unpaid_invoice is None or subscription.collection_method == "send_invoice"
    return subscription.status == "active"


def expire(world: World, job: Job) -> None:
    """Job ``subscription.expire``: the end date is reached; a canceled one stays canceled (B-40)."""
    subscription = world.get(Subscription, job.about)
    if subscription is not None and STATE_MACHINE.allows(subscription, "expire"):
        world.cancel_jobs(subscription)
        STATE_MACHINE.transition(world, subscription, "expire")


def retry(world: World, job: Job) -> None:
    """Job ``subscription.retry``: charge the failed invoice again, unless it was paid or voided since (B-45)."""
    subscription = world.get(Subscription, job.about)
    if subscription is None or subscription.status != "past_due":
        return
    invoice = world.get(Invoice, subscription.unpaid_invoice)
    if invoice is None or invoice.status != "open":
        return
    method = payment_methods.usable(world, subscription.customer, subscription.payment_method)
    if method is None:
        record_failure(world, subscription, invoice)
    else:
        collect(world, subscription, invoice, method)


def invoice_voided(world: World, job: Job) -> None:
    """Job ``invoice.voided``: nothing is owed for it any more, as if it had been paid."""
    invoice = world.get(Invoice, job.about)
    if invoice is not None:
        settle(world, invoice)


# -- charging


def charge(world: World, subscription: Subscription) -> None:
    """Bill the current period: its invoice is charged to the stored method, or emailed without one (B-41, B-44)."""
    customer = world.get(Customer, subscription.customer)
    if customer is None:
        return
    invoice = invoices.finalize_now(world, _draft(world, subscription, customer))
    if invoice.status == "open":
        _request_payment(world, subscription, invoice)
        invoices.schedule_overdue(world, world.require(Invoice, invoice.id))


def _request_payment(world: World, subscription: Subscription, invoice: Invoice) -> None:
    method = payment_methods.usable(world, subscription.customer, subscription.payment_method)
    if subscription.collection_method == "charge_automatically" and method is not None:
        collect(world, subscription, invoice, method)
    else:
        invoices.send_email(world, invoice)


def _draft(world: World, subscription: Subscription, customer: Customer) -> Invoice:
    line = invoice_lines.line(
        product=subscription.product,
        description=item_name(world, subscription) or "Subscription",
        quantity=1,
        unit_amount=subscription.unit_amount,
    )
    return invoices.draft(world, customer, (line,), subscription.currency, subscription=subscription.id)


def item_name(world: World, subscription: Subscription) -> str | None:
    """The name that invoices and emails show: the product's, else the plan's, else None."""
    sold = world.get(Product, subscription.product) or world.get(SubscriptionPlan, subscription.plan)
    return None if sold is None else sold.name


def collect(world: World, subscription: Subscription, invoice: Invoice, method: PaymentMethod) -> None:
    """Charge an invoice to a stored method; the outcome arrives through the intent's events."""
    if not security_profiles.permits(world, invoice.amount_remaining, method.type):
        # A profile forbids this payment, so there is no intent whose failure would be reported (rule 3).
        record_failure(world, subscription, invoice)
        return
    intent = payment_intents.start(
        world,
        method,
        payment_method_types=(method.type,),
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


# -- failing and recovering


def charge_failed(world: World, event: Event) -> None:
    """Reaction to ``payment_intent.failed``: a charge failed; ignored once its invoice is no longer open."""
    intent: PaymentIntent = event.data.object
    subscription = world.get(Subscription, intent.subscription)
    invoice = world.get(Invoice, intent.invoice)
    if subscription is not None and invoice is not None and invoice.status == "open":
        record_failure(world, subscription, invoice)


def record_failure(world: World, subscription: Subscription, invoice: Invoice) -> None:
    """Past due with the next retry scheduled, or ``unpaid`` after the last retry (B-45)."""
    if not STATE_MACHINE.allows(subscription, "fail"):
        return
    if subscription.unpaid_invoice not in (None, invoice.id):
        # An earlier period's charge is being retried already; its retry days are the ones that count.
        STATE_MACHINE.transition(world, subscription, "fail")
        return
    subscription = STATE_MACHINE.transition(
        world,
        subscription,
        "fail",
        failed_at=subscription.failed_at or world.now,
        failures=subscription.failures + 1,
        unpaid_invoice=invoice.id,
    )
    schedule_retry(world, subscription, invoice)


def schedule_retry(world: World, subscription: Subscription, invoice: Invoice) -> None:
    """Schedule the next retry; after the last one the subscription is ``unpaid`` and the invoice uncollectible."""
    due = next_retry_at(world, subscription)
    if due is not None:
        world.schedule(due, "subscription.retry", subscription)
    else:
        STATE_MACHINE.transition(world, subscription, "give up")
        invoices.write_off(world, invoice)


def next_retry_at(world: World, subscription: Subscription) -> Timestamp | None:
    """When the failed charge is retried: days after the first failure (a setting); None after the last retry."""
    days = settings(world).renewal_retry_days
    if subscription.failures > len(days):
        return None
    return calendar.plus(subscription.failed_at or world.now, days=days[subscription.failures - 1])


def mark_past_due(world: World, event: Event) -> None:
    """Reaction to ``invoice.payment_overdue``: the invoice's subscription is past due (B-44)."""
    subscription = _subscription_of(world, world.require(Invoice, event.data.object.id))
    if subscription is not None and STATE_MACHINE.allows(subscription, "fall behind"):
        STATE_MACHINE.transition(world, subscription, "fall behind")


def invoice_paid(world: World, event: Event) -> None:
    """Reaction to ``invoice.paid``: its subscription may recover."""
    settle(world, world.require(Invoice, event.data.object.id))


def settle(world: World, invoice: Invoice) -> None:
    """Nothing is owed for the invoice any more: its subscription recovers if it was the failed charge's, or if no other
    invoice is overdue. The next charge is at the next boundary (B-45, B-96).
    """
    subscription = _subscription_of(world, invoice)
    if subscription is None or not STATE_MACHINE.allows(subscription, "recover"):
        return
    if subscription.unpaid_invoice != invoice.id and (subscription.unpaid_invoice or _has_overdue(world, subscription)):
        return
    world.cancel_jobs(subscription, "subscription.retry")
    STATE_MACHINE.transition(world, subscription, "recover", failed_at=None, failures=0, unpaid_invoice=None)


def _has_overdue(world: World, subscription: Subscription) -> bool:
    """Whether any invoice of the subscription is overdue."""
    own = world.table(Invoice).where("subscription", subscription.id)
    return any(invoices.is_overdue(world, invoice) for invoice in own)


def _subscription_of(world: World, invoice: Invoice) -> Subscription | None:
    return world.get(Subscription, invoice.subscription)


JOBS = {
    "subscription.charge": first_charge,
    "subscription.renew": renew,
    "subscription.retry": retry,
    "subscription.trial_notice": send_trial_notice,
    "subscription.expire": expire,
    "invoice.voided": invoice_voided,
}
