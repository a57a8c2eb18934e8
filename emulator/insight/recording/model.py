"""A recording's steps. A later one names an earlier response by a reference: a code variable."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

Path = tuple[str | int, ...]
"""The keys and indexes that lead to a value in a response."""


class Reference(NamedTuple):
    """A value in the response to an earlier call; without a call, the emulator's own URL."""

    call: Call | None
    path: Path = ()


class Text(NamedTuple):
    """A text with references in it."""

    parts: tuple[str | Reference, ...]


def joined(parts: Iterable[str | Reference]) -> str | Text:
    """Return a text of these parts: a plain one where none is a reference."""
    merged: list[str | Reference] = []
    for part in parts:
        last = merged[-1] if merged else None
        if isinstance(part, str) and isinstance(last, str):
            merged[-1] = last + part
        elif part:
            merged.append(part)
    return (
        "".join(map(str, merged))
        if all(isinstance(part, str) for part in merged)
        else Text(tuple(merged))
    )


def parts(text: str | Text) -> tuple[str | Reference, ...]:
    """Return a text as its literal parts and its references, in order."""
    return text.parts if isinstance(text, Text) else (text,) if text else ()


def dotted(path: Path) -> str:
    """Return a path as JavaScript and jq write it: ``.data[0].id``."""
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path)


@dataclass(eq=False)
class Call:
    """A request and its response's status; ``path`` has the query. Its texts may have references.

    ``kind`` is the kind of object in the response. Where later calls refer to it, ``used`` has the
    paths, and ``name`` is its variable.
    """

    method: str
    path: str | Text
    status: int
    kind: str
    headers: dict[str, Any] = field(default_factory=dict)
    body: Any = None
    used: set[Path] = field(default_factory=set)
    name: str | None = None


class ClockMove(NamedTuple):
    """A move of the clock; ``fields`` are those of ``POST /_emulator/clock/advance``."""

    fields: dict[str, str]


class Recording(NamedTuple):
    """A world at its start, the steps that were made in it, and the events that are expected.

    ``clock`` is the instant (UTC) at which the frozen clock starts, ``settings`` those that differ
    from the defaults. ``events`` are the types of all events, oldest first; None if they are too
    many to be expected.
    """

    seed: int
    clock: str
    settings: dict[str, Any]
    steps: list[Call | ClockMove]
    events: list[str] | None
