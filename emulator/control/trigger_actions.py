"""Deeds: what is done to an object so that an event comes of it, by the very functions of the rules."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from emulator.core import calendar
from emulator.core.jobs import Job
from emulator.core.records import Record
from emulator.core.world import World
from emulator.errors import invalid_field
from emulator.resources.billing import invoices, renewals, subscription_operations
from emulator.resources.billing.invoices import Invoice
from emulator.resources.billing.subscriptions import Subscription
from emulator.resources.checkout import hosted_payments
from emulator.resources.checkout.checkout_sessions import CheckoutSession
from emulator.resources.customers import customers
from emulator.resources.customers.records import Customer
from emulator.resources.payments import charging, intent_operations, outcomes, payment_intents, refunds
from emulator.resources.payments.outcomes import Outcome
from emulator.resources.payments.payment_intents import PaymentIntent
from emulator.resources.payments.refunds import Refund
from emulator.resources.payments.transactions import Transaction

MONEY = {"method": {"type": "mobile_money", "phone": "+24177000000"}}
"""What a buyer fills in on a page."""

DEFAULT_CODE = "INSUFFICIENT_FUNDS"
"""Why a payment fails where nothing else is said."""


# -- the operator's part


@contextmanager
def arranged(world: World, operation: str, code: str | None) -> Iterator[None]:
    """The payments made inside end so, whatever they are made with; an outcome arranged by the tester comes first."""
    result = "succeeded" if code is None else "failed"
    wanted: dict[str, Any] = {"operation": operation, "result": result, "code": code, "times": 1, "match": {}}
    outcome = outcomes.arrange(world, wanted)
    yield
    if world.get(Outcome, outcome.id) is not None:
        world.remove(outcome)


def answered(world: World, id: str, code: str | None) -> None:
    """A payment that still waits for its answer gets it now."""
    intent = world.require(PaymentIntent, id)
    if payment_intents.STATE_MACHINE.allows(intent, "succeed"):
        charging.answer(world, intent, code)


def now(world: World, job: str, record: Record) -> None:
    """What is planned for an object is done at once."""
    world.cancel_jobs(record, job)
    world.registry.jobs[job](world, Job(id=f"job_{job}", name=job, due=world.now, sequence=0, about=record.id))


# -- payments


def collect(world: World, intent: PaymentIntent, code: str | None) -> None:
    """An intent is confirmed, if it was not, and answered; what was authorised is captured."""
    with arranged(world, "payment", code):
        if payment_intents.STATE_MACHINE.allows(intent, "choose"):
            intent_operations.confirm(world, intent.id, {})
    answered(world, intent.id, code)
    if code is None and world.require(PaymentIntent, intent.id).status == "requires_capture":
        intent_operations.capture(world, intent.id, {})


def pay(world: World, intent: PaymentIntent, code: str | None) -> None:
    """The payment succeeds."""
    collect(world, intent, None)


def decline(world: World, intent: PaymentIntent, code: str | None) -> None:
    """The payment fails."""
    collect(world, intent, code or DEFAULT_CODE)


def deposit(world: World, intent: str) -> Transaction:
    """The transaction of a payment that succeeds; 422 where it cannot, such as for a buyer whose number says so."""
    collect(world, world.require(PaymentIntent, intent), None)
    paid = world.require(PaymentIntent, intent)
    if paid.transaction is None:
        raise invalid_field("payment_intent", f"it is {paid.status}, and no transaction comes of it")
    return world.require(Transaction, paid.transaction)


def bought(world: World, command: Callable[..., Any], id: str) -> None:
    """A buyer pays a page."""
    with arranged(world, "payment", None):
        made = command(world, id, MONEY)
    if isinstance(made, PaymentIntent):
        answered(world, made.id, None)


def check_out(world: World, session: CheckoutSession, code: str | None) -> None:
    """The buyer pays the session; a payment under way succeeds."""
    if session.status == "processing" and session.payment_intent is not None:
        answered(world, session.payment_intent, None)
    else:
        bought(world, hosted_payments.pay_session, session.id)


# -- refunds


def return_money(world: World, refund: Refund, code: str | None) -> None:
    """The refund is sent, if it was not, and answered."""
    now(world, "refund.send", refund)
    refunds.answer_now(world, refund.id, code)


def give_back(world: World, refund: Refund, code: str | None) -> None:
    """The buyer has the money back."""
    return_money(world, refund, None)


def keep_back(world: World, refund: Refund, code: str | None) -> None:
    """The operator cannot refund."""
    return_money(world, refund, code or outcomes.DEFAULT_FAILURE_CODE["refund"])


# -- invoices


def open_(world: World, invoice: Invoice) -> Invoice:
    """The invoice, finalized if it was a draft."""
    return invoices.finalize_and_track(world, invoice) if invoice.status == "draft" else invoice


def pay_invoice(world: World, invoice: Invoice, code: str | None) -> None:
    """The buyer pays it on its page."""
    if open_(world, invoice).status != "paid" or invoice.status == "paid":
        bought(world, hosted_payments.pay_invoice, invoice.id)


def let_fall_due(world: World, invoice: Invoice, code: str | None) -> None:
    """It was due yesterday, and nobody has paid."""
    yesterday = calendar.day_plus(calendar.day(world.now), -1)
    opened = open_(world, invoice)
    now(world, "invoice.overdue", world.replace(opened, due_date=min(opened.due_date or yesterday, yesterday)))


# -- subscriptions and customers


def cancel(world: World, subscription: Subscription, code: str | None) -> None:
    """The merchant cancels it at once."""
    subscription_operations.cancel(world, subscription.id, {"cancel_at_period_end": False})


def decline_charge(world: World, subscription: Subscription, code: str | None) -> None:
    """A charge fails: its first one, the retry of one that failed, or one more for the running period."""
    code = code or DEFAULT_CODE
    with arranged(world, "payment", code):
        if any(job.name == "subscription.charge" for job in world.table(Job).where("about", subscription.id)):
            now(world, "subscription.charge", subscription)
        elif subscription.status == "past_due":
            now(world, "subscription.retry", subscription)
        elif subscription.status == "active":
            renewals.charge(world, subscription)
    for intent in world.table(PaymentIntent).where("customer", subscription.customer):
        if intent.subscription == subscription.id:
            answered(world, intent.id, code)


def announce_trial_end(world: World, subscription: Subscription, code: str | None) -> None:
    """The end of its trial is announced."""
    now(world, "subscription.trial_notice", subscription)


def delete(world: World, customer: Customer, code: str | None) -> None:
    """The merchant deletes it."""
    customers.delete(world, customer.id)


ACTIONS: Mapping[str, Callable[..., Any]] = {
    deed.__name__: deed
    for deed in (
        pay,
        decline,
        give_back,
        keep_back,
        pay_invoice,
        let_fall_due,
        check_out,
        cancel,
        decline_charge,
        announce_trial_end,
        delete,
    )
}
"""By the names that ``fixtures/triggers.yaml`` uses."""

FAILING = frozenset(["decline", "keep_back", "decline_charge"])
"""The deeds that a ``code`` goes with, which says why."""
