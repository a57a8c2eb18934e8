"""Where a fault can strike: the places of a story, and the faults that are tried at each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

REQUEST, DELIVERY = "request", "delivery"

SWAPPED = "swapped"

WRITES = frozenset(["POST", "PATCH", "PUT", "DELETE"])

AGAIN = "Send a request again"
LIMITED = "Wait when you are asked to"
OVERTAKEN = "Be ready for the webhook before the answer"
MISSED = "Ask for what never came"
REPEATED = "Handle an event once"
DISORDER = "Take events in any order"
FORGED = "Verify every webhook"
"""The sections of the guide's page "Test app" that say how to fix what a fault shows."""


class FaultKind(NamedTuple):
    """One way to go wrong. ``then`` is the effect of an arranged fault (B-94), ``sentence`` says it to people.

    ``section`` is that of the guide's page "Test app" which says how to be ready for it.
    """

    name: str
    about: str
    then: Mapping[str, Any]
    sentence: str
    section: str
    writes_only: bool = False


FAULT_KINDS = (
    FaultKind("drop-before", REQUEST, {"drop": "before"}, "connection lost before it was executed", AGAIN),
    FaultKind("drop-after", REQUEST, {"drop": "after"}, "answer lost after it was executed", AGAIN, writes_only=True),
    FaultKind(
        "error-after", REQUEST, {"code": "INTERNAL_ERROR", "executed": True}, "executed, but answered 500", AGAIN
    ),
    FaultKind("garbled", REQUEST, {"garble": True}, "executed, but its answer was unreadable", AGAIN, writes_only=True),
    FaultKind("timeout", REQUEST, {"hang_ms": 1000}, "executed, but never answered", AGAIN, writes_only=True),
    FaultKind(
        "slow", REQUEST, {"delay_ms": 500, "executed": True}, "executed, but answered late", OVERTAKEN, writes_only=True
    ),
    FaultKind("throttled", REQUEST, {"status": 429}, "answered 429 with Retry-After", LIMITED),
    FaultKind("lost", DELIVERY, {"lose": True}, "never delivered", MISSED),
    FaultKind("late", DELIVERY, {"delay": "1h"}, "delivered an hour late", DISORDER),
    FaultKind("twice", DELIVERY, {"duplicate": 1}, "delivered twice", REPEATED),
    FaultKind(SWAPPED, DELIVERY, {"reorder": True}, "delivered after the next one", DISORDER),
    FaultKind("forged", DELIVERY, {"forge": True}, "delivered after a forged copy of it", FORGED),
    FaultKind("answered-late", DELIVERY, {"late_answer": True}, "answered too late, so delivered again", REPEATED),
)
"""What is tried, in this order. A read has the same end whether its answer is lost, garbled or late."""


class Place(NamedTuple):
    """The ``number``-th request or delivery, from 1; ``title`` is ``POST /v1/refunds/`` or the type of an event.

    ``match`` finds it in another run: by operation or type of event, and its number among those. ``is_last`` says that
    the endpoint of this delivery gets no other one after it.
    """

    about: str
    number: int
    title: str
    is_last: bool = False
    match: Mapping[str, Any] | None = None

    def __str__(self) -> str:
        return f"{self.about} {self.number}, {self.title}"


class Case(NamedTuple):
    """One fault at one place; in a pair ``second`` is the other one, at a later place."""

    place: Place
    kind: FaultKind
    second: Case | None = None

    @property
    def name(self) -> str:
        """What names the case to ``--only``: ``4:drop-after``, of a pair ``4:drop-after+5:lost``."""
        first = f"{self.place.number}:{self.kind.name}"
        return f"{first}+{self.second.name}" if self.second else first

    @property
    def sentence(self) -> str:
        """What went wrong, for people."""
        first = f"{self.place}: {self.kind.sentence}"
        return f"{first}; and {self.second.sentence}" if self.second else first

    def fault(self) -> dict[str, Any]:
        """The body of ``POST /_emulator/faults`` that arranges its first fault where nothing has happened yet."""
        match = dict(self.place.match or {"nth": self.place.number})
        return {"match": match, "then": dict(self.kind.then), "times": 1}

    def faults(self) -> list[dict[str, Any]]:
        """The bodies for all its faults: one, or two of a pair."""
        return [self.fault(), *(self.second.faults() if self.second else [])]


def cases(places: Sequence[Place]) -> list[Case]:
    """Every fault that makes a difference, at every place."""
    return [Case(place, kind) for place in places for kind in FAULT_KINDS if _differs(place, kind)]


def pairs(cases: Sequence[Case]) -> list[Case]:
    """Each two cases at different places as one, those at places near each other first."""
    numbers = {place: number for number, place in enumerate(dict.fromkeys(_place(case) for case in cases))}

    def distance(pair: tuple[Case, Case]) -> int:
        return numbers[_place(pair[1])] - numbers[_place(pair[0])]

    both = [pair for pair in combinations(cases, 2) if distance(pair)]
    return [Case(first.place, first.kind, second) for first, second in sorted(both, key=distance)]


def named(name: str, cases: Sequence[Case]) -> Case | None:
    """The case with a name, or the pair of two of them; None if there is none."""
    found = {case.name: case for case in cases}
    first, _, second = name.partition("+")
    if first not in found or (second and second not in found):
        return None
    return Case(found[first].place, found[first].kind, found.get(second))


def parts(case: Case) -> Iterator[Case]:
    """A case, or the two of a pair."""
    yield Case(case.place, case.kind)
    if case.second:
        yield case.second


def _place(case: Case) -> tuple[str, int]:
    return case.place.about, case.place.number


def _differs(place: Place, kind: FaultKind) -> bool:
    if kind.about != place.about or (kind.name == SWAPPED and place.is_last):
        return False
    return not kind.writes_only or place.title.split()[0] in WRITES
