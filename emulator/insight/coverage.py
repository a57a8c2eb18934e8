"""Coverage: the used and the unused parts of the OpenAPI document, in one world or several."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, TypeVar

from emulator.core.event_types import EVENTS
from emulator.core.records import N_, Record
from emulator.document.bundles import OperationSpec, error_codes, operation_specs
from emulator.engine.coverage import Coverage
from emulator.resources.registry import STATE_MACHINES

K = TypeVar("K")
V = TypeVar("V")


class Group(NamedTuple):
    """A group of points: the document's, in order, and the exercised ones, documented or not."""

    documented: Callable[[], Iterable[str]]
    exercised: Callable[[Coverage], Iterable[str]]


def _own_points(points: Callable[[OperationSpec], Iterable[object]]) -> Callable[[], Iterable[str]]:
    """Return a function that yields these points of each operation: ``createCustomer 201``."""
    return lambda: (
        f"{name} {point}" for name, own in operation_specs().items() for point in points(own)
    )


def _pairs(values: Mapping[K, Iterable[V]]) -> Iterator[tuple[K, V]]:
    return ((key, value) for key, own in values.items() for value in own)


def _moves(rows: Iterable[tuple[type[Record], str | None, str]]) -> Iterator[str]:
    """Yield the transitions between states: ``invoice open → paid``, ``invoice new → draft``."""
    return (
        f"{kind.kind} {source or 'new'} → {target}"
        for kind, source, target in rows
        if source != target
    )


def _states(coverage: Coverage) -> Iterator[str]:
    """Yield the states that objects entered. One that a session left at once was not to be seen."""
    entered = (f"{kind.kind} {state}" for kind, _, state in coverage.transitions)
    return (state for state in entered if coverage.took_time or state != PASSING)


GROUPS: Mapping[str, Group] = {
    "operations": Group(
        operation_specs, lambda coverage: (str(operation) for operation, _ in coverage.responses)
    ),
    "statuses": Group(
        _own_points(lambda own: own.statuses),
        lambda coverage: (f"{operation} {status}" for operation, status in coverage.responses),
    ),
    # Nested ones with a dot: createWebhook retry_policy.max_attempts.
    "fields": Group(
        _own_points(lambda own: own.fields),
        lambda coverage: (f"{operation} {name}" for operation, name in _pairs(coverage.fields)),
    ),
    "parameters": Group(
        _own_points(lambda own: own.parameters),
        lambda coverage: (f"{operation} {name}" for operation, name in _pairs(coverage.parameters)),
    ),
    "states": Group(
        lambda: (
            f"{machine.kind.kind} {row.target}"
            for machine in STATE_MACHINES
            for row in machine.rows
        ),
        _states,
    ),
    "moves": Group(
        lambda: _moves(
            (machine.kind, row.source, row.target)
            for machine in STATE_MACHINES
            for row in machine.rows
        ),
        lambda coverage: _moves(coverage.transitions),
    ),
    "events": Group(lambda: EVENTS, lambda coverage: coverage.events),
    # Of error responses, failed payments and failed refunds.
    "errors": Group(error_codes, lambda coverage: coverage.errors),
}
"""The groups of the report, in order."""


PASSING = "checkout_session processing"
"""The state every paid session enters, for no time unless the operator answers later."""


class UsageNeed(NamedTuple):
    """A state, ``bad``, that tests of ``good`` must see; ``when`` says how objects reach it."""

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
    UsageNeed(
        "checkout_session complete",
        "checkout_session expired",
        N_("a checkout session that expires"),
    ),
)
"""The needs, first those that cost an application most."""


def needed(reached: Collection[str]) -> list[UsageNeed]:
    """Return the needs of tests that reach these states, such as ``invoice paid``."""
    return [need for need in NEEDS if need.good in reached]


def report(coverage: Coverage, wanted: Container[str] = GROUPS) -> dict[str, Any]:
    calls = _calls(coverage)
    groups = {
        name: _summary(name, set(group.exercised(coverage)))
        for name, group in GROUPS.items()
        if name in wanted
    }
    if "operations" in groups:
        groups["operations"]["calls"] = calls
    return {"request_count": sum(calls.values()), **groups}


class UsedPoints:
    """Several worlds' used parts of the document, as of a test suite with a world for each test."""

    def __init__(self) -> None:
        self._requests = 0
        self._used: dict[str, set[str]] = {name: set() for name in GROUPS}

    def add(self, coverage: Coverage) -> None:
        self._requests += sum(_calls(coverage).values())
        for name, group in GROUPS.items():
            self._used[name].update(group.exercised(coverage))

    def report(self, names: Iterable[str]) -> dict[str, Any]:
        """Return what was used in any of the worlds, and what was not, by group.

        The missing points of the kinds of object that the worlds have come first. ``needs`` are the
        states that tests of these objects must see.
        """
        states = self._used["states"]
        kinds = {_letters(state.split()[0]) for state in states}
        groups = {name: _summary(name, self._used[name]) for name in names}
        for group in groups.values():
            # A point is named like createRefund 400.
            group["missing"].sort(
                key=lambda point: not any(kind in _letters(point) for kind in kinds)
            )
        needs = [f"{need.when} ({need.bad})" for need in needed(states) if need.bad not in states]
        return {"request_count": self._requests, "needs": needs, "groups": groups}


def _letters(name: str) -> str:
    return re.sub("[^a-z]", "", name.lower())


def _calls(coverage: Coverage) -> dict[str, int]:
    """Return the number of requests for each operation of the service."""
    counts: Counter[str | None] = Counter()
    for (operation, _), number in coverage.responses.items():
        counts[operation] += number
    return {operation: counts[operation] for operation in operation_specs() if operation in counts}


def _summary(name: str, used: Container[str]) -> dict[str, Any]:
    documented = [*dict.fromkeys(GROUPS[name].documented())]
    exercised = [point for point in documented if point in used]
    missing = [point for point in documented if point not in used]
    counts = {
        "share": round(len(exercised) / len(documented), 4),
        "count": len(exercised),
        "total": len(documented),
    }
    return {**counts, "exercised": exercised, "missing": missing}
