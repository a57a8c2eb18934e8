"""A wallet: the payment methods a customer keeps with the App, put in, chosen as the default and taken out (B-52)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from emulator.core.handlers import get_handler, get_or_404
from emulator.core.world import World
from emulator.resources.customers import customers, payment_details, payment_methods
from emulator.resources.customers.customers import Customer
from emulator.resources.customers.payment_details import PaymentDetails
from emulator.resources.customers.payment_methods import PaymentMethod


def create(world: World, body: Mapping[str, Any]) -> PaymentMethod:
    """POST /payment-methods/: what could be stolen is checked and forgotten."""
    customer = get_or_404(world, Customer, body["customer"], "customer")
    instrument = payment_details.read(world, body)
    return keep(world, customer, instrument, is_default=body["is_default"], metadata=body.get("metadata", {}))


def keep(
    world: World, customer: Customer, instrument: PaymentDetails, *, is_default: bool, metadata: Mapping[str, Any]
) -> PaymentMethod:
    """Put an instrument into a customer's wallet."""
    return payment_methods.add(
        world,
        customer.id,
        instrument.type,
        instrument.details,
        is_default=is_default,
        metadata=metadata,
        magic=instrument.magic,
    )


def remember(world: World, customer: Customer, instrument: PaymentDetails, *, is_default: bool) -> PaymentMethod:
    """Keep what a buyer paid with; a phone that is in the wallet already is not put in twice."""
    phone = instrument.details["phone"] if instrument.type == "mobile_money" else None
    known = payment_methods.on_phone(world, customer.id, phone)
    if known is None:
        return keep(world, customer, instrument, is_default=is_default, metadata={})
    return set_default(world, known.id) if is_default else known


def set_default(world: World, id: str) -> PaymentMethod:
    """POST /payment-methods/{id}/set-default/: the former default is one no longer."""
    method = get_or_404(world, PaymentMethod, id)
    if method.is_default:
        return method
    payment_methods.clear_default(world, method.customer)
    return world.replace(method, is_default=True)


def delete(world: World, id: str) -> None:
    """DELETE /payment-methods/{id}/: no other default is promoted."""
    customers.remove_method(world, get_or_404(world, PaymentMethod, id))


retrieve = get_handler(PaymentMethod)

OPERATIONS = {
    "createPaymentMethod": create,
    "getPaymentMethod": retrieve,
    "setDefaultPaymentMethod": set_default,
    "deletePaymentMethod": delete,
}
