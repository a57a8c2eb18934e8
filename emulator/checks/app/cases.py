"""The cases of ``test app``: the places of a scenario, the faults that can strike at each, and the order they are tried in."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import combinations, zip_longest
from typing import Any, NamedTuple

from emulator.document.paths import fixture

# -- places, and the faults that are tried at each


REQUEST, DELIVERY, PAYMENT, CHARGE = "request", "delivery", "payment", "charge"

HUNG, SWAPPED, STALE, OVERLAPPING = "hung", "swapped", "stale", "overlapping"

RETURNING = "redirected-unpaid"

AT_WORK = ("killed-reading", "killed-working")
"""The kinds that strike only where handling an event takes its time: not to reach it is no news."""

WRITES = frozenset(["POST", "PATCH", "PUT", "DELETE"])

ID = re.compile(r"\b[a-z]+_[A-Za-z0-9]{8,}")


class Advice(NamedTuple):
    """What is wrong, and the section of the guide's page "Go live" that says how to do it right.

    ``follows`` names the advice on a problem that causes this one, ``rule`` is that of the audit which says the same.
    """

    problem: str
    section: str
    follows: str = ""
    rule: str = ""


_TABLES = fixture("app-faults")

ADVICE: Mapping[str, Advice] = {name: Advice(**row) for name, row in _TABLES["advice"].items()}

AGAIN, NOT_AGAIN, KEYLESS, OTHER_KEY, UNLIMITED = (
    ADVICE[name] for name in ("again", "not-again", "keyless", "other-key", "unlimited")
)

RACING, SIDE_BY_SIDE, UNSTEADY = (ADVICE[name] for name in ("racing", "overlapping", "unsteady"))


SLOW_READS = {"match": {"method": "GET"}, "then": {"delay_ms": 100, "executed": True}, "probability": 1}
"""What a receiver reads while an event comes twice at the same moment takes time, so that the two surely meet."""


class FaultKind(NamedTuple):
    """One way to go wrong. ``then`` is the effect of an arranged fault (B-94), ``sentence`` says it to people.

    With ``kills`` the application's process is ended. Such a kind, and one with ``asked``, is tried only where it is
    asked for; one with ``once`` only at the first request of each method.
    """

    name: str
    about: str
    sentence: str
    advice: Advice
    then: Mapping[str, Any] = {}
    writes_only: bool = False
    kills: bool = False
    asked: bool = False
    once: bool = False

    @property
    def refuses(self) -> bool:
        """Whether a buyer does not pay: such a run ends as one in which the operator says no at once."""
        return bool(self.then.get("refused"))

    @property
    def is_cut(self) -> bool:
        """Whether the connection ends without a response: the journal does not have the request."""
        return bool(self.then.keys() & {"drop", "hang_ms"})

    @property
    def is_executed(self) -> bool:
        return self.then.get("drop") != "before"


REFUSED = FaultKind("refused", PAYMENT, "refused at once", ADVICE["unpaid"], {"answer_after": "0s", "refused": True})
"""No fault, but the run that others are compared with: the operator says no at once."""

FAULT_KINDS = [FaultKind(name, **{**row, "advice": ADVICE[row["advice"]]}) for name, row in _TABLES["faults"].items()]
"""The faults that are tried, in this order."""


class Place(NamedTuple):
    """The ``number``-th request, delivery or charge by itself, from 1; ``title`` is ``POST /v1/refunds/`` or an event.

    ``match`` finds it in another run: by operation or type of event, and its number among those. Of a delivery,
    ``is_last`` says that its endpoint gets no other one after it, ``stale`` how late it comes after the last one about the
    same customer, where that is later than an hour, ``overlaps`` which one within an hour is to come with it, ``takes``
    how many seconds it is handled. ``returns`` says that the buyer of a payment can come back to the application,
    ``is_helped`` that a helper for tests sends the request. ``at`` and ``until`` are when a charge begins, and an hour later.
    """

    about: str
    number: int
    title: str
    is_last: bool = False
    match: Mapping[str, Any] | None = None
    stale: str | None = None
    overlaps: str | None = None
    takes: float = 0
    returns: bool = False
    is_helped: bool = False
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
        first = f"{self.place}: {self.kind.sentence}"
        return f"{first}; and {self.second.sentence}" if self.second else first

    def fault(self) -> dict[str, Any]:
        """Return the body of ``POST /_emulator/faults`` that arranges its first fault where nothing has happened yet."""
        place = self.place
        if place.about == CHARGE:
            return {"then": dict(self.kind.then), "starts_at": place.at, "ends_at": place.until}
        own = {STALE: {"delay": place.stale}, OVERLAPPING: {"overlap": place.overlaps}}
        then = own.get(self.kind.name) or dict(self.kind.then)
        return {"match": dict(place.match or {"nth": place.number}), "then": then, "times": 1}

    def faults(self) -> list[dict[str, Any]]:
        """Return the bodies for all its faults: one, or two of a pair; none where the application is killed."""
        first = [] if self.kind.kills else [self.fault()]
        if self.kind.advice in (RACING, SIDE_BY_SIDE):
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
        if kind.once:
            column = [*{case.place.title.split()[0]: case for case in reversed(column)}.values()]
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
    """Return the cases that patterns name: ``5:drop-after``, ``5:*``, ``twice`` or a pair. Raises ``LookupError`` for none."""
    if not patterns:
        return [case for case in cases if not case.kind.asked]
    found: dict[str, Case] = {}
    for pattern in patterns:
        matching = _matching(cases, pattern)
        # A scenario may have no case of a kind, such as one in which no time passes.
        if not matching and pattern.rpartition(":")[0].isdecimal():
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


def known_kinds(patterns: Sequence[str]) -> None:
    """Raise ``LookupError`` for a pattern that no kind of fault fits, whatever the scenario."""
    names = [KILLED_KINDS, *(kind.name for kind in FAULT_KINDS)]
    for pattern in patterns:
        for part in pattern.split("+"):
            kind = part.rpartition(":")[2]
            if not any(fnmatchcase(name, kind) for name in names):
                raise LookupError(f"{pattern} is no case; kinds of fault are {', '.join(names)}")


def _unknown(pattern: str, every: Sequence[Case]) -> str:
    number = pattern.partition(":")[0]
    near = sorted(case.name for case in every if str(case.place.number) == number)
    last = max((case.place.number for case in every), default=0)
    has = f"at {number} it has {', '.join(near)}" if near else f"its places are 1 to {last}"
    return f"{pattern} is not a case of this scenario; {has}"


def parts(case: Case) -> Iterator[Case]:
    yield Case(case.place, case.kind)
    if case.second:
        yield case.second


def _place(case: Case) -> tuple[str, int]:
    return case.place.about, case.place.number


def _differs(place: Place, kind: FaultKind) -> bool:
    if kind.about != place.about or (kind.writes_only and place.title.split()[0] not in WRITES):
        return False
    is_possible = {
        HUNG: not place.is_helped,
        SWAPPED: not place.is_last,
        STALE: place.stale is not None,
        OVERLAPPING: place.overlaps is not None,
        RETURNING: place.returns,
    }
    return is_possible.get(kind.name, True)
