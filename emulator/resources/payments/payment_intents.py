"""A payment intent: one attempt to collect an amount, from its making to its outcome (B-50)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import msgspec
from msgspec.structs import replace

from emulator.core import calendar
from emulator.core.events import Event
from emulator.core.handlers import get_handler, get_or_404, list_handler
from emulator.core.jobs import Job
from emulator.core.records import HIDDEN, Metadata, Record
from emulator.core.state_machine import StateMachine
from emulator.core.world import World
from emulator.errors import ERRORS, ApiError
from emulator.resources.app import security_profiles
from emulator.resources.catalog.products import Product
from emulator.resources.customers import customers
from emulator.resources.customers.payment_details import PaymentDetails
from emulator.resources.customers.payment_methods import PaymentMethod
from emulator.resources.customers.records import Customer
from emulator.resources.payments import operator, transactions
from emulator.resources.payments.operator import OperatorDecision
from emulator.resources.payments.payment_links import PaymentLink
from emulator.resources.payments.transactions import Transaction


class PaymentError(msgspec.Struct, frozen=True):
    """Why a payment failed: a code of the error table and what it means."""

    code: str
    message: str


class PaymentIntent(Record, frozen=True, kw_only=True):
    """Amounts are minor units. ``next_action`` tells what the buyer has to do now."""

    kind: ClassVar[str] = "payment_intent"
    prefix: ClassVar[str] = "pi"
    not_found_code: ClassVar[str] = "PAYMENT_INTENT_NOT_FOUND"
    indexes: ClassVar[tuple[str, ...]] = ("customer", "status")

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
    metadata: Metadata = msgspec.field(default_factory=dict)
    canceled_at: str | None = None
    livemode: bool
    created_at: str
    updated_at: str
    # What is paid with, kept with the intent: a stored method may be removed while the payment is under way.
    instrument: Annotated[PaymentDetails | None, HIDDEN] = None
    # What is sold, of several products the first one: its metadata is carried into the event of success (B-97).
    product: Annotated[str | None, HIDDEN] = None


def event_metadata(world: World, intent: PaymentIntent, event: str) -> Mapping[str, Any]:
    """Metadata of the product that is sold and of the link that is used goes with ``payment_intent.succeeded``."""
    carried: dict[str, Any] = {}
    if event == "payment_intent.succeeded":
        if (product := world.get(Product, intent.product)) is not None:
            carried["product"] = product.metadata
        if (link := world.get(PaymentLink, intent.payment_link)) is not None:
            carried["payment_link"] = link.metadata
    return carried


LIFECYCLE = StateMachine(
    PaymentIntent,
    (None, "create", "requires_payment_method"),
    (None, "create_with_method", "requires_confirmation"),
    ("requires_payment_method", "choose", "requires_confirmation"),
    ("requires_confirmation", "choose", "requires_confirmation"),
    ("requires_confirmation", "ask_buyer", "requires_action"),
    ("requires_confirmation", "submit", "processing"),
    ("requires_action", "authorise", "requires_capture"),
    ("processing", "authorise", "requires_capture"),
    ("requires_action", "succeed", "succeeded", "payment_intent.succeeded"),
    ("processing", "succeed", "succeeded", "payment_intent.succeeded"),
    ("requires_capture", "capture", "succeeded", "payment_intent.succeeded"),
    ("requires_confirmation", "fail", "canceled", "payment_intent.failed"),
    ("requires_action", "fail", "canceled", "payment_intent.failed"),
    ("processing", "fail", "canceled", "payment_intent.failed"),
    ("requires_payment_method", "cancel", "canceled"),
    ("requires_confirmation", "cancel", "canceled"),
    ("requires_action", "cancel", "canceled"),
    ("processing", "cancel", "canceled"),
    ("requires_capture", "cancel", "canceled"),
    event_metadata=event_metadata,
)


def start(world: World, method: PaymentMethod | None, /, **fields: Any) -> PaymentIntent:
    """A new intent, with the method to charge or still without one; 403 above a profile's ``max_amount`` (B-51)."""
    security_profiles.refuse_amount(world, fields["amount"])
    intent = PaymentIntent(
        id=world.new_id(PaymentIntent),
        app=world.app,
        amount=fields["amount"],
        currency=fields["currency"],
        status="requires_payment_method",
        livemode=world.livemode,
        created_at=world.now,
        updated_at=world.now,
    )
    if method is None:
        return LIFECYCLE.create(world, "create", replace(intent, **fields))
    return LIFECYCLE.create(world, "create_with_method", replace(_with(intent, method), **fields))


def _with(intent: PaymentIntent, method: PaymentMethod) -> PaymentIntent:
    return replace(
        intent,
        status="requires_confirmation",
        payment_method=method.id,
        payment_method_type=method.type,
        instrument=method.instrument,
    )


def confirm(world: World, intent: PaymentIntent, method: PaymentMethod, *, off_session: bool = False) -> PaymentIntent:
    """Charge a stored method. ``off_session`` says that the buyer is not there, as when a subscription renews."""
    if intent.customer is None and (customer := world.get(Customer, method.customer)) is not None:
        email = intent.customer_email or customer.email
        intent = world.replace(intent, customer=customer.id, customer_email=email)
    return charge(world, intent, method.instrument, payment_method=method.id, off_session=off_session)


def charge(
    world: World,
    intent: PaymentIntent,
    instrument: PaymentDetails,
    *,
    payment_method: str | None = None,
    off_session: bool = False,
) -> PaymentIntent:
    """Send the payment to the operator. Its answer comes at once or later; a decline is an outcome, no exception."""
    intent = _choose(world, intent, instrument, payment_method)
    customer = world.get(Customer, intent.customer)
    if customer is not None and customers.is_blocked(customer):
        return fail(world, intent, "CUSTOMER_BLACKLISTED")
    verdict = operator.on_payment(
        world, instrument, customer=intent.customer, amount=intent.amount, off_session=off_session
    )
    return _await(world, _send(world, intent, instrument, verdict), verdict)


def _choose(
    world: World, intent: PaymentIntent, instrument: PaymentDetails, payment_method: str | None
) -> PaymentIntent:
    """What the intent is paid with; the one that it was made with needs no choice."""
    made_with = (intent.payment_method, intent.instrument) == (payment_method, instrument)
    if made_with and intent.status == "requires_confirmation":
        return intent
    return LIFECYCLE.transition(
        world,
        intent,
        "choose",
        payment_method=payment_method,
        payment_method_type=instrument.type,
        instrument=instrument,
    )


def _send(world: World, intent: PaymentIntent, instrument: PaymentDetails, verdict: OperatorDecision) -> PaymentIntent:
    """The buyer has to act, or the operator works; from now on the money of a bank transfer is awaited (B-55, B-56)."""
    if instrument.type == "mobile_money":
        ends = max(verdict.due, calendar.plus(world.now, seconds=operator.PROMPT_SECONDS))
        action = {"type": "confirm_on_phone", "phone": instrument.details["phone"], "expires_at": ends}
        return LIFECYCLE.transition(world, intent, "ask_buyer", next_action=action)
    if verdict.step:
        return LIFECYCLE.transition(world, intent, "ask_buyer", next_action={"type": "confirm_card"})
    if instrument.type == "bank_transfer" and intent.capture_method == "automatic":
        deposit = _open_deposit(world, intent, intent.amount)
        return LIFECYCLE.transition(world, intent, "submit", transaction=deposit.id)
    return LIFECYCLE.transition(world, intent, "submit")


def _await(world: World, intent: PaymentIntent, verdict: OperatorDecision) -> PaymentIntent:
    if verdict.step:
        return intent
    if verdict.due > world.now:
        world.schedule(verdict.due, "payment_intent.answer", intent, **({"code": verdict.code} if verdict.code else {}))
        return intent
    return answer(world, intent, verdict.code)


def answer_later(world: World, job: Job) -> None:
    """Job ``payment_intent.answer``: silenced where the intent came to its end before."""
    intent = world.get(PaymentIntent, job.about)
    if intent is not None and LIFECYCLE.allows(intent, "succeed"):
        answer(world, intent, job.data.get("code"))


def answer_now(world: World, id: str, code: str | None) -> PaymentIntent:
    """The operator answers a payment under way, without waiting for its time."""
    intent = get_or_404(world, PaymentIntent, id)
    if not LIFECYCLE.allows(intent, "succeed"):
        raise ApiError(
            "INVALID_STATUS_TRANSITION", object="payment intent", status=intent.status, trigger="be answered"
        )
    return answer(world, intent, code)


def answer(world: World, intent: PaymentIntent, code: str | None) -> PaymentIntent:
    """The operator's answer: failure with a code, or success, and then the money is taken or waits to be captured."""
    world.cancel_jobs(intent, "payment_intent.answer")
    if code is not None:
        return fail(world, intent, code)
    if intent.capture_method == "manual":
        return LIFECYCLE.transition(world, intent, "authorise", amount_capturable=intent.amount, next_action=None)
    return take(world, intent, "succeed", intent.amount)


def take(world: World, intent: PaymentIntent, trigger: str, amount: int) -> PaymentIntent:
    """The payment succeeded: first the intent tells, then its transaction (B-44)."""
    deposit = world.get(Transaction, intent.transaction) or _open_deposit(world, intent, amount)
    LIFECYCLE.transition(
        world,
        intent,
        trigger,
        amount_capturable=0,
        amount_received=amount,
        transaction=deposit.id,
        next_action=None,
    )
    transactions.settle(world, deposit)
    return world.require(PaymentIntent, intent.id)


def _open_deposit(world: World, intent: PaymentIntent, amount: int) -> Transaction:
    # A state that a tester arranged may know of no instrument.
    instrument = intent.instrument or PaymentDetails(type=intent.payment_method_type or "bank_card", details={})
    return transactions.open_deposit(
        world,
        amount,
        instrument,
        currency=intent.currency,
        description=intent.description,
        payment_intent=intent.id,
        customer=intent.customer,
        metadata=intent.metadata,
    )


def fail(world: World, intent: PaymentIntent, code: str, message: str | None = None) -> PaymentIntent:
    """The payment failed: the intent is canceled and keeps why (B-50, B-56)."""
    close_deposit(world, intent, "fail", processed_at=world.now)
    error = PaymentError(code, message or ERRORS[code].message)
    return LIFECYCLE.transition(world, intent, "fail", last_error=error, canceled_at=world.now, next_action=None)


def close_deposit(world: World, intent: PaymentIntent, trigger: str, **changes: Any) -> None:
    """Money that was awaited for this payment does not come."""
    deposit = world.get(Transaction, intent.transaction)
    if deposit is not None and transactions.LIFECYCLE.allows(deposit, trigger):
        transactions.LIFECYCLE.transition(world, deposit, trigger, **changes)


UNDER_WAY = tuple(row.source for row in LIFECYCLE.rows if row.trigger == "succeed")
"""States in which the buyer or the operator has still to answer."""

OVER = ("succeeded", "canceled")
"""States in which nothing more happens to an intent."""


def release_customer(world: World, event: Event) -> None:
    """Reaction to ``customer.deleted``: payments under way stay valid without their customer (Customers, DELETE)."""
    for intent in world.table(PaymentIntent).where("customer", event.data.object.id):
        if intent.status not in OVER:
            world.replace(intent, customer=None)


retrieve = get_handler(PaymentIntent)
index = list_handler(PaymentIntent)

OPERATIONS = {"listPaymentIntents": index, "getPaymentIntent": retrieve}
JOBS = {"payment_intent.answer": answer_later}
