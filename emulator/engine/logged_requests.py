"""A request and its response in the journal, as they are stored and shown.

Neither is shown with card numbers, keys or secrets in it.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import msgspec

from emulator.core.calendar import Timestamp
from emulator.core.world import json_or_text
from emulator.engine.redaction import redact, redact_header

MAX_BODY_BYTES = 64 * 1024
"""Bytes of a body that are stored and shown."""

_NO_LETTERS = (string.digits + string.punctuation + string.whitespace).encode()


class Checkpoint(msgspec.Struct, frozen=True, gc=False):
    """A place in a world's history: the units of work before, and the clock and counters then.

    ``replaced`` is how often the world had been rewound, restored or reset by then.
    """

    units: int
    now: Timestamp
    counters: dict[str, int]
    replaced: int


class LoggedRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One request and its response; the history before (``checkpoint``) and after (``last_unit``).

    ``began`` and ``answered`` are real time, in seconds of a monotonic clock. The request's body,
    which may hold a card number, is redacted before it is stored; path, query, headers and the
    response when they are shown. Checkpoints and requests hold no reference to themselves, so the
    garbage collector need not look at them (see ``Record``).
    """

    id: str
    checkpoint: Checkpoint
    last_unit: int
    operation: str | None
    method: str
    path: str
    query: bytes
    headers: list[tuple[bytes, bytes]]
    body: bytes
    status: int
    response: bytes
    began: float
    answered: float

    @property
    def duration_ms(self) -> float:
        return round((self.answered - self.began) * 1000, 3)

    @property
    def target(self) -> str:
        path = self.path.encode()
        return redacted_text(path + b"?" + self.query if self.query else path)

    @property
    def error_code(self) -> str | None:
        """The response's error code, in any shape (B-10); None for a success or another body."""
        code = _CODE_IN_RESPONSE.search(self.response) if self.status >= 400 else None
        return code[1].decode() if code else None


_CODE_IN_RESPONSE = re.compile(rb'"code":\s?"(\w{1,60})"')


def redacted_body(body: bytes) -> bytes:
    """Return a body as it is stored: redacted and cut to ``MAX_BODY_BYTES``."""
    if not body:
        return body
    whole = redact(_cut(body))
    return whole if len(whole) <= MAX_BODY_BYTES else _cut(whole)


def _cut(body: bytes) -> bytes:
    """Return a large body's beginning, not ending in a number: it may begin a card number."""
    return body if len(body) <= MAX_BODY_BYTES else body[:MAX_BODY_BYTES].rstrip(_NO_LETTERS)


def redacted_text(text: bytes) -> str:
    return redact(_cut(text)).decode("utf-8", "replace")


def readable(body: bytes) -> Any:
    """Return a body as it is shown: as JSON if it is JSON, else as text; None if it is empty."""
    return json_or_text(redacted_text(body))


@lru_cache(maxsize=256)
def redacted_path(path: str) -> str:
    """Return a path as it is shown; cached, because clients ask for few paths again and again."""
    return redacted_text(path.encode())


def redacted_headers(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    pairs = ((name.decode("latin-1"), value.decode("latin-1")) for name, value in headers)
    return {name: redact_header(name, value) for name, value in pairs}
