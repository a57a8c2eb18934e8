"""Trigger actions: for each event the object it happens to, and what is done to that object to cause it.

What is done is done by the functions that the operations and jobs of the service call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from emulator.core import calendar
from emulator.core.errors import invalid_field
from emulator.core.jobs import Job
from emulator.core.records import Record
from emulator.core.world import World
from emulator.resources.billing import invoices, renewals, subscription_operations
from emulator.resources.billing.invoices import Invoice
from emulator.resources.billing.subscriptions import Subscription
from emulator.resources.checkout import hosted_payments
from emulator.resources.checkout.checkout_sessions import CheckoutSession
from emulator.resources.customers import customers
from emulator.resources.customers.customer_records import Customer
from emulator.resources.payments import charging, intent_operations, outcomes, payment_intents, refunds
from emulator.resources.payments.outcomes import Outcome
from emulator.resources.payments.payment_intents import PaymentIntent
from emulator.resources.payments.refunds import Refund
from emulator.resources.payments.transactions import Transaction

MONEY = {"method": {"type": "mobile_money", "phone": "+24177000000"}}
"""What a buyer fills in on a page."""

DEFAULT_CODE = "INSUFFICIENT_FUNDS"
"""Why a payment fails where nothing else is said."""


# -- the payment operator


@contextmanager
def arranged(world: World, operation: str, code: str | None) -> Iterator[None]:
    """Payments made inside succeed, or fail with ``code``, unless the tester has arranged another outcome for them."""
    result = "succeeded" if code is None else "failed"
    wanted: dict[str, Any] = {"operation": operation, "result": result, "code": code, "times": 1, "match": {}}
    outcome = outcomes.arrange(world, wanted)
    yield
    if world.get(Outcome, outcome.id) is not None:
        world.remove(outcome)


def answer_payment(world: World, id: str, code: str | None) -> None:
    """Give a payment that still waits for its answer that answer now."""
    intent = world.require(PaymentIntent, id)
    if payment_intents.STATE_MACHINE.allows(intent, "succeed"):
        charging.answer(world, intent, code)


def run_now(world: World, job: str, record: Record) -> None:
    """Run a job of an object at once, whether or not it is scheduled."""
    world.cancel_jobs(record, job)
    world.registry.jobs[job](world, Job(id=f"job_{job}", name=job, due=world.now, sequence=0, about=record.id))


# -- payments


def collect(world: World, intent: PaymentIntent, code: str | None) -> None:
    """Confirm an intent unless it is, answer it, and capture what was authorised."""
    with arranged(world, "payment", code):
        if payment_intents.STATE_MACHINE.allows(intent, "choose"):
            intent_operations.confirm(world, intent.id, {})
    answer_payment(world, intent.id, code)
    if code is None and world.require(PaymentIntent, intent.id).status == "requires_capture":
        intent_operations.capture(world, intent.id, {})


def pay(world: World, intent: PaymentIntent, code: str | None) -> None:
    """Have the payment succeed."""
    collect(world, intent, None)


def decline(world: World, intent: PaymentIntent, code: str | None) -> None:
    """Have the payment fail."""
    collect(world, intent, code or DEFAULT_CODE)


def deposit(world: World, intent: str) -> Transaction:
    """The transaction of a payment that succeeds; 422 where it cannot, such as for a phone number that always fails."""
    collect(world, world.require(PaymentIntent, intent), None)
    paid = world.require(PaymentIntent, intent)
    if paid.transaction is None:
        raise invalid_field("payment_intent", f"it is {paid.status}, and no transaction comes of it")
    return world.require(Transaction, paid.transaction)


def pay_page(world: World, command: Callable[..., Any], id: str) -> None:
    """A buyer pays on a hosted page."""
    with arranged(world, "payment", None):
        made = command(world, id, MONEY)
    if isinstance(made, PaymentIntent):
        answer_payment(world, made.id, None)


def check_out(world: World, session: CheckoutSession, code: str | None) -> None:
    """Have the buyer pay the session; a payment under way succeeds."""
    if session.status == "processing" and session.payment_intent is not None:
        answer_payment(world, session.payment_intent, None)
    else:
        pay_page(world, hosted_payments.pay_session, session.id)


# -- refunds


def answer_refund(world: World, refund: Refund, code: str | None) -> None:
    """Send the refund unless it was sent, and answer it."""
    run_now(world, "refund.send", refund)
    refunds.answer_now(world, refund.id, code)


def complete_refund(world: World, refund: Refund, code: str | None) -> None:
    """Have the refund succeed."""
    answer_refund(world, refund, None)


def fail_refund(world: World, refund: Refund, code: str | None) -> None:
    """Have the operator reject the refund."""
    answer_refund(world, refund, code or outcomes.DEFAULT_FAILURE_CODE["refund"])


# -- invoices


def finalized(world: World, invoice: Invoice) -> Invoice:
    """Finalize an invoice that is a draft; the open invoice."""
    return invoices.finalize_and_track(world, invoice) if invoice.status == "draft" else invoice


def pay_invoice(world: World, invoice: Invoice, code: str | None) -> None:
    """Have the buyer pay the invoice on its page."""
    if finalized(world, invoice).status != "paid" or invoice.status == "paid":
        pay_page(world, hosted_payments.pay_invoice, invoice.id)


def let_fall_due(world: World, invoice: Invoice, code: str | None) -> None:
    """Move the due date to yesterday at the latest, and run the job that finds the invoice overdue."""
    yesterday = calendar.day_plus(calendar.day(world.now), -1)
    opened = finalized(world, invoice)
    run_now(world, "invoice.overdue", world.replace(opened, due_date=min(opened.due_date or yesterday, yesterday)))


# -- subscriptions and customers


def cancel(world: World, subscription: Subscription, code: str | None) -> None:
    """Cancel the subscription at once."""
    subscription_operations.cancel(world, subscription.id, {"cancel_at_period_end": False})


def decline_charge(world: World, subscription: Subscription, code: str | None) -> None:
    """Have a charge fail: the first one, the retry of one that failed, or one more for the current period."""
    code = code or DEFAULT_CODE
    with arranged(world, "payment", code):
        if any(job.name == "subscription.charge" for job in world.table(Job).where("about", subscription.id)):
            run_now(world, "subscription.charge", subscription)
        elif subscription.status == "past_due":
            run_now(world, "subscription.retry", subscription)
        elif subscription.status == "active":
            renewals.charge(world, subscription)
    for intent in world.table(PaymentIntent).where("customer", subscription.customer):
        if intent.subscription == subscription.id:
            answer_payment(world, intent.id, code)


def announce_trial_end(world: World, subscription: Subscription, code: str | None) -> None:
    """Announce the end of its trial."""
    run_now(world, "subscription.trial_notice", subscription)


def delete(world: World, customer: Customer, code: str | None) -> None:
    """Delete the customer."""
    customers.delete(world, customer.id)


class TriggerRecipe(NamedTuple):
    """How an event is triggered: something is done to an object, which is named or made for it."""

    object: str
    action: Callable[[World, Any, str | None], Any] | None = None
    """What is done. Without one the event comes of making the object, so that none can be named."""
    takes_code: bool = False
    """Whether an error code may be given, for an action that has something fail."""
    body: Mapping[str, Any] = {}
    """What the object is made of in this case, on top of its body in ``fixtures/triggers.yaml``."""


TRIGGERS: Mapping[str, TriggerRecipe] = {
    "payment_intent.succeeded": TriggerRecipe("payment_intent", pay),
    "payment_intent.failed": TriggerRecipe("payment_intent", decline, takes_code=True),
    "transaction.succeeded": TriggerRecipe("payment_intent", pay),
    "refund.succeeded": TriggerRecipe("refund", complete_refund),
    "refund.failed": TriggerRecipe("refund", fail_refund, takes_code=True),
    "invoice.paid": TriggerRecipe("invoice", pay_invoice),
    "invoice.payment_overdue": TriggerRecipe("invoice", let_fall_due),
    "checkout.session.completed": TriggerRecipe("checkout_session", check_out),
    "subscription.created": TriggerRecipe("subscription"),
    "subscription.canceled": TriggerRecipe("subscription", cancel),
    "subscription.payment_failed": TriggerRecipe("subscription", decline_charge, takes_code=True),
    "subscription.trial_will_end": TriggerRecipe("subscription", announce_trial_end, body={"trial_period_days": 14}),
    "customer.created": TriggerRecipe("customer"),
    "customer.deleted": TriggerRecipe("customer", delete),
}
"""Every event by its type."""
