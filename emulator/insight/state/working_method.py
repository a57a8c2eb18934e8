"""The payment method that a buyer pays with where the payment is to succeed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

from emulator.core.errors import ApiError
from emulator.core.world import World
from emulator.resources.app import security_profiles
from emulator.resources.app.settings import settings
from emulator.resources.customers.customer_records import Customer
from emulator.resources.customers.payment_details import EVERY_TYPE, Fields
from emulator.resources.customers.payment_methods import PaymentMethod

CARD = {"number": "4242424242424242", "exp_month": 12, "exp_year": 2099, "cvc": "123"}

WORKING: Mapping[str, Fields] = {
    "mobile_money": {"phone": "+24177000000"},
    "bank_card": CARD,
    "paypal": {"email": "buyer@example.com"},
    "bank_transfer": {"iban": "DE89370400440532013000"},
}
"""A buyer's entries that succeed, by type of method; those that succeed at once come first."""


def has_card(world: World, customer: Customer) -> bool:
    """Return whether the customer has the working card already, and it can be charged."""
    own = world.table(PaymentMethod).where("customer", customer.id)
    last4 = str(CARD["number"])[-4:]
    return any(method.status == "active" and method.details.get("last4") == last4 for method in own)


def working_method(world: World, allowed: Sequence[str] = EVERY_TYPE) -> Fields:
    """Return a working ``method`` of an ``allowed`` type that the App's security profiles permit.

    One that no handset has to approve comes first (B-55).
    """
    order = [type for type in WORKING if type in allowed]
    if settings(world).mobile_money == "handset":
        order.sort(key="mobile_money".__eq__)
    for type in order:
        with suppress(ApiError):
            security_profiles.check_method(world, type, "method.type")
            return {"type": type, **WORKING[type]}
    return {"type": allowed[0], **WORKING[allowed[0]]}
