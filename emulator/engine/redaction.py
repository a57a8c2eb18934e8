"""Redaction: card numbers, security codes, accounts, keys and secrets in a request are made unreadable."""

from __future__ import annotations

import re

# Twelve to nineteen digits, perhaps in groups, are a card number, unless a plus makes them a phone number.
_CARD = re.compile(rb"(?<![\d+])(?:\d[ -]?){8,15}(\d[ -]?\d[ -]?\d[ -]?\d)(?!\d)")
_ACCOUNT = re.compile(rb"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]){7,26}( ?[A-Z0-9]){4}\b")
_SMALL_ACCOUNT = re.compile(rb"(?i)\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]){11,30}\b")
_ESCAPE = re.compile(rb"(?<!\\)\\u00(3[0-9]|[46][1-9a-fA-F]|[57][0-9aA])")
_CODE = re.compile(rb'("(?:cvc|pin)"\s*:\s*)("[^"]*"|\d+)')
_KEY = re.compile(rb"\b([sp]k_(?:test|prod)_)[A-Za-z0-9_-]+")
_SECRET = re.compile(rb"\bwhsec_[0-9A-Za-z]+")

_DIGITS = b"0123456789"
_CAPITALS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ"

SECRET_HEADERS = frozenset(["authorization", "cookie", "emulator-token", "proxy-authorization"])


def redact(text: bytes) -> bytes:
    """A body, path or query without secrets. The last four digits of numbers stay, and the prefixes of keys."""
    if b"\\u00" in text:
        # JSON may have any letter or digit as an escape; what is the same to a reader is the same here.
        text = _ESCAPE.sub(lambda match: bytes.fromhex(match[1].decode()), text)
    # Counting characters is much quicker than searching, and few texts have as many as a card or an account.
    if _count(text, _DIGITS + _CAPITALS) >= 15:
        text = _ACCOUNT.sub(rb"****", text)  # first, because the digits of an account in groups look like a card
    if _count(text, _DIGITS) >= 12:
        text = _SMALL_ACCOUNT.sub(_redact_account, text)
        text = _CARD.sub(rb"****\1", text)
    if b"cvc" in text or b"pin" in text:
        text = _CODE.sub(rb'\1"***"', text)
    if b"k_" in text:
        text = _KEY.sub(rb"\1****", text)
    return _SECRET.sub(b"whsec_****", text) if b"whsec_" in text else text


def _redact_account(match: re.Match[bytes]) -> bytes:
    """Written in any letters: only what has the check digits of an account, since words and ids may look like one."""
    text = match[0].replace(b" ", b"").upper().decode()
    number = "".join(str(int(character, 36)) for character in text[4:] + text[:4])
    return b"****" if int(number) % 97 == 1 else match[0]


def _count(text: bytes, characters: bytes) -> int:
    return len(text) - len(text.translate(None, characters))


def redact_header(name: str, value: str) -> str:
    """A header's value without secrets."""
    return "****" if name in SECRET_HEADERS else redact(value.encode("utf-8", "replace")).decode("utf-8", "replace")
