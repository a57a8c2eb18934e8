"""Wrong services: payments, transactions and refunds; invoices and subscriptions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from emulator.checks.suite.search import (
    Alteration,
    MutationPoint,
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


def collected_twice(concerns: Callable[[PaymentIntent], bool]) -> tuple[MutationPoint, Alteration]:
    """Let the buyer pay twice, where ``concerns`` accepts the intent: the payment has two transactions."""

    def change(reaction: Reaction, world: World, event: Event) -> Reaction:
        if reaction is not refunds.issue_receipt:
            return reaction
        intent = world.get(PaymentIntent, event.data.object.payment_intent)
        is_first = (
            sum(each.payment_intent == event.data.object.payment_intent for each in world.table(Transaction)) == 1
        )
        return _issue_and_collect_again if intent is not None and concerns(intent) and is_first else reaction

    return MutationPoint.REACTED, change


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


PAYMENTS: Mapping[str, tuple[MutationPoint, Alteration]] = {
    "payment-failed-with-2xx": (MutationPoint.ANSWERED, _failed_with_2xx),
    "payment-short": created(PaymentIntent, lambda intent: {"amount": intent.amount - 1}),
    "payment-twice": collected_twice(lambda intent: intent.invoice is None),
    "payment-declined-as-succeeded": shown(PaymentIntent, _declined_as_succeeded),
    "payment-other-reason": shown(
        PaymentIntent,
        lambda it: {"last_error": {**it["last_error"], "code": "UPSTREAM_ERROR"}} if it["last_error"] else {},
    ),
    "payment-never-answered": never_run("payment_intent.answer"),
    "payment-succeeded-never-sent": never_emitted("payment_intent.succeeded"),
    "payment-failed-never-sent": never_emitted("payment_intent.failed"),
    "transaction-other-currency": shown(
        Transaction, lambda it: {"currency": "XAF" if it["currency"] == "EUR" else "EUR"}
    ),
    "capture-whole": changed(PaymentIntent, _captured_whole),
    "transaction-never-sent": never_emitted("transaction.succeeded"),
    "transaction-without-fee": created(
        Transaction,
        lambda it: {"fee": 0, "net_amount": it.amount - it.commission} if it.type == "deposit" else {},
    ),
    "transaction-never-settled": never_run("transaction.settle"),
    "transaction-dispute-hidden": shown_as(Transaction, "disputed", "completed"),
    "receipt-never-emailed": left_out(emails.receipt),
}

REFUNDS: Mapping[str, tuple[MutationPoint, Alteration]] = {
    "refund-short": created(Refund, lambda refund: {"amount": refund.amount - 1}),
    "refund-failed-as-succeeded": shown_as(Refund, "failed", "succeeded", failure_reason=None),
    "refund-never-answered": never_run("refund.answer"),
    "refund-succeeded-never-sent": never_emitted("refund.succeeded"),
    "refund-failed-never-sent": never_emitted("refund.failed"),
    "refund-not-counted": shown(Transaction, lambda it: {"amount_refunded": 0} if it["type"] == "deposit" else {}),
    "refund-never-emailed": left_out(emails.refund),
}


# -- invoices and subscriptions


def _unpaid(invoice: Any) -> dict[str, Any]:
    if invoice["status"] != "paid":
        return {}
    return {"status": "open", "amount_paid": 0, "amount_remaining": invoice["total"]}


def _due_earlier(invoice: Any) -> dict[str, Any]:
    due = invoice["due_date"]
    return {"due_date": calendar.day_plus(due, -1)} if due else {}


def _boundary(*, of_trial: bool) -> tuple[MutationPoint, Alteration]:
    """Skip the end of a trial, or of any other period."""

    def change(job: Job, world: World) -> Job | None:
        subscription = world.get(Subscription, job.about)
        is_trial = subscription is not None and subscription.status == "trialing"
        return None if job.name == "subscription.renew" and is_trial == of_trial else job

    return MutationPoint.RUN, change


def _a_day_before_the_trial_ends(due: str, name: str, about: Record | None) -> str:
    is_trial = isinstance(about, Subscription) and about.status == "trialing"
    return calendar.plus(due, days=-1) if name == "subscription.renew" and is_trial else due


INVOICES: Mapping[str, tuple[MutationPoint, Alteration]] = {
    "invoice-paid-twice": collected_twice(lambda intent: intent.invoice is not None),
    "invoice-paid-never-sent": never_emitted("invoice.paid"),
    "invoice-overdue-never-sent": never_emitted("invoice.payment_overdue"),
    "invoice-stays-open": shown(Invoice, _unpaid),
    "invoice-total-too-high": shown(Invoice, lambda invoice: {"total": invoice["total"] + 1}),
    "invoice-without-tax": shown(
        Invoice, lambda it: {"tax_amount": 0, "total": it["subtotal"]} if it["tax_amount"] else {}
    ),
    "invoice-due-early": shown(Invoice, _due_earlier),
    "invoice-void-undone": shown_as(Invoice, "void", "open"),
}


def _first_charge_declined(reaction: Reaction, world: World, event: Event) -> Reaction:
    concerned = reaction is enqueue_deliveries and event.type == "subscription.created"
    return _decline_and_deliver if concerned else reaction


def _decline_and_deliver(world: World, event: Event) -> None:
    match = {"customer": event.data.object.customer}
    operator.arrange(world, {"operation": "payment", "result": "failed", "times": 1, "match": match})
    enqueue_deliveries(world, event)


SUBSCRIPTIONS: Mapping[str, tuple[MutationPoint, Alteration]] = {
    "first-charge-fails": (MutationPoint.REACTED, _first_charge_declined),
    "renewal-never": _boundary(of_trial=False),
    "trial-never-ends": _boundary(of_trial=True),
    "trial-ends-early": (MutationPoint.SCHEDULED, _a_day_before_the_trial_ends),
    "trial-notice-never-sent": never_emitted("subscription.trial_will_end"),
    "subscription-canceled-never-sent": never_emitted("subscription.canceled"),
    "renewal-failed-never-sent": never_emitted("subscription.payment_failed"),
    "renewal-never-retried": never_run("subscription.retry"),
    "renewal-failed-never-emailed": left_out(emails.renewal_failed),
    "past-due-hidden": shown_as(Subscription, "past_due", "active"),
    "unpaid-hidden": shown_as(Subscription, "unpaid", "past_due"),
    "paused-hidden": shown_as(Subscription, "paused", "active"),
    "canceled-hidden": shown_as(Subscription, "canceled", "active", canceled_at=None),
    "cancellation-forgotten": changed(
        Subscription, lambda old, new: {"cancel_at_period_end": old.cancel_at_period_end}
    ),
    "expiry-never": never_run("subscription.expire"),
    "subscription-too-dear": created(Subscription, lambda subscription: {"unit_amount": subscription.unit_amount + 1}),
    "period-ends-late": shown(
        Subscription, lambda it: {"current_period_end": calendar.plus(it["current_period_end"], days=1)}
    ),
}
