"""Wrong services: payments, transactions and refunds."""

from __future__ import annotations

from collections.abc import Callable
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
from emulator.core.events import Event
from emulator.core.world import Reaction, World
from emulator.resources.payments import receipts, transactions
from emulator.resources.payments.payment_intents import PaymentIntent
from emulator.resources.payments.refunds import Refund
from emulator.resources.payments.transactions import Transaction
from emulator.resources.simulation import emails


def collected_twice(concerns: Callable[[PaymentIntent], bool]) -> tuple[Seam, Alteration]:
    """A payment whose intent ``concerns`` accepts has two transactions: the buyer pays twice."""

    def change(reaction: Reaction, world: World, event: Event) -> Reaction:
        if reaction is not receipts.issue:
            return reaction
        intent = world.get(PaymentIntent, event.data.object.payment_intent)
        is_first = (
            sum(each.payment_intent == event.data.object.payment_intent for each in world.table(Transaction)) == 1
        )
        return _issue_and_collect_again if intent is not None and concerns(intent) and is_first else reaction

    return Seam.REACTED, change


def _issue_and_collect_again(world: World, event: Event) -> None:
    receipts.issue(world, event)
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


PAYMENTS = (
    Doubt(
        "payment-short",
        "a payment collects one minor unit less than was asked",
        "Assert the amount of the payment intent or of its transaction.",
        created(PaymentIntent, lambda intent: {"amount": intent.amount - 1}),
    ),
    Doubt(
        "payment-twice",
        "the buyer pays twice for one payment",
        "Assert how many transactions the customer has, or what the customer has spent.",
        collected_twice(lambda intent: intent.invoice is None),
    ),
    Doubt(
        "payment-declined-as-succeeded",
        "a declined payment says `succeeded`",
        "Pay with a magic value that is declined, and assert the status.",
        shown(PaymentIntent, _declined_as_succeeded),
    ),
    Doubt(
        "payment-other-reason",
        "a declined payment gives another reason",
        "Assert `last_error.code`, or what your application shows of it.",
        shown(PaymentIntent, _other_reason),
    ),
    Doubt(
        "payment-never-answered",
        "the operator never answers a payment",
        "Assert that a payment that takes time has ended after that time.",
        never_run("payment_intent.answer"),
    ),
    Doubt(
        "payment-succeeded-never-sent",
        "the service never sends `payment_intent.succeeded`",
        "Assert the event, or what your application does because of it.",
        never_emitted("payment_intent.succeeded"),
    ),
    Doubt(
        "payment-failed-never-sent",
        "the service never sends `payment_intent.failed`",
        "Assert the event, or what your application does because of it.",
        never_emitted("payment_intent.failed"),
    ),
    Doubt(
        "transaction-other-currency",
        "a transaction is in another currency",
        "Assert the currency beside the amount.",
        shown(Transaction, _other_currency),
    ),
    Doubt(
        "capture-whole",
        "the capture of a part collects the whole payment",
        "Assert `amount_received` after a capture of less than was authorised.",
        changed(PaymentIntent, _captured_whole),
    ),
    Doubt(
        "transaction-never-sent",
        "the service never sends `transaction.succeeded`",
        "Assert the event, or what your application does because of it.",
        never_emitted("transaction.succeeded"),
    ),
    Doubt(
        "transaction-without-fee",
        "a transaction has no fee",
        "Assert the fee or the net amount of a transaction.",
        created(Transaction, _without_fee),
    ),
    Doubt(
        "transaction-never-settled",
        "the money of a bank transfer never arrives",
        "Assert that a transaction that was `approved` is `completed` when its money has arrived.",
        never_run("transaction.settle"),
    ),
    Doubt(
        "transaction-dispute-hidden",
        "a disputed transaction says `completed`",
        "Assert the status of a transaction that its buyer disputes.",
        shown_as(Transaction, "disputed", "completed"),
    ),
    Doubt(
        "receipt-never-emailed",
        "no receipt is emailed",
        "Assert the email to the buyer after a payment.",
        left_out(emails.receipt),
    ),
)

REFUNDS = (
    Doubt(
        "refund-short",
        "a refund says `succeeded` for less than was asked",
        "Assert the amount of the refund.",
        created(Refund, lambda refund: {"amount": refund.amount - 1}),
    ),
    Doubt(
        "refund-failed-as-succeeded",
        "a refund that failed says `succeeded`",
        "Refund a payment whose refund fails, and assert the status.",
        shown_as(Refund, "failed", "succeeded", failure_reason=None),
    ),
    Doubt(
        "refund-never-answered",
        "the operator never answers a refund",
        "Assert that a refund is `succeeded` when its time has passed.",
        never_run("refund.answer"),
    ),
    Doubt(
        "refund-succeeded-never-sent",
        "the service never sends `refund.succeeded`",
        "Assert the event, or what your application does because of it.",
        never_emitted("refund.succeeded"),
    ),
    Doubt(
        "refund-failed-never-sent",
        "the service never sends `refund.failed`",
        "Assert the event, or what your application does because of it.",
        never_emitted("refund.failed"),
    ),
    Doubt(
        "refund-not-counted",
        "a refunded transaction says that nothing was refunded",
        "Assert `amount_refunded` or the status of the transaction after a refund.",
        shown(Transaction, lambda it: {"amount_refunded": 0} if it["type"] == "deposit" else {}),
    ),
    Doubt(
        "refund-never-emailed",
        "the buyer gets no email about a refund",
        "Assert the email to the buyer after a refund.",
        left_out(emails.refund),
    ),
)
