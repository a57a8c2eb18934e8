"""Redaction: masks card numbers, accounts, keys, passwords, tokens and secrets in displays.

One table of spellings serves the journal, the log, recordings and reports. A snapshot that is
shared is scrubbed: it keeps its structure, with invented secrets, names, emails, phones and
addresses, and can be restored.
"""

from __future__ import annotations

import hmac
import json
import re
import unicodedata
from base64 import b64decode, b64encode
from binascii import Error as InvalidBase64
from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import lru_cache
from hashlib import shake_256
from typing import Any
from urllib.parse import parse_qsl, quote_plus, unquote

import msgspec

from emulator.core.world import World
from emulator.document.tree import map_texts
from emulator.resources.customers import payment_details
from emulator.resources.customers.payment_details import magic_value_of

# The large ones are strings, which are compiled for the first text that may have a secret, and not
# at each start.

# What may stand between two digits of a card number, and between two characters of an account, but
# not of an address.
_GAP, _ACCOUNT_GAP = r"[^0-9A-Za-z]{0,3}", r"[^0-9A-Za-z@\"=&?<>{}\[\]]{0,3}"
# Groups as on a card, or single digits, with equal gaps; or any groups with usual gaps: no date
# begins with 4, 5 or 6.
_CARD = (
    r"(?<![0-9])(?=[2-9])(?=("
    rf"[0-9]{{4}}(?P<four>{_GAP})[0-9]{{4}}(?P=four)[0-9]{{4}}(?P=four)[0-9]{{1,4}}"
    r"(?:(?P=four)[0-9]{1,3})?(?![0-9])"
    rf"|[0-9]{{4}}(?P<six>{_GAP})[0-9]{{6}}(?P=six)[0-9]{{4,5}}(?![0-9])"
    rf"|[0-9](?P<one>{_GAP})[0-9](?:(?P=one)[0-9]){{11,17}}(?!(?P=one)?[0-9])"
    r"|[456](?:[\s\u200b-\u200d\u2060\ufeff_./\u00ad\u2010-\u2015\u2212-]{0,2}[0-9]){15}(?![0-9])))"
)
# Too many digits for one card may be several without a gap.
_SEVERAL_CARDS = re.compile(r"[0-9]{20,}")
_BRANDED = (
    r"4\d{12}(?:\d{3}){0,2}|(?:2[2-7]|35|[56]\d|81|82|97)\d{14}"
    r"|3[47]\d{13}|3[0689]\d{12}|6\d{16,18}"
)
_ACCOUNT = (
    rf"(?i)(?=([A-Z]{_ACCOUNT_GAP}[A-Z]{_ACCOUNT_GAP}[0-9]{_ACCOUNT_GAP}[0-9]"
    rf"(?:{_ACCOUNT_GAP}[A-Z0-9]){{11,30}}))"
)
_NO_CHARACTERS = re.compile(r"[^0-9A-Za-z]+")

# Each shows its first part and masks its second. English words end as keys begin: task_test.
_KEY = r"(?i)(?<!ri|ta|di|ma|de)([sp]k_(?:test|prod)_)([a-z0-9_-]+)"
_WEBHOOK_SECRET = re.compile(r"(?i)(whsec_)([0-9a-z+/=_-]+)")
_WEB_TOKEN = re.compile(r"(?<![\w-])(eyJ)([\w-]{10,}\.[\w-]{10,}(?:\.[\w-]*)?)")
_PASSWORD = re.compile(r"(//[^/\s:@\"'<>?#]*:)([^/\s\"'<>]+)(?=@)")
_LIVE_KEY = r"(?i)(?<!ri|ta|di|ma|de)[sp]k_prod_[a-z0-9_-]"
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{12,}")

_CARD_NAME, _CODE_NAME = r"(?:card_?)?number|pan", r"(?:cvc|cvv|csc|pin)2?"
_OTHER_NAME = (
    r"(?:iban|account_?number|secret|passw(?:or)?d|token|signature|sig|authorization|bearer|credential|jwt"
    r"|(?:api|access|private)[_-]?key)s?"
)
_NAME = re.compile(
    rf"(?i)(?:.*[.\[\]])?\s*(?:({_CARD_NAME})|({_CODE_NAME})|[\w-]*{_OTHER_NAME})\s*\]?"
)
_NAMED = (
    rf"(?i)((?<![\w.-])(?:({_CARD_NAME})|({_CODE_NAME})|[\w.-]{{0,60}}{_OTHER_NAME}|(?:^|(?<=[?&]))[\w-]{{0,60}}key)"
    r"\]?(?:\\*[\"']\s*:\s*\[?\s*|=)(?:\\*[\"'])?(?:(?:basic|bearer)\s+)?)((?<=[\"'])[^\"'\\]+|[^\"'\\&\s,;}{\[\]#]+)"
)

_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|[nrt])")

# Every body is searched for these: a pattern that begins with a digit skips all else at once.
_MANY_DIGITS = re.compile(rf"[0-9](?<![0-9][0-9])(?:{_GAP}[0-9]){{12}}")
_LIKE_AN_ACCOUNT = re.compile(
    rf"[0-9](?:(?<=[A-Z]{{2}}[0-9])[0-9](?:{_ACCOUNT_GAP}[A-Z0-9]){{11}}|(?<=[a-z]{{2}}[0-9])[0-9](?:{_ACCOUNT_GAP}[a-z0-9]){{11}})"
)
_MARK = re.compile(r"%|\\|k_test_|k_prod_|whsec_|eyj")
_NAME_PART = re.compile(
    "number|cvc|cvv|csc|pin|pan|iban|secret|passw|token|sig|authorization|bearer|credential|jwt|key"
)
_NAMED_VALUE = re.compile(rf"(?:{_CARD_NAME}|{_CODE_NAME}|{_OTHER_NAME}|key)\]?\\*[\"'=]")

LEAST_NUMBER = 10**12
"""The least integer that has as many digits as a card number."""

Mask = Callable[[str], str]
"""Returns the text that stands in the place of a secret."""


def stars(secret: str) -> str:
    return "****"


def has_live_key(*texts: str) -> bool:
    """Return whether these texts contain a live key (``sk_prod_…``, ``pk_prod_…``) in any form."""
    plain_parts = (
        part for text in texts for part in (_plain(text), *map(_decoded, _BASE64.findall(text)))
    )
    return any(re.search(_LIVE_KEY, part) for part in plain_parts)


def _decoded(text: str) -> str:
    """Return the text behind Base64, as far as it has whole groups of four."""
    whole = text[: len(text) // 4 * 4].replace("-", "+").replace("_", "/")
    return b64decode(whole).decode("latin-1")


def redact(text: bytes) -> bytes:
    """Return a body, path or query without secrets; one that had some is shown in UTF-8."""
    texts = [text.replace(b"\0", b"").decode("utf-8", "replace")]
    if b"\0" in text:
        texts = [
            *(text.decode(encoding, "replace") for encoding in ("utf-16-le", "utf-16-be")),
            *texts,
        ]
    for plain in texts:
        if (redacted := redact_text(plain)) != plain:
            return redacted.encode()
    return text


def redact_header(name: str, value: str) -> str:
    """Return a header's value without secrets, by its lower-case name."""
    return stars(value) if name in ("cookie", "set-cookie") else str(redact_field(name, value))


def redact_field(name: str, value: Any, mask: Mask = stars) -> Any:
    """Return a field's value without secrets; its name may make all of it one, at any depth."""
    return redact_value(value, mask, _NAME.fullmatch(name))


def redact_value(value: Any, mask: Mask = stars, named: re.Match[str] | None = None) -> Any:
    """Return a JSON value without secrets; ``named`` is the name of one that holds nothing else."""
    if isinstance(value, dict):
        return {
            redact_text(name, mask): redact_value(part, mask, named or _NAME.fullmatch(name))
            for name, part in value.items()
        }
    if isinstance(value, list | tuple):
        return [redact_value(part, mask, named) for part in value]
    if value is None or isinstance(value, bool) or value == "":
        return value
    if named is not None:
        return _redact_named(str(value), named, mask)
    return redact_text(value, mask) if isinstance(value, str) else _redact_number(value)


def _redact_number(value: float) -> Any:
    """Return a number of JSON, or its mask where its digits are those of a card."""
    if not LEAST_NUMBER <= abs(value) < 10**19:
        return value
    # An integer as it is: as a floating point number it would lose digits from the 17th on.
    digits = str(abs(value)) if isinstance(value, int) else f"{abs(value):.0f}"
    return _last_four(digits) if _is_card(digits) else value


def redact_text(text: str, mask: Mask = stars) -> str:
    """Return a text, JSON, form or URL without secrets; last four digits and keys' starts stay."""
    if not _may_have_secrets(text if text.isascii() else _in_ascii(text)):
        return text
    if text.lstrip()[:1] in ("{", "[", '"'):
        try:
            value = json.loads(text, object_pairs_hook=_unique)
            redacted = redact_value(value, mask)
            return text if redacted == value else msgspec.json.encode(redacted).decode()
        except (ValueError, RecursionError):
            pass
    text = _redact_form(text, mask)
    plain = _plain(text)  # as a reader would see it
    # First, because the digits of an account look like a card.
    redacted = _replaced(_ACCOUNT, plain, _account)
    redacted = _replaced(_CARD, _SEVERAL_CARDS.sub(_redact_several, redacted), _card)
    for pattern in (_KEY, _WEBHOOK_SECRET, _WEB_TOKEN, _PASSWORD):
        redacted = re.sub(pattern, lambda match: match[1] + mask(match[2]), redacted)
    redacted = re.sub(
        _NAMED, lambda match: match[1] + _redact_named(match[4], match, mask, by=1), redacted
    )
    return text if redacted == plain else redacted


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of JSON; ``ValueError`` if a name stands twice, for it hides a value."""
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise ValueError
    return fields


def _redact_form(text: str, mask: Mask) -> str:
    """Return a form or a query redacted, and any other text as it is."""
    path, mark, query = text.rpartition("?")
    fields = parse_qsl(query, keep_blank_values=True) if "=" in query and " " not in query else []
    redacted = [
        (redact_text(name, mask), str(redact_field(name, value, mask))) for name, value in fields
    ]
    if redacted == fields:
        return text
    return (
        path
        + mark
        + "&".join("=".join(quote_plus(part, safe="*") for part in pair) for pair in redacted)
    )


def _plain(text: str) -> str:
    """Return a text with escapes resolved, and digits and letters of any script as ASCII."""
    plain = text
    if "\\" in text:
        plain = _ESCAPE.sub(lambda match: chr(int(match[1] or "20", 16)), text)
        # A character may have been escaped in two halves, and the text may break off between them.
        plain = plain.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    plain = unquote(unquote(plain)) if "%" in plain else plain  # a URL may hold a URL
    return plain if plain.isascii() else _in_ascii(plain)


def _in_ascii(text: str) -> str:
    return re.sub(r"[^\x00-\x7f]", lambda match: _character_in_ascii(match[0]), text)


@lru_cache(maxsize=4096)
def _character_in_ascii(character: str) -> str:
    if character.isdecimal():
        return str(unicodedata.decimal(character))
    normalized = unicodedata.normalize("NFKC", character)
    return normalized if normalized.isascii() and normalized.isalnum() else character


def _may_have_secrets(text: str) -> bool:
    """Return whether a text must be looked at closely to know; most need not be."""
    lower = text.lower()
    return (
        _MARK.search(lower) is not None
        or _MANY_DIGITS.search(text) is not None
        or _LIKE_AN_ACCOUNT.search(text) is not None
        or ("@" in text and _PASSWORD.search(text) is not None)
        # The first of these two patterns is quick, and seldom finds anything.
        or (_NAME_PART.search(lower) is not None and _NAMED_VALUE.search(lower) is not None)
    )


def _redact_named(text: str, named: re.Match[str], mask: Mask, by: int = 0) -> str:
    """Return a name's masked value: a card's for the first group after ``by``, else a code's."""
    if named[by + 1]:
        return _last_four(text)
    start = "whsec_" if text.startswith("whsec_") else ""
    return "***" if named[by + 2] else start + mask(text[len(start) :])


def _last_four(text: str) -> str:
    """Return a masked number's last four digits; short or lettered numbers are no card's."""
    digits = [character for character in text if character.isdigit()]
    is_card = len(digits) > (11 if any(map(str.isalpha, text)) else 4)
    return "****" + "".join(digits[-4:]) if is_card else redact_text(text)


def _redact_several(match: re.Match[str]) -> str:
    rest, parts = match[0], []
    while length := next((length for length in (16, 15) if _is_card(rest[:length])), 0):
        parts.append(_last_four(rest[:length]))
        rest = rest[length:]
    return "".join([*parts, rest])


def _replaced(
    pattern: str, text: str, replacement: Callable[[re.Match[str]], tuple[int, str]]
) -> str:
    """Return a text with a pattern's matches replaced, as far as ``replacement`` says."""
    parts, done = [], 0
    for match in re.finditer(pattern, text):
        length, redacted = replacement(match) if match.start() >= done else (0, "")
        if length:
            parts += [text[done : match.start()], redacted]
            done = match.start() + length
    return "".join([*parts, text[done:]])


def _account(match: re.Match[str]) -> tuple[int, str]:
    """Return the length of an account number at the start of the text, and its mask."""
    number = _NO_CHARACTERS.sub("", match[1])
    number = number[: payment_details.iban_length(number[:2].upper())]
    if not (number.isupper() or number.islower()) or not payment_details.is_iban(number.upper()):
        return 0, ""
    places = [place for place, character in enumerate(match[1]) if character.isalnum()]
    return places[len(number) - 1] + 1, "****"


def _card(match: re.Match[str]) -> tuple[int, str]:
    """Return the length and mask of a card number; after a plus, under 15 digits are a phone's."""
    least = 15 if match.string[match.start() - 1 : match.start()] == "+" else 13
    for number in (match[1], match[1].rpartition(match["four"])[0] if match["four"] else ""):
        digits = _NO_CHARACTERS.sub("", number)
        if len(digits) >= least and _is_card(digits):
            return len(number), _last_four(digits)
    return 0, ""


def _is_card(digits: str) -> bool:
    return re.fullmatch(_BRANDED, digits) is not None and payment_details.is_card_number(digits)


# -- a snapshot to share


_EMAIL = re.compile(r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*")
_PHONE = re.compile(r"(?<![\w+])\+[1-9]\d{6,14}(?!\d)")

PHONE_PREFIX = 6
"""Visible characters of a phone number: country and operator, to recognize the number."""

SHORTEST = 4
"""Characters that a name must have to be looked for within other texts."""

_WITHIN_WORD = re.compile(r"\w\w")

VARIANTS = 200
"""Invented values to try until one has the effect of the original magic value (B-54)."""

PERSONAL = frozenset(
    ["firstname", "lastname", "line1", "line2", "city", "state", "postal_code", "holder"]
)
"""Fields with names of people and parts of addresses, in every kind of record."""

ADDRESS = frozenset(["line1", "line2", "city", "state", "postal_code"])
PERSON = frozenset(["email", "phone"])
"""An object that has one of these fields is a person, so its ``name`` is one of a person."""

LETTERS = "abcdefghijklmnopqrstuvwxyz"
_ALPHABETS = (
    ("\u0621", "\u064a"),
    ("\u0430", "\u044f"),
    ("\u03b1", "\u03c9"),
    ("\u4e00", "\u9fa5"),
)
"""First and last letter of the scripts that stay what they are; other letters become Latin ones."""


def _opened(table: dict[str, Any]) -> dict[str, Any]:
    """Return a table with the bodies that are stored for Idempotency-Keys, JSON in base64, read.

    Names are looked for in all texts at the end, so in those of the bodies too.
    """
    return {number: _with_body(record, _read_body) for number, record in table.items()}


def _closed(table: dict[str, Any]) -> dict[str, Any]:
    """Return a table with the bodies that were read written as before."""
    return {number: _with_body(record, _written_body) for number, record in table.items()}


def _with_body(record: dict[str, Any], change: Callable[[Any], Any]) -> dict[str, Any]:
    return {**record, "body": change(record["body"])} if "fingerprint" in record else record


def _read_body(body: str) -> Any:
    try:
        read = json.loads(b64decode(body))
    except (InvalidBase64, ValueError):
        return body
    return read if isinstance(read, dict) else body


def _written_body(body: Any) -> Any:
    if not isinstance(body, dict):
        return body
    return b64encode(msgspec.json.encode(body)).decode()


class Scrubber:
    def __init__(self, world: World) -> None:
        self._world = world
        self._key = f"{world.seed}/{world.name}".encode()
        self._names: dict[str, str] = {}
        # Names by their first word, the longest first.
        self._beginning: defaultdict[str, list[str]] = defaultdict(list)

    def tables(self, exported: dict[str, Any]) -> dict[str, Any]:
        """Return the tables scrubbed: values of fields first, then those values in other texts."""
        heads = {
            number: {**head, "seed": self._digest("seed", str(head["seed"])).hex()}
            for number, head in exported["worlds"].items()
        }
        kinds = {
            name: table
            for name, table in exported.items()
            if name not in ("emulator", "worlds", "snapshots")
        }
        # A webhook secret becomes an invented one, so that webhooks are still signed.
        replaced = {
            name: self._replaced(redact_value(_opened(table), self._disguised))
            for name, table in kinds.items()
        }
        for name in sorted(
            (name for name in self._names if len(name) >= SHORTEST), key=len, reverse=True
        ):
            self._beginning["".join(re.findall(r"^\w+", name))].append(name)
        replaced = map_texts(replaced, lambda text: _replaced(r"\w+", text, self._name_at))
        closed = {name: _closed(table) for name, table in replaced.items()}
        return {**exported, "worlds": heads, **closed}

    # -- fields

    def _replaced(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {name: self._field(name, part, value) for name, part in value.items()}
        if isinstance(value, list):
            return [self._replaced(part) for part in value]
        return self._text(value) if isinstance(value, str) else value

    def _field(self, name: str, value: Any, owner: Mapping[str, Any]) -> Any:
        if not isinstance(value, str) or not value:
            return self._replaced(value)
        if name == "state" and not ADDRESS & (owner.keys() - {"state"}):
            return value
        if name in PERSONAL or (name == "name" and owner.keys() & PERSON):
            return self._name(value)
        return self._text(value)

    def _name(self, value: str) -> str:
        if value not in self._names:
            self._names[value] = self._disguised(value)
        return self._names[value]

    def _name_at(self, word: re.Match[str]) -> tuple[int, str]:
        """Return the length of a name that begins with a word of a text, and the invented one."""
        for name in self._beginning.get(word[0], ()):
            end = word.start() + len(name)
            if word.string.startswith(name, word.start()) and not _WITHIN_WORD.match(
                word.string, end - 1
            ):
                return len(name), self._names[name]
        return 0, ""

    # -- texts

    def _text(self, text: str) -> str:
        if "@" in text:
            text = _EMAIL.sub(lambda match: self._email(match[0]), text)
        if "+" in text:
            text = _PHONE.sub(lambda match: self._phone(match[0]), text)
        return text

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
        """Return an invented value with the operator's same outcome; perhaps only a magic value."""
        effect = magic_value_of(self._world, type, value)
        variants = map(invented, range(VARIANTS))
        return next(
            (
                variant
                for variant in variants
                if magic_value_of(self._world, type, variant) == effect
            ),
            value,
        )

    def _disguised(self, text: str, variant: int = 0) -> str:
        """Return a text with other letters and digits of the same kind; everything else stays."""
        drawn = shake_256(self._digest(f"text {variant}", text)).digest(2 * len(text))
        numbers = (int.from_bytes(drawn[place : place + 2]) for place in range(0, len(drawn), 2))
        return "".join(
            _another(character, number) for character, number in zip(text, numbers, strict=True)
        )

    def _digest(self, purpose: str, value: str) -> bytes:
        return hmac.digest(self._key, f"{purpose}/{value}".encode(), "sha256")


def _another(character: str, number: int) -> str:
    if character.isdigit():
        return str(number % 10)
    if not character.isalpha():
        return character
    for first, last in _ALPHABETS:
        if first <= character <= last:
            return chr(ord(first) + number % (ord(last) - ord(first) + 1))
    letter = LETTERS[number % len(LETTERS)]
    return letter.upper() if character.isupper() else letter
