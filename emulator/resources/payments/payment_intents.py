"""A payment intent: one attempt to collect an amount (B-50). What the operator makes of it is in ``charging``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import msgspec
from msgspec.structs import replace

from emulator.core.events import Event
from emulator.core.handlers import get_handler, list_handler
from emulator.core.records import HIDDEN, Metadata, Record, no_metadata
from emulator.core.state_machine import StateMachine
from emulator.core.translatable import N_
from emulator.core.world import World
from emulator.resources.app import security_profiles
from emulator.resources.catalog.products import Product
from emulator.resources.customers.payment_details import PaymentDetails
from emulator.resources.customers.payment_methods import PaymentMethod
from emulator.resources.payments.payment_links import PaymentLink
from emulator.resources.payments.transactions import Transaction


class PaymentError(msgspec.Struct, frozen=True):
    """Why a payment failed: a code of the error table and its message."""

    code: str
    message: str


class PaymentIntent(Record, frozen=True, kw_only=True):
    """Amounts are minor units. ``next_action`` is what the buyer has to do now, if anything."""

    kind: ClassVar[str] = "payment_intent"
    prefix: ClassVar[str] = "pi"
    names: ClassVar[tuple[str, str] | None] = (N_("Payment intent"), N_("Payment intents"))
    not_found_code: ClassVar[str] = "PAYMENT_INTENT_NOT_FOUND"
    indexes: ClassVar[tuple[str, ...]] = ("customer", "status", "invoice", "checkout_session", "payment_link")
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
    # What is paid with. The intent has a copy: a stored method may be removed while the payment is under way.
    instrument: Annotated[PaymentDetails | None, HIDDEN] = None
    # The product sold, the first one of several: its metadata is carried into payment_intent.succeeded (B-97).
    product: Annotated[str | None, HIDDEN] = None
    # The link's metadata when the payment began, carried into payment_intent.succeeded even if the link is deleted.
    link_metadata: Annotated[Metadata | None, HIDDEN] = None
    # The payment of a checkout session in subscription mode: its success begins a subscription.
    begins_subscription: Annotated[bool, HIDDEN] = False
    # What the buyer of a session or a link paid for, for the receipt: quantity, name and minor units of each line.
    sold: Annotated[tuple[tuple[int, str, int], ...], HIDDEN] = ()


def event_metadata(world: World, intent: PaymentIntent, event: str) -> Mapping[str, Any]:
    """``payment_intent.succeeded`` carries the metadata of the product sold and of the payment link used (Events)."""
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


def start(
    world: World, method: PaymentMethod | None, /, *, subtotal: int | None = None, **fields: Any
) -> PaymentIntent:
    """Create an intent, with a stored method to charge or without one; 403 above a profile's ``max_amount`` (B-51).

    ``subtotal``: the amount before discounts and taxes, in minor units, which ``max_amount`` bounds.
    """
    security_profiles.check_amount(world, fields["amount"] if subtotal is None else subtotal)
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
        return STATE_MACHINE.create(world, "create", replace(intent, **fields))
    return STATE_MACHINE.create(world, "create_with_method", replace(_with_method(intent, method), **fields))


def _with_method(intent: PaymentIntent, method: PaymentMethod) -> PaymentIntent:
    return replace(
        intent,
        status="requires_confirmation",
        payment_method=method.id,
        payment_method_type=method.type,
        instrument=method.instrument,
    )


OVER = ("succeeded", "canceled")
"""The final states."""


def release_customer(world: World, event: Event) -> None:
    """Reaction to ``customer.deleted``: payments in progress stay valid but lose the customer (Customers, DELETE)."""
    for intent in world.table(PaymentIntent).where("customer", event.data.object.id):
        if intent.status not in OVER:
            world.replace(intent, customer=None)
            if (deposit := world.get(Transaction, intent.transaction)) is not None:
                world.replace(deposit, customer=None)


retrieve = get_handler(PaymentIntent)
index = list_handler(PaymentIntent)

OPERATIONS = {"listPaymentIntents": index, "getPaymentIntent": retrieve}
