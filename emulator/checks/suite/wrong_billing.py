"""Wrong services: invoices and subscriptions."""

from __future__ import annotations

from typing import Any

from emulator.checks.suite.seams import (
    Alteration,
    Doubt,
    Seam,
    changed,
    created,
    left_out,
    never_emitted,
    never_run,
    shown,
    shown_as,
)
from emulator.checks.suite.wrong_payments import collected_twice
from emulator.core import calendar
from emulator.core.jobs import Job
from emulator.core.records import Record
from emulator.core.world import World
from emulator.resources.billing.invoices import Invoice
from emulator.resources.billing.subscriptions import Subscription
from emulator.resources.simulation import emails


def _unpaid(invoice: Any) -> dict[str, Any]:
    if invoice["status"] != "paid":
        return {}
    return {"status": "open", "amount_paid": 0, "amount_remaining": invoice["total"]}


def _without_tax(invoice: Any) -> dict[str, Any]:
    return {"tax_amount": 0, "total": invoice["subtotal"]} if invoice["tax_amount"] else {}


def _due_earlier(invoice: Any) -> dict[str, Any]:
    due = invoice["due_date"]
    return {"due_date": calendar.day_plus(due, -1)} if due else {}


def _ends_later(subscription: Any) -> dict[str, Any]:
    return {"current_period_end": calendar.plus(subscription["current_period_end"], days=1)}


def _boundary(*, of_trial: bool) -> tuple[Seam, Alteration]:
    """The end of a trial, or of any other period, goes by."""

    def change(job: Job, world: World) -> Job | None:
        subscription = world.get(Subscription, job.about)
        is_trial = subscription is not None and subscription.status == "trialing"
        return None if job.name == "subscription.renew" and is_trial == of_trial else job

    return Seam.RUN, change


def _a_day_before_the_trial_ends(due: str, name: str, about: Record | None) -> str:
    is_trial = isinstance(about, Subscription) and about.status == "trialing"
    return calendar.plus(due, days=-1) if name == "subscription.renew" and is_trial else due


def _forgotten(old: Subscription, new: Subscription) -> dict[str, Any]:
    return {"cancel_at_period_end": old.cancel_at_period_end}


INVOICES = (
    Doubt(
        "invoice-paid-twice",
        "an invoice is paid twice",
        "Assert how many transactions the customer has after an invoice, or what the customer has spent.",
        collected_twice(lambda intent: intent.invoice is not None),
    ),
    Doubt(
        "invoice-paid-never-sent",
        "the service never sends `invoice.paid`",
        "Assert the event, or what your application does because of it.",
        never_emitted("invoice.paid"),
    ),
    Doubt(
        "invoice-overdue-never-sent",
        "the service never sends `invoice.payment_overdue`",
        "Assert the event, or what your application does because of it.",
        never_emitted("invoice.payment_overdue"),
    ),
    Doubt(
        "invoice-stays-open",
        "an invoice that was paid stays open",
        "Assert the status or `amount_remaining` of the invoice after its payment.",
        shown(Invoice, _unpaid),
    ),
    Doubt(
        "invoice-total-too-high",
        "the total of an invoice is one minor unit too high",
        "Assert the total of the invoice.",
        shown(Invoice, lambda invoice: {"total": invoice["total"] + 1}),
    ),
    Doubt(
        "invoice-without-tax",
        "an invoice has no tax",
        "Assert `tax_amount` or the total of an invoice with tax.",
        shown(Invoice, _without_tax),
    ),
    Doubt(
        "invoice-due-early",
        "an invoice is due a day early",
        "Assert `due_date`, or what your application shows of it.",
        shown(Invoice, _due_earlier),
    ),
    Doubt(
        "invoice-void-undone",
        "an invoice that was voided stays open",
        "Assert the status of the invoice after it was voided.",
        shown_as(Invoice, "void", "open"),
    ),
)

SUBSCRIPTIONS = (
    Doubt(
        "renewal-never",
        "a renewal never comes",
        "Move the clock beyond the period, and assert the next invoice or the next period.",
        _boundary(of_trial=False),
    ),
    Doubt(
        "trial-never-ends",
        "a trial never ends",
        "Move the clock beyond the trial, and assert that the subscription is `active` and charged.",
        _boundary(of_trial=True),
    ),
    Doubt(
        "trial-ends-early",
        "a trial ends a day early",
        "Move the clock to an hour before the end of the trial, and assert that nothing was charged yet.",
        (Seam.SCHEDULED, _a_day_before_the_trial_ends),
    ),
    Doubt(
        "trial-notice-never-sent",
        "the service never sends `subscription.trial_will_end`",
        "Assert the event, or what your application does because of it.",
        never_emitted("subscription.trial_will_end"),
    ),
    Doubt(
        "subscription-canceled-never-sent",
        "the service never sends `subscription.canceled`",
        "Assert the event, or what your application does because of it.",
        never_emitted("subscription.canceled"),
    ),
    Doubt(
        "renewal-failed-never-sent",
        "the service never sends `subscription.payment_failed`",
        "Assert the event, or what your application does because of it.",
        never_emitted("subscription.payment_failed"),
    ),
    Doubt(
        "renewal-never-retried",
        "a renewal that failed is never tried again",
        "Let the first charge fail, move the clock by a day, and assert the second attempt.",
        never_run("subscription.retry"),
    ),
    Doubt(
        "renewal-failed-never-emailed",
        "the customer gets no email about a renewal that failed",
        "Assert the email to the customer after a failed charge.",
        left_out(emails.renewal_failed),
    ),
    Doubt(
        "past-due-hidden",
        "a subscription is never `past_due`",
        "Let a charge fail, and assert the status of the subscription.",
        shown_as(Subscription, "past_due", "active"),
    ),
    Doubt(
        "unpaid-hidden",
        "a subscription is never `unpaid`",
        "Let every retry fail, and assert the status of the subscription.",
        shown_as(Subscription, "unpaid", "past_due"),
    ),
    Doubt(
        "paused-hidden",
        "a subscription that was paused stays `active`",
        "Assert the status of the subscription after the pause.",
        shown_as(Subscription, "paused", "active"),
    ),
    Doubt(
        "canceled-hidden",
        "a subscription that was canceled stays `active`",
        "Assert the status of the subscription after the cancellation.",
        shown_as(Subscription, "canceled", "active", canceled_at=None),
    ),
    Doubt(
        "cancellation-forgotten",
        "a cancellation at the end of the period is forgotten",
        "Move the clock to the end of the period, and assert that the subscription is `canceled`.",
        changed(Subscription, _forgotten),
    ),
    Doubt(
        "expiry-never",
        "a subscription goes on after `ends_at`",
        "Move the clock beyond `ends_at`, and assert that the subscription is `expired`.",
        never_run("subscription.expire"),
    ),
    Doubt(
        "subscription-too-dear",
        "the first period of a subscription costs one minor unit more than agreed",
        "Assert the amount of the first invoice or of the first charge.",
        created(Subscription, lambda subscription: {"unit_amount": subscription.unit_amount + 1}),
    ),
    Doubt(
        "period-ends-late",
        "a period ends a day later than agreed",
        "Assert `current_period_end`, or until when your application grants access.",
        shown(Subscription, _ends_later),
    ),
)
