"""A payment intent: one attempt to collect an amount; the operator ends it (B-50, B-55, B-56).

Of an invoice, a checkout session or a one-time link at most one payment is under way or received:
its current payment (B-62). Code that is about to take, retry, void or record a payment calls
:func:`current_payment` first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import msgspec

from emulator.core import calendar
from emulator.core.calendar import Timestamp
from emulator.core.errors import ERRORS, ApiError
from emulator.core.handlers import get_handler, get_or_404, list_handler
from emulator.core.jobs import Job
from emulator.core.records import HIDDEN, N_, Metadata, Record, no_metadata, pick
from emulator.core.state_machine import StateMachine
from emulator.core.unit_of_work import OpenPage
from emulator.core.world import World
from emulator.resources import faults
from emulator.resources.app import security_profiles
from emulator.resources.app.settings import settings
from emulator.resources.catalog.products import Product
from emulator.resources.customers.customer_records import Customer
from emulator.resources.customers.payment_details import PaymentDetails
from emulator.resources.customers.payment_methods import PaymentMethod
from emulator.resources.payments import operator, payment_links, transactions
from emulator.resources.payments.operator import OperatorDecision
from emulator.resources.payments.payment_links import PaymentLink
from emulator.resources.payments.transactions import Transaction

# -- the record and its states


class PaymentError(msgspec.Struct, frozen=True):
    """Why a payment failed: a code of the error table and its message."""

    code: str
    message: str


class PaymentIntent(Record, frozen=True, kw_only=True):
    """Amounts are minor units. ``next_action`` is what the buyer has to do now, if anything."""

    prefix: ClassVar[str] = "pi"
    names: ClassVar[tuple[str, str] | None] = (N_("Payment intent"), N_("Payment intents"))
    indexes: ClassVar[tuple[str, ...]] = (
        "customer",
        "status",
        "invoice",
        "checkout_session",
        "payment_link",
    )
    checked: ClassVar[frozenset[str]] = frozenset({"amount_received"})

    object: str = "payment_intent"
    app: str
    amount: int
    amount_capturable: int = 0
    amount_received: int = 0
    currency: str
    status: str
    capture_method: str = "automatic"
    customer: str | None = None
    customer_email: str | None = None
    payment_method: str | None = None
    payment_method_type: str | None = None
    payment_method_types: tuple[str, ...] = ()
    description: str | None = None
    next_action: Mapping[str, Any] | None = None
    last_error: PaymentError | None = None
    checkout_session: str | None = None
    payment_link: str | None = None
    invoice: str | None = None
    subscription: str | None = None
    transaction: str | None = None
    metadata: Metadata = msgspec.field(default_factory=no_metadata)
    canceled_at: str | None = None
    livemode: bool
    created_at: str
    updated_at: str
    # The means of payment, as a copy: a stored method may be removed during the payment.
    instrument: Annotated[PaymentDetails | None, HIDDEN] = None
    # The product sold, the first one of several: its metadata is carried into
    # payment_intent.succeeded (B-97).
    product: Annotated[str | None, HIDDEN] = None
    # The link's metadata when the payment began, carried into payment_intent.succeeded even if the
    # link is deleted.
    link_metadata: Annotated[Metadata | None, HIDDEN] = None
    # The payment of a checkout session in subscription mode: its success begins a subscription.
    begins_subscription: Annotated[bool, HIDDEN] = False
    # The lines that a buyer of a session or a link paid, for the receipt: quantity, name and minor
    # units.
    sold: Annotated[tuple[tuple[int, str, int], ...], HIDDEN] = ()


def event_metadata(world: World, intent: PaymentIntent, event: str) -> Mapping[str, Any]:
    """``payment_intent.succeeded`` carries the metadata of product and payment link (Events)."""
    carried: dict[str, Any] = {}
    if event == "payment_intent.succeeded":
        if (product := world.get(Product, intent.product)) is not None:
            carried["product"] = product.metadata
        link = world.get(PaymentLink, intent.payment_link)
        if (metadata := intent.link_metadata if link is None else link.metadata) is not None:
            carried["payment_link"] = metadata
    return carried


STATE_MACHINE = StateMachine(
    PaymentIntent,
    (None, "create", "requires_payment_method"),
    (None, "create_with_method", "requires_confirmation"),
    ("requires_payment_method requires_confirmation", "choose", "requires_confirmation"),
    ("requires_confirmation", "lose method", "requires_payment_method"),
    ("requires_confirmation", "ask_buyer", "requires_action"),
    ("requires_confirmation", "submit", "processing"),
    ("requires_action processing", "authorise", "requires_capture"),
    ("requires_action processing", "succeed", "succeeded", "payment_intent.succeeded"),
    ("requires_capture", "capture", "succeeded", "payment_intent.succeeded"),
    (
        "requires_confirmation requires_action processing",
        "fail",
        "canceled",
        "payment_intent.failed",
    ),
    ("requires_payment_method requires_confirmation", "cancel", "canceled"),
    ("requires_action processing requires_capture", "cancel", "canceled"),
    event_metadata=event_metadata,
)


def start(
    world: World, method: PaymentMethod | None, /, *, subtotal: int | None = None, **fields: Any
) -> PaymentIntent:
    """Create an intent, with or without a stored method; 403 above ``max_amount`` (B-51).

    ``subtotal``: the amount before discounts and taxes, in minor units, which ``max_amount``
    bounds.
    """
    security_profiles.check_amount(world, fields["amount"] if subtotal is None else subtotal)
    if method is None:
        return STATE_MACHINE.create(world, "create", fields)
    paid_with = {
        "payment_method": method.id,
        "payment_method_type": method.type,
        "instrument": method.instrument,
    }
    return STATE_MACHINE.create(world, "create_with_method", fields, **paid_with)


SETTLED_INTENTS = ("succeeded", "canceled")
"""States of an intent that has an outcome: nobody acts on it any more."""


def release_customer(world: World, customer: Customer) -> None:
    """Reaction to ``customer.deleted``: payments in progress lose the customer but stay valid."""
    for intent in world.table(PaymentIntent).where("customer", customer.id):
        if intent.status not in SETTLED_INTENTS:
            world.replace(intent, customer=None)
            if (deposit := world.get(Transaction, intent.transaction)) is not None:
                world.replace(deposit, customer=None)


WITHOUT_METHOD: Mapping[str, Any] = {
    "payment_method": None,
    "payment_method_type": None,
    "instrument": None,
}
"""The fields of an intent that has no payment method."""


def release_method(world: World, method: PaymentMethod) -> None:
    """Have the intents that wait for confirmation with a removed method wait for another one
    (B-52).
    """
    for intent in world.table(PaymentIntent).where("customer", method.customer):
        if intent.payment_method == method.id and STATE_MACHINE.allows(intent, "lose method"):
            STATE_MACHINE.transition(world, intent, "lose method", **WITHOUT_METHOD)


OPERATIONS = {
    "listPaymentIntents": list_handler(PaymentIntent),
    "getPaymentIntent": get_handler(PaymentIntent),
}


# -- charging


def confirm(
    world: World, intent: PaymentIntent, method: PaymentMethod, *, off_session: bool = False
) -> PaymentIntent:
    """Charge a stored method; ``off_session``: without the buyer, as for a renewal."""
    if intent.customer is None and (customer := world.get(Customer, method.customer)) is not None:
        email = intent.customer_email or customer.email
        intent = world.replace(intent, customer=customer.id, customer_email=email)
    return charge(
        world, intent, method.instrument, payment_method=method.id, off_session=off_session
    )


def charge(
    world: World,
    intent: PaymentIntent,
    details: PaymentDetails,
    *,
    payment_method: str | None = None,
    off_session: bool = False,
    latest: Timestamp = calendar.LAST,
) -> PaymentIntent:
    """Send the payment to the operator, who answers at once or later. Declining raises nothing.

    ``latest``: when a card check of the buyer's has to be passed at the latest.
    """
    created_with = (intent.payment_method, intent.instrument) == (payment_method, details)
    if not (created_with and intent.status == "requires_confirmation"):
        paid_with = {
            "payment_method": payment_method,
            "payment_method_type": details.type,
            "instrument": details,
        }
        intent = STATE_MACHINE.transition(world, intent, "choose", **paid_with)
    customer = world.get(Customer, intent.customer)
    if customer is not None and customer.is_blocked:
        return fail(world, intent, "CUSTOMER_BLACKLISTED")
    decision = operator.on_payment(
        world,
        details,
        customer=intent.customer,
        amount=intent.amount,
        off_session=off_session,
        latest=latest,
    )
    paid_at = intent.checkout_session or intent.payment_link
    if decision.returns and (page := faults.success_url(world, paid_at)):
        world.enqueue(OpenPage(url=page))
    intent = _submit(world, intent, details, decision)
    if decision.step:
        world.schedule(decision.due, "payment_intent.unconfirmed", intent)
    elif decision.due > world.now and details.type == "mobile_money" and decision.is_unanswered:
        end_unanswered(world, intent, decision.due)
    elif decision.due > world.now:
        world.schedule(decision.due, "payment_intent.answer", intent, **decision.data)
    else:
        return answer(world, intent, decision.code)
    return intent


def _submit(
    world: World, intent: PaymentIntent, details: PaymentDetails, decision: OperatorDecision
) -> PaymentIntent:
    """Wait for buyer or operator; open a bank transfer's pending transaction (B-55, B-56)."""
    if details.type == "mobile_money":
        ends = max(decision.due, calendar.plus(world.now, seconds=operator.PROMPT_SECONDS))
        action = {"type": "confirm_on_phone", "phone": details.details["phone"], "expires_at": ends}
        return STATE_MACHINE.transition(world, intent, "ask_buyer", next_action=action)
    if decision.step:
        action = {"type": "confirm_card", "expires_at": decision.due}
        return STATE_MACHINE.transition(world, intent, "ask_buyer", next_action=action)
    if details.type == "bank_transfer" and intent.capture_method == "automatic":
        deposit = _open_deposit(world, intent, intent.amount)
        return STATE_MACHINE.transition(world, intent, "submit", transaction=deposit.id)
    return STATE_MACHINE.transition(world, intent, "submit")


def end_unanswered(world: World, intent: PaymentIntent, due: Timestamp) -> None:
    """Plan that it fails at ``due``, when the buyer has not confirmed it on the phone (B-54)."""
    world.schedule(due, "payment_intent.unconfirmed", intent, code=operator.UNANSWERED)


NOT_CONFIRMED = "PAYMENT_METHOD_NOT_SUPPORTED"
UNCONFIRMED = "The buyer did not confirm the payment in time."
"""Code and message of a payment whose card check was not passed in time."""

CANCELED = "The transaction was canceled before its funds arrived."
"""The message of a payment whose pending transaction the merchant canceled."""


def why_failed(intent: PaymentIntent) -> str:
    """Return a failed payment's code: the operator's, ``unconfirmed`` or ``canceled`` (B-45)."""
    if intent.last_error is None or intent.last_error.message == CANCELED:
        return "canceled"
    return "unconfirmed" if intent.last_error.message == UNCONFIRMED else intent.last_error.code


def answer_now(world: World, id: str, code: str | None) -> PaymentIntent:
    """Have the operator answer a payment in progress early; with a ``code`` the payment fails."""
    intent = get_or_404(world, PaymentIntent, id)
    STATE_MACHINE.require(intent, "succeed", "be answered")
    return answer(world, intent, code)


def answer(world: World, intent: PaymentIntent, code: str | None) -> PaymentIntent:
    """Apply the operator's answer: failure (``code``), or success, collected now or held."""
    world.cancel_jobs(intent, *ENDINGS)
    if code is not None:
        return fail(world, intent, code)
    if intent.capture_method == "manual":
        return STATE_MACHINE.transition(
            world, intent, "authorise", amount_capturable=intent.amount, next_action=None
        )
    return succeed(world, intent, "succeed", intent.amount)


def succeed(world: World, intent: PaymentIntent, trigger: str, amount: int) -> PaymentIntent:
    """Collect minor units of a successful payment; its event precedes the transaction's (B-44)."""
    deposit = world.get(Transaction, intent.transaction) or _open_deposit(world, intent, amount)
    deposit = transactions.approve_until_settled(world, deposit)
    paid = {
        "amount_capturable": 0,
        "amount_received": amount,
        "transaction": deposit.id,
        "next_action": None,
    }
    received_at_once = (
        deposit.status == "pending" or settings(world).assumptions.payment_received == "intent"
    )
    if intent.begins_subscription and intent.customer is not None and received_at_once:
        # The ids that the subscription begun by this payment and its first invoice will have
        # (B-67). Where it is received later, or never, there are none yet (B-61).
        paid |= {"subscription": world.draw("sub"), "invoice": world.draw("inv")}
    STATE_MACHINE.transition(world, intent, trigger, **paid)
    if deposit.status == "pending":
        transactions.complete(world, deposit)
    return world.require(PaymentIntent, intent.id)


def _open_deposit(world: World, intent: PaymentIntent, amount: int) -> Transaction:
    # An intent that a tester set up directly may have no payment details.
    details = intent.instrument or PaymentDetails(
        type=intent.payment_method_type or "bank_card", details={}
    )
    return transactions.open_deposit(
        world,
        amount,
        details,
        payment_intent=intent.id,
        **pick(intent, "currency", "description", "customer", "metadata"),
    )


def fail(
    world: World, intent: PaymentIntent, code: str, message: str | None = None
) -> PaymentIntent:
    """End a failed payment: the intent is canceled and ``last_error`` says why (B-50, B-56)."""
    close_deposit(world, intent, "fail", processed_at=world.now)
    error = PaymentError(code, message or ERRORS[code].message)
    ended = {"last_error": error, "canceled_at": world.now, "next_action": None}
    return STATE_MACHINE.transition(world, intent, "fail", **ended)


def cancel(world: World, intent: PaymentIntent) -> PaymentIntent:
    """Take the payment back before it is collected, without an event (B-50)."""
    world.cancel_jobs(intent, *ENDINGS)
    close_deposit(world, intent, "cancel")
    ended = {"amount_capturable": 0, "canceled_at": world.now, "next_action": None}
    return STATE_MACHINE.transition(world, intent, "cancel", **ended)


def close_deposit(world: World, intent: PaymentIntent, trigger: str, **changes: Any) -> None:
    """End the intent's pending transaction, if it has one: its money will not come."""
    deposit = world.get(Transaction, intent.transaction)
    if deposit is not None and transactions.STATE_MACHINE.allows(deposit, trigger):
        transactions.STATE_MACHINE.transition(world, deposit, trigger, **changes)


def _unconfirmed(world: World, intent: PaymentIntent, job: Job) -> None:
    """Fail a payment whose buyer has not confirmed it on the phone, or passed the card's check."""
    if (code := job.data.get("code")) is not None:
        fail(world, intent, code)
    else:
        fail(world, intent, NOT_CONFIRMED, UNCONFIRMED)


JOBS = {
    "payment_intent.answer": STATE_MACHINE.job(
        "succeed", lambda world, intent, job: answer(world, intent, job.data.get("code"))
    ),
    "payment_intent.unconfirmed": STATE_MACHINE.job("fail", _unconfirmed),
}

ENDINGS = tuple(JOBS)
"""The jobs that end a payment under way; one of them is planned."""


# -- the current payment of an invoice, a session or a link


WAITING_INTENTS = ("requires_action", "processing")
"""States of an intent that the buyer has confirmed and the operator has not answered yet."""

INTENTS_UNDER_WAY = (*WAITING_INTENTS, "requires_capture")
"""States of an intent under way: the buyer, the operator or the merchant has yet to act."""


def current_payment(world: World, owner: Record) -> PaymentIntent | None:
    """Return an ``owner``'s (invoice, session, link) intent under way or ``succeeded`` (B-62)."""
    attempts = world.table(PaymentIntent).where(owner.kind, owner.id)
    return next(
        (
            attempt
            for attempt in reversed(attempts)
            if attempt.status == "succeeded" or attempt.status in INTENTS_UNDER_WAY
        ),
        None,
    )


def last_use(world: World, link: PaymentLink) -> PaymentIntent | None:
    """Return the payment that used an exhausted link up; None of other links."""
    if payment_links.closed(world, link) != "exhausted":
        return None
    attempts = world.table(PaymentIntent).where("payment_link", link.id)
    return attempts[-1] if attempts else None


def used_up_by_failure(world: World, link: PaymentLink) -> bool:
    """Return whether a link takes no payment any more because its last use was one that failed
    (B-59).
    """
    last = last_use(world, link)
    return last is not None and last.status == "canceled"


def require_no_payment(world: World, owner: Record) -> None:
    """Raise 422 ``INVALID_STATUS_TRANSITION`` for a second payment (B-62)."""
    if current_payment(world, owner) is not None:
        raise ApiError(
            "INVALID_STATUS_TRANSITION", message=f"A payment of this {_name(owner)} is under way."
        )


def cancel_current(world: World, owner: Record) -> None:
    """Cancel a payment under way as no longer owed; 422 if it has succeeded (B-62)."""
    intent = current_payment(world, owner)
    if intent is None:
        return
    if intent.status == "succeeded":
        message = f"A payment of this {_name(owner)} has succeeded and is being settled."
        raise ApiError("INVALID_STATUS_TRANSITION", message=message)
    cancel(world, intent)


def is_received(world: World, intent: PaymentIntent) -> bool:
    """Return whether the intent or, by one assumption, its transaction succeeded (B-61)."""
    if intent.status != "succeeded":
        return False
    if settings(world).assumptions.payment_received == "intent":
        return True
    transaction = world.get(Transaction, intent.transaction)
    return transaction is None or transaction.status not in ("pending", "approved")


def received_at(world: World, intent: PaymentIntent) -> str:
    """Return when its money arrived; ``updated_at`` follows later changes, too."""
    deposit = world.get(Transaction, intent.transaction)
    return (deposit and deposit.processed_at) or intent.updated_at


def is_lost(world: World, deposit: Transaction) -> bool:
    """Return whether a deposit failed after its money had arrived: its dispute was lost (B-56)."""
    intent = world.get(PaymentIntent, deposit.payment_intent)
    return deposit.status == "failed" and intent is not None and intent.status == "succeeded"


def paid(world: World, intent: PaymentIntent) -> None:
    """Reaction to ``payment_intent.succeeded``: receive the payment of an approved transaction.

    Where one unit of work sends ``transaction.succeeded`` as well, that is the second (B-44), and
    what follows is after it.
    """
    intent = world.require(PaymentIntent, intent.id)
    transaction = world.get(Transaction, intent.transaction)
    if transaction is not None and transaction.status == "approved" and is_received(world, intent):
        _receive(world, intent)


def collected(world: World, transaction: Transaction) -> None:
    """Reaction to ``transaction.succeeded``: the payment is received with it."""
    if (intent := world.get(PaymentIntent, transaction.payment_intent)) is not None:
        _receive(world, intent)


def _receive(world: World, intent: PaymentIntent) -> None:
    world.signal("payment received", intent)
    if intent.checkout_session is not None:
        world.signal("session paid", intent)


def _name(owner: Record) -> str:
    return owner.kind.replace("_", " ")
