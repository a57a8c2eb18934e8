"""A renewal: a period of a subscription ends, the next one begins and is collected; and what follows when it is not."""

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
from emulator.resources.billing.subscriptions import LIFECYCLE, Subscription
from emulator.resources.catalog.plans import SubscriptionPlan
from emulator.resources.catalog.products import Product
from emulator.resources.customers import payment_methods
from emulator.resources.customers.payment_methods import PaymentMethod
from emulator.resources.customers.records import Customer
from emulator.resources.payments import payment_intents
from emulator.resources.payments.payment_intents import PaymentIntent

# -- jobs


def announce_trial_end(world: World, job: Job) -> None:
    """Job ``subscription.trial_notice``: three days before a trial ends."""
    subscription = world.get(Subscription, job.about)
    if subscription is not None and subscription.status == "trialing":
        world.emit("subscription.trial_will_end", subscription)


def first_charge(world: World, job: Job) -> None:
    """Job ``subscription.charge``: the first period, due at creation (B-41)."""
    subscription = world.get(Subscription, job.about)
    if subscription is not None and subscription.status == "active":
        charge(world, subscription)
        periods.plan_renewal(world, subscription)


def renew(world: World, job: Job) -> None:
    """Job ``subscription.renew``, at the end of a period: canceled if that was scheduled, else the next one begins.

    It is charged unless the subscription is paused or owes for an earlier one (B-43 to B-47).
    """
    subscription = world.get(Subscription, job.about)
    if subscription is None or not LIFECYCLE.allows(subscription, "renew"):
        return
    if subscription.cancel_at_period_end:
        subscriptions.end(world, subscription, "end")
        return
    subscription = LIFECYCLE.transition(world, subscription, "renew", **periods.next_period(world, subscription))
    if _charged(subscription):
        charge(world, subscription)
    periods.plan_renewal(world, subscription)


def _charged(subscription: Subscription) -> bool:
    """Active ones are; past due ones go on being invoiced (B-96) unless a failed charge is still tried again (B-45)."""
    if subscription.status == "past_due":
        return subscription.unpaid_invoice is None or subscription.collection_method == "send_invoice"
    return subscription.status == "active"


def expire(world: World, job: Job) -> None:
    """Job ``subscription.expire``: the end date is reached; canceled ones stay as they are (B-40)."""
    subscription = world.get(Subscription, job.about)
    if subscription is not None and LIFECYCLE.allows(subscription, "expire"):
        world.cancel_jobs(subscription)
        LIFECYCLE.transition(world, subscription, "expire")


def retry(world: World, job: Job) -> None:
    """Job ``subscription.retry``: the failed charge is tried again; silenced once it is settled otherwise (B-45)."""
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


def forget_voided(world: World, job: Job) -> None:
    """Job ``invoice.voided``: nobody owes it any more, as if it had been paid."""
    invoice = world.get(Invoice, job.about)
    if invoice is not None:
        settle(world, invoice)


# -- charging


def charge(world: World, subscription: Subscription) -> None:
    """Collect one period: an invoice, and a payment on the stored method where there is one (B-41, B-44)."""
    customer = world.get(Customer, subscription.customer)
    if customer is None:
        return
    invoice = invoices.finalize_now(world, _invoice(world, subscription, customer))
    if invoice.status == "open":
        _ask(world, subscription, invoice)
        invoices.schedule_overdue(world, world.require(Invoice, invoice.id))


def _ask(world: World, subscription: Subscription, invoice: Invoice) -> None:
    method = payment_methods.usable(world, subscription.customer, subscription.payment_method)
    if subscription.collection_method == "charge_automatically" and method is not None:
        collect(world, subscription, invoice, method)
    else:
        invoices.send_email(world, invoice)


def _invoice(world: World, subscription: Subscription, customer: Customer) -> Invoice:
    line = invoice_lines.line(
        product=subscription.product,
        description=item(world, subscription) or "Subscription",
        quantity=1,
        unit_amount=subscription.unit_amount,
    )
    return invoices.draft(world, customer, (line,), subscription.currency, subscription=subscription.id)


def item(world: World, subscription: Subscription) -> str | None:
    """What the customer reads on invoices and in emails: the product's name, else the plan's, else none."""
    named = world.get(Product, subscription.product) or world.get(SubscriptionPlan, subscription.plan)
    return None if named is None else named.name


def collect(world: World, subscription: Subscription, invoice: Invoice, method: PaymentMethod) -> None:
    """Try to pay an invoice with the stored method; what comes of it is told by the intent's events."""
    if not security_profiles.permits(world, invoice.amount_remaining, method.type):
        # An attempt that a profile forbids is refused before it is made: there is no intent to tell of it.
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
    payment_intents.confirm(world, intent, method, off_session=True)


# -- failing and recovering


def charge_failed(world: World, event: Event) -> None:
    """Reaction to ``payment_intent.failed``: a charge failed; silenced once its invoice is settled."""
    intent: PaymentIntent = event.data.object
    subscription = world.get(Subscription, intent.subscription)
    invoice = world.get(Invoice, intent.invoice)
    if subscription is not None and invoice is not None and invoice.status == "open":
        record_failure(world, subscription, invoice)


def record_failure(world: World, subscription: Subscription, invoice: Invoice) -> None:
    """Past due, and the next retry or, after the last one, unpaid (B-45)."""
    if not LIFECYCLE.allows(subscription, "fail"):
        return
    if subscription.unpaid_invoice not in (None, invoice.id):
        # The charge of an earlier period is being retried already, and its retry days stand.
        LIFECYCLE.transition(world, subscription, "fail")
        return
    subscription = LIFECYCLE.transition(
        world,
        subscription,
        "fail",
        failed_at=subscription.failed_at or world.now,
        failures=subscription.failures + 1,
        unpaid_invoice=invoice.id,
    )
    plan_retry(world, subscription, invoice)


def plan_retry(world: World, subscription: Subscription, invoice: Invoice) -> None:
    """The next of the retry days after the first failure; after the last one the invoice is written off."""
    due = next_try(world, subscription)
    if due is not None:
        world.schedule(due, "subscription.retry", subscription)
    else:
        LIFECYCLE.transition(world, subscription, "give up")
        invoices.write_off(world, invoice)


def next_try(world: World, subscription: Subscription) -> Timestamp | None:
    """When the failed charge is tried again: so many days after the first failure; None after the last retry day."""
    days = settings(world).renewal_retry_days
    if subscription.failures > len(days):
        return None
    return calendar.plus(subscription.failed_at or world.now, days=days[subscription.failures - 1])


def mark_past_due(world: World, event: Event) -> None:
    """Reaction to ``invoice.payment_overdue``: the subscription it is for is past due (B-44)."""
    subscription = _subscription_of(world, world.require(Invoice, event.data.object.id))
    if subscription is not None and LIFECYCLE.allows(subscription, "fall behind"):
        LIFECYCLE.transition(world, subscription, "fall behind")


def invoice_paid(world: World, event: Event) -> None:
    """Reaction to ``invoice.paid``: the subscription may have waited for it."""
    settle(world, world.require(Invoice, event.data.object.id))


def settle(world: World, invoice: Invoice) -> None:
    """An invoice is settled: if it was the failed charge, or if none is overdue any more, the subscription is active.

    Its next charge is at the next boundary (B-45, B-96).
    """
    subscription = _subscription_of(world, invoice)
    if subscription is None or not LIFECYCLE.allows(subscription, "recover"):
        return
    if subscription.unpaid_invoice != invoice.id and (subscription.unpaid_invoice or _owes(world, subscription)):
        return
    world.cancel_jobs(subscription, "subscription.retry")
    LIFECYCLE.transition(world, subscription, "recover", failed_at=None, failures=0, unpaid_invoice=None)


def _owes(world: World, subscription: Subscription) -> bool:
    """Whether any of its invoices is overdue."""
    return any(invoices.is_overdue(world, one) for one in world.table(Invoice).where("subscription", subscription.id))


def _subscription_of(world: World, invoice: Invoice) -> Subscription | None:
    return world.get(Subscription, invoice.subscription)


JOBS = {
    "subscription.charge": first_charge,
    "subscription.renew": renew,
    "subscription.retry": retry,
    "subscription.trial_notice": announce_trial_end,
    "subscription.expire": expire,
    "invoice.voided": forget_voided,
}
