"""The cases of ``test app``: a scenario's places, the faults possible at each, and their order."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import zip_longest
from typing import NamedTuple, TypedDict

from emulator.document.paths import fixture

# -- places, and the faults that are tried at each


REQUEST, DELIVERY, PAYMENT = "request", "delivery", "payment"
SESSION, REFUND, SCENARIO = "session", "refund", "scenario"

ABOUTS = (REQUEST, DELIVERY, PAYMENT, SESSION, REFUND, SCENARIO)
"""What a place can be, in the order of the report."""

KILLED_KINDS = "killed"
"""The common start of the kinds that kill the application, and the pattern that names them all."""

AT_WORK = ("killed-reading", "killed-working")
"""The kinds that strike only where handling an event takes its time: not to reach it is no news."""

ID = re.compile(r"\b[a-z]+_[A-Za-z0-9]{8,}")


def title_of(method: str, path: str) -> str:
    """Return method and path of a request; ids may differ between two runs."""
    return f"{method} {ID.sub('{id}', path)}"


class Advice(NamedTuple):
    """What is wrong, and the section of the guide's page "Go live" that says how to do it right.

    ``follows`` names the advice on a problem that causes this one, ``rule`` is the audit's rule
    about the same problem.
    """

    problem: str
    section: str
    follows: str = ""
    rule: str = ""


_TABLES = fixture("app-faults")
ADVICE: Mapping[str, Advice] = {name: Advice(**row) for name, row in _TABLES["advice"].items()}


class FaultKind(NamedTuple):
    """One way to go wrong. ``then`` is an arranged fault's effect (B-94), ``sentence`` its text.

    ``advice`` is the name of one in ``ADVICE``. With ``kills`` the application's process is ended;
    such a kind is tried only where it is asked for. One with ``once`` is tried only at the first
    request of each method. ``start`` is when the world begins, ``zone`` the time zone of the
    application; both concern the whole scenario.
    """

    name: str
    about: str
    sentence: str
    advice: str
    then: Mapping[str, object] = {}
    writes_only: bool = False
    kills: bool = False
    once: bool = False
    start: str = ""
    zone: str = ""

    @property
    def refuses(self) -> bool:
        """Return whether a buyer does not pay. Such a run ends like an operator's immediate no."""
        return self.about == PAYMENT and bool(self.then.get("refused"))

    @property
    def reference(self) -> FaultKind | None:
        """The kind whose run shows how a run of this kind has to end; None: the baseline does."""
        if self.refuses:
            return REFUSED
        if self.about == REFUND:
            return UNMADE
        return ORDINARY if self.start else None

    @property
    def is_dated(self) -> bool:
        """Whether dates may differ from the baseline's."""
        return bool(self.start or self.zone)

    @property
    def is_cut(self) -> bool:
        """Whether the connection ends without a response: the journal does not have the request."""
        return bool(self.then.keys() & {"drop", "hang_ms"})

    @property
    def is_executed(self) -> bool:
        return self.then.get("drop") != "before"


REFUSED = FaultKind(
    "refused", PAYMENT, "refused at once", "unpaid", {"answer_after": "0s", "refused": True}
)
"""No fault, but the run that others are compared with: the operator says no at once."""

UNMADE = FaultKind(
    "unmade", REFUND, "not made at all", "refunded", {"code": "transaction_not_refundable"}
)
"""No fault either: the service rejects the refund, so that the application has made none."""

ORDINARY = FaultKind(
    "ordinary", SCENARIO, "begun at noon", "dated", start="2027-05-12T12:00:00.000Z"
)
"""Shows whether a scenario can be played at another time at all."""

FAULT_KINDS = [FaultKind(name, **row) for name, row in _TABLES["faults"].items()]
"""The faults that are tried, in this order."""


class PlaceMatch(TypedDict, total=False):
    """A place in any run: an operation or a type of event, and its number among those."""

    operation: str
    event: str
    nth: int


class Place(NamedTuple):
    """A request, delivery or payment of the scenario, at which a fault can strike.

    ``number`` counts from 1. ``title`` is ``POST /v1/refunds/`` or the event's type. ``match``
    identifies the place in another run: its operation or type of event, and its number among
    those. ``effects`` has the effects of the fault kinds that depend on the place; None stands for
    a kind that makes no difference there. ``takes`` is the seconds for which the application
    handles a delivery. ``at`` is its instant in the baseline, ``gaps`` the seconds of the world
    until the delivery that another one waits for, by kind. ``is_rejected``: the application rejects
    this delivery without any fault, so that no fault of it shows anything. ``made_by`` is the
    number of the request among its operation's that made a refund. Places that are
    ``alike`` show the application the same: of those only the first is tried, unless all are asked
    for.
    """

    about: str
    number: int
    title: str
    match: PlaceMatch = PlaceMatch()
    effects: Mapping[str, Mapping[str, object] | None] = {}
    takes: float = 0
    at: str = ""
    gaps: Mapping[str, float] = {}
    is_rejected: bool = False
    made_by: int = 0
    alike: str = ""

    def __str__(self) -> str:
        if self.about == SCENARIO:
            return "the whole scenario"
        return f"{self.about} {self.number}, {self.title}"


class Case(NamedTuple):
    """One fault at one place."""

    place: Place
    kind: FaultKind

    @property
    def name(self) -> str:
        """The name of the case for ``--only``: ``4:drop-after``."""
        return f"{self.place.number}:{self.kind.name}"

    @property
    def sentence(self) -> str:
        return f"{self.place}: {self.kind.sentence}"

    def faults(self) -> list[dict[str, object]]:
        """Return the bodies of ``POST /_emulator/faults`` that arrange the fault in a new world."""
        if self.kind.kills or self.kind.is_dated:
            return []
        then = dict(self.place.effects.get(self.kind.name) or self.kind.then)
        if self.place.about == SCENARIO:
            return [{"match": {"method": "GET"}, "then": then, "probability": 1}]
        if self.kind is UNMADE:
            match = {"operation": "createRefund", "nth": self.place.made_by}
            return [{"match": match, "then": then, "times": 1}]
        fault = {"match": dict(self.place.match), "then": then, "times": 1}
        if self.kind.advice not in ("racing", "overlapping", "paired"):
            return [fault]
        # What a receiver reads while two events come at the same moment takes time, so that they
        # surely meet.
        return [
            fault,
            {
                "match": {"method": "GET"},
                "then": {"delay_ms": 100, "executed": True},
                "probability": 1,
            },
        ]


def cases(
    places: Sequence[Place], *, kills: bool = False, starts: bool = True, zones: bool = True
) -> list[Case]:
    """Return every fault that makes a difference, at every place, in the order of the attempts.

    Each kind has one case in each round, so that a budget which ends early has seen all kinds; and
    the places of a kind come from all over the scenario, each kind beginning elsewhere, with those
    first at which most is lost. Reads come last but for the first of each kind: most applications
    simply read again.
    """
    columns, last = [], []
    kinds = [
        kind
        for kind in FAULT_KINDS
        if (kills or not kind.kills) and (starts or not kind.start) and (zones or not kind.zone)
    ]
    for number, kind in enumerate(kinds):
        column = [Case(place, kind) for place in places if _differs(place, kind)]
        if kind.once:
            column = [*{case.place.title.split()[0]: case for case in reversed(column)}.values()]
        start = number * len(column) // len(kinds)
        column = _spread([*column[start:], *column[:start]])
        column.sort(key=lambda case: (_is_read(case.place), not _is_promising(case)))
        reads = [case for case in column if _is_read(case.place)][1:]
        columns.append([case for case in column if case not in reads])
        last.append(reads)
    rounds = (*zip_longest(*columns), *zip_longest(*last))
    return [case for round in rounds for case in round if case]


GOOD_NEWS = (".completed", ".paid", ".succeeded")
"""The ends of the types of event on which most applications act."""


UNDOING = ("stale", "swapped")
"""The kinds in which an event comes after a newer one: bad news may undo good news."""


def _is_read(place: Place) -> bool:
    return place.about == REQUEST and place.title.startswith("GET ")


def _is_promising(case: Case) -> bool:
    """Return whether most is lost here: where something is made, paid or delivered."""
    place, kind = case
    if place.about == DELIVERY:
        return place.title.endswith(GOOD_NEWS) != (kind.name in UNDOING)
    return place.about != REQUEST or place.title.startswith("POST ")


def distinct(cases: Sequence[Case]) -> list[Case]:
    """Return the cases without those of a kind at a place that is like one of an earlier case."""
    seen: set[tuple[str, str, str]] = set()
    kept = []
    for case in cases:
        likeness = (case.kind.name, case.place.about, case.place.alike)
        if case.place.alike and likeness in seen:
            continue
        seen.add(likeness)
        kept.append(case)
    return kept


def _differs(place: Place, kind: FaultKind) -> bool:
    is_concerned = kind.about == place.about and not (kind.writes_only and _is_read(place))
    effect = place.effects.get(kind.name, kind.then)
    return is_concerned and (kind.kills or kind.is_dated or bool(effect))


def _spread(column: list[Case]) -> list[Case]:
    """Return the cases in an order whose start is spread: the list's halves, quarters, eighths."""
    width = max(len(column) - 1, 1).bit_length()
    order = (int(f"{number:0{width}b}"[::-1], 2) for number in range(2**width))
    return [column[index] for index in order if index < len(column)]


# -- the cases that patterns name


def check_patterns(patterns: Sequence[str]) -> None:
    """Raise ``LookupError`` for a pattern that no kind of fault fits, whatever the scenario."""
    names = [KILLED_KINDS, *(kind.name for kind in FAULT_KINDS)]
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern.rpartition(":")[2]) for name in names):
            raise LookupError(f"{pattern} is no case; kinds of fault are {', '.join(names)}")


def chosen(cases: Sequence[Case], patterns: Sequence[str], *, every: bool = False) -> list[Case]:
    """Return cases for ``5:drop-after``, ``5:*``, ``twice``. Raises ``LookupError`` for none.

    Without a pattern these are all cases, or unless ``every`` is set those of distinct places.
    """
    if not patterns:
        return [*cases] if every else distinct(cases)
    matches: dict[str, Case] = {}
    for pattern in patterns:
        kinds = f"{KILLED_KINDS}*" if pattern == KILLED_KINDS else pattern
        matching = [
            case
            for case in cases
            if fnmatchcase(case.name, pattern) or fnmatchcase(case.kind.name, kinds)
        ]
        number = pattern.rpartition(":")[0]
        # A scenario may have no case of a kind, such as one in which no time passes.
        if not matching and number.isdecimal():
            near = sorted(case.name for case in cases if str(case.place.number) == number)
            last = max((case.place.number for case in cases), default=0)
            has = f"at {number} it has {', '.join(near)}" if near else f"its places are 1 to {last}"
            raise LookupError(f"{pattern} is not a case of this scenario; {has}")
        matches |= {case.name: case for case in matching}
    if not matches:
        raise LookupError(f"the scenario has no case of {', '.join(patterns)}")
    return list(matches.values())
