"""Scrubbing: an exported snapshot with invented secrets, names, emails, phones and addresses, which can be restored.

The same value becomes the same invented one wherever it stands, so objects still belong together; the same world gives
the same invented values. They are computed with the world's seed, which is replaced as well, because the ids and
secrets of a world can be computed from it. Somebody who guesses the seed can check guesses about a value.
"""

from __future__ import annotations

import hmac
import json
import re
from base64 import b64decode, b64encode
from binascii import Error as InvalidBase64
from collections.abc import Callable, Mapping
from hashlib import shake_256
from itertools import count, islice
from typing import Any

from emulator.core.world import World
from emulator.engine.redaction import redact_value
from emulator.resources.customers.magic_values import of_value

_EMAIL = re.compile(r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*")
_PHONE = re.compile(r"(?<![\w+])\+[1-9]\d{6,14}(?!\d)")

PHONE_PREFIX = 6
"""Characters of a phone number that stay: country and operator, by which the number is recognised."""

SHORTEST = 4
"""Characters that a name must have to be looked for within other texts."""

VARIANTS = 200
"""Invented values that are tried, until one has the effect that the original has as a magic value (B-54)."""

PERSONAL = frozenset(["firstname", "lastname", "line1", "line2", "city", "state", "postal_code", "holder"])
"""Fields with names of people and parts of addresses, in every kind of record."""

ADDRESS = frozenset(["line1", "line2", "city", "state", "postal_code"])
PERSON = frozenset(["email", "phone"])
"""An object that has one of these fields is a person, so its ``name`` is one of a person."""

LETTERS = "abcdefghijklmnopqrstuvwxyz"
_ALPHABETS = (("\u0621", "\u064a"), ("\u0430", "\u044f"), ("\u03b1", "\u03c9"), ("\u4e00", "\u9fa5"))
"""First and last letter of the scripts that stay what they are; other letters become Latin ones."""


def scrubbed(exported: dict[str, Any], world: World) -> dict[str, Any]:
    """The tables of an exported snapshot of this world with everything personal and secret replaced."""
    return _Scrubber(world).tables(exported)


class _Scrubber:
    def __init__(self, world: World) -> None:
        self._world = world
        self._key = f"{world.seed}/{world.name}".encode()
        self._names: dict[str, str] = {}
        self._known: re.Pattern[str] | None = None

    def tables(self, exported: dict[str, Any]) -> dict[str, Any]:
        """First all that stands in a field of its own, then what of it stands within other texts."""
        heads = {
            number: {**head, "seed": self._digest("seed", str(head["seed"])).hex()}
            for number, head in exported["worlds"].items()
        }
        kinds = {name: table for name, table in exported.items() if name not in ("emulator", "worlds", "snapshots")}
        replaced = {name: self._replaced("", self._redacted(table)) for name, table in kinds.items()}
        longest_first = sorted((name for name in self._names if len(name) >= SHORTEST), key=len, reverse=True)
        self._known = re.compile(rf"\b(?:{'|'.join(map(re.escape, longest_first))})\b") if longest_first else None
        return {**exported, "worlds": heads, **{name: self._searched(table) for name, table in replaced.items()}}

    # -- fields

    def _replaced(self, name: str, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: self._field(key, part, value) for key, part in value.items()}
        if isinstance(value, list):
            return [self._replaced(name, part) for part in value]
        return self._text(value) if isinstance(value, str) else value

    def _field(self, name: str, value: Any, owner: Mapping[str, Any]) -> Any:
        if not isinstance(value, str) or not value:
            return self._replaced(name, value)
        if name == "state" and not ADDRESS & (owner.keys() - {"state"}):
            return value
        if name in PERSONAL or (name == "name" and owner.keys() & PERSON):
            return self._name(value)
        if name == "body" and "fingerprint" in owner:
            return self._stored_response(value)
        return self._text(value)

    def _stored_response(self, value: str) -> str:
        """The body of a response that is stored for an Idempotency-Key: JSON in base64."""
        try:
            body = self._replaced("", self._redacted(json.loads(b64decode(value))))
        except (InvalidBase64, ValueError):
            return value
        return b64encode(json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()).decode()

    def _name(self, value: str) -> str:
        if value not in self._names:
            self._names[value] = self._disguised(value)
        return self._names[value]

    def _redacted(self, value: Any) -> Any:
        """Without what belongs in no log either; a secret becomes an invented one, by which webhooks are signed."""
        return redact_value(value, self._disguised)

    # -- texts

    def _text(self, text: str) -> str:
        if "@" in text:
            text = _EMAIL.sub(lambda match: self._email(match[0]), text)
        if "+" in text:
            text = _PHONE.sub(lambda match: self._phone(match[0]), text)
        return text

    def _searched(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: self._searched(part) for key, part in value.items()}
        if isinstance(value, list):
            return [self._searched(part) for part in value]
        if not isinstance(value, str) or self._known is None:
            return value
        return self._known.sub(lambda match: self._names[match[0]], value)

    # -- invented values

    def _email(self, value: str) -> str:
        local = value.partition("@")[0]

        def invented(variant: int) -> str:
            # The digits keep two short addresses apart: no two customers may have the same one.
            mark = self._digest(f"email {variant}", value.lower()).hex()[:12]
            return f"{self._disguised(local[:40], variant)}.{mark}@example.com"

        return self._with_same_effect("paypal", value, invented)

    def _phone(self, value: str) -> str:
        def invented(variant: int) -> str:
            digits = "".join(str(byte % 10) for byte in self._digest(f"phone {variant}", value))
            return value[:PHONE_PREFIX] + digits[: len(value) - PHONE_PREFIX]

        return self._with_same_effect("mobile_money", value, invented)

    def _with_same_effect(self, type: str, value: str, invented: Callable[[int], str]) -> str:
        """An invented value for which the operator decides as for this one; a magic value itself if there is none."""
        effect = of_value(self._world, type, value)
        variants = (invented(variant) for variant in islice(count(), VARIANTS))
        return next((each for each in variants if of_value(self._world, type, each) == effect), value)

    def _disguised(self, text: str, variant: int = 0) -> str:
        """A text with other letters and digits of the same kind; everything else stays."""
        drawn = shake_256(self._digest(f"text {variant}", text)).digest(2 * len(text))
        numbers = (int.from_bytes(drawn[place : place + 2]) for place in range(0, len(drawn), 2))
        return "".join(_another(character, number) for character, number in zip(text, numbers, strict=True))

    def _digest(self, what: str, value: str) -> bytes:
        return hmac.digest(self._key, f"{what}/{value}".encode(), "sha256")


def _another(character: str, number: int) -> str:
    """Another character of the same kind."""
    if character.isdigit():
        return str(number % 10)
    if not character.isalpha():
        return character
    for first, last in _ALPHABETS:
        if first <= character <= last:
            return chr(ord(first) + number % (ord(last) - ord(first) + 1))
    letter = LETTERS[number % len(LETTERS)]
    return letter.upper() if character.isupper() else letter
