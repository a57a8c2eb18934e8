"""IBANs: their check digits, and the format of the account number in each country that has registered one."""

from __future__ import annotations

import re
import unicodedata
from functools import cache

_REGISTERED = """
    AD 4n4n12c  AE 3n16n  AL 8n16c  AT 5n11n  AZ 4a20c  BA 3n3n8n2n  BE 3n7n2n  BG 4a4n2n8c  BH 4a14c  BI 5n5n11n2n
    BR 8n5n10n1a1c  BY 4c4n16c  CH 5n12c  CR 4n14n  CY 3n5n16c  CZ 4n16n  DE 8n10n  DJ 5n5n11n2n  DK 4n9n1n
    DO 4c20n  EE 2n14n  EG 4n4n17n  ES 4n4n1n1n10n  FI 3n11n  FK 2a12n  FO 4n9n1n  FR 5n5n11c2n  GB 4a6n8n  GE 2a16n
    GI 4a15c  GL 4n9n1n  GR 3n4n16c  GT 4c20c  HN 4a20n  HR 7n10n  HU 3n4n1n15n1n  IE 4a6n8n  IL 3n3n13n  IQ 4a3n12n
    IS 4n2n6n10n  IT 1a5n5n12c  JO 4a4n18c  KW 4a22c  KZ 3n13c  LB 4n20c  LC 4a24c  LI 5n12c  LT 5n11n  LU 3n13c
    LV 4a13c  LY 3n3n15n  MC 5n5n11c2n  MD 2c18c  ME 3n13n2n  MK 3n10c2n  MN 4n12n  MR 5n5n11n2n  MT 4a5n18c
    MU 4a2n2n12n3n3a  NI 4a20n  NL 4a10n  NO 4n6n1n  OM 3n16c  PK 4a16c  PL 8n16n  PS 4a21c  PT 4n4n11n2n  QA 4a21c
    RO 4a16c  RS 3n13n2n  RU 9n5n15c  SA 2n18c  SC 4a2n2n16n3a  SD 2n12n  SE 3n16n1n  SI 5n8n2n  SK 4n6n10n
    SM 1a5n5n12c  SO 4n3n12n  ST 4n4n11n2n  SV 4a20n  TL 3n14n2n  TN 2n3n13n2n  TR 5n1n16c  UA 6n19c  VA 3n15n
    VG 4a16n  XK 4n10n2n  YE 4a4n18c
"""
"""SWIFT's registry of IBANs, release 101: each country with what follows its check digits.

``5n11c`` is 5 digits, then 11 letters or digits; ``4a`` is 4 letters. The first part is the bank's code.
"""

_UNREGISTERED = {
    **dict.fromkeys(("AO", "CV", "GW", "MZ"), 25),
    **dict.fromkeys(("DZ", "IR", "KM"), 26),
    **dict.fromkeys(("CF", "CG", "CM", "GA", "GQ", "MG", "TD"), 27),
    **dict.fromkeys(("BF", "BJ", "CI", "HN", "MA", "ML", "NE", "SN", "TG"), 28),
}
"""The countries that use IBANs and have not registered their format, with the length of theirs."""

_FORM = re.compile(r"[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}", re.ASCII)

_SEPARATORS = re.compile(r"[\s.\-\u2010-\u2015\u2212]")

_CHARACTERS = {"n": "[0-9]", "a": "[A-Z]", "c": "[A-Z0-9]"}


def compact(text: str) -> str:
    """An IBAN as people write it, in capitals and without spaces, dashes and dots."""
    return _SEPARATORS.sub("", unicodedata.normalize("NFKC", text)).upper()


def has_form(number: str) -> bool:
    """Whether it is a country, two check digits, and 11 to 30 letters or digits. All else here asks for this form."""
    return _FORM.fullmatch(number) is not None


def length(country: str) -> int:
    """How many characters the IBANs of a country have, 0 if it has none."""
    parts = _structures().get(country)
    return _UNREGISTERED.get(country, 0) if parts is None else 4 + sum(map(int, re.findall(r"\d+", parts)))


def is_valid(number: str) -> bool:
    """Whether the check digits are right, and the account number has the format that the country has registered."""
    account = _formats().get(number[:2])
    return _remainder(number) == 1 and (account is None or account.fullmatch(number, 4) is not None)


def bank(number: str) -> str | None:
    """The bank's code, the first part of the account number; None if the country has not registered its length."""
    account = _formats().get(number[:2])
    found = account and account.fullmatch(number, 4)
    return found[1] if found else None


def _remainder(number: str) -> int:
    # ISO 7064, modulus 97: letters count 10 to 35, and the country and the check digits stand at the end.
    return int("".join(str(int(character, 36)) for character in number[4:] + number[:4])) % 97


@cache
def _formats() -> dict[str, re.Pattern[str]]:
    return {country: _pattern(parts) for country, parts in _structures().items()}


@cache
def _structures() -> dict[str, str]:
    words = _REGISTERED.split()
    return dict(zip(words[::2], words[1::2], strict=True))


def _pattern(parts: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"(\d+)([nac])", lambda part: f"({_CHARACTERS[part[2]]}{{{part[1]}}})", parts))
