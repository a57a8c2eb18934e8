"""A payment method: stored without card number, cvc or account number (B-52)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import msgspec

from emulator.core.handlers import get_handler, get_or_404
from emulator.core.records import HIDDEN, N_, Metadata, Record, no_metadata
from emulator.core.state_machine import StateMachine
from emulator.core.violations import Body, with_rules
from emulator.core.world import World
from emulator.resources.customers import payment_details
from emulator.resources.customers.customer_records import Customer
from emulator.resources.customers.payment_details import PaymentDetails


class PaymentMethod(Record, frozen=True, kw_only=True):
    """A stored method, whose ``details`` depend on ``type``.

    They are ``operator, phone, country`` (mobile_money), ``brand, last4, exp_month, exp_year``
    (bank_card), ``bank, last4`` (bank_transfer) or ``email`` (paypal).
    """

    prefix: ClassVar[str] = "meth"
    names: ClassVar[tuple[str, str] | None] = (N_("Payment method"), N_("Payment methods"))
    indexes: ClassVar[tuple[str, ...]] = ("customer",)

    object: str = "payment_method"
    app: str
    customer: str
    type: str
    status: str = "active"
    is_default: bool = False
    details: Mapping[str, Any]
    metadata: Metadata = msgspec.field(default_factory=no_metadata)
    livemode: bool
    created_at: str
    updated_at: str
    # The name of a magic card, by which the operator decides, since the card's number is not stored
    # (B-54).
    magic: Annotated[str | None, HIDDEN] = None

    @property
    def instrument(self) -> PaymentDetails:
        return PaymentDetails(type=self.type, details=self.details, magic=self.magic)


STATE_MACHINE = StateMachine(
    PaymentMethod, (None, "add", "active"), ("active", "expire", "expired")
)


@with_rules
def create(world: World, body: Body) -> PaymentMethod:
    """POST /payment-methods/: checks the buyer's details and stores only harmless ones."""
    instrument = payment_details.read(world, body)
    customer = get_or_404(world, Customer, body["customer"], "customer")
    metadata = body.get("metadata", no_metadata())
    return add(world, customer.id, instrument, is_default=body.get("is_default"), metadata=metadata)


def add(
    world: World,
    customer: str,
    instrument: PaymentDetails,
    *,
    is_default: bool | None = None,
    metadata: Metadata = no_metadata(),  # noqa: B008  # one empty mapping for all
) -> PaymentMethod:
    """Add a payment method; a new default takes the place of the former one.

    Where ``is_default`` is None it is the default of a customer who has none (B-52).
    """
    if is_default is None:
        is_default = default(world, customer) is None
    if is_default:
        clear_default(world, customer)
    paid_with = msgspec.structs.asdict(instrument)
    about = {"customer": customer, "is_default": is_default, "metadata": metadata}
    method = STATE_MACHINE.create(world, "add", paid_with, **about)
    schedule_expiry(world, method)
    return method


def schedule_expiry(world: World, method: PaymentMethod) -> None:
    if method.status == "active" and (end := payment_details.expiry(method.instrument)) is not None:
        world.schedule(end, "payment_method.expire", method)


def save(
    world: World, customer: Customer, instrument: PaymentDetails, *, is_default: bool
) -> PaymentMethod:
    """Save the buyer's method as the customer's, unless it is a phone saved already and active."""
    phone = instrument.details["phone"] if instrument.type == "mobile_money" else None
    saved = on_phone(world, customer.id, phone)
    if saved is None or saved.status != "active":
        return add(world, customer.id, instrument, is_default=is_default)
    return set_default(world, saved.id) if is_default else saved


def set_default(world: World, id: str) -> PaymentMethod:
    """POST /payment-methods/{id}/set-default/: the former default becomes ordinary."""
    method = get_or_404(world, PaymentMethod, id)
    if method.is_default:
        return method
    clear_default(world, method.customer)
    return world.replace(method, is_default=True)


def delete(world: World, id: str) -> None:
    """DELETE /payment-methods/{id}/: if it was the default, the customer has none then."""
    remove(world, get_or_404(world, PaymentMethod, id))


def remove(world: World, method: PaymentMethod) -> None:
    """Take a method from its customer, who now has lost one (B-41)."""
    world.cancel_jobs(method)
    world.remove(method)
    if (customer := world.get(Customer, method.customer)) is not None and not customer.lost_method:
        world.replace(customer, lost_method=True)
    world.signal("payment method removed", method)


def has_had_method(world: World, customer: Customer) -> bool:
    """Return whether the customer has or ever had a payment method (B-41)."""
    return customer.lost_method or bool(of_customer(world, customer.id))


def clear_default(world: World, customer: str) -> None:
    if (former := default(world, customer)) is not None:
        world.replace(former, is_default=False)


def of_customer(world: World, customer: str) -> list[PaymentMethod]:
    return world.table(PaymentMethod).where("customer", customer)


def default(world: World, customer: str) -> PaymentMethod | None:
    return next((method for method in of_customer(world, customer) if method.is_default), None)


def on_phone(world: World, customer: str, phone: str | None) -> PaymentMethod | None:
    """Return the customer's mobile money method with this number; of several the oldest active."""
    methods = [
        method
        for method in of_customer(world, customer)
        if method.type == "mobile_money" and method.details["phone"] == phone
    ]
    return min(methods, key=lambda method: method.status != "active", default=None)


def charged(world: World, customer: str, id: str | None) -> PaymentMethod | None:
    """Return the method to charge, perhaps expired: by id or, without one, the default (B-41)."""
    return world.get(PaymentMethod, id) or default(world, customer)


def why_none(world: World, customer: Customer) -> str:
    """Return why a customer without a default has nothing to charge (B-45)."""
    if of_customer(world, customer.id):
        return "no_default_method"
    return "method_gone" if customer.lost_method else "no_method"


OPERATIONS = {
    "createPaymentMethod": create,
    "getPaymentMethod": get_handler(PaymentMethod),
    "setDefaultPaymentMethod": set_default,
    "deletePaymentMethod": delete,
}
JOBS = {"payment_method.expire": STATE_MACHINE.job("expire")}  # a card's last month is over
