"""The cases of ``test app``: the places of a scenario, the faults that can strike at each, and the order they are tried in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import combinations, zip_longest
from typing import Any, NamedTuple

from emulator.document.paths import fixture

# -- places, and the faults that are tried at each


REQUEST, DELIVERY, CHARGE = "request", "delivery", "charge"

SWAPPED, STALE = "swapped", "stale"

WRITES = frozenset(["POST", "PATCH", "PUT", "DELETE"])


class Advice(NamedTuple):
    """What a fault shows, and the section of the guide's page "Test app" that says how to be ready for it."""

    problem: str
    section: str
    follows: bool = False


_TABLES = fixture("app-faults")

ADVICE: Mapping[str, Advice] = {name: Advice(**row) for name, row in _TABLES["advice"].items()}

AGAIN, RACING, REPEATED, UNSTEADY = (ADVICE[name] for name in ("again", "racing", "repeated", "unsteady"))

FOLLOWS = [each.problem for each in ADVICE.values() if each.follows]
"""The problems that follow from handling an event that comes twice twice; they are not reported beside it."""


SLOW_READS = {"match": {"method": "GET"}, "then": {"delay_ms": 100, "executed": True}, "probability": 1}
"""What a receiver reads while an event comes twice at the same moment takes time, so that the two surely meet."""


class FaultKind(NamedTuple):
    """One way to go wrong. ``then`` is the effect of an arranged fault (B-94), ``sentence`` says it to people.

    With ``kills`` the application's process is ended. Such a kind, and one with ``asked``, is tried only where it is
    asked for.
    """

    name: str
    about: str
    sentence: str
    advice: Advice
    then: Mapping[str, Any] = {}
    writes_only: bool = False
    kills: bool = False
    asked: bool = False


FAULT_KINDS = [FaultKind(name, **{**row, "advice": ADVICE[row["advice"]]}) for name, row in _TABLES["faults"].items()]
"""The faults that are tried, in this order."""


class Place(NamedTuple):
    """The ``number``-th request, delivery or charge by itself, from 1; ``title`` is ``POST /v1/refunds/`` or an event.

    ``match`` finds it in another run: by operation or type of event, and its number among those. ``is_last`` says that
    the endpoint of this delivery gets no other one after it, ``stale`` how late it comes after the last one about the
    same customer, where that is later than an hour. ``at`` and ``until`` are when a charge begins, and an hour later.
    """

    about: str
    number: int
    title: str
    is_last: bool = False
    match: Mapping[str, Any] | None = None
    stale: str | None = None
    at: str | None = None
    until: str | None = None

    def __str__(self) -> str:
        return f"{self.about} {self.number}, {self.title}"


class Case(NamedTuple):
    """One fault at one place; in a pair ``second`` is the other one, at a later place."""

    place: Place
    kind: FaultKind
    second: Case | None = None

    @property
    def name(self) -> str:
        """The name of the case for ``--only``: ``4:drop-after``, of a pair ``4:drop-after+5:lost``."""
        first = f"{self.place.number}:{self.kind.name}"
        return f"{first}+{self.second.name}" if self.second else first

    @property
    def sentence(self) -> str:
        """What went wrong, for people."""
        first = f"{self.place}: {self.kind.sentence}"
        return f"{first}; and {self.second.sentence}" if self.second else first

    def fault(self) -> dict[str, Any]:
        """Return the body of ``POST /_emulator/faults`` that arranges its first fault where nothing has happened yet."""
        place = self.place
        if place.about == CHARGE:
            return {"then": dict(self.kind.then), "starts_at": place.at, "ends_at": place.until}
        then = {"delay": place.stale} if self.kind.name == STALE else dict(self.kind.then)
        return {"match": dict(place.match or {"nth": place.number}), "then": then, "times": 1}

    def faults(self) -> list[dict[str, Any]]:
        """Return the bodies for all its faults: one, or two of a pair; none where the application is killed."""
        first = [] if self.kind.kills else [self.fault()]
        if self.kind.advice is RACING:
            first.append(SLOW_READS)
        return [*first, *(self.second.faults() if self.second else [])]


def cases(places: Sequence[Place], *, kills: bool = False) -> list[Case]:
    """Return every fault that makes a difference, at every place, in the order in which they are tried.

    Each kind has one case in each round, so that a budget which ends early has seen all kinds; and the places of a
    kind come from all over the scenario, each kind beginning elsewhere.
    """
    columns = []
    kinds = [kind for kind in FAULT_KINDS if kills or not kind.kills]
    for number, kind in enumerate(kinds):
        column = [Case(place, kind) for place in places if _differs(place, kind)]
        start = number * len(column) // len(kinds)
        columns.append(_spread([*column[start:], *column[:start]]))
    return [case for round in zip_longest(*columns) for case in round if case]


def _spread(column: list[Case]) -> list[Case]:
    """Return the cases so that the first few come from all over the list: its halves, quarters, eighths …"""
    width = max(len(column) - 1, 1).bit_length()
    order = (int(f"{number:0{width}b}"[::-1], 2) for number in range(2**width))
    return [column[index] for index in order if index < len(column)]


KILLED_KINDS = "killed"
"""How the names of all kinds begin that kill the application, and the pattern that names them all."""


def pairs(cases: Sequence[Case]) -> list[Case]:
    """Return every pair of cases at different places, pairs of near places first."""
    ordered = sorted(cases, key=lambda case: (case.place.about != REQUEST, case.place.number))
    numbers = {place: number for number, place in enumerate(dict.fromkeys(_place(case) for case in ordered))}

    def distance(pair: tuple[Case, Case]) -> int:
        return numbers[_place(pair[1])] - numbers[_place(pair[0])]

    both = [pair for pair in combinations(ordered, 2) if distance(pair)]
    return [Case(first.place, first.kind, second) for first, second in sorted(both, key=distance)]


def chosen(cases: Sequence[Case], patterns: Sequence[str]) -> list[Case]:
    """Return the cases that patterns name: ``5:drop-after``, ``*:twice``, ``5:*``, a kind such as ``twice``, or a pair.

    Raises ``LookupError`` for a pattern that names none, and where the scenario has no case of the kinds that are named.
    """
    if not patterns:
        return [case for case in cases if not case.kind.asked]
    found: dict[str, Case] = {}
    for pattern in patterns:
        matching = _matching(cases, pattern)
        # A scenario may have no case of a kind, such as one in which no time passes.
        if not matching and pattern not in (KILLED_KINDS, *(kind.name for kind in FAULT_KINDS)):
            raise LookupError(_unknown(pattern, cases))
        found |= {case.name: case for case in matching}
    if not found:
        raise LookupError(f"the scenario has no case of {', '.join(patterns)}")
    return list(found.values())


def _matching(cases: Sequence[Case], pattern: str) -> list[Case]:
    first, _, second = pattern.partition("+")
    if second:
        both = _matching(cases, first)[:1], _matching(cases, second)[:1]
        return [Case(one.place, one.kind, other) for one, other in zip(*both, strict=False)]
    kinds = f"{KILLED_KINDS}*" if pattern == KILLED_KINDS else pattern
    return [case for case in cases if fnmatchcase(case.name, pattern) or fnmatchcase(case.kind.name, kinds)]


def _unknown(pattern: str, every: Sequence[Case]) -> str:
    """Return the message for a case that the scenario does not have: what it has instead."""
    number, _, kind = pattern.rpartition(":")
    near = sorted(case.name for case in every if str(case.place.number) == number)
    last = max((case.place.number for case in every), default=0)
    has = f"at {number} it has {', '.join(near)}" if near else f"its places are 1 to {last}"
    if not number.isdecimal() and not any(fnmatchcase(each.name, kind) for each in FAULT_KINDS):
        has = f"kinds of fault are {', '.join(each.name for each in FAULT_KINDS)}"
    return f"{pattern} is not a case of this scenario; {has}"


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
    if kind.name == STALE and place.stale is None:
        return False
    return not kind.writes_only or place.title.split()[0] in WRITES
