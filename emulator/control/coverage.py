"""The report on coverage: which promises of the service's document were exercised in a world, and which were not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, TypeVar

from emulator.document.operations import error_codes, operation_specs
from emulator.engine.coverage import Coverage
from emulator.engine.engine import Engine
from emulator.engine.runtime import Runtime
from emulator.events import EVENTS
from emulator.resources.registry import LIFE_CYCLES

Query = Mapping[str, Any]

K = TypeVar("K")
V = TypeVar("V")


class Points(NamedTuple):
    """What is promised, in the order it is told in, and what was exercised, be it promised or not."""

    promised: list[str]
    exercised: set[str]


def operations(coverage: Coverage) -> Points:
    """Those that were called, whatever the answer."""
    return Points([*operation_specs()], {str(operation) for operation, _ in coverage.answers})


def statuses(coverage: Coverage) -> Points:
    """The answers of each operation: ``createCustomer 201``."""
    promised = [f"{operation} {status}" for operation, own in operation_specs().items() for status in own.statuses]
    return Points(promised, {f"{operation} {status}" for operation, status in coverage.answers})


def fields(coverage: Coverage) -> Points:
    """What bodies held, nested ones with a dot: ``createWebhook retry_policy.max_attempts``."""
    promised = [f"{operation} {name}" for operation, own in operation_specs().items() for name in own.fields.dotted()]
    return Points(promised, {_field(*within.split(), name) for within, name in _pairs(coverage.fields)})


def _field(operation: str, *names: str) -> str:
    return f"{operation} {'.'.join(names)}"


def _pairs(values: Mapping[K, Iterable[V]]) -> Iterator[tuple[K, V]]:
    return ((key, value) for key, own in values.items() for value in own)


def parameters(coverage: Coverage) -> Points:
    """What queries held: ``listCustomers status``."""
    promised = [f"{operation} {name}" for operation, own in operation_specs().items() for name in own.parameters]
    return Points(promised, {f"{operation} {name}" for operation, name in _pairs(coverage.parameters)})


def states(coverage: Coverage) -> Points:
    """The states that objects came into: ``invoice paid``."""
    promised = [f"{life.kind.kind} {row.target}" for life in LIFE_CYCLES for row in life.rows]
    return Points(promised, {f"{kind.kind} {state}" for kind, state in _pairs(coverage.transitions)})


def moves(coverage: Coverage) -> Points:
    """From which state to which other: ``invoice open → paid``, ``invoice new → draft``."""
    rows = [(life.kind.kind, row) for life in LIFE_CYCLES for row in life.rows]
    promised = [_move(kind, row.source, row.target) for kind, row in rows if row.source != row.target]
    walked = [(kind.kind, *pair) for kind, own in coverage.transitions.items() for pair in _pairs(own)]
    return Points(promised, {_move(kind, source, target) for kind, target, source in walked})


def _move(kind: str, source: str | None, target: str) -> str:
    return f"{kind} {source or 'new'} → {target}"


def events(coverage: Coverage) -> Points:
    """The types of event that were told; pings and tests of an endpoint tell of nothing."""
    return Points([*EVENTS], coverage.events)


def errors(coverage: Coverage) -> Points:
    """The codes that refusals, failed payments and failed refunds had."""
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
"""What is told of, by its name, in the order of the report."""


async def show(engine: Engine, runtime: Runtime, query: Query) -> dict[str, Any]:
    """GET /coverage: of the groups that are asked for, or of all."""
    runtime.run_due()
    coverage = runtime.journal.flush_coverage()
    calls = _calls(coverage)
    wanted = query.get("group", GROUPS)
    told = {name: summary(points(coverage)) for name, points in GROUPS.items() if name in wanted}
    if "operations" in told:
        told["operations"]["calls"] = calls
    head = {"object": "coverage", "app": runtime.world.app, "request_count": sum(calls.values())}
    return {**head, "passed_over": coverage.skipped, **told}


def _calls(coverage: Coverage) -> dict[str, int]:
    """How many requests each operation of the service had."""
    counts: Counter[str | None] = Counter()
    for (operation, _), number in coverage.answers.items():
        counts[operation] += number
    return {operation: counts[operation] for operation in operation_specs() if operation in counts}


def summary(points: Points) -> dict[str, Any]:
    """A group as it goes on the wire."""
    promised = dict.fromkeys(points.promised)
    exercised = [name for name in promised if name in points.exercised]
    missing = [name for name in promised if name not in points.exercised]
    counts = {"share": round(len(exercised) / len(promised), 4), "count": len(exercised), "total": len(promised)}
    return {**counts, "exercised": exercised, "missing": missing}


OPERATIONS = {"getCoverage": show}
