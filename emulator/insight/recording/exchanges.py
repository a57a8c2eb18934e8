"""The requests of a world with their answers, as a recording is made from them, and the ids that connect them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

MOVE = "advanceClock"
"""The operation that moves the clock."""


class Exchange(msgspec.Struct, frozen=True, kw_only=True):
    """A request and its answer. Bodies are JSON values, texts if they are no JSON, or None; secrets are masked.

    ``now`` is the world's instant at its beginning, ``jobs_until`` the instant of the last job that ran since the
    request before, None if none did. ``parameters`` are those in the path. ``place`` is the number of units of work
    that the world had before it.
    """

    id: str
    operation: str | None
    method: str
    path: str
    query: str
    parameters: dict[str, str]
    headers: dict[str, str]
    body: Any
    status: int
    answer: Any
    now: str
    jobs_until: str | None
    place: int

    @property
    def target(self) -> str:
        return f"{self.path}?{self.query}" if self.query else self.path


class RecordedStart(NamedTuple):
    """The recorded world at its start. ``cards`` are test cards by their last four digits."""

    app: str
    seed: int
    url: str
    settings: dict[str, Any]
    cards: Mapping[str, str]


class CausedEvent(NamedTuple):
    """The type of an event, and the id of the request behind it, directly or by a job; None where that does not matter."""

    type: str
    request: str | None


class ObjectList(msgspec.Struct, frozen=True):
    """Where an object stands in a list of ``GET /_emulator/objects``: ``related`` to an object or not, at ``index``.

    ``filter`` is the parameter that takes the id of the related object.
    """

    kind: str
    related: str | None
    index: int
    filter: str = "related"


# -- ids in requests and answers


ID = re.compile(r"\b[a-z]+_[0-9A-Za-z]{24}\b")

_KEY = re.compile(r"\w+", re.ASCII)


def ids_in(answer: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield the ids in an answer with the paths that lead to them, the object's own first."""
    if isinstance(answer, str):
        if ID.fullmatch(answer):
            yield path, answer
    elif isinstance(answer, dict):
        for name in sorted(filter(_KEY.fullmatch, answer), key="id".__ne__):
            yield from ids_in(answer[name], (*path, name))
    elif isinstance(answer, list):
        for index, each in enumerate(answer):
            yield from ids_in(each, (*path, index))


def request_ids(exchange: Exchange) -> set[str]:
    """Return everything in a request that looks like an id."""
    return set(ID.findall(msgspec.json.encode([exchange.target, exchange.body]).decode()))
