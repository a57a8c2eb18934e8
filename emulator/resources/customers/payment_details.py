"""Payment instruments: the buyer's entry is checked and reduced to storable data (B-52).

Phone numbers, card numbers and IBANs, and the magic values among them, for which the operator
decides specially.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from datetime import timedelta
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from typing import Any, Literal

import msgspec

from emulator.core import calendar
from emulator.core.calendar import Timestamp
from emulator.core.errors import invalid_field, missing_field
from emulator.core.vendored import library
from emulator.core.violations import Violations
from emulator.core.world import World
from emulator.resources.app import security_profiles

# -- phone numbers: the country and the operator that follow from one in E.164 (B-35)


_NO_COUNTRIES = frozenset(["001", "AC", "TA", "XK"])
"""Numbering regions without an ISO 3166-1 code: international networks, three territories."""


@lru_cache(maxsize=10_000)
def phone_details(phone: str) -> dict[str, Any]:
    """Return a mobile money method's ``operator``, ``phone`` and ``country``; null if unknown."""
    # Loaded on first use: loading the numbering plan takes longer than starting the server.
    phonenumbers, carrier = library("phonenumbers"), library("phonenumbers.carrier")
    try:
        number = phonenumbers.parse(phone)
    except phonenumbers.NumberParseException:
        return {"operator": None, "phone": phone, "country": None}
    region = phonenumbers.region_code_for_number(number)
    return {
        "operator": carrier.name_for_number(number, "en") or None,
        "phone": phone,
        "country": None if region in _NO_COUNTRIES else region,
    }


# -- card numbers: check digit and brand


BRANDS = (
    (r"4", "visa", "Visa"),
    (r"5[1-5]|2(22[1-9]|2[3-9]|[3-6]|7[01]|720)", "mastercard", "Mastercard"),
    (r"3[47]", "amex", "American Express"),
    (r"6(011|4[4-9]|5)", "discover", "Discover"),
    (r"3(0[0-5]|095|[689])", "diners", "Diners Club"),
    (r"35(2[89]|[3-8])", "jcb", "JCB"),
    (r"62", "unionpay", "UnionPay"),
)
"""Patterns of a card number's first digits, each with its brand and the brand's own name."""

BRAND_NAMES = {brand: name for _, brand, name in BRANDS}

_DOUBLED = str.maketrans("0123456789", "0246813579")


def brand(number: str) -> str:
    return next((code for start, code, _ in BRANDS if re.match(start, number)), "unknown")


def is_card_number(number: str) -> bool:
    """Return whether the check digit of a number of ASCII digits is right (Luhn)."""
    return sum(map(int, number[-1::-2] + number[-2::-2].translate(_DOUBLED))) % 10 == 0


# -- IBANs: check digits, and the format of the account number in each country


_REGISTERED = """
    AD 4n4n12c  AE 3n16n  AL 8n16c  AT 5n11n  AZ 4a20c  BA 3n3n8n2n  BE 3n7n2n  BG 4a4n2n8c
    BH 4a14c  BI 5n5n11n2n  BR 8n5n10n1a1c  BY 4c4n16c  CH 5n12c  CR 4n14n  CY 3n5n16c  CZ 4n16n
    DE 8n10n  DJ 5n5n11n2n  DK 4n9n1n  DO 4c20n  EE 2n14n  EG 4n4n17n  ES 4n4n1n1n10n  FI 3n11n
    FK 2a12n  FO 4n9n1n  FR 5n5n11c2n  GB 4a6n8n  GE 2a16n  GI 4a15c  GL 4n9n1n  GR 3n4n16c
    GT 4c20c  HN 4a20n  HR 7n10n  HU 3n4n1n15n1n  IE 4a6n8n  IL 3n3n13n  IQ 4a3n12n  IS 4n2n6n10n
    IT 1a5n5n12c  JO 4a4n18c  KW 4a22c  KZ 3n13c  LB 4n20c  LC 4a24c  LI 5n12c  LT 5n11n  LU 3n13c
    LV 4a13c  LY 3n3n15n  MC 5n5n11c2n  MD 2c18c  ME 3n13n2n  MK 3n10c2n  MN 4n12n  MR 5n5n11n2n
    MT 4a5n18c  MU 4a2n2n12n3n3a  NI 4a20n  NL 4a10n  NO 4n6n1n  OM 3n16c  PK 4a16c  PL 8n16n
    PS 4a21c  PT 4n4n11n2n  QA 4a21c  RO 4a16c  RS 3n13n2n  RU 9n5n15c  SA 2n18c  SC 4a2n2n16n3a
    SD 2n12n  SE 3n16n1n  SI 5n8n2n  SK 4n6n10n  SM 1a5n5n12c  SO 4n3n12n  ST 4n4n11n2n  SV 4a20n
    TL 3n14n2n  TN 2n3n13n2n  TR 5n1n16c  UA 6n19c  VA 3n15n  VG 4a16n  XK 4n10n2n  YE 4a4n18c
"""
"""SWIFT's registry of IBANs, release 101: each country with the format after its check digits.

``5n11c`` is 5 digits, then 11 letters or digits; ``4a`` is 4 letters. The first part is the bank's
code.
"""

_UNREGISTERED = {
    **dict.fromkeys(("AO", "CV", "GW", "MZ"), 25),
    **dict.fromkeys(("DZ", "IR"), 26),
    **dict.fromkeys(("CF", "CG", "CM", "GA", "GQ", "KM", "MG", "TD"), 27),
    **dict.fromkeys(("BF", "BJ", "CI", "MA", "ML", "NE", "SN", "TG"), 28),
}
"""The countries that use IBANs and have not registered their format, with the length of theirs."""

_FORM = re.compile(r"[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}", re.ASCII)
"""A country, two check digits, and 11 to 30 letters or digits."""

_SEPARATORS = re.compile(r"[\s.\-\u2010-\u2015\u2212]")

_CHARACTERS = {"n": "[0-9]", "a": "[A-Z]", "c": "[A-Z0-9]"}


def iban_length(country: str) -> int:
    """Return the number of characters of a country's IBANs, or 0 for a country without IBANs."""
    parts = _structures().get(country)
    return (
        _UNREGISTERED.get(country, 0)
        if parts is None
        else 4 + sum(map(int, re.findall(r"\d+", parts)))
    )


def is_iban(number: str) -> bool:
    """Return whether check digits and the country's registered account number format are right."""
    account = _formats().get(number[:2])
    # ISO 7064, modulus 97: letters count 10 to 35; the country and the check digits stand last.
    remainder = int("".join(str(int(character, 36)) for character in number[4:] + number[:4])) % 97
    return remainder == 1 and (account is None or account.fullmatch(number, 4) is not None)


def bank(number: str) -> str | None:
    """Return the bank's code, the account number's first part; None if its length is unknown."""
    account = _formats().get(number[:2])
    match = account and account.fullmatch(number, 4)
    return match[1] if match else None


@cache
def _formats() -> dict[str, re.Pattern[str]]:
    return {
        country: re.compile(
            re.sub(r"(\d+)([nac])", lambda part: f"({_CHARACTERS[part[2]]}{{{part[1]}}})", parts)
        )
        for country, parts in _structures().items()
    }


@cache
def _structures() -> dict[str, str]:
    words = _REGISTERED.split()
    return dict(zip(words[::2], words[1::2], strict=True))


# -- magic values (B-54)


WITHOUT_DELAY = timedelta()


class MagicValue(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One row of ``fixtures/magic.yaml``, which explains the fields. Durations: world's clock."""

    name: str
    value: str
    example: str
    meaning: str
    code: str | None = None
    off_session: str | None = None
    after: timedelta = WITHOUT_DELAY
    step: bool = False
    settles: timedelta = WITHOUT_DELAY
    disputed: timedelta = WITHOUT_DELAY
    refund: Literal["succeeded", "failed", "unanswered"] = "succeeded"


MagicValues = Mapping[str, tuple[MagicValue, ...]]
"""The magic values of each payment method type."""

ORDINARY = MagicValue(name="", value="", example="", meaning="Succeeds at once.")
"""The outcome of all other values."""


def magic_value_of(world: World, type: str, value: str) -> MagicValue:
    """Return the first row for a phone, card number, IBAN or email; ``ORDINARY`` if none.

    Upper and lower case are the same here, as in every address that is looked up.
    """
    return _first_match(world.reference_data, type, value.casefold())


@lru_cache(
    maxsize=4096
)  # each payment looks up its value several times; reference data never changes
def _first_match(reference_data: Any, type: str, value: str) -> MagicValue:
    rows: tuple[MagicValue, ...] = reference_data.magic.get(type, ())
    return next((row for row in rows if fnmatchcase(value, row.value.casefold())), ORDINARY)


def named_magic(world: World, type: str, name: str | None) -> MagicValue:
    rows: tuple[MagicValue, ...] = world.reference_data.magic.get(type, ())
    return next((row for row in rows if row.name == name), ORDINARY)


# -- instruments


Fields = Mapping[str, Any]


class PaymentDetails(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A payment instrument with a method's ``details``; ``magic`` names a card's magic value."""

    type: str
    details: Mapping[str, Any]
    magic: str | None = None


def read(world: World, fields: Fields) -> PaymentDetails:
    """Read the buyer's instrument; 422: missing, foreign, wrong check digits, expired card.

    No message may contain the number of a card, since responses are logged and stored.
    """
    violations = Violations(fields)
    _check(violations, world, fields, fields["type"])
    violations.done()
    match type := fields["type"]:
        case "mobile_money":
            return PaymentDetails(type=type, details=phone_details(fields["phone"]))
        case "bank_card":
            number = fields["number"].replace(" ", "")
            card = {"brand": brand(number), "last4": number[-4:]}
            card |= {name: fields[name] for name in ("exp_month", "exp_year")}
            return PaymentDetails(
                type=type, details=card, magic=magic_value_of(world, type, number).name or None
            )
        case "bank_transfer":
            number = _iban(fields["iban"])
            return PaymentDetails(type=type, details={"bank": bank(number), "last4": number[-4:]})
    return PaymentDetails(type=type, details={"email": fields["email"]})


def _check(violations: Violations, world: World, fields: Fields, type: str) -> None:
    for name in (name for names in FIELDS.values() for name in names):
        with violations:
            if name in FIELDS[type] and name not in fields:
                raise missing_field(name)
            if name not in FIELDS[type] and name in fields:
                raise invalid_field(name, f"does not belong to a method of type {type}")
    with violations:
        if (
            type == "bank_card"
            and "number" in fields
            and not is_card_number(fields["number"].replace(" ", ""))
        ):
            raise invalid_field("number", "the check digit (Luhn) is wrong")
    with violations:
        if type == "bank_card" and "exp_year" in fields:
            year = fields["exp_year"]
            if year < int(world.now[:4]):
                raise invalid_field("exp_year", "the card has expired")
            if "exp_month" in fields and _end_of_month(year, fields["exp_month"]) <= world.now:
                raise invalid_field("exp_month", "the card has expired")
    with violations:
        if type == "bank_transfer" and "iban" in fields:
            _iban(fields["iban"])


def magic_of(world: World, instrument: PaymentDetails) -> MagicValue:
    """Return a magic value: a card's by stored name, others' by phone or email."""
    if instrument.type == "bank_card":
        return named_magic(world, instrument.type, instrument.magic)
    details = instrument.details
    return magic_value_of(
        world, instrument.type, details.get("phone") or details.get("email") or ""
    )


def operator_name(instrument: PaymentDetails) -> str | None:
    """Return the payment operator, from the phone's prefix or the card's brand (B-56)."""
    return instrument.details.get("operator") or instrument.details.get("brand")


def expiry(instrument: PaymentDetails) -> Timestamp | None:
    """Return the instant a card expires: the end of its month (UTC). None for other instruments."""
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

DETAILS = {
    "mobile_money": ("operator", "phone", "country"),
    "bank_card": ("brand", "last4", "exp_month", "exp_year"),
    "bank_transfer": ("bank", "last4"),
    "paypal": ("email",),
}
"""The details that are known of a stored method, by its type."""


def check_details(details: Fields, type: str) -> None:
    """Raise 422 for details that are not those of this type of method (B-52)."""
    violations = Violations(details)
    for name in dict.fromkeys((*DETAILS[type], *details)):
        with violations:
            if name not in details:
                raise missing_field(f"details.{name}")
            if name not in DETAILS[type]:
                raise invalid_field(
                    f"details.{name[:60]}", f"does not belong to a method of type {type}"
                )
    violations.done()


EVERY_TYPE = tuple(FIELDS)
"""The types of payment method that are allowed by default."""

ONE_TYPE: Mapping[str, tuple[str, ...]] = {type: (type,) for type in FIELDS}
"""The list of each type alone, which the intents of all renewals share."""


def offered(world: World, body: Mapping[str, Any]) -> tuple[str, ...]:
    """Return a new object's types of method but excluded ones (B-58); 422 if none is left."""
    wanted = tuple(dict.fromkeys(body.get("payment_method_types", ()))) or EVERY_TYPE
    left = security_profiles.permitted(world, wanted)
    if not left:
        security_profiles.check_method(world, wanted[0], "payment_method_types")
    return left


def _end_of_month(year: int, month: int) -> Timestamp:
    return calendar.step(calendar.midnight(f"{year:04d}-{month:02d}-01"), "month", 1)


def _iban(text: str) -> str:
    """Return an IBAN as people write it, in capitals and without spaces, dashes and dots."""
    number = _SEPARATORS.sub("", unicodedata.normalize("NFKC", text)).upper()
    if not _FORM.fullmatch(number):
        raise invalid_field(
            "iban", "must be an IBAN: a country, two check digits, and the account's number"
        )
    if not is_iban(number):
        raise invalid_field("iban", "the check digits or the length are wrong")
    return number
