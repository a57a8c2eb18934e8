"""The cases of ``test app``: the places of a scenario, the faults that can strike at each, and the order they are tried in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import combinations, zip_longest
from typing import Any, NamedTuple

# -- places, and the faults that are tried at each


REQUEST, DELIVERY = "request", "delivery"

SWAPPED = "swapped"

WRITES = frozenset(["POST", "PATCH", "PUT", "DELETE"])


class Advice(NamedTuple):
    """What a fault shows, and the section of the guide's page "Test app" that says how to be ready for it."""

    problem: str
    section: str


AGAIN = Advice("A request whose response is lost is not recovered", "Send a request again")
LIMITED = Advice("A 429 is not waited for and tried again", "Wait when you are asked to")
OVERTAKEN = Advice(
    "A webhook that comes before the response is not understood", "Be ready for the webhook before the answer"
)
MISSED = Advice("What a lost webhook would have said is never asked for", "Ask for what never came")
REPEATED = Advice("An event that comes twice is handled twice", "Handle an event once")
DISORDER = Advice("An event that comes late undoes a newer state, or is not understood", "Take events in any order")
FORGED = Advice("A forged webhook is believed", "Verify every webhook")


class FaultKind(NamedTuple):
    """One way to go wrong. ``then`` is the effect of an arranged fault (B-94), ``sentence`` says it to people."""

    name: str
    about: str
    then: Mapping[str, Any]
    sentence: str
    advice: Advice
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
"""What is tried. A read has the same end whether its answer is lost, garbled or late."""


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
    """Return every fault that makes a difference, at every place, in the order in which they are tried.

    Each kind has one case in each round, so that a budget which ends early has seen all kinds; and the places of a
    kind come from all over the scenario, each kind beginning elsewhere.
    """
    columns = []
    for number, kind in enumerate(FAULT_KINDS):
        column = [Case(place, kind) for place in places if _differs(place, kind)]
        start = number * len(column) // len(FAULT_KINDS)
        columns.append(_spread([*column[start:], *column[:start]]))
    return [case for round in zip_longest(*columns) for case in round if case]


def _spread(column: list[Case]) -> list[Case]:
    """Return the cases so that the first few come from all over the list: its halves, quarters, eighths …"""
    width = max(len(column) - 1, 1).bit_length()
    order = (int(f"{number:0{width}b}"[::-1], 2) for number in range(2**width))
    return [column[index] for index in order if index < len(column)]


def pairs(cases: Sequence[Case]) -> list[Case]:
    """Return each two cases at different places as one, those at places near each other first."""
    ordered = sorted(cases, key=lambda case: (case.place.about != REQUEST, case.place.number))
    numbers = {place: number for number, place in enumerate(dict.fromkeys(_place(case) for case in ordered))}

    def distance(pair: tuple[Case, Case]) -> int:
        return numbers[_place(pair[1])] - numbers[_place(pair[0])]

    both = [pair for pair in combinations(ordered, 2) if distance(pair)]
    return [Case(first.place, first.kind, second) for first, second in sorted(both, key=distance)]


def chosen(cases: Sequence[Case], patterns: Sequence[str]) -> list[Case]:
    """Return the cases that patterns name: ``5:drop-after``, ``*:twice``, ``5:*``, a kind such as ``twice``, or a pair.

    Raises ``LookupError`` for a pattern that names none.
    """
    if not patterns:
        return list(cases)
    found: dict[str, Case] = {}
    for pattern in patterns:
        matching = _matching(cases, pattern)
        if not matching:
            raise LookupError(_unknown(pattern, cases))
        found |= {case.name: case for case in matching}
    return list(found.values())


def _matching(cases: Sequence[Case], pattern: str) -> list[Case]:
    first, _, second = pattern.partition("+")
    if second:
        both = _matching(cases, first)[:1], _matching(cases, second)[:1]
        return [Case(one.place, one.kind, other) for one, other in zip(*both, strict=False)]
    return [case for case in cases if fnmatchcase(case.name, pattern) or fnmatchcase(case.kind.name, pattern)]


def _unknown(pattern: str, every: Sequence[Case]) -> str:
    """Return what the scenario has instead of a case."""
    number, _, kind = pattern.rpartition(":")
    near = sorted(case.name for case in every if str(case.place.number) == number)
    last = max((case.place.number for case in every), default=0)
    has = f"at {number} it has {', '.join(near)}" if near else f"its places are 1 to {last}"
    if not number and kind not in {each.name for each in FAULT_KINDS}:
        has = f"kinds of fault are {', '.join(each.name for each in FAULT_KINDS)}"
    return f"{pattern} is no case of this scenario; {has}"


def parts(case: Case) -> Iterator[Case]:
    """Yield a case, or the two of a pair."""
    yield Case(case.place, case.kind)
    if case.second:
        yield case.second


def _place(case: Case) -> tuple[str, int]:
    return case.place.about, case.place.number


def _differs(place: Place, kind: FaultKind) -> bool:
    if kind.about != place.about or (kind.name == SWAPPED and place.is_last):
        return False
    return not kind.writes_only or place.title.split()[0] in WRITES
