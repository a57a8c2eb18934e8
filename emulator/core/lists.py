"""Lists: the records of a table that a query selects, in an order, page by page (B-19, B-20)."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping
from heapq import merge
from itertools import chain, islice
from operator import attrgetter, itemgetter
from typing import Any, Generic, NamedTuple

import msgspec

from emulator.core.errors import ApiError
from emulator.core.records import R
from emulator.core.tables import Contents, Slot, Table, Walk

Query = Mapping[str, Any]
Filter = Callable[[Any, Any], bool]

Filters = Mapping[str, Filter]
NO_FILTERS: Filters = {}

PAGES = frozenset({"page", "page_size"})
PAGING = PAGES | {"ordering"}

NEWEST_FIRST = "-created_at"

PART = 10_000
"""Records that are sorted at a time, which takes some milliseconds."""


class Page(msgspec.Struct, Generic[R], frozen=True):
    """One page of a list; ``count`` is the number of all matches.

    The HTTP layer adds the envelope and its URLs.
    """

    data: list[R]
    count: int
    page: int
    page_size: int


class Run(NamedTuple, Generic[R]):
    """The slots from ``start`` to ``stop`` of an ordered list."""

    slots: list[Slot[R]]
    start: int
    stop: int

    def __len__(self) -> int:
        return self.stop - self.start


class Taken(NamedTuple, Generic[R]):
    """The records of each run at one instant, oldest first, and the walk that their page is of."""

    runs: list[Contents[R]]
    walk: Walk[R] | None = None


class Selection(msgspec.Struct, Generic[R], frozen=True, kw_only=True):
    """The records of a table that a query selects, not read yet: those of ``runs`` that pass the
    ``filters``, in an order.

    :meth:`page` reads it at once. Where it must look at many records (``reads``), :meth:`taken`
    takes them as they are now, and :meth:`page_of` makes the page of them later and anywhere: it
    reads nothing that may change. ``nothing_found`` is raised where nothing matches.

    Who reads a second page will read the others. So the table keeps what the ``query`` selects
    until the table changes or the last page is read: else the work of the whole list would be done
    for each of its pages.
    """

    table: Table[R]
    query: Query
    runs: list[Run[R]]
    wanted: Mapping[str, Any]
    filters: Filters
    ordering: str
    number: int
    size: int
    nothing_found: ApiError | None = None

    @property
    def reads(self) -> int:
        """How many records must be looked at."""
        if self._walked() is not None:
            return self.size
        count = sum(map(len, self.runs))
        is_indexed = not self.wanted and self.ordering == NEWEST_FIRST
        if is_indexed and len(self.runs) == 1:
            return min(self.size, count)
        return min((self.number - 1) * self.size + self.size, count) if is_indexed else count

    def page(self) -> Page[R]:
        if (matches := self._walked()) is not None:
            if self._is_last(matches):
                self.table.walk = None
            return self._page(matches)
        count = sum(map(len, self.runs))
        if self.wanted or self.ordering != NEWEST_FIRST or not count:
            return self.page_of(self.taken())
        first = min((self.number - 1) * self.size, count)
        if len(self.runs) == 1:
            [(slots, start, stop)] = self.runs
            last = max(start, stop - first)
            newest = [slot.record for slot in slots[max(start, last - self.size) : last]]
            return Page(newest[::-1], count, self.number, self.size)
        latest = merge(
            *(reversed(run.slots[run.start : run.stop]) for run in self.runs), reverse=True
        )
        data = [slot.record for slot in islice(latest, first, first + self.size)]
        return Page(data, count, self.number, self.size)

    def taken(self) -> Taken[R]:
        """Return the records as they are now."""
        parts = (slots[start:stop] for slots, start, stop in self.runs)
        runs = [Contents(slots, [slot.record for slot in slots]) for slots in parts]
        if self.number == 1 or sum(map(len, self.runs)) <= self.number * self.size:
            return Taken(runs)
        # What is found later is kept with this walk, which the table forgets when it changes.
        walk = self.table.walk = Walk(self._whole_list(), self.filters)
        return Taken(runs, walk)

    def page_of(self, taken: Taken[R]) -> Page[R]:
        """Return the page of records that were taken from the runs."""
        matches = [record for record in _newest_first(taken.runs) if self._fits(record)]
        if self.nothing_found is not None and not matches:
            raise self.nothing_found
        if self.ordering != NEWEST_FIRST:
            matches = _sorted(matches, self.ordering)
        if taken.walk is not None and not self._is_last(matches):
            taken.walk.matches = matches
        return self._page(matches)

    def _page(self, matches: list[R]) -> Page[R]:
        first = min((self.number - 1) * self.size, len(matches))
        return Page(matches[first : first + self.size], len(matches), self.number, self.size)

    def _walked(self) -> list[R] | None:
        """Return all matches, if the table has kept them for another page of the same list."""
        walk = self.table.walk
        if walk is None or walk.query != self._whole_list() or walk.filters != self.filters:
            return None
        return walk.matches

    def _whole_list(self) -> Query:
        return {name: value for name, value in self.query.items() if name not in PAGES}

    def _is_last(self, matches: list[R]) -> bool:
        """Return whether the page is the last one of all matches, or beyond it."""
        return self.number * self.size >= len(matches)

    def _fits(self, record: Any) -> bool:
        filters = self.filters
        return all(
            filters[name](record, value)
            if name in filters
            else _equals(getattr(record, name), value)
            for name, value in self.wanted.items()
        )


_created_at = attrgetter("record.created_at")


def select(
    table: Table[R],
    query: Query,
    filters: Filters = NO_FILTERS,
    nothing_found: ApiError | None = None,
) -> Selection[R]:
    """Return the records that a query selects, in its ``ordering`` (default: newest first).

    ``page`` counts from 1. ``created_after`` and ``created_before`` are inclusive (list query
    parameters of transactions; B-20). A parameter named in ``filters`` is decided by its function.
    Any other one filters by the field of its name: the field equals the value or, for a
    comma-separated list, one of the values.

    In the default order and with filters by creation and on indexed fields only, a page takes the
    same time in every world. Otherwise all records that one index finds are looked at.
    """
    wanted = {
        name: value for name, value in query.items() if name not in PAGING and value is not None
    }
    after, before = wanted.pop("created_after", None), wanted.pop("created_before", None)
    # No index serves a filter with a function of its own, because that does not compare the field's
    # value.
    indexed = [field for field in wanted.keys() - filters.keys() if field in table.kind.indexes]
    lists, rest = _best_index(table, wanted, indexed)
    return Selection(
        table=table,
        query=query,
        runs=[_between(slots, after, before) for slots in lists],
        wanted=rest,
        filters=filters,
        ordering=query.get("ordering") or NEWEST_FIRST,
        number=query["page"],
        size=query["page_size"],
        nothing_found=nothing_found,
    )


def _best_index(
    table: Table[R], wanted: dict[str, Any], indexed: list[str]
) -> tuple[list[list[Slot[R]]], dict[str, Any]]:
    """Return the lists of slots that the most selective index finds for one filter, and the filters
    that remain.
    """
    if not indexed:
        return [table.order], wanted
    slots_by_field = {}
    for field in indexed:
        values = wanted[field] if isinstance(wanted[field], list) else [wanted[field]]
        slots_by_field[field] = [table.index(field).run(value) for value in dict.fromkeys(values)]
    best = min(slots_by_field, key=lambda field: sum(map(len, slots_by_field[field])))
    return slots_by_field.pop(best), {name: value for name, value in wanted.items() if name != best}


def _between(slots: list[Slot[R]], after: str | None, before: str | None) -> Run[R]:
    """Return the part of an ordered list that was created between two instants."""
    start = 0 if after is None else bisect_left(slots, after, key=_created_at)
    stop = len(slots) if before is None else bisect_right(slots, before, key=_created_at)
    return Run(slots, start, max(start, stop))


def _newest_first(taken: list[Contents[R]]) -> Iterator[R]:
    if len(taken) == 1:
        return reversed(taken[0].records)
    # A slot keeps its place in the order for ever, even once it has another record or has left the
    # table.
    placed = (zip(reversed(slots), reversed(records), strict=True) for slots, records in taken)
    return map(itemgetter(1), merge(*placed, key=itemgetter(0), reverse=True))


def _sorted(newest: list[R], ordering: str) -> list[R]:
    """Return records in an order, null as the least value: an anonymous customer has no email
    (B-58).

    Where the order is descending, that of equal values is reversed as well (B-17).
    """
    value, descending = attrgetter(ordering.lstrip("-")), ordering.startswith("-")
    records = newest if descending else newest[::-1]
    without = [record for record in records if value(record) is None]
    records = [record for record in records if value(record) is not None]
    # One sort of all would hold up the other threads, as no function in C lets them run. Of sorted
    # parts it is short.
    starts = range(0, len(records), PART)
    parts = (sorted(records[at : at + PART], key=value, reverse=descending) for at in starts)
    records = sorted(chain.from_iterable(parts), key=value, reverse=descending)
    return records + without if descending else without + records


def _equals(actual: object, wanted: object) -> bool:
    return actual in wanted if isinstance(wanted, list) else actual == wanted
