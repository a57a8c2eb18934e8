"""Payment instruments: what a buyer pays with is checked here and reduced to what may be stored (B-52)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from emulator.core import calendar
from emulator.core.calendar import Timestamp
from emulator.core.errors import combine, invalid_field, missing_field
from emulator.core.validation import Violations
from emulator.core.world import World
from emulator.resources.customers import card_numbers, ibans, magic_values, phone_numbers
from emulator.resources.customers.magic_values import MagicValue

Fields = Mapping[str, Any]


class PaymentDetails(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A payment instrument, with ``details`` as in a payment method; ``magic`` is the name of a card's magic value."""

    type: str
    details: Mapping[str, Any]
    magic: str | None = None


def read(world: World, fields: Fields) -> PaymentDetails:
    """Read the instrument from the ``type`` and the fields of that type that a buyer entered.

    Raises 422 for a field that is missing or belongs to another type, for wrong check digits and for an expired card.
    """
    found = Violations()
    check(found, world, fields)
    if found.errors:
        raise combine(found.errors)
    return _READERS[fields["type"]](world, fields)


def magic_of(world: World, instrument: PaymentDetails) -> MagicValue:
    """Its magic value: that of a card was stored by name, that of others is found by the phone or email."""
    if instrument.type == "bank_card":
        return magic_values.named(world, instrument.type, instrument.magic)
    details = instrument.details
    return magic_values.of_value(world, instrument.type, details.get("phone") or details.get("email") or "")


def operator_name(instrument: PaymentDetails) -> str | None:
    """The payment operator, from the phone's prefix or the card's brand (B-56)."""
    return instrument.details.get("operator") or instrument.details.get("brand")


def expiry(instrument: PaymentDetails) -> Timestamp | None:
    """The instant a card expires: the end of its month (UTC). None for other instruments."""
    if instrument.type != "bank_card":
        return None
    return _end_of_month(instrument.details["exp_year"], instrument.details["exp_month"])


FIELDS = {
    "mobile_money": ("phone",),
    "bank_card": ("number", "exp_month", "exp_year", "cvc"),
    "bank_transfer": ("iban",),
    "paypal": ("email",),
}
"""The fields a buyer enters, by type of payment method."""

EVERY_TYPE = tuple(FIELDS)
"""The types of payment method that are allowed by default."""

ONE_TYPE: Mapping[str, tuple[str, ...]] = {type: (type,) for type in FIELDS}
"""The list of each type alone, which the intents of all renewals share."""


def allowed(types: Iterable[str]) -> tuple[str, ...]:
    """The allowed types of payment method: those given, without duplicates, or every type if none is given."""
    return tuple(dict.fromkeys(types)) or EVERY_TYPE


def check(found: Violations, world: World, fields: Fields) -> None:
    """The rules for what a buyer entered: the fields of its type and no others, check digits, the card's last month."""
    with found:
        _check_fields(found, fields, fields["type"])
    with found:
        if fields["type"] == "bank_card" and "number" in fields:
            require_check_digit(fields["number"])
    with found:
        if fields["type"] == "bank_card" and "exp_year" in fields and "exp_month" in fields:
            require_unexpired(world, fields["exp_year"], fields["exp_month"])
    with found:
        if fields["type"] == "bank_transfer" and "iban" in fields:
            _iban(fields["iban"])


def _check_fields(found: Violations, fields: Fields, type: str) -> None:
    own = FIELDS[type]
    for name in own:
        with found:
            if name not in fields:
                raise missing_field(name)
    for name in (name for names in FIELDS.values() for name in names if name not in own):
        with found:
            if name in fields:
                raise invalid_field(name, f"does not belong to a method of type {type}")


def _mobile_money(world: World, fields: Fields) -> PaymentDetails:
    return PaymentDetails(type="mobile_money", details=phone_numbers.details(fields["phone"]))


def _paypal(world: World, fields: Fields) -> PaymentDetails:
    return PaymentDetails(type="paypal", details={"email": fields["email"]})


def _bank_card(world: World, fields: Fields) -> PaymentDetails:
    number = fields["number"].replace(" ", "")
    details = {
        "brand": card_numbers.brand(number),
        "last4": number[-4:],
        "exp_month": fields["exp_month"],
        "exp_year": fields["exp_year"],
    }
    magic = magic_values.of_value(world, "bank_card", number).name or None
    return PaymentDetails(type="bank_card", details=details, magic=magic)


def require_check_digit(number: str) -> None:
    """Raise 422 for a card number that fails the Luhn check.

    No message may contain the card number, since responses are logged and stored.
    """
    if not card_numbers.is_valid(number.replace(" ", "")):
        raise invalid_field("number", "the check digit (Luhn) is wrong")


def require_unexpired(world: World, year: int, month: int) -> None:
    """Raise 422 for a card whose last month is over."""
    if _end_of_month(year, month) <= world.now:
        raise invalid_field("exp_month" if year == int(world.now[:4]) else "exp_year", "the card has expired")


def _end_of_month(year: int, month: int) -> Timestamp:
    return calendar.step(calendar.midnight(f"{year:04d}-{month:02d}-01"), "month", 1)


def _bank_transfer(world: World, fields: Fields) -> PaymentDetails:
    number = _iban(fields["iban"])
    return PaymentDetails(type="bank_transfer", details={"bank": ibans.bank(number), "last4": number[-4:]})


def _iban(text: str) -> str:
    number = ibans.compact(text)
    if not ibans.has_form(number):
        raise invalid_field("iban", "must be an IBAN: a country, two check digits, and the account's number")
    if not ibans.is_valid(number):
        raise invalid_field("iban", "the check digits or the length are wrong")
    return number


_READERS: Mapping[str, Callable[[World, Fields], PaymentDetails]] = {
    "mobile_money": _mobile_money,
    "bank_card": _bank_card,
    "bank_transfer": _bank_transfer,
    "paypal": _paypal,
}
