"""Wrong services: payments, transactions and refunds; invoices and subscriptions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from emulator.checks.suite.search import (
    Alteration,
    Mutant,
    Seam,
    ServiceAnswer,
    changed,
    created,
    left_out,
    never_emitted,
    never_run,
    shown,
    shown_as,
)
from emulator.core import calendar
from emulator.core.events import Event
from emulator.core.jobs import Job
from emulator.core.records import Record
from emulator.core.world import Reaction, World
from emulator.resources.billing.invoices import Invoice
from emulator.resources.billing.subscriptions import Subscription
from emulator.resources.payments import operator, refunds, transactions
from emulator.resources.payments.payment_intents import PaymentIntent
from emulator.resources.payments.refunds import Refund
from emulator.resources.payments.transactions import Transaction
from emulator.resources.simulation import emails
from emulator.resources.webhooks.deliveries import enqueue_deliveries

# -- payments, transactions and refunds


def collected_twice(concerns: Callable[[PaymentIntent], bool]) -> tuple[Seam, Alteration]:
    """Return a payment whose intent ``concerns`` accepts has two transactions: the buyer pays twice."""

    def change(reaction: Reaction, world: World, event: Event) -> Reaction:
        if reaction is not refunds.issue_receipt:
            return reaction
        intent = world.get(PaymentIntent, event.data.object.payment_intent)
        is_first = (
            sum(each.payment_intent == event.data.object.payment_intent for each in world.table(Transaction)) == 1
        )
        return _issue_and_collect_again if intent is not None and concerns(intent) and is_first else reaction

    return Seam.REACTED, change


def _issue_and_collect_again(world: World, event: Event) -> None:
    refunds.issue_receipt(world, event)
    first: Transaction = event.data.object
    second = transactions.open_deposit(
        world,
        first.amount,
        first.instrument,
        currency=first.currency,
        description=first.description,
        payment_intent=first.payment_intent,
        customer=first.customer,
        metadata=first.metadata,
    )
    transactions.complete(world, second)


def _declined_as_succeeded(intent: Any) -> dict[str, Any]:
    if intent["last_error"] is None:
        return {}
    return {"status": "succeeded", "last_error": None, "canceled_at": None, "amount_received": intent["amount"]}


def _other_reason(intent: Any) -> dict[str, Any]:
    return {"last_error": {**intent["last_error"], "code": "UPSTREAM_ERROR"}} if intent["last_error"] else {}


def _other_currency(thing: Any) -> dict[str, Any]:
    return {"currency": "XAF" if thing["currency"] == "EUR" else "EUR"}


def _without_fee(deposit: Transaction) -> dict[str, Any]:
    return {"fee": 0, "net_amount": deposit.amount - deposit.commission} if deposit.type == "deposit" else {}


def _captured_whole(old: PaymentIntent, new: PaymentIntent) -> dict[str, Any]:
    is_captured = old.status == "requires_capture" and new.status == "succeeded"
    return {"amount_received": new.amount} if is_captured else {}


def _failed_with_2xx(answer: ServiceAnswer) -> ServiceAnswer:
    """Create and confirm alone are requests to pay: who reads an intent has other ways to learn that it is paid."""
    intent = answer.body
    asked = answer.method == "POST" and intent.get("object") == PaymentIntent.kind
    if not asked or intent.get("status") != "succeeded":
        return answer
    error = {"code": operator.DOWN, "message": "The payment operator is down."}
    return answer._replace(body={**intent, "status": "canceled", "last_error": error, "amount_received": 0})


PAYMENTS = (
    Mutant(
        "payment-failed-with-2xx",
        "a request to pay is answered 2xx, and the payment has failed",
        "Act on the status of a payment, not on that of the response, and assert what your application does.",
        (Seam.ANSWERED, _failed_with_2xx),
    ),
    Mutant(
        "payment-short",
        "a payment collects one minor unit less than was asked",
        "Assert the amount of the payment intent or of its transaction.",
        created(PaymentIntent, lambda intent: {"amount": intent.amount - 1}),
    ),
    Mutant(
        "payment-twice",
        "the buyer pays twice for one payment",
        "Assert how many transactions the customer has, or what the customer has spent.",
        collected_twice(lambda intent: intent.invoice is None),
    ),
    Mutant(
        "payment-declined-as-succeeded",
        "a declined payment says `succeeded`",
        "Pay with a magic value that is declined, and assert the status.",
        shown(PaymentIntent, _declined_as_succeeded),
    ),
    Mutant(
        "payment-other-reason",
        "a declined payment gives another reason",
        "Assert `last_error.code`, or what your application shows of it.",
        shown(PaymentIntent, _other_reason),
    ),
    Mutant(
        "payment-never-answered",
        "the operator never answers a payment",
        "Assert that a payment that takes time has ended after that time.",
        never_run("payment_intent.answer"),
    ),
    Mutant(
        "payment-succeeded-never-sent",
        "the service never sends `payment_intent.succeeded`",
        "Assert the event, or what your application does because of it.",
        never_emitted("payment_intent.succeeded"),
        is_optional=True,
    ),
    Mutant(
        "payment-failed-never-sent",
        "the service never sends `payment_intent.failed`",
        "Assert the event, or what your application does because of it.",
        never_emitted("payment_intent.failed"),
        is_optional=True,
    ),
    Mutant(
        "transaction-other-currency",
        "a transaction is in another currency",
        "Assert the currency beside the amount.",
        shown(Transaction, _other_currency),
        is_optional=True,
    ),
    Mutant(
        "capture-whole",
        "the capture of a part collects the whole payment",
        "Assert `amount_received` after a capture of less than was authorised.",
        changed(PaymentIntent, _captured_whole),
    ),
    Mutant(
        "transaction-never-sent",
        "the service never sends `transaction.succeeded`",
        "Assert the event, or what your application does because of it.",
        never_emitted("transaction.succeeded"),
        is_optional=True,
    ),
    Mutant(
        "transaction-without-fee",
        "a transaction has no fee",
        "Assert the fee or the net amount of a transaction.",
        created(Transaction, _without_fee),
    ),
    Mutant(
        "transaction-never-settled",
        "the money of a bank transfer never arrives",
        "Assert that a transaction that was `approved` is `completed` when its money has arrived.",
        never_run("transaction.settle"),
    ),
    Mutant(
        "transaction-dispute-hidden",
        "a disputed transaction says `completed`",
        "Assert the status of a transaction that its buyer disputes.",
        shown_as(Transaction, "disputed", "completed"),
    ),
    Mutant(
        "receipt-never-emailed",
        "no receipt is emailed",
        "Assert the email to the buyer after a payment.",
        left_out(emails.receipt),
    ),
)

REFUNDS = (
    Mutant(
        "refund-short",
        "a refund says `succeeded` for less than was asked",
        "Assert the amount of the refund.",
        created(Refund, lambda refund: {"amount": refund.amount - 1}),
    ),
    Mutant(
        "refund-failed-as-succeeded",
        "a refund that failed says `succeeded`",
        "Refund a payment whose refund fails, and assert the status.",
        shown_as(Refund, "failed", "succeeded", failure_reason=None),
    ),
    Mutant(
        "refund-never-answered",
        "the operator never answers a refund",
        "Assert that a refund is `succeeded` when its time has passed.",
        never_run("refund.answer"),
    ),
    Mutant(
        "refund-succeeded-never-sent",
        "the service never sends `refund.succeeded`",
        "Assert the event, or what your application does because of it.",
        never_emitted("refund.succeeded"),
    ),
    Mutant(
        "refund-failed-never-sent",
        "the service never sends `refund.failed`",
        "Assert the event, or what your application does because of it.",
        never_emitted("refund.failed"),
    ),
    Mutant(
        "refund-not-counted",
        "a refunded transaction says that nothing was refunded",
        "Assert `amount_refunded` or the status of the transaction after a refund.",
        shown(Transaction, lambda it: {"amount_refunded": 0} if it["type"] == "deposit" else {}),
    ),
    Mutant(
        "refund-never-emailed",
        "the buyer gets no email about a refund",
        "Assert the email to the buyer after a refund.",
        left_out(emails.refund),
    ),
)


# -- invoices and subscriptions


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
    """Return the end of a trial, or of any other period, goes by."""

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
    Mutant(
        "invoice-paid-twice",
        "an invoice is paid twice",
        "Assert how many transactions the customer has after an invoice, or what the customer has spent.",
        collected_twice(lambda intent: intent.invoice is not None),
    ),
    Mutant(
        "invoice-paid-never-sent",
        "the service never sends `invoice.paid`",
        "Assert the event, or what your application does because of it.",
        never_emitted("invoice.paid"),
    ),
    Mutant(
        "invoice-overdue-never-sent",
        "the service never sends `invoice.payment_overdue`",
        "Assert the event, or what your application does because of it.",
        never_emitted("invoice.payment_overdue"),
    ),
    Mutant(
        "invoice-stays-open",
        "an invoice that was paid stays open",
        "Assert the status or `amount_remaining` of the invoice after its payment.",
        shown(Invoice, _unpaid),
    ),
    Mutant(
        "invoice-total-too-high",
        "the total of an invoice is one minor unit too high",
        "Assert the total of the invoice.",
        shown(Invoice, lambda invoice: {"total": invoice["total"] + 1}),
    ),
    Mutant(
        "invoice-without-tax",
        "an invoice has no tax",
        "Assert `tax_amount` or the total of an invoice with tax.",
        shown(Invoice, _without_tax),
    ),
    Mutant(
        "invoice-due-early",
        "an invoice is due a day early",
        "Assert `due_date`, or what your application shows of it.",
        shown(Invoice, _due_earlier),
        is_optional=True,
    ),
    Mutant(
        "invoice-void-undone",
        "an invoice that was voided stays open",
        "Assert the status of the invoice after it was voided.",
        shown_as(Invoice, "void", "open"),
    ),
)


def _first_charge_declined(reaction: Reaction, world: World, event: Event) -> Reaction:
    concerned = reaction is enqueue_deliveries and event.type == "subscription.created"
    return _decline_and_deliver if concerned else reaction


def _decline_and_deliver(world: World, event: Event) -> None:
    match = {"customer": event.data.object.customer}
    operator.arrange(world, {"operation": "payment", "result": "failed", "times": 1, "match": match})
    enqueue_deliveries(world, event)


SUBSCRIPTIONS = (
    Mutant(
        "first-charge-fails",
        "the first charge of a subscription fails",
        "Give access when `invoice.paid` arrives, not when the subscription is created, and assert who has access.",
        (Seam.REACTED, _first_charge_declined),
    ),
    Mutant(
        "renewal-never",
        "a renewal never comes",
        "Move the clock beyond the period, and assert the next invoice or the next period.",
        _boundary(of_trial=False),
    ),
    Mutant(
        "trial-never-ends",
        "a trial never ends",
        "Move the clock beyond the trial, and assert that the subscription is `active` and charged.",
        _boundary(of_trial=True),
    ),
    Mutant(
        "trial-ends-early",
        "a trial ends a day early",
        "Move the clock to an hour before the end of the trial, and assert that nothing was charged yet.",
        (Seam.SCHEDULED, _a_day_before_the_trial_ends),
    ),
    Mutant(
        "trial-notice-never-sent",
        "the service never sends `subscription.trial_will_end`",
        "Assert the event, or what your application does because of it.",
        never_emitted("subscription.trial_will_end"),
    ),
    Mutant(
        "subscription-canceled-never-sent",
        "the service never sends `subscription.canceled`",
        "Assert the event, or what your application does because of it.",
        never_emitted("subscription.canceled"),
    ),
    Mutant(
        "renewal-failed-never-sent",
        "the service never sends `subscription.payment_failed`",
        "Assert the event, or what your application does because of it.",
        never_emitted("subscription.payment_failed"),
    ),
    Mutant(
        "renewal-never-retried",
        "a renewal that failed is never tried again",
        "Let the first charge fail, move the clock by a day, and assert the second attempt.",
        never_run("subscription.retry"),
    ),
    Mutant(
        "renewal-failed-never-emailed",
        "the customer gets no email about a renewal that failed",
        "Assert the email to the customer after a failed charge.",
        left_out(emails.renewal_failed),
    ),
    Mutant(
        "past-due-hidden",
        "a subscription is never `past_due`",
        "Let a charge fail, and assert the status of the subscription.",
        shown_as(Subscription, "past_due", "active"),
    ),
    Mutant(
        "unpaid-hidden",
        "a subscription is never `unpaid`",
        "Let every retry fail, and assert the status of the subscription.",
        shown_as(Subscription, "unpaid", "past_due"),
    ),
    Mutant(
        "paused-hidden",
        "a subscription that was paused stays `active`",
        "Assert the status of the subscription after the pause.",
        shown_as(Subscription, "paused", "active"),
    ),
    Mutant(
        "canceled-hidden",
        "a subscription that was canceled stays `active`",
        "Assert the status of the subscription after the cancellation.",
        shown_as(Subscription, "canceled", "active", canceled_at=None),
    ),
    Mutant(
        "cancellation-forgotten",
        "a cancellation at the end of the period is forgotten",
        "Move the clock to the end of the period, and assert that the subscription is `canceled`.",
        changed(Subscription, _forgotten),
    ),
    Mutant(
        "expiry-never",
        "a subscription goes on after `ends_at`",
        "Move the clock beyond `ends_at`, and assert that the subscription is `expired`.",
        never_run("subscription.expire"),
    ),
    Mutant(
        "subscription-too-dear",
        "the first period of a subscription costs one minor unit more than agreed",
        "Assert the amount of the first invoice or of the first charge.",
        created(Subscription, lambda subscription: {"unit_amount": subscription.unit_amount + 1}),
    ),
    Mutant(
        "period-ends-late",
        "a period ends a day later than agreed",
        "Assert `current_period_end`, or until when your application grants access.",
        shown(Subscription, _ends_later),
    ),
)
