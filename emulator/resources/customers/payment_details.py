"""An instrument: what a buyer pays with, checked, and reduced to what may be kept of it (B-52)."""

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
    """``details`` as a payment method of this ``type`` has them; ``magic`` names the magic line of a card."""

    type: str
    details: Mapping[str, Any]
    magic: str | None = None


def read(world: World, fields: Fields) -> PaymentDetails:
    """The instrument in the fields a buyer gave: ``type`` and just the fields of that type.

    Refused: a field that is missing or of another type, a number with wrong check digits, a card that has expired.
    """
    _check_fields(fields)
    return _READERS[fields["type"]](world, fields)


def magic_of(world: World, instrument: PaymentDetails) -> MagicValue:
    """What the operator does with it: a card's line is known by name, any other value still tells by itself."""
    if instrument.type == "bank_card":
        return magic_values.named(world, instrument.type, instrument.magic)
    details = instrument.details
    return magic_values.of_value(world, instrument.type, details.get("phone") or details.get("email") or "")


def operator_name(instrument: PaymentDetails) -> str | None:
    """The payment operator, from the phone's prefix or the card's brand (B-56)."""
    return instrument.details.get("operator") or instrument.details.get("brand")


def expiry(instrument: PaymentDetails) -> Timestamp | None:
    """The first instant at which a card can no longer be charged: its month is over (UTC)."""
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
"""What a buyer gives, by type of method."""

EVERY_TYPE = tuple(FIELDS)
"""The types of method that may pay where nothing narrows them."""


def allowed(types: Iterable[str]) -> tuple[str, ...]:
    """The types of method that may pay: those named, each once, or every one where none is."""
    return tuple(dict.fromkeys(types)) or EVERY_TYPE


def _check_fields(fields: Fields) -> None:
    """Just the fields of the type; all faults are told at once (B-12)."""
    own = FIELDS[fields["type"]]
    absent = [name for name in own if name not in fields]
    foreign = [name for names in FIELDS.values() for name in names if name in fields and name not in own]
    faults = [missing_field(name) for name in absent]
    faults += [invalid_field(name, f"does not belong to a method of type {fields['type']}") for name in foreign]
    if faults:
        raise combine(faults)


def _phone(world: World, fields: Fields) -> PaymentDetails:
    return PaymentDetails(type="mobile_money", details=phones.details(fields["phone"]))


def _mailbox(world: World, fields: Fields) -> PaymentDetails:
    return PaymentDetails(type="paypal", details={"email": fields["email"]})


def _card(world: World, fields: Fields) -> PaymentDetails:
    """No sentence here may repeat the number: it must not reach an answer, a log or a journal."""
    # Loaded on first use: a server that meets no card needs no check of one.
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
"""What a card's number begins with, and whose card that is."""


def brand(number: str) -> str:
    """The brand of a card number."""
    return next((name for start, name in BRANDS if re.match(start, number)), "unknown")


def _account(world: World, fields: Fields) -> PaymentDetails:
    number = _iban(fields["iban"])
    return PaymentDetails(type="bank_transfer", details={"bank": _bank(number), "last4": number[-4:]})


_IBAN = re.compile(r"[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}", re.ASCII)


def _iban(text: str) -> str:
    # Loaded on first use, like the check of cards.
    from stdnum import iban
    from stdnum.exceptions import InvalidComponent, ValidationError

    number = iban.compact(text)
    try:
        if not _IBAN.fullmatch(number):
            raise invalid_field("iban", "must be an IBAN: a country, two check digits, and the account's number")
        return iban.validate(number, check_country=False)
    except InvalidComponent:
        # The check digits are right; the country, such as Gabon or Cameroon, has not registered how its numbers look.
        return number
    except ValidationError:
        raise invalid_field("iban", "the check digits or the length are wrong") from None


def _bank(number: str) -> str | None:
    """The bank's code: the first part of the account's number, where the country has said how long that is."""
    from stdnum import numdb

    structure = numdb.get("iban").info(number)[0][1].get("bban", "")
    length = re.match(r"\d+", structure)
    return number[4 : 4 + int(length[0])] if length else None


_READERS: Mapping[str, Callable[[World, Fields], PaymentDetails]] = {
    "mobile_money": _phone,
    "bank_card": _card,
    "bank_transfer": _account,
    "paypal": _mailbox,
}
