"""The formats the document uses, judged by the tests' own means and not by the server's."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime
from ipaddress import IPv4Network
from urllib.parse import urlsplit

from babel import Locale
from babel.numbers import list_currencies
from jsonschema import FormatChecker

CURRENCIES = frozenset(list_currencies())
COUNTRIES = frozenset(filter(re.compile("[A-Z]{2}").fullmatch, map(str, Locale("en").territories))) - {"EU", "UN", "ZZ"}

Judge = Callable[[str], bool]


def _parses(parse: Callable[[str], object], form: str = ".*") -> Judge:
    compiled = re.compile(form)

    def judge(text: str) -> bool:
        try:
            parse(text)
        except ValueError:
            return False
        return compiled.fullmatch(text) is not None

    return judge


def _matches(pattern: str) -> Judge:
    compiled = re.compile(pattern)
    return lambda text: compiled.fullmatch(text) is not None


def is_uri(text: str) -> bool:
    """Return an absolute URI; a redirect address may hold a ``{PLACEHOLDER}`` that RFC 3986 would have percent-encoded."""
    return re.search(r"\s", text) is None and bool(urlsplit(text).scheme) and bool(urlsplit(text).netloc)


LABEL = "[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?"

FORMATS: dict[str, Judge] = {
    "date-time": _parses(datetime.fromisoformat, r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)"),
    "date": _parses(date.fromisoformat, r"\d{4}-\d\d-\d\d"),
    "email": _matches(r"[!-?A-~]+@[A-Za-z0-9.-]+"),
    "uri": is_uri,
    "page-url": _matches(r"https://\S+|http://(\S+\.)?(localhost|127(\.\d+){3}|\[::1\])([:/?#]\S*)?"),
    "app-url": _matches(r"(?!javascript|data|vbscript|file|blob|about|ftp)[a-z][a-z0-9+.-]*://\S+"),
    "https-uri": lambda text: is_uri(text) and text.startswith("https://"),
    "currency": CURRENCIES.__contains__,
    "country": COUNTRIES.__contains__,
    "e164": _matches(r"\+[1-9]\d{6,14}"),
    "ipv4-network": _parses(IPv4Network),
    "domain": _matches(rf"(?=.{{1,253}}$){LABEL}(\.{LABEL})*"),
    "not-blank": lambda text: text.strip() != "",
    "binary": lambda _: True,
}
"""Every format that may stand in the document, and what it asks of a string."""


def _of_strings(judge: Judge) -> Callable[[object], bool]:
    return lambda value: not isinstance(value, str) or judge(value)


def format_checker() -> FormatChecker:
    checker = FormatChecker(formats=())
    for name, judge in FORMATS.items():
        checker.checks(name)(_of_strings(judge))
    return checker
