"""A request as the journal of a world stores it, and how it is shown: without card numbers, keys and secrets."""

from __future__ import annotations

import string
from collections.abc import Iterable
from functools import lru_cache

import msgspec

from emulator.core.calendar import Timestamp
from emulator.engine.redaction import redact, redact_header

MAX_BODY_BYTES = 64 * 1024
"""Bytes of a body that are stored and shown."""

_NO_LETTERS = (string.digits + string.punctuation + string.whitespace).encode()


class Checkpoint(msgspec.Struct, frozen=True, gc=False):
    """A place in a world's history: how many units of work came before, and what clock and counters were then.

    ``replaced`` is how often the world had been rewound, restored or reset by then.
    """

    units: int
    now: Timestamp
    counters: dict[str, int]
    replaced: int


class LoggedRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One request and its answer, with the world's history before (``checkpoint``) and after it (``last_unit``).

    ``began`` and ``answered`` are real time, in seconds of a monotonic clock. The request's body, which may hold a card
    number, is redacted before it is stored; path, query, headers and answer when they are shown. Checkpoints and
    requests hold no reference to themselves, so the garbage collector need not look at them (see ``Record``).
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
    answer: bytes
    began: float
    answered: float

    @property
    def duration_ms(self) -> float:
        """How long the answer took, in milliseconds."""
        return round((self.answered - self.began) * 1000, 3)

    @property
    def target(self) -> str:
        """Path and query, redacted."""
        path = self.path.encode()
        return redacted_text(path + b"?" + self.query if self.query else path)


def redacted_body(body: bytes) -> bytes:
    """A body as it is stored: redacted and cut to ``MAX_BODY_BYTES``."""
    if not body:
        return body
    whole = redact(_cut(body))
    return whole if len(whole) <= MAX_BODY_BYTES else _cut(whole)


def _cut(body: bytes) -> bytes:
    """The beginning of a large body, without a number at its end, which could be the beginning of a card number."""
    return body if len(body) <= MAX_BODY_BYTES else body[:MAX_BODY_BYTES].rstrip(_NO_LETTERS)


def redacted_text(text: bytes) -> str:
    """A body or a path as it is shown."""
    return redact(_cut(text)).decode("utf-8", "replace")


@lru_cache(maxsize=256)
def redacted_path(path: str) -> str:
    """A path as it is shown. Clients ask for few paths, again and again."""
    return redacted_text(path.encode())


def redacted_headers(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Headers as they are shown."""
    pairs = ((name.decode("latin-1"), value.decode("latin-1")) for name, value in headers)
    return {name: redact_header(name, value) for name, value in pairs}
