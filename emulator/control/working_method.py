"""The method that a payment is made with when the tester names none: the customer's default, else one that works."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from emulator.core.errors import ApiError
from emulator.core.world import World
from emulator.resources.app import security_profiles
from emulator.resources.app.settings import settings
from emulator.resources.customers import magic_values, payment_methods
from emulator.resources.customers.payment_details import EVERY_TYPE, Fields
from emulator.resources.customers.payment_methods import PaymentMethod

CARD = {"number": "4242424242424242", "exp_month": 12, "exp_year": 2099, "cvc": "123"}

WORKING: Mapping[str, Fields] = {
    "mobile_money": {"phone": "+24177000000"},
    "bank_card": CARD,
    "paypal": {"email": "buyer@example.com"},
    "bank_transfer": {"iban": "DE89370400440532013000"},
}
"""What a buyer enters that is paid, by type of method; those that are paid at once come first."""


def choose(world: World, customer: str | None, allowed: Sequence[str] = EVERY_TYPE) -> Fields:
    """The ``method`` of a payment: the default method of the customer (an id), or one of the ``allowed`` types."""
    default = None if customer is None else payment_methods.usable(world, customer, None)
    if default is not None and default.type in allowed:
        return {"type": default.type, **_entered(world, default)}
    type = next(_permitted(world, allowed), allowed[0])
    return {"type": type, **WORKING[type]}


def _permitted(world: World, allowed: Sequence[str]) -> Iterator[str]:
    """The allowed types that the App's security profiles permit and that no handset has to approve (B-55)."""
    order = [type for type in WORKING if type in allowed]
    if settings(world).mobile_money == "handset":
        order.sort(key="mobile_money".__eq__)
    for type in order:
        with suppress(ApiError):
            security_profiles.check_method(world, type, "method.type")
            yield type


def _entered(world: World, method: PaymentMethod) -> Fields:
    """What its buyer entered, as far as that is stored; for a card or an account, a number that behaves alike."""
    details = method.details
    if method.type == "bank_card":
        number = magic_values.named(world, method.type, method.magic).value or CARD["number"]
        return {**CARD, "number": number, "exp_month": details["exp_month"], "exp_year": details["exp_year"]}
    return {name: details.get(name, value) for name, value in WORKING[method.type].items()}
