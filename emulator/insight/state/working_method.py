"""The payment method that a buyer pays with where the payment is to succeed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

from emulator.core.errors import ApiError
from emulator.core.world import World
from emulator.resources.app import security_profiles
from emulator.resources.app.settings import settings
from emulator.resources.customers.payment_details import EVERY_TYPE, Fields

CARD = {"number": "4242424242424242", "exp_month": 12, "exp_year": 2099, "cvc": "123"}

WORKING: Mapping[str, Fields] = {
    "mobile_money": {"phone": "+24177000000"},
    "bank_card": CARD,
    "paypal": {"email": "buyer@example.com"},
    "bank_transfer": {"iban": "DE89370400440532013000"},
}
"""A buyer's entries that succeed, by type of method; those that succeed at once come first."""


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
