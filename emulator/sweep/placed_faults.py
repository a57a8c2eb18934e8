"""Where a fault can strike: the places of a story, and the faults that are tried at each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

REQUEST, DELIVERY = "request", "delivery"

SWAPPED = "swapped"

WRITES = frozenset(["POST", "PATCH", "PUT", "DELETE"])


class FaultKind(NamedTuple):
    """One way to go wrong. ``then`` is the effect of an arranged fault (B-94), ``sentence`` says it to people."""

    name: str
    about: str
    then: Mapping[str, Any]
    sentence: str
    writes_only: bool = False


FAULT_KINDS = (
    FaultKind("drop-before", REQUEST, {"drop": "before"}, "connection lost before it was executed"),
    FaultKind("drop-after", REQUEST, {"drop": "after"}, "answer lost after it was executed", writes_only=True),
    FaultKind("garbled", REQUEST, {"garble": True}, "executed, but its answer was unreadable", writes_only=True),
    FaultKind("throttled", REQUEST, {"status": 429}, "answered 429 with Retry-After"),
    FaultKind("lost", DELIVERY, {"lose": True}, "never delivered"),
    FaultKind("late", DELIVERY, {"delay": "1h"}, "delivered an hour late"),
    FaultKind("twice", DELIVERY, {"duplicate": 1}, "delivered twice"),
    FaultKind(SWAPPED, DELIVERY, {"reorder": True}, "delivered after the next one"),
)
"""What is tried, in this order. A read has the same end whether it is lost before or after its execution."""


class Place(NamedTuple):
    """The ``number``-th request or delivery, from 1; ``title`` is ``POST /v1/refunds/`` or the type of an event.

    ``is_last`` says that the endpoint of this delivery gets no other one after it.
    """

    about: str
    number: int
    title: str
    is_last: bool = False

    def __str__(self) -> str:
        return f"{self.about} {self.number}, {self.title}"


class Case(NamedTuple):
    """One fault at one place."""

    place: Place
    kind: FaultKind

    @property
    def name(self) -> str:
        """What names the case to ``--only``: ``4:drop-after``."""
        return f"{self.place.number}:{self.kind.name}"

    @property
    def sentence(self) -> str:
        """What went wrong, for people."""
        return f"{self.place}: {self.kind.sentence}"

    def fault(self) -> dict[str, Any]:
        """The body of ``POST /_emulator/faults`` that arranges it in a world where nothing has happened yet."""
        return {"match": {"nth": self.place.number}, "then": dict(self.kind.then), "times": 1}


def cases(places: Sequence[Place]) -> list[Case]:
    """Every fault that makes a difference, at every place."""
    return [Case(place, kind) for place in places for kind in FAULT_KINDS if _differs(place, kind)]


def _differs(place: Place, kind: FaultKind) -> bool:
    if kind.about != place.about or (kind.name == SWAPPED and place.is_last):
        return False
    return not kind.writes_only or place.title.split()[0] in WRITES
