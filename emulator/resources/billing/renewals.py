"""Renewals: each period's invoice and charge; dunning after a failed charge (B-41 to B-46).

Dunning leads from ``past_due`` to recovery or to ``unpaid`` (B-44, B-45).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from emulator.core import calendar
from emulator.core.calendar import Timestamp
from emulator.core.jobs import Job
from emulator.core.records import N_
from emulator.core.world import World
from emulator.resources.app import security_profiles
from emulator.resources.app.settings import settings
from emulator.resources.billing import invoices, subscriptions
from emulator.resources.billing.invoices import Invoice, InvoiceLine
from emulator.resources.billing.subscriptions import (
    NOTHING_FAILED,
    STATE_MACHINE,
    UP_TO_DATE,
    FailureCause,
    Subscription,
)
from emulator.resources.catalog.products import Product
from emulator.resources.customers import payment_methods
from emulator.resources.customers.customer_records import Customer
from emulator.resources.customers.payment_details import ONE_TYPE
from emulator.resources.payments import payment_intents
from emulator.resources.payments.payment_intents import PaymentIntent

# -- dunning


def attempt_ended(world: World, intent: PaymentIntent) -> None:
    """React to an attempt to pay an open invoice of a subscription that ended without success.

    It is a charge that failed or that the merchant canceled (B-45), or the buyer's own attempt,
    after which a retry that waited for it runs now (B-62).
    """
    invoice = world.get(Invoice, intent.invoice)
    subscription = None if invoice is None else world.get(Subscription, invoice.subscription)
    if subscription is None or invoice is None or invoice.status != "open":
        return
    if intent.subscription is not None:
        record_failure(
            world, subscription, invoice, FailureCause(name=payment_intents.why_failed(intent))
        )
    elif subscription.unpaid_invoice == invoice.id and not retries(world, subscription):
        retry_now(world, subscription)


def record_failure(
    world: World, subscription: Subscription, invoice: Invoice, cause: FailureCause
) -> None:
    """Plan the next retry (past due), or give up: ``unpaid``, the invoice uncollectible (B-45).

    The event is sent in any state, and shows the state after the failure.
    """
    if not STATE_MACHINE.allows(subscription, "fail"):
        return
    if subscription.status in ("paused", "canceled") and subscription.unpaid_invoice is None:
        # The retries begin when it is resumed or reactivated.
        STATE_MACHINE.transition(
            world, subscription, "fail", unpaid_invoice=invoice.id, failure=cause
        )
        return
    retried = subscription.unpaid_invoice in (None, invoice.id)
    if subscription.status not in ("active", "past_due") or not retried:
        # Nothing is retried any more, or an earlier period's charge is: its retry days are the ones
        # that count.
        STATE_MACHINE.transition(world, subscription, "fail", failure=cause)
        return
    failed: dict[str, Any] = {
        "failed_at": subscription.failed_at or world.now,
        "failures": subscription.failures + 1,
        "failure": cause,
    }
    if next_retry_at(world, subscription.replace(**failed)) is not None:
        subscription = STATE_MACHINE.transition(
            world, subscription, "fail", **failed, unpaid_invoice=invoice.id
        )
        _schedule_next(world, subscription)
    else:
        invoices.write_off(world, invoice)
        failed |= {"unpaid_invoice": invoice.id, "behind_since": world.now}
        STATE_MACHINE.transition(world, subscription, "give up", **failed)


def retries(world: World, subscription: Subscription) -> list[Job]:
    return [
        job
        for job in world.jobs.where("about", subscription.id)
        if job.name == "subscription.retry"
    ]


def skip_retry(world: World, subscription: Subscription) -> None:
    """Go on to the next retry, if any: this one charged nothing, so it has not failed."""
    failed_at = subscription.failed_at or world.now
    _schedule_next(
        world, world.replace(subscription, failures=subscription.failures + 1, failed_at=failed_at)
    )


def retry_now(world: World, subscription: Subscription) -> None:
    """Retry at once, in place of all retries due by now; later ones stand (B-45)."""
    come = sum(day <= world.now for day in retries_left(world, subscription))
    if come > 1:
        subscription = world.replace(subscription, failures=subscription.failures + come - 1)
    world.schedule(world.now, "subscription.retry", subscription)


def begin_again(world: World, subscription: Subscription) -> Subscription:
    """Retry an open invoice's failed charge at once; one given up is retried no more.

    The next charge that fails is then retried by itself (B-45, B-46, B-48).
    """
    if subscription.unpaid_invoice is None:
        return subscription
    invoice = world.get(Invoice, subscription.unpaid_invoice)
    if invoice is None or invoice.status != "open":
        return world.replace(subscription, **NOTHING_FAILED)
    retry_now(world, subscription)
    return subscription


def next_retry_at(world: World, subscription: Subscription) -> Timestamp | None:
    """Return when the failed charge is retried: now if overdue, None if no retry is left."""
    days = retries_left(world, subscription)
    return max(days[0], world.now) if days else None


def _schedule_next(world: World, subscription: Subscription) -> None:
    due = next_retry_at(world, subscription)
    if due == world.now:
        retry_now(world, subscription)
    elif due is not None:
        world.schedule(due, "subscription.retry", subscription)


def retries_left(world: World, subscription: Subscription) -> list[Timestamp]:
    """Return the instants of the remaining retries: days after the first failure (a setting)."""
    if not subscription.failures:
        return []
    days = settings(world).renewal_retry_days[subscription.failures - 1 :]
    return [calendar.plus(subscription.failed_at or world.now, days=day) for day in days]


def payments_under_way(world: World, subscription: Subscription) -> list[PaymentIntent]:
    """Return the payments of a subscription's invoices that have no outcome yet."""
    own = world.table(Invoice).where("subscription", subscription.id)
    return [
        intent
        for invoice in own
        for intent in world.table(PaymentIntent).where("invoice", invoice.id)
        if intent.status in payment_intents.INTENTS_UNDER_WAY
    ]


def retries_after(
    world: World,
    subscription: Subscription,
    invoice: Invoice,
    at: Timestamp,
    *,
    is_charge: bool,
) -> list[Timestamp] | None:
    """Return when the invoice is charged again if a payment of it fails at an instant (B-45, B-62).

    ``is_charge``: it is a charge of the subscription, which uses up a retry, and not the buyer's
    own payment. A retry that is past by then runs at once. None: the failure has no retries.
    """
    is_dunned = subscription.status in ("active", "past_due")
    if not is_dunned or not is_left_to_retry(subscription, invoice, is_charge=is_charge):
        return None
    failed = subscription
    if is_charge:
        failed = subscription.replace(
            failed_at=subscription.failed_at or at, failures=subscription.failures + 1
        )
    days = retries_left(world, failed)
    later = [day for day in days if day > at]
    return later if len(later) == len(days) else [at, *later]


def is_left_to_retry(subscription: Subscription, invoice: Invoice, *, is_charge: bool) -> bool:
    """Return whether it is this open invoice that is tried again once a payment of it has failed.

    ``is_charge`` is as in :func:`retries_after`.
    """
    own = (None, invoice.id) if is_charge else (invoice.id,)
    return invoice.status == "open" and subscription.unpaid_invoice in own


def recovers_with(world: World, subscription: Subscription, invoice: Invoice) -> bool:
    """Return whether a subscription is active again once an invoice is owed no more (B-45, B-96).

    It recovers if no failed charge is left and, where it is or fell behind by invoice, no other
    one is overdue. Where every period is charged, an ``unpaid`` one recovers by any period's
    payment.
    """
    settled = subscription.unpaid_invoice == invoice.id
    any_period = subscription.status == "unpaid" and charges_every_period(world)
    owes = subscription.unpaid_invoice is not None and not (settled or any_period)
    return (
        STATE_MACHINE.allows(subscription, "recover")
        and not owes
        and not _is_behind(world, subscription, invoice)
    )


def mark_past_due(world: World, invoice: Invoice) -> None:
    """Reaction to ``invoice.payment_overdue``: mark past due under ``send_invoice`` (B-44)."""
    subscription = world.get(Subscription, invoice.subscription)
    if subscription is None or subscription.collection_method != "send_invoice":
        return
    if STATE_MACHINE.allows(subscription, "fall behind"):
        STATE_MACHINE.transition(world, subscription, "fall behind", behind_since=world.now)


def settle(world: World, invoice: Invoice) -> None:
    """Settle an invoice that is owed no more, paid or voided (B-45, B-96).

    The next charge of a subscription that recovers is at the next boundary; where every period is
    charged, other periods whose charge failed are charged again at once.
    """
    subscription = world.get(Subscription, invoice.subscription)
    if subscription is None:
        return
    settled = subscription.unpaid_invoice == invoice.id
    if recovers_with(world, subscription, invoice):
        world.cancel_jobs(subscription, "subscription.retry")
        subscription = STATE_MACHINE.transition(world, subscription, "recover", **UP_TO_DATE)
        subscriptions.schedule_trial_notice(world, subscription)
        _charge_next(world, subscription)
    elif settled:
        _charge_next(world, world.replace(subscription, **NOTHING_FAILED))


def charges_every_period(world: World) -> bool:
    """Return whether periods are charged though an earlier one is owed (an assumption, B-45)."""
    return settings(world).assumptions.past_due_periods == "charged"


def _charge_next(world: World, subscription: Subscription) -> None:
    """Charge the oldest open invoice again, where later periods were charged beside it."""
    is_charged = (
        subscription.status == "active" and subscription.collection_method == "charge_automatically"
    )
    if not is_charged or not charges_every_period(world):
        return
    own = world.table(Invoice).where("subscription", subscription.id)
    owed = next((invoice for invoice in own if invoice.status == "open"), None)
    if owed is not None:
        world.replace(subscription, unpaid_invoice=owed.id)
        world.schedule(world.now, "subscription.retry", subscription)


def _is_behind(world: World, subscription: Subscription, settled: Invoice) -> bool:
    """Return whether another one of its invoices is overdue that it was sent to pay (B-44, B-96).

    One that fell behind by invoice stays behind when it is charged automatically from then on.
    """
    fell_behind = subscription.status == "past_due" and subscription.behind_since is not None
    if subscription.collection_method != "send_invoice" and not fell_behind:
        return False
    own = world.table(Invoice).where("subscription", subscription.id)
    return any(invoices.is_overdue(world, invoice) for invoice in own if invoice.id != settled.id)


# -- renewals


def send_trial_notice(world: World, job: Job) -> None:
    """Job ``subscription.trial_notice``, three days before a trial ends in a charge (B-43)."""
    subscription = world.get(Subscription, job.about)
    if subscription is not None and subscriptions.ends_in_charge(world, subscription):
        world.emit("subscription.trial_will_end", world.replace(subscription, trial_noticed=True))


def first_charge(world: World, job: Job) -> None:
    """Job ``subscription.charge``: the first period, due at creation (B-41)."""
    subscription = world.get(Subscription, job.about)
    if subscription is not None and subscription.status == "active":
        charge(world, subscription)
        subscriptions.schedule_renewal(world, subscription)


def renew(world: World, subscription: Subscription, job: Job) -> None:
    """Job ``subscription.renew``, at a period's end: cancel as scheduled, or begin the next period.

    The period is charged unless the subscription is paused or an earlier charge has failed (B-43 to
    B-47).
    """
    if subscription.status == "past_due" and any(
        job.due <= world.now for job in retries(world, subscription)
    ):
        # Scheduled again, the boundary comes after the retry of the same instant (B-45).
        world.schedule(world.now, "subscription.renew", subscription)
        return
    if subscription.cancel_at_period_end:
        subscriptions.end(world, subscription, "end")
        return
    # Where periods went by, because a tester set their end directly, the one that runs now is
    # charged (B-89).
    period = subscriptions.current_period(world, subscription) or subscriptions.next_period(
        world, subscription
    )
    subscription = STATE_MACHINE.transition(world, subscription, "renew", **period)
    if is_charged(world, subscription):
        charge(world, subscription)
    subscriptions.schedule_renewal(world, subscription)


def is_charged(world: World, subscription: Subscription) -> bool:
    """Return whether a period is charged that begins now.

    Active ones are; while something is owed only those that are invoiced, until they are unpaid
    (B-45, B-96).
    """
    if subscription.status == "active":
        return True
    if subscription.status not in ("past_due", "unpaid"):
        return False
    if subscription.status == "past_due" and subscription.collection_method == "send_invoice":
        return True
    return charges_every_period(world)


def expire(world: World, subscription: Subscription, job: Job) -> None:
    """Job ``subscription.expire`` at the end date; a canceled subscription stays so (B-40)."""
    world.cancel_jobs(subscription)
    STATE_MACHINE.transition(world, subscription, "expire")


def retry(world: World, job: Job) -> None:
    """Job ``subscription.retry``: charge the failed invoice again unless paid or voided (B-45).

    It waits for a payment of the invoice that is under way (B-62): :func:`attempt_ended` schedules
    it again. Under ``send_invoice`` the invoice is emailed instead.
    """
    subscription = world.get(Subscription, job.about)
    if subscription is None or subscription.status not in ("active", "past_due"):
        return
    invoice = world.get(Invoice, subscription.unpaid_invoice)
    if (
        invoice is None
        or invoice.status != "open"
        or payment_intents.current_payment(world, invoice) is not None
    ):
        return
    if subscription.collection_method == "charge_automatically":
        collect(world, subscription, invoice)
    else:
        world.signal("invoice sent", invoice)
        skip_retry(world, subscription)


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
            world.signal("invoice sent", invoice)
        invoices.schedule_overdue(world, world.require(Invoice, invoice.id))


def _is_collected(world: World, subscription: Subscription, customer: Customer) -> bool:
    """Return whether invoices are charged; an assumption emails them without any method (B-41)."""
    if subscription.collection_method == "send_invoice":
        return False
    if subscription.payment_method is not None or payment_methods.has_had_method(world, customer):
        return True
    return settings(world).assumptions.renewal_without_method == "fail"


def next_charge(world: World, subscription: Subscription) -> Mapping[str, Any]:
    """Return the next period's amounts (minor units) and tax rate at present price and settings."""
    amount = subscriptions.next_period(world, subscription)["unit_amount"]
    line = invoices.line(product=None, description="", quantity=1, unit_amount=amount)
    return invoices.totals(world, (line,))


UNNAMED = N_("Subscription")
"""The line of a subscription without a plan or a product. Pages, emails and PDFs translate it."""


def is_unnamed(invoice: Invoice, line: InvoiceLine) -> bool:
    """Return whether the line has no name of the merchant's."""
    of_renewal = invoice.subscription is not None and line.product is None
    return of_renewal and line.description == UNNAMED


def _draft(world: World, subscription: Subscription, customer: Customer) -> Invoice:
    line = invoices.line(
        product=subscription.product,
        description=item_name(world, subscription) or UNNAMED,
        quantity=1,
        unit_amount=subscription.unit_amount,
    )
    # The line shows the product, so the plan's name goes into the header (B-67).
    plan = (
        subscriptions.current_plan(world, subscription)
        if subscription.product is not None
        else None
    )
    header = None if plan is None else plan.name
    return invoices.draft(
        world,
        customer,
        (line,),
        subscription.currency,
        description=header,
        subscription=subscription.id,
    )


def item_name(world: World, subscription: Subscription) -> str | None:
    """Return the name on invoices and in emails: the product's or the plan's, or None."""
    sold = world.get(Product, subscription.product) or subscriptions.current_plan(
        world, subscription
    )
    return None if sold is None else sold.name


def collect(world: World, subscription: Subscription, invoice: Invoice) -> None:
    """Charge an invoice to the stored method; the outcome arrives through the intent's events.

    Without an active method (B-41), or where a profile forbids the payment (rules 3 and 4), it
    fails without an intent.
    """
    method = payment_methods.charged(world, subscription.customer, subscription.payment_method)
    cause = why_not_charged(world, subscription, invoice)
    if method is None or cause is not None:
        record_failure(world, subscription, invoice, cause or FailureCause(name="no_method"))
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
    payment_intents.confirm(world, intent, method, off_session=True)


def why_not_charged(
    world: World, subscription: Subscription, invoice: Invoice
) -> FailureCause | None:
    """Return the reason why an invoice's charge fails without a payment, or None (B-45)."""
    method = payment_methods.charged(world, subscription.customer, subscription.payment_method)
    if method is None:
        return FailureCause(
            name=payment_methods.why_none(world, world.require(Customer, subscription.customer))
        )
    if method.status != "active":
        return FailureCause(name=f"method_{method.status}")
    match security_profiles.forbidding(world, invoice.subtotal, method.type):
        case profile, rule:
            return FailureCause(
                name=f"profile_{rule}",
                profile=profile.name,
                max_amount=profile.max_amount,
                type=method.type,
            )
    return None


JOBS = {
    "subscription.charge": first_charge,
    "subscription.renew": STATE_MACHINE.job("renew", renew),
    "subscription.retry": retry,
    "subscription.trial_notice": send_trial_notice,
    "subscription.expire": STATE_MACHINE.job("expire", expire),
}
