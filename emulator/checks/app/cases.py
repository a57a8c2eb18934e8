"""The cases of a sweep: the places of a story where a fault can strike, and how the world stands at the end of a run.

The digest of a world is how many objects of each kind and status there are, their sums of money, and their links.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

from emulator.presentation.languages.language import plain_money

# -- places, and the faults that are tried at each


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


# -- the digest of a world


AMOUNTS = {
    "customer": None,
    "address": None,
    "product": None,
    "subscription_plan": "amount",
    "subscription": None,
    "invoice": "total",
    "payment_intent": "amount",
    "transaction": "amount",
    "refund": "amount",
    "checkout_session": "amount_total",
    "payment_link": None,
}
"""The kinds that are counted, and the field with the amount in minor units that is summed, if there is one."""


class Group(NamedTuple):
    """Objects that are counted together. ``currency`` is None where no amount is summed."""

    kind: str
    status: str
    currency: str | None

    def __str__(self) -> str:
        return f"{_plural(self.kind)} {self.status}".rstrip()

    def counted(self, part: Sum) -> str:
        """``1 refund succeeded``."""
        noun = _singular(self.kind) if part.number == 1 else _plural(self.kind)
        return f"{part.number} {noun} {self.status}".rstrip() + _amount(self, part)


class Sum(NamedTuple):
    """How many objects a group has, and their amount in minor units."""

    number: int = 0
    amount: int = 0


class LinkedKinds(NamedTuple):
    """Objects of one kind that name an object of another one, such as the refunds of a transaction."""

    kind: str
    of: str


class Digest(NamedTuple):
    """``links`` says for each link how many objects are named by one, by two and by more objects."""

    sums: Mapping[Group, Sum]
    links: Mapping[LinkedKinds, Mapping[int, int]]


def digest(exported: Mapping[str, Any]) -> Digest:
    """The digest of an exported snapshot. Ids, times and texts are left out: they may differ between two runs."""
    rows = {
        kind: list(objects.values())
        for name, objects in exported.items()
        if "/" in name and (kind := name.rpartition("/")[2]) in AMOUNTS
    }
    return Digest(_sums(rows), _links(rows))


def _sums(rows: Mapping[str, list[Any]]) -> dict[Group, Sum]:
    sums: dict[Group, Sum] = {}
    for kind, objects in rows.items():
        field = AMOUNTS[kind]
        for row in objects:
            group = Group(kind, str(row.get("status") or ""), row.get("currency") if field else None)
            number, amount = sums.get(group, Sum())
            sums[group] = Sum(number + 1, amount + (int(row.get(field) or 0) if field else 0))
    return sums


def _links(rows: Mapping[str, list[Any]]) -> dict[LinkedKinds, dict[int, int]]:
    kinds = {row["id"]: kind for kind, objects in rows.items() for row in objects}
    naming: dict[LinkedKinds, Counter[str]] = {}
    for kind, objects in rows.items():
        for row in objects:
            named = {value for value in row.values() if isinstance(value, str) and value in kinds} - {row["id"]}
            for id in named:
                naming.setdefault(LinkedKinds(kind, kinds[id]), Counter())[id] += 1
    return {link: dict(Counter(numbers.values())) for link, numbers in naming.items()}


def differences(clean: Digest, other: Digest) -> Iterator[str]:
    """What the other world has more or less of, as sentences; links only of kinds that it has as many of."""
    for group in sorted({*clean.sums, *other.sums}, key=str):
        wanted, found = clean.sums.get(group, Sum()), other.sums.get(group, Sum())
        if wanted.number != found.number:
            yield f"{group.counted(found)} instead of {wanted.number}{_amount(group, wanted)}"
        elif wanted.amount != found.amount:
            yield f"{group}:{_amount(group, found)} instead of{_amount(group, wanted)}"
    numbers, others = totals(clean), totals(other)
    for link in sorted({*clean.links, *other.links}):
        spread, found_spread = (_spread(each.links.get(link, {})) for each in (clean, other))
        if spread != found_spread and all(numbers[kind] == others[kind] for kind in link):
            yield f"{_plural(link.of)} by their {_plural(link.kind)}: {found_spread} instead of {spread}"


def totals(digest: Digest) -> Counter[str]:
    """How many objects of each kind there are, in any status."""
    numbers: Counter[str] = Counter()
    for group, part in digest.sums.items():
        numbers[group.kind] += part.number
    return numbers


def _amount(group: Group, part: Sum) -> str:
    return f" ({plain_money(part.amount, group.currency)})" if group.currency and part.number else ""


def _singular(kind: str) -> str:
    return kind.replace("_", " ")


def _plural(kind: str) -> str:
    words = _singular(kind)
    return f"{words}es" if words.endswith("s") else f"{words}s"


def _spread(numbers: Mapping[int, int]) -> str:
    return ", ".join(f"{count} with {number}" for number, count in sorted(numbers.items())) or "none"
