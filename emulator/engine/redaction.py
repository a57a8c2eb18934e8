"""Redaction: card numbers, security codes, accounts, keys and secrets in a request are made unreadable.

JSON and forms are redacted as values, by the names of their fields and by what a text holds. What is neither, or
damaged, is redacted as text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qsl, quote_plus, unquote

import msgspec

from emulator.resources.customers import card_numbers, ibans

# Twelve to nineteen digits, perhaps in groups, are a card number, unless a plus makes them a phone number.
_CARD = re.compile(r"(?<![\d+])(?:\d[ -]?){8,15}(\d[ -]?\d[ -]?\d[ -]?\d)(?!\d)")
# With other separators they are one if the check digit is right. The port of a receiver on this machine begins none.
_SPACED_CARD = re.compile(
    r"(?<![\d+])(?<!//127\.0\.0\.1:)(?<!//localhost:)\d(?:[ \u00a0\u2007\u2009\u202f./\u2013-]{0,2}\d){12,18}(?!\d)"
)
_ACCOUNT = re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]){7,26}( ?[A-Z0-9]){4}\b")
_SMALL_ACCOUNT = re.compile(r"(?i)\b[A-Z]{2}\d{2}(?:[ .-]?[A-Z0-9]){11,30}\b")
_ESCAPE = re.compile(r"\\u(00[2-7][0-9a-fA-F])")
_CODE = re.compile(r'("(?:cvc|cvv|pin)"\s*:\s*)("[^"]*"|\d+)')
_KEY = re.compile(r"\b([sp]k_(?:test|prod)_)[A-Za-z0-9_-]+")
_SECRET = re.compile(r"\bwhsec_[0-9A-Za-z]+")
_SUSPICIOUS = re.compile(r"\d(?:\D{0,2}\d){11}|\b[A-Za-z]{2}\d{2}(?:[ .-]?[A-Za-z0-9]){11}|k_(?:test|prod)_|whsec_")
# The same in bytes, for every body is searched: a pattern that begins with a digit skips all else at once.
_MANY_DIGITS = re.compile(rb"\d(?<!\d\d)(?:\D{0,2}\d){11}")
_LIKE_AN_ACCOUNT = re.compile(rb"\d(?<=\b[A-Za-z]{2}\d)\d(?:[ .-]?[A-Za-z0-9]){11}")
_MARKS = (b"%", rb"\u00", b"k_test_", b"k_prod_", b"whsec_")
_NAMES = (b"number", b"cvc", b"cvv", b"pin", b"pan", b"iban", b"secret", b"password")
_NAMED_VALUE = re.compile(rb"(?:%b)\]?[\"=]" % b"|".join(_NAMES))
_NAME_PARTS = re.compile(r"[.\[\]]+")

SECRET_HEADERS = frozenset(["authorization", "cookie", "emulator-token", "proxy-authorization"])

LEAST_NUMBER = 10**11
"""The least integer that has as many digits as a card number."""


def redact(text: bytes) -> bytes:
    """A body, path or query without secrets. The last four digits of numbers stay, and the prefixes of keys."""
    if text.isascii() and not _may_have_secrets(text):
        return text
    text = _redact_json(text) if text.lstrip()[:1] in (b"{", b"[", b'"') else _redact_form(text)
    # Of a key that stands twice in an object, only the last value was redacted.
    plain = text.decode("utf-8", "surrogateescape")
    redacted = _CODE.sub(r'\1"***"', _redact_text(plain))
    return text if redacted == plain else redacted.encode("utf-8", "surrogateescape")


def _may_have_secrets(text: bytes) -> bool:
    """Whether ASCII text must be parsed to know; most bodies need not be."""
    lower = text.lower()
    return (
        _has_one_of(_MARKS, lower)
        or _MANY_DIGITS.search(text) is not None
        or _LIKE_AN_ACCOUNT.search(text) is not None
        or (_has_one_of(_NAMES, lower) and _NAMED_VALUE.search(lower) is not None)
    )


def _has_one_of(parts: tuple[bytes, ...], text: bytes) -> bool:
    for part in parts:  # noqa: SIM110  # any() of a generator takes three times as long, and every body is searched
        if part in text:
            return True
    return False


def redact_value(value: Any) -> Any:
    """A JSON value without secrets; the same object if there were none."""
    if isinstance(value, str):
        return _redact_text(value)
    if isinstance(value, dict):
        return {_redact_text(name): _redact_field(name, part) for name, part in value.items()}
    if isinstance(value, list):
        return [redact_value(part) for part in value]
    if isinstance(value, int | float) and abs(value) >= LEAST_NUMBER:
        return _last_four(str(value))
    return value


def redact_header(name: str, value: str) -> str:
    """A header's value without secrets."""
    return "****" if name in SECRET_HEADERS else _redact_text(value)


def _redact_json(text: bytes) -> bytes:
    try:
        value = msgspec.json.decode(text)
        redacted = redact_value(value)
    except (ValueError, RecursionError):  # msgspec raises UnicodeDecodeError too
        return text
    return text if redacted == value else msgspec.json.encode(redacted)


def _redact_form(text: bytes) -> bytes:
    """A form or a query; what is not one is returned as it is."""
    if b"=" not in text:
        return text
    path, mark, query = text.rpartition(b"?")
    given = parse_qsl(query.decode("utf-8", "replace"), keep_blank_values=True)
    redacted = [(_redact_text(name), str(_redact_field(name, value))) for name, value in given]
    if redacted == given:
        return text
    pairs = (f"{quote_plus(name, safe='*')}={quote_plus(value, safe='*')}" for name, value in redacted)
    return path + mark + "&".join(pairs).encode()


def _redact_field(name: str, value: Any) -> Any:
    redact_named = _NAMED.get(_NAME_PARTS.split(name.rstrip("]"))[-1].strip().lower())
    if redact_named is None or not isinstance(value, str | int | float) or isinstance(value, bool):
        return redact_value(value)
    return redact_named(str(value)) if value != "" else value


def _last_four(text: str) -> str:
    digits = [character for character in text if character.isdigit()]
    return "****" + "".join(digits[-4:]) if len(digits) > 4 else text


def _hidden(text: str) -> str:
    return "***"


def _secret(text: str) -> str:
    return "whsec_****" if text.startswith("whsec_") else "****"


_NAMED: Mapping[str, Callable[[str], str]] = {
    **dict.fromkeys(("number", "card_number", "pan"), _last_four),
    **dict.fromkeys(("cvc", "cvv", "pin"), _hidden),
    **dict.fromkeys(("iban", "account_number", "secret", "password"), _secret),
}
"""How the value of a field is redacted whatever it holds, by the name of the field."""


def _redact_text(text: str) -> str:
    """A text without secrets. It is searched as a reader would see it, its escapes resolved."""
    plain = _ESCAPE.sub(lambda match: chr(int(match[1], 16)), text) if "\\u00" in text else text
    plain = unquote(plain) if "%" in plain else plain
    if not _SUSPICIOUS.search(plain):
        return text
    redacted = _ACCOUNT.sub("****", plain)  # first, because the digits of an account in groups look like a card
    redacted = _SMALL_ACCOUNT.sub(_redact_account, redacted)
    redacted = _CARD.sub(r"****\1", redacted)
    redacted = _SPACED_CARD.sub(_redact_card, redacted)
    redacted = _SECRET.sub("whsec_****", _KEY.sub(r"\1****", redacted))
    return text if redacted == plain else redacted


def _redact_account(match: re.Match[str]) -> str:
    """Written in any letters: only what is a valid account, since words and ids may look like one.

    Words may follow it, so the longest beginning that is one counts.
    """
    text = match[0]
    for end in range(len(text), 14, -1):
        if text[end - 1].isalnum() and _is_account(ibans.compact(text[:end])):
            return "****" + text[end:]
    return text


def _is_account(number: str) -> bool:
    return ibans.is_registered(number) and ibans.has_form(number) and ibans.is_valid(number)


def _redact_card(match: re.Match[str]) -> str:
    digits = "".join(character for character in match[0] if character.isdigit())
    return _last_four(match[0]) if card_numbers.is_valid(digits) else match[0]
