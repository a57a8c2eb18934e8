"""Charging: a payment intent is sent to the operator, and its answer decides how the intent ends (B-50, B-55, B-56)."""

from __future__ import annotations

from typing import Any

from emulator.core import calendar
from emulator.core.errors import ERRORS, ApiError
from emulator.core.handlers import get_or_404
from emulator.core.jobs import Job
from emulator.core.world import World
from emulator.resources.customers import customers
from emulator.resources.customers.customer_records import Customer
from emulator.resources.customers.payment_details import PaymentDetails
from emulator.resources.customers.payment_methods import PaymentMethod
from emulator.resources.payments import operator, transactions
from emulator.resources.payments.operator import OperatorDecision
from emulator.resources.payments.payment_intents import STATE_MACHINE, PaymentError, PaymentIntent
from emulator.resources.payments.transactions import Transaction


def confirm(world: World, intent: PaymentIntent, method: PaymentMethod, *, off_session: bool = False) -> PaymentIntent:
    """Charge a stored method. ``off_session``: the buyer is not present, as when a subscription renews."""
    if intent.customer is None and (customer := world.get(Customer, method.customer)) is not None:
        email = intent.customer_email or customer.email
        intent = world.replace(intent, customer=customer.id, customer_email=email)
    return charge(world, intent, method.instrument, payment_method=method.id, off_session=off_session)


def charge(
    world: World,
    intent: PaymentIntent,
    details: PaymentDetails,
    *,
    payment_method: str | None = None,
    off_session: bool = False,
) -> PaymentIntent:
    """Send the payment to the operator, who answers at once or later. A declined payment raises nothing."""
    intent = _set_method(world, intent, details, payment_method)
    customer = world.get(Customer, intent.customer)
    if customer is not None and customers.is_blocked(customer):
        return fail(world, intent, "CUSTOMER_BLACKLISTED")
    decision = operator.on_payment(
        world, details, customer=intent.customer, amount=intent.amount, off_session=off_session
    )
    return _schedule_answer(world, _submit(world, intent, details, decision), decision)


def _set_method(
    world: World, intent: PaymentIntent, details: PaymentDetails, payment_method: str | None
) -> PaymentIntent:
    """The intent with what it is paid with, unless it was created with just that."""
    created_with = (intent.payment_method, intent.instrument) == (payment_method, details)
    if created_with and intent.status == "requires_confirmation":
        return intent
    return STATE_MACHINE.transition(
        world,
        intent,
        "choose",
        payment_method=payment_method,
        payment_method_type=details.type,
        instrument=details,
    )


def _submit(world: World, intent: PaymentIntent, details: PaymentDetails, decision: OperatorDecision) -> PaymentIntent:
    """Wait for the buyer or for the operator. A bank transfer opens its pending transaction now (B-55, B-56)."""
    if details.type == "mobile_money":
        ends = max(decision.due, calendar.plus(world.now, seconds=operator.PROMPT_SECONDS))
        action = {"type": "confirm_on_phone", "phone": details.details["phone"], "expires_at": ends}
        return STATE_MACHINE.transition(world, intent, "ask_buyer", next_action=action)
    if decision.step:
        return STATE_MACHINE.transition(world, intent, "ask_buyer", next_action={"type": "confirm_card"})
    if details.type == "bank_transfer" and intent.capture_method == "automatic":
        deposit = _open_deposit(world, intent, intent.amount)
        return STATE_MACHINE.transition(world, intent, "submit", transaction=deposit.id)
    return STATE_MACHINE.transition(world, intent, "submit")


def _schedule_answer(world: World, intent: PaymentIntent, decision: OperatorDecision) -> PaymentIntent:
    """The operator's answer, now or at its time; a card check is answered by the buyer alone."""
    if decision.step:
        return intent
    if decision.due > world.now:
        code = {"code": decision.code} if decision.code else {}
        world.schedule(decision.due, "payment_intent.answer", intent, **code)
        return intent
    return answer(world, intent, decision.code)


def answer_later(world: World, job: Job) -> None:
    """Job ``payment_intent.answer``; does nothing where the intent has ended."""
    intent = world.get(PaymentIntent, job.about)
    if intent is not None and STATE_MACHINE.allows(intent, "succeed"):
        answer(world, intent, job.data.get("code"))


def answer_now(world: World, id: str, code: str | None) -> PaymentIntent:
    """The operator answers a payment in progress before its time; with a ``code`` the payment fails."""
    intent = get_or_404(world, PaymentIntent, id)
    if not STATE_MACHINE.allows(intent, "succeed"):
        raise ApiError(
            "INVALID_STATUS_TRANSITION", object="payment intent", status=intent.status, trigger="be answered"
        )
    return answer(world, intent, code)


def answer(world: World, intent: PaymentIntent, code: str | None) -> PaymentIntent:
    """The operator's answer: failure with a ``code``, or success, collected now or held for a manual capture."""
    world.cancel_jobs(intent, "payment_intent.answer")
    if code is not None:
        return fail(world, intent, code)
    if intent.capture_method == "manual":
        return STATE_MACHINE.transition(world, intent, "authorise", amount_capturable=intent.amount, next_action=None)
    return succeed(world, intent, "succeed", intent.amount)


def succeed(world: World, intent: PaymentIntent, trigger: str, amount: int) -> PaymentIntent:
    """The payment succeeded: the intent's event comes first, then its transaction's (B-44). Minor units."""
    deposit = world.get(Transaction, intent.transaction) or _open_deposit(world, intent, amount)
    deposit = transactions.approve_until_settled(world, deposit)
    STATE_MACHINE.transition(
        world,
        intent,
        trigger,
        amount_capturable=0,
        amount_received=amount,
        transaction=deposit.id,
        next_action=None,
        **_first_period(world, intent),
    )
    if deposit.status == "pending":
        transactions.complete(world, deposit)
    return world.require(PaymentIntent, intent.id)


def _first_period(world: World, intent: PaymentIntent) -> dict[str, str]:
    """The ids that the subscription begun by this payment and its first invoice will have (B-67)."""
    if not intent.begins_subscription or intent.customer is None:
        return {}
    return {"subscription": world.draw("sub"), "invoice": world.draw("inv")}


def _open_deposit(world: World, intent: PaymentIntent, amount: int) -> Transaction:
    # An intent that a tester set up directly may have no payment details.
    details = intent.instrument or PaymentDetails(type=intent.payment_method_type or "bank_card", details={})
    return transactions.open_deposit(
        world,
        amount,
        details,
        currency=intent.currency,
        description=intent.description,
        payment_intent=intent.id,
        customer=intent.customer,
        metadata=intent.metadata,
    )


def fail(world: World, intent: PaymentIntent, code: str, message: str | None = None) -> PaymentIntent:
    """The payment failed: the intent is canceled and ``last_error`` says why (B-50, B-56)."""
    close_deposit(world, intent, "fail", processed_at=world.now)
    error = PaymentError(code, message or ERRORS[code].message)
    return STATE_MACHINE.transition(world, intent, "fail", last_error=error, canceled_at=world.now, next_action=None)


def cancel(world: World, intent: PaymentIntent) -> PaymentIntent:
    """Take the payment back before it is collected, without an event (B-50)."""
    world.cancel_jobs(intent, "payment_intent.answer")
    close_deposit(world, intent, "cancel")
    return STATE_MACHINE.transition(
        world, intent, "cancel", amount_capturable=0, canceled_at=world.now, next_action=None
    )


def close_deposit(world: World, intent: PaymentIntent, trigger: str, **changes: Any) -> None:
    """End the intent's pending transaction, if it has one: its money will not come."""
    deposit = world.get(Transaction, intent.transaction)
    if deposit is not None and transactions.STATE_MACHINE.allows(deposit, trigger):
        transactions.STATE_MACHINE.transition(world, deposit, trigger, **changes)


JOBS = {"payment_intent.answer": answer_later}
