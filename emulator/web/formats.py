"""Formats: the check of each ``format`` in the document, and the sentence for a text that fails it."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from functools import cache
from ipaddress import IPv4Network
from urllib.parse import urlsplit

from emulator.core import calendar
from emulator.core.vendored import library
from emulator.document.format_limits import LIMITS

_EMAIL = re.compile(
    r"(?=.{1,254}$)[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]+"
    r"@[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*",
    re.ASCII,
)
"""What browsers accept in a field for an email address (WHATWG), 254 characters at most (B-30)."""
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


def _passes(parse: Callable[[str], object]) -> Callable[[str], bool]:
    """The check that a parser stands for: a text passes unless the parser raises ``ValueError``."""

    def check(text: str) -> bool:
        try:
            parse(text)
        except ValueError:
            return False
        return True

    return check


def _day(text: str) -> date:
    if not _DAY.fullmatch(text):
        raise ValueError(text)
    return date.fromisoformat(text)


def _matches(name: str) -> Callable[[str], bool]:
    """The check of a format by its pattern in the document."""
    pattern = re.compile(LIMITS[name]["pattern"].removesuffix("$"), re.ASCII)
    return lambda text: pattern.fullmatch(text) is not None


def _url(name: str) -> Callable[[str], bool]:
    """The check of a URL: its pattern, and that an address in brackets is one of IPv6."""
    has_form, has_address = _matches(name), _passes(urlsplit)
    return lambda text: has_form(text) and has_address(text)


def _network(text: str) -> bool:
    # The parser alone also accepts netmasks, which are not CIDR ranges.
    return _has_form_of_network(text) and _passes(IPv4Network)(text)


_has_form_of_network = _matches("ipv4-network")


@cache
def currencies() -> frozenset[str]:
    """Every ISO 4217 code the CLDR knows."""
    return frozenset(map(str, library("babel.core").get_global("all_currencies")))


@cache
def countries() -> frozenset[str]:
    """Every ISO 3166-1 alpha-2 code: the CLDR's two-letter regions without those that are not countries."""
    regions = library("babel").Locale("en").territories
    return frozenset(code for code in regions if len(code) == 2 and code.isalpha()) - _NOT_COUNTRIES


_NOT_COUNTRIES = frozenset(["AC", "CP", "CQ", "DG", "EA", "EU", "EZ", "IC", "QO", "TA", "UN", "XA", "XB", "XK", "ZZ"])

FORMATS: dict[str, Callable[[str], bool]] = {
    "date-time": _passes(calendar.normalise),
    "date": _passes(_day),
    "email": lambda text: _EMAIL.fullmatch(text) is not None,
    "e164": _matches("e164"),
    "uri": _url("uri"),
    "https-uri": _url("https-uri"),
    "web-url": _url("web-url"),
    "domain": _matches("domain"),
    "ipv4-network": _network,
    "currency": lambda text: text in currencies(),
    "country": lambda text: text in countries(),
    "not-blank": lambda text: not text.isspace(),
}

EXPLAINED: dict[str, str] = {
    "date-time": "must be an ISO 8601 date or instant, such as 2026-01-31 or 2026-01-31T09:30:00Z",
    "date": "must be a date YYYY-MM-DD",
    "email": "must be an email address of at most 254 characters, such as name@example.com",
    "e164": "must be a phone number in E.164 form: + and 7 to 15 digits, no spaces or dashes",
    "uri": "must be an http:// or https:// URL",
    "https-uri": "must be an https:// URL",
    "web-url": "must be an http:// or https:// URL",
    "domain": "must be a bare domain name: no protocol, port, path or wildcard",
    "ipv4-network": "must be an IPv4 address or a CIDR range without host bits",
    "currency": "must be an ISO 4217 code in upper case",
    "country": "must be an ISO 3166-1 alpha-2 code in upper case",
    "not-blank": "must not be blank",
}

EXPLAINED_PATTERNS = {LIMITS[name]["pattern"]: EXPLAINED[name] for name in LIMITS if "pattern" in LIMITS[name]}
"""The sentence for a text that does not match the pattern of its format."""
