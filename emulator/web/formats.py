"""The formats of the document (B-30): their checks, and the sentences for texts that fail them."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from functools import partial
from ipaddress import IPv4Network

from emulator.core import calendar
from emulator.document.iso_codes import countries, currencies
from emulator.document.published import LIMITS
from emulator.web import url_formats

_EMAIL = re.compile(
    r"(?=.{1,254}$)[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]+"
    r"@[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*",
    re.ASCII,
)
"""What browsers accept in a field for an email address (WHATWG), 254 characters at most (B-30)."""
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


def _passes(parse: Callable[[str], object]) -> Callable[[str], bool]:
    """Return a parser's check: a text passes unless the parser raises ``ValueError``."""

    def check(text: str) -> bool:
        try:
            parse(text)
        except ValueError:
            return False
        return True

    return check


def _matches(name: str) -> Callable[[str], bool]:
    """Return the check of a format by its pattern in the document."""
    pattern = re.compile(LIMITS[name]["pattern"].removesuffix("$"), re.ASCII)
    return lambda text: pattern.fullmatch(text) is not None


_has_form_of_network = _matches("ipv4-network")

FORMATS: dict[str, Callable[[str], bool]] = {
    **dict.fromkeys(("date-time", "instant"), _passes(calendar.normalise)),
    "date": lambda text: _DAY.fullmatch(text) is not None and _passes(date.fromisoformat)(text),
    "email": lambda text: _EMAIL.fullmatch(text) is not None,
    "e164": _matches("e164"),
    **{name: partial(url_formats.takes, name) for name in url_formats.EXPLAINED},
    "domain": _matches("domain"),
    # The parser alone also accepts netmasks, which are not CIDR ranges.
    "ipv4-network": lambda text: _has_form_of_network(text) and _passes(IPv4Network)(text),
    "currency": lambda text: text in currencies(),
    "country": lambda text: text in countries(),
    "not-blank": lambda text: not text.isspace(),
}

EXPLAINED: dict[str, str] = {
    **dict.fromkeys(
        ("date-time", "instant"),
        "must be an ISO 8601 date or instant, such as 2026-01-31 or 2026-01-31T09:30:00Z",
    ),
    "date": "must be a date YYYY-MM-DD",
    "email": "must be an email address of at most 254 characters, such as name@example.com",
    "e164": "must be a phone number in E.164 form: + and 7 to 15 digits, no spaces or dashes",
    **url_formats.EXPLAINED,
    "domain": "must be a bare domain name: no protocol, port, path or wildcard",
    "ipv4-network": "must be an IPv4 address or a CIDR range without host bits",
    "currency": "must be an ISO 4217 code in upper case",
    "country": "must be an ISO 3166-1 alpha-2 code in upper case",
    "not-blank": "must not be blank",
}

_DURATION = (
    r"^(P[0-9]{1,4}W|P(?=[0-9T])([0-9]{1,4}Y)?([0-9]{1,6}M)?([0-9]{1,6}D)?"
    r"(T(?=[0-9])([0-9]{1,9}H)?([0-9]{1,9}M)?([0-9]{1,9}(\.[0-9]{1,3})?S)?)?|[0-9]{1,9}[smhdw])$"
)

EXPLAINED_PATTERNS = {
    **{LIMITS[name]["pattern"]: EXPLAINED[name] for name in LIMITS if "pattern" in LIMITS[name]},
    r"^(?!\.\.?$)[A-Za-z0-9._-]+$": (
        "must be of letters, digits, '.', '_' and '-', and not '.' or '..'"
    ),
    r"^[A-Za-z0-9_-]+$": "must be of letters, digits, '_' and '-'",
    r"^[ -~]+$": "must be of printable ASCII characters",
    r"^[0-9]( ?[0-9]){11,18}$": "must be a card number of 12 to 19 digits",
    r"^[0-9]{3,4}$": "must be 3 or 4 digits",
    r"^[0-9]{4,6}$": "must be 4 to 6 digits",
    r"^[1-5](xx|[0-9]{2})$": "must be a status such as 404 or 4xx",
    r"^[^.=]+(\.[^.=]+)+=[\s\S]*$": "must be ID.FIELD=VALUE",
    _DURATION: "must be a duration such as 31d, 2h, 90s, P1M or PT90S",
    r"^(running|frozen(@.{1,40})?)$": (
        "must be running, frozen, or frozen@ and an instant such as 2026-01-01T00:00:00Z"
    ),
}
"""Sentences for texts that do not match the pattern of a format or a field."""
