"""Fulfilment: what a checkout session does once its payment has succeeded or failed, or its method is saved (B-58)."""

from __future__ import annotations

from emulator.core.errors import ApiError
from emulator.core.events import Event
from emulator.core.handlers import get_or_404
from emulator.core.jobs import Job
from emulator.core.world import World
from emulator.resources.billing import invoices, subscription_operations
from emulator.resources.billing import subscription_periods as periods
from emulator.resources.billing.subscription_terms import Terms
from emulator.resources.billing.subscriptions import Subscription
from emulator.resources.checkout import checkout_lines, checkout_sessions
from emulator.resources.checkout.checkout_sessions import STATE_MACHINE, CheckoutSession
from emulator.resources.customers import customers, payment_methods
from emulator.resources.customers.customer_records import Customer
from emulator.resources.customers.payment_details import PaymentDetails
from emulator.resources.customers.payment_methods import PaymentMethod
from emulator.resources.payments import current_payment, operator
from emulator.resources.payments.payment_intents import PaymentIntent


def payment_received(world: World, event: Event) -> None:
    """Reaction to ``payment_intent.succeeded`` and ``transaction.succeeded``: the invoice or session it pays (B-61)."""
    intent = current_payment.received_by(world, event)
    if intent is None:
        return
    invoices.payment_received(world, intent)
    session = _session_of(world, intent, "complete")
    if session is not None:
        complete(world, session, intent.instrument)


def attempt_failed(world: World, event: Event) -> None:
    """Reaction to ``payment_intent.failed``: the session accepts another attempt."""
    _fail(world, event.data.object)


def attempt_canceled(world: World, job: Job) -> None:
    """Job ``payment_intent.canceled``: the merchant canceled the payment, which has no event (B-50)."""
    intent = world.get(PaymentIntent, job.about)
    if intent is not None:
        _fail(world, intent)


def _fail(world: World, intent: PaymentIntent) -> None:
    session = _session_of(world, intent, "fail")
    if session is not None:
        checkout_sessions.fail(world, session)


def _session_of(world: World, intent: PaymentIntent, trigger: str) -> CheckoutSession | None:
    """The session whose current attempt is this intent, if its state allows the trigger."""
    session = world.get(CheckoutSession, intent.checkout_session)
    current = session is not None and session.payment_intent == intent.id and STATE_MACHINE.allows(session, trigger)
    return session if current else None


def save_method(world: World, session: CheckoutSession, details: PaymentDetails) -> CheckoutSession:
    """A session with nothing to pay saves the method, which fails as a payment with it would (B-58)."""
    session = checkout_sessions.submit(world, session, instrument=details, failure=None)
    customer = world.get(Customer, session.customer)
    if customer is not None and customers.is_blocked(customer):
        return checkout_sessions.fail(world, session, "CUSTOMER_BLACKLISTED")
    decision = operator.on_save(world, details, customer=session.customer)
    if decision.step:
        return session
    if decision.due > world.now:
        code = {"code": decision.code} if decision.code else {}
        world.schedule(decision.due, "checkout_session.answer", session, **code)
        return session
    return _answer(world, session, decision.code)


def answer_later(world: World, job: Job) -> None:
    """Job ``checkout_session.answer``: the operator answers whether the method can be saved."""
    session = world.get(CheckoutSession, job.about)
    if session is not None and STATE_MACHINE.allows(session, "complete"):
        _answer(world, session, job.data.get("code"))


def is_saving(session: CheckoutSession) -> bool:
    """Whether it saves a method without a payment, and the operator has not answered yet.

    A session whose status a tester set has neither.
    """
    return session.status == "processing" and session.payment_intent is None and session.instrument is not None


def asks_for_check(world: World, session: CheckoutSession) -> bool:
    """Whether its buyer has to pass the check of the card that is being saved; until then there is no answer (B-54)."""
    answers = (job for job in world.jobs.where("about", session.id) if job.name == "checkout_session.answer")
    return is_saving(session) and next(answers, None) is None


def answer_now(world: World, id: str, code: str | None) -> CheckoutSession:
    """The operator answers before its time whether a method is saved; with a ``code`` it is not.

    Raises ``CHECKOUT_SESSION_NOT_FOUND``, and ``INVALID_STATUS_TRANSITION`` where nothing is being saved.
    """
    session = get_or_404(world, CheckoutSession, id)
    if not is_saving(session):
        raise ApiError(
            "INVALID_STATUS_TRANSITION", object="checkout session", status=session.status, trigger="be answered"
        )
    world.cancel_jobs(session, "checkout_session.answer")
    return _answer(world, session, code)


def _answer(world: World, session: CheckoutSession, code: str | None) -> CheckoutSession:
    if code is not None:
        return checkout_sessions.fail(world, session, code)
    return complete(world, session, session.instrument)


def complete(world: World, session: CheckoutSession, instrument: PaymentDetails | None) -> CheckoutSession:
    """Save the method or create the subscription, and complete the session.

    Where the customer has been deleted since, the session completes with its payment alone.
    """
    customer = world.get(Customer, session.customer)
    if customer is not None and instrument is not None:
        if session.mode == "setup":
            payment_methods.save(world, customer, instrument, is_default=True)
        elif session.terms is not None:
            begun = _subscribe(world, session, session.terms, customer, instrument)
            return STATE_MACHINE.transition(world, session, "complete", subscription=begun.id)
    return STATE_MACHINE.transition(world, session, "complete")


def _subscribe(
    world: World, session: CheckoutSession, terms: Terms, customer: Customer, instrument: PaymentDetails
) -> Subscription:
    """Create the subscription, which will charge what the buyer paid with; its first period is paid, or a trial."""
    intent = world.get(PaymentIntent, session.payment_intent)
    first = payment_methods.default(world, customer.id) is None
    method = payment_methods.save(world, customer, instrument, is_default=first)
    subscription = subscription_operations.start(
        world,
        terms,
        customer=customer.id,
        collection_method="charge_automatically",
        cancel_at_period_end=False,
        ends_at=None,
        payment_method=method.id,
        metadata={},
        id=intent and intent.subscription,
    )
    if session.lines_due:
        _bill(world, session, subscription, customer, method=method, intent=intent)
    if subscription.status == "active":
        periods.schedule_renewal(world, subscription)
    return subscription


def _bill(
    world: World,
    session: CheckoutSession,
    subscription: Subscription,
    customer: Customer,
    *,
    method: PaymentMethod,
    intent: PaymentIntent | None,
) -> None:
    """The invoice of what was paid on the page: the first period, one-off lines or both (B-58, B-97).

    Subscription and invoice have the ids that the intent's event named (B-67).
    """
    lines = checkout_lines.billed(session.lines_due)
    id = None if intent is None else intent.invoice
    invoice = invoices.draft(world, customer, lines, session.currency, id=id, subscription=subscription.id)
    invoice = invoices.finalize_now(world, invoice)
    if intent is not None:
        world.replace(intent, invoice=invoice.id, subscription=subscription.id, payment_method=method.id)
    if invoice.status == "open":
        invoices.mark_paid(world, invoice, intent)


JOBS = {"payment_intent.canceled": attempt_canceled, "checkout_session.answer": answer_later}
