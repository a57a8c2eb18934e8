"""The verbs every resource shares, most of them as closures: look one up, list many, change some fields."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from heapq import merge
from itertools import islice
from typing import Any, Generic

import msgspec

from emulator.core.records import R, Record, merge_metadata
from emulator.core.tables import Slot, Table
from emulator.core.world import World
from emulator.errors import ApiError

Query = Mapping[str, Any]
Filter = Callable[[Any, Any], bool]

PAGING = frozenset({"page", "page_size", "ordering"})

BOUNDS: dict[str, Filter] = {
    "created_after": lambda record, bound: record.created_at >= bound,
    "created_before": lambda record, bound: record.created_at <= bound,
}
"""Both bounds are inclusive (list query parameters of transactions; B-20)."""


class Page(msgspec.Struct, Generic[R], frozen=True):
    """One page of a list; ``count`` is the number of all matches. The face makes the envelope and its URLs."""

    data: list[R]
    count: int
    page: int
    page_size: int


def get_or_404(world: World, kind: type[R], id: str, param: str | None = None) -> R:
    """The record with this id; raises the kind's own 404 (B-15). ``param`` names the body field the id came in."""
    record = world.get(kind, id)
    if record is None:
        raise ApiError(
            kind.not_found_code, id=id, param=param, errors=(param and {param: [f"there is no {id}"]}) or None
        )
    return record


def get_handler(kind: type[R]) -> Callable[..., R]:
    """``GET /kind/{id}/``."""

    def retrieve(world: World, id: str) -> R:
        return get_or_404(world, kind, id)

    return retrieve


def apply_patch(world: World, record: R, changes: Mapping[str, Any]) -> R:
    """The record after a PATCH: fields sent are replaced, metadata is merged, nothing sent changes nothing (B-21)."""
    if not changes:
        return record
    if "metadata" in changes:
        merged = merge_metadata(record.metadata, changes["metadata"])  # type: ignore[attr-defined]  # its PATCH takes metadata
        changes = {**changes, "metadata": merged}
    return world.replace(record, **changes)


def sublist_handler(
    owner: type[Record], kind: type[R], field: str, ordering: str = "-created_at"
) -> Callable[..., Page[R]]:
    """``GET /owner/{id}/kind/``: the records whose indexed field names the owner; the owner's 404 if there is none."""

    def index(world: World, id: str, query: Query) -> Page[R]:
        get_or_404(world, owner, id)
        return paginate(world.table(kind), {**query, field: id, "ordering": ordering})

    return index


def list_handler(kind: type[R], tests: Mapping[str, Filter] | None = None) -> Callable[..., Page[R]]:
    """``GET /kind/``: filters, ordering and paging as the document's query parameters say (B-19, B-20).

    A parameter named in ``tests`` (or a creation bound) is put to its test. Any other filters by the field of its
    name: equality, or for a comma list membership.
    """
    named = {**BOUNDS, **(tests or {})}

    def index(world: World, query: Query) -> Page[R]:
        return paginate(world.table(kind), query, named)

    return index


def paginate(table: Table[R], query: Query, tests: Mapping[str, Filter] = BOUNDS) -> Page[R]:
    """One page of a table. In the default order, with filters on indexed fields only, it costs what the page costs."""
    wanted = {name: value for name, value in query.items() if name not in PAGING and value is not None}
    runs, rest = _best_index(table, wanted, tests)
    ordering = query.get("ordering") or "-created_at"
    page, size = query["page"], query["page_size"]
    first = min((page - 1) * size, len(table))  # a page number may be any integer, an index may not
    if not rest and ordering == "-created_at":
        return Page(_records(_newest(runs, first, size)), sum(map(len, runs)), page, size)
    matches = [record for record in _records(_newest(runs)) if _fits(record, rest, tests)]
    if ordering != "-created_at":
        matches.reverse()
        field = ordering.lstrip("-")
        # Null comes first: an anonymous customer has no email (B-58).
        matches.sort(key=lambda record: (getattr(record, field) is not None, getattr(record, field)))
        if ordering.startswith("-"):
            matches.reverse()  # equal values turn round with the direction (B-17)
    return Page(matches[first : first + size], len(matches), page, size)


def _best_index(
    table: Table[R], wanted: Mapping[str, Any], tests: Mapping[str, Filter]
) -> tuple[list[list[Slot[R]]], dict[str, Any]]:
    """The runs of slots that an index gives for one filter (the narrowest), and the filters still to be put.

    A filter with a test of its own asks for something else than the field's value, so no index answers it.
    """
    best: tuple[int, list[list[Slot[R]]], str | None] = (len(table), [table.order], None)
    for field in (wanted.keys() & table.indexes.keys()) - tests.keys():
        values = wanted[field] if isinstance(wanted[field], list) else [wanted[field]]
        runs = [table.indexes[field].get(value, []) for value in dict.fromkeys(values)]
        best = min(best, (sum(map(len, runs)), runs, field), key=lambda choice: (choice[0], choice[2] is None))
    return best[1], {name: value for name, value in wanted.items() if name != best[2]}


def _newest(runs: list[list[Slot[R]]], first: int = 0, size: int | None = None) -> Iterator[Slot[R]]:
    """Slots of one or several runs, newest first."""
    stop = None if size is None else first + size
    if len(runs) == 1:
        run = runs[0]
        end = max(len(run) - first, 0)
        return reversed(run[0 if size is None else max(end - size, 0) : end])
    return islice(merge(*map(reversed, runs), reverse=True), first, stop)


def _records(slots: Iterator[Slot[R]]) -> list[R]:
    return [slot.record for slot in slots]


def _fits(record: Any, wanted: Mapping[str, Any], tests: Mapping[str, Filter]) -> bool:
    return all(
        tests[name](record, value) if name in tests else _equals(getattr(record, name), value)
        for name, value in wanted.items()
    )


def _equals(actual: object, wanted: object) -> bool:
    return actual in wanted if isinstance(wanted, list) else actual == wanted
