"""Coverage: which parts of the OpenAPI document were used in one world or in several, and which were not."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, TypeVar

from emulator.core.event_types import EVENTS
from emulator.core.records import N_
from emulator.document.bundles import error_codes, operation_specs
from emulator.engine.journal import Coverage
from emulator.resources.registry import STATE_MACHINES

K = TypeVar("K")
V = TypeVar("V")


class Points(NamedTuple):
    """The documented points of a group, in order, and the points that were exercised, documented or not."""

    documented: list[str]
    exercised: set[str]


def operations(coverage: Coverage) -> Points:
    """Return the operations that were called, whatever the response."""
    return Points([*operation_specs()], {str(operation) for operation, _ in coverage.answers})


def statuses(coverage: Coverage) -> Points:
    """Return the response statuses of each operation: ``createCustomer 201``."""
    documented = [f"{operation} {status}" for operation, own in operation_specs().items() for status in own.statuses]
    return Points(documented, {f"{operation} {status}" for operation, status in coverage.answers})


def fields(coverage: Coverage) -> Points:
    """Return the fields in request bodies, nested ones with a dot: ``createWebhook retry_policy.max_attempts``."""
    documented = [f"{operation} {name}" for operation, own in operation_specs().items() for name in own.fields.dotted()]
    return Points(documented, {_field(*within.split(), name) for within, name in _pairs(coverage.fields)})


def _field(operation: str, *names: str) -> str:
    return f"{operation} {'.'.join(names)}"


def _pairs(values: Mapping[K, Iterable[V]]) -> Iterator[tuple[K, V]]:
    return ((key, value) for key, own in values.items() for value in own)


def parameters(coverage: Coverage) -> Points:
    """Return the query parameters: ``listCustomers status``."""
    documented = [f"{operation} {name}" for operation, own in operation_specs().items() for name in own.parameters]
    return Points(documented, {f"{operation} {name}" for operation, name in _pairs(coverage.parameters)})


def states(coverage: Coverage) -> Points:
    """Return the states that objects entered: ``invoice paid``. One that a session left at once was not to be seen."""
    documented = [f"{machine.kind.kind} {row.target}" for machine in STATE_MACHINES for row in machine.rows]
    entered = {f"{kind.kind} {state}" for kind, _, state in coverage.transitions}
    return Points(documented, entered if coverage.took_time else entered - {PASSING})


def moves(coverage: Coverage) -> Points:
    """Return the transitions between states: ``invoice open → paid``, ``invoice new → draft``."""
    rows = [(machine.kind.kind, row) for machine in STATE_MACHINES for row in machine.rows]
    documented = [_move(kind, row.source, row.target) for kind, row in rows if row.source != row.target]
    return Points(documented, {_move(kind.kind, source, target) for kind, source, target in coverage.transitions})


def _move(kind: str, source: str | None, target: str) -> str:
    return f"{kind} {source or 'new'} → {target}"


def events(coverage: Coverage) -> Points:
    return Points([*EVENTS], coverage.events)


def errors(coverage: Coverage) -> Points:
    """Return the codes of error responses, failed payments and failed refunds."""
    return Points([*error_codes()], coverage.errors)


GROUPS: Mapping[str, Callable[[Coverage], Points]] = {
    "operations": operations,
    "statuses": statuses,
    "fields": fields,
    "parameters": parameters,
    "states": states,
    "moves": moves,
    "events": events,
    "errors": errors,
}
"""The groups of the report, in order."""


PASSING = "checkout_session processing"
"""The state that every paid session enters, for no time at all unless the operator answers later."""


class UsageNeed(NamedTuple):
    """A state, ``bad``, that tests must see if they see ``good``; ``when`` says how objects reach it."""

    good: str
    bad: str
    when: str


NEEDS = (
    UsageNeed("subscription active", "subscription past_due", N_("a renewal that fails")),
    UsageNeed("payment_intent succeeded", "payment_intent canceled", N_("a payment that fails")),
    UsageNeed(
        "checkout_session complete",
        PASSING,
        N_("a payment that takes time, as operator_delay makes it"),
    ),
    UsageNeed("subscription trialing", "subscription active", N_("a trial that ends")),
    UsageNeed("subscription active", "subscription canceled", N_("a subscription that ends")),
    UsageNeed("refund succeeded", "refund failed", N_("a refund that fails")),
    UsageNeed("checkout_session complete", "checkout_session expired", N_("a checkout session that expires")),
)
"""The needs, first those that cost an application most."""


def needed(reached: Collection[str]) -> list[UsageNeed]:
    """Return the needs of tests that reach these states, such as ``invoice paid``."""
    return [need for need in NEEDS if need.good in reached]


def report(coverage: Coverage, wanted: Container[str] = GROUPS) -> dict[str, Any]:
    calls = _calls(coverage)
    groups = {name: summary(points(coverage)) for name, points in GROUPS.items() if name in wanted}
    if "operations" in groups:
        groups["operations"]["calls"] = calls
    return {"request_count": sum(calls.values()), **groups}


class UsedPoints:
    """What several worlds used of the document, such as those of a test suite that has one for each test."""

    def __init__(self) -> None:
        self._requests = 0
        self._used: dict[str, set[str]] = {name: set() for name in GROUPS}

    def add(self, coverage: Coverage) -> None:
        self._requests += sum(_calls(coverage).values())
        for name, points in GROUPS.items():
            self._used[name] |= points(coverage).exercised

    @property
    def states(self) -> set[str]:
        return self._used["states"]

    def report(self, names: Iterable[str]) -> dict[str, Any]:
        """Return what was used in any of the worlds, and what was not, by group.

        What is missing begins with the kinds of object that the worlds have; ``needs`` are what is to be seen of them.
        """
        documented = {name: GROUPS[name](Coverage()).documented for name in names}
        groups = {name: summary(Points(points, self._used[name])) for name, points in documented.items()}
        for group in groups.values():
            group["missing"].sort(key=self._is_foreign)
        needs = [f"{need.when} ({need.bad})" for need in needed(self.states) if need.bad not in self.states]
        return {"request_count": self._requests, "needs": needs, "groups": groups}

    def _is_foreign(self, name: str) -> bool:
        """Return whether a name such as ``createRefund 400`` is of no kind of object that the worlds have."""
        kinds = {_letters(state.split()[0]) for state in self.states}
        return not any(kind in _letters(name) for kind in kinds)


def _letters(name: str) -> str:
    return re.sub("[^a-z]", "", name.lower())


def _calls(coverage: Coverage) -> dict[str, int]:
    """Return the number of requests for each operation of the service."""
    counts: Counter[str | None] = Counter()
    for (operation, _), number in coverage.answers.items():
        counts[operation] += number
    return {operation: counts[operation] for operation in operation_specs() if operation in counts}


def summary(points: Points) -> dict[str, Any]:
    documented = dict.fromkeys(points.documented)
    exercised = [name for name in documented if name in points.exercised]
    missing = [name for name in documented if name not in points.exercised]
    counts = {"share": round(len(exercised) / len(documented), 4), "count": len(exercised), "total": len(documented)}
    return {**counts, "exercised": exercised, "missing": missing}
