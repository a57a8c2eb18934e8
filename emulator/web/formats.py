"""Formats: the check of each ``format`` in the document, and the sentence for a text that fails it."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from functools import cache
from ipaddress import IPv4Network
from urllib.parse import urlsplit

from emulator.core import calendar
from emulator.libraries import library

_LABEL = "[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_EMAIL = re.compile(rf"(?=.{{1,254}}$)[A-Za-z0-9.!#$%&'*+/=?^_`{{|}}~-]+@{_LABEL}(\.{_LABEL})*", re.ASCII)
"""What browsers accept in a field for an email address (WHATWG), 254 characters at most (B-30)."""
_E164 = re.compile(r"\+[1-9][0-9]{6,14}", re.ASCII)
_DOMAIN = re.compile(
    r"(?=.{1,253}$)[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*"
)
_NETWORK = re.compile(r"\d{1,3}(\.\d{1,3}){3}(/\d{1,2})?", re.ASCII)
_WEB_URL = re.compile(r"https?://\S+")
"""May have ``{CHECKOUT_SESSION_ID}`` in it, which a URI may not."""
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


def _url(text: str) -> None:
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname or re.search(r"[\s\x00-\x1f\x7f]", text):
        raise ValueError(text)
    _ = parts.port  # raises ValueError for an invalid port


def _https_url(text: str) -> None:
    _url(text)
    if urlsplit(text).scheme != "https":
        raise ValueError(text)


def _network(text: str) -> None:
    if not _NETWORK.fullmatch(text):  # the parser below also accepts netmasks, which are not CIDR ranges
        raise ValueError(text)
    IPv4Network(text)


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
    "date-time": _passes(calendar.parse),
    "date": _passes(_day),
    "email": lambda text: _EMAIL.fullmatch(text) is not None,
    "e164": lambda text: _E164.fullmatch(text) is not None,
    "uri": _passes(_url),
    "https-uri": _passes(_https_url),
    "web-url": lambda text: _WEB_URL.fullmatch(text) is not None,
    "domain": lambda text: _DOMAIN.fullmatch(text) is not None,
    "ipv4-network": _passes(_network),
    "currency": lambda text: text in currencies(),
    "country": lambda text: text in countries(),
    "not-blank": lambda text: not text.isspace(),
}

EXPLAINED: dict[str, str] = {
    "date-time": "must be an ISO 8601 instant with an offset, such as 2026-01-31T09:30:00Z",
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
