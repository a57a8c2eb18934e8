"""Payment instruments: what a buyer pays with is checked here and reduced to what may be stored (B-52)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from emulator.core import calendar
from emulator.core.calendar import Timestamp
from emulator.core.world import World
from emulator.errors import combine, invalid_field, missing_field
from emulator.resources.customers import magic_values, phones
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
    _check_fields(fields)
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
    month = f"{instrument.details['exp_year']:04d}-{instrument.details['exp_month']:02d}-01"
    return calendar.step(calendar.midnight(month), "month", 1)


FIELDS = {
    "mobile_money": ("phone",),
    "bank_card": ("number", "exp_month", "exp_year", "cvc"),
    "bank_transfer": ("iban",),
    "paypal": ("email",),
}
"""The fields a buyer enters, by type of payment method."""

EVERY_TYPE = tuple(FIELDS)
"""The types of payment method that are allowed by default."""


def allowed(types: Iterable[str]) -> tuple[str, ...]:
    """The allowed types of payment method: those given, without duplicates, or every type if none is given."""
    return tuple(dict.fromkeys(types)) or EVERY_TYPE


def _check_fields(fields: Fields) -> None:
    """Raise one 422 for all fields that are missing or belong to another type (B-12)."""
    own = FIELDS[fields["type"]]
    absent = [name for name in own if name not in fields]
    foreign = [name for names in FIELDS.values() for name in names if name in fields and name not in own]
    violations = [missing_field(name) for name in absent]
    violations += [invalid_field(name, f"does not belong to a method of type {fields['type']}") for name in foreign]
    if violations:
        raise combine(violations)


def _mobile_money(world: World, fields: Fields) -> PaymentDetails:
    return PaymentDetails(type="mobile_money", details=phones.details(fields["phone"]))


def _paypal(world: World, fields: Fields) -> PaymentDetails:
    return PaymentDetails(type="paypal", details={"email": fields["email"]})


def _bank_card(world: World, fields: Fields) -> PaymentDetails:
    """No message here may contain the card number, since responses are logged and stored."""
    # Loaded on first use: many servers never see a card.
    from stdnum import luhn

    number = fields["number"].replace(" ", "")
    if not luhn.is_valid(number):
        raise invalid_field("number", "the check digit (Luhn) is wrong")
    details = {
        "brand": brand(number),
        "last4": number[-4:],
        "exp_month": fields["exp_month"],
        "exp_year": fields["exp_year"],
    }
    card = PaymentDetails(
        type="bank_card", details=details, magic=magic_values.of_value(world, "bank_card", number).name or None
    )
    if (expiry(card) or world.now) <= world.now:
        this_year = fields["exp_year"] == int(world.now[:4])
        raise invalid_field("exp_month" if this_year else "exp_year", "the card has expired")
    return card


BRANDS = (
    (r"4", "visa"),
    (r"5[1-5]|2(22[1-9]|2[3-9]|[3-6]|7[01]|720)", "mastercard"),
    (r"3[47]", "amex"),
    (r"6(011|4[4-9]|5)", "discover"),
    (r"3(0[0-5]|095|[689])", "diners"),
    (r"35(2[89]|[3-8])", "jcb"),
    (r"62", "unionpay"),
)
"""Patterns of the first digits of a card number, each with its brand."""


def brand(number: str) -> str:
    """The brand of a card number."""
    return next((name for start, name in BRANDS if re.match(start, number)), "unknown")


def _bank_transfer(world: World, fields: Fields) -> PaymentDetails:
    number = _iban(fields["iban"])
    return PaymentDetails(type="bank_transfer", details={"bank": _bank(number), "last4": number[-4:]})


_IBAN = re.compile(r"[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}", re.ASCII)


def _iban(text: str) -> str:
    # Loaded on first use: many servers never see an IBAN.
    from stdnum import iban
    from stdnum.exceptions import InvalidComponent, ValidationError

    number = iban.compact(text)
    try:
        if not _IBAN.fullmatch(number):
            raise invalid_field("iban", "must be an IBAN: a country, two check digits, and the account's number")
        return iban.validate(number, check_country=False)
    except InvalidComponent:
        # The check digits are right; the country, such as Gabon or Cameroon, has not registered its format of IBANs.
        return number
    except ValidationError:
        raise invalid_field("iban", "the check digits or the length are wrong") from None


def _bank(number: str) -> str | None:
    """The bank's code, the first part of the account number; None if the country has not registered its length."""
    # Loaded on first use, like the check of IBANs.
    from stdnum import numdb

    structure = numdb.get("iban").info(number)[0][1].get("bban", "")
    length = re.match(r"\d+", structure)
    return number[4 : 4 + int(length[0])] if length else None


_READERS: Mapping[str, Callable[[World, Fields], PaymentDetails]] = {
    "mobile_money": _mobile_money,
    "bank_card": _bank_card,
    "bank_transfer": _bank_transfer,
    "paypal": _paypal,
}
