"""A table: the records of one kind, by id, in order of creation, and by the values of their indexed fields.

Its mappings have parts: however large one grows, no single addition takes longer than some milliseconds. Order and
indexes are made when they are first read, which goes through all records once: most tables are never listed, and fewer
lists are filtered, but each order and index that there is takes time with every change.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Collection, Iterator, Mapping
from heapq import merge
from itertools import chain, islice, pairwise
from typing import Any, Generic, Self, TypeVar, cast

import msgspec

from emulator.core.records import R
from emulator.core.slices import STEP, Slices, completed, steps
from emulator.core.unit_of_work import Change

# -- a mapping in parts


K = TypeVar("K")
V = TypeVar("V")

PART = 87_381
"""Entries of one part: as many as a dict takes that has 2**17 places.

A dict that grows copies all it holds: a million entries take 0.1 s, the last growth of a part some 4 ms. One renewal
may meet it in five tables.
"""


class PartedDict(dict[K, V | None]):
    """The newest part is the dict itself; ``older`` are those that were full. ``parts[key]`` is None for no entry.

    The newest part answers first, without a call in Python: in a long history, most of what is read is recent. Of the
    methods of a dict, only those below know the older parts. Before an entry is added to a part of ``PART`` entries,
    :meth:`begin_part` is called.
    """

    __slots__ = ("older",)

    def __init__(self) -> None:
        self.older: tuple[dict[K, V | None], ...] = ()

    def __missing__(self, key: K) -> V | None:
        for part in reversed(self.older):
            if (value := part.get(key)) is not None:
                return value
        return None

    def begin_part(self) -> None:
        """Let the next entries go into a new part; a copy of a full dict takes a quarter of its last growth."""
        self.older = (*self.older, dict(self))
        self.clear()

    def discard(self, key: K) -> V | None:
        """Remove an entry, if there is one, and return its value."""
        if (value := self.pop(key, None)) is not None or not self.older:
            return value
        for part in self.older:
            if (value := part.pop(key, None)) is not None:
                self.older = tuple(each for each in self.older if each)
                return value
        return None

    def all_values(self) -> Iterator[V]:
        """Return the values of all parts, the oldest part first."""
        return chain.from_iterable(part.values() for part in (*self.older, self))  # type: ignore[misc]  # None is not stored

    def all_keys(self) -> Iterator[K]:
        return chain.from_iterable((*self.older, self))


# -- tables


class Slot(msgspec.Struct, Generic[R], gc=False):
    """A record's place in the order of its table: by ``created_at``, then by number. Its replacement takes the slot over."""

    number: int
    record: R

    def __lt__(self, other: Slot[R]) -> bool:
        here, there = getattr(self.record, "created_at", ""), getattr(other.record, "created_at", "")
        return self.number < other.number if here == there else here < there


class Index(PartedDict[Any, Slot[R] | list[Slot[R]]]):
    """The slots of a table by the value of one field, those of each value in order; null is not indexed.

    A value that one record has is stored with its slot itself: in some indexes each value is of one record, and a list
    takes more memory than a slot.
    """

    __slots__ = ()

    def run(self, value: object) -> list[Slot[R]]:
        """Return the slots of the records that have this value, oldest first. The list is not to be changed."""
        run = self[value]
        if run is None:
            return []
        return run if isinstance(run, list) else [run]

    def add(self, value: object, slot: Slot[R]) -> None:
        run = self[value]
        if isinstance(run, list):
            _insert(run, slot)
        elif value is not None:
            if run is not None:
                self.discard(value)
            if len(self) >= PART:
                self.begin_part()
            self[value] = slot if run is None else [run, slot] if run < slot else [slot, run]

    def remove(self, value: object, slot: Slot[R]) -> None:
        """Take out a slot that is filed under this value."""
        run = self[value]
        if isinstance(run, list):
            _remove(run, slot)
            if len(run) == 1:
                self.discard(value)
                self.add(value, run[0])
        elif run is not None:
            self.discard(value)


_NONE: dict[str, Any] = {}
"""The unique values of a kind that has none. Nothing is ever put into it."""


class Table(Generic[R]):
    """All records of one kind. Reading, adding, replacing and a page of a list take the same time at any size.

    ``slots`` finds records by id; ``order`` and each index hold the same slots in order of creation. A slot is found in
    these lists by bisection, but removing it moves all slots after it; therefore kinds that are not paged keep no
    ``order``. A world has a table of each kind it holds, so that an empty table is small.
    """

    __slots__ = ("_order", "changes", "indexes", "kind", "slots", "stamped", "unique")

    def __init__(self, kind: type[R]) -> None:
        self.kind: type[R] = kind
        self.stamped: bool = "updated_at" in kind.__struct_fields__
        self.slots: PartedDict[str, Slot[R]] = PartedDict()
        self.indexes: dict[str, Index[R]] = {}
        self.changes: int = 0
        self._order: list[Slot[R]] | None = None
        self.unique: dict[str, PartedDict[Any, Slot[R]]] = (
            {field: PartedDict() for field in kind.unique} if kind.unique else _NONE
        )

    def copying(self, earlier: Mapping[str, Change]) -> Slices[Self]:
        """Return a table of the same records, made in slices; changes to one table do not reach the other.

        ``earlier`` are the first changes of records since the first slice, by id.
        """
        duplicate = type(self)(self.kind)
        copied = duplicate.slots
        for slots in steps([*self.slots.all_values()]):
            if len(copied) + len(slots) > PART:
                copied.begin_part()
            for slot in slots:
                record = slot.record
                copied[record.id] = Slot(slot.number, record)
            yield
        for change in earlier.values():
            duplicate.put_back(change)
        for field, found in duplicate.unique.items():
            for slots in steps([*copied.all_values()]):
                if len(found) + len(slots) > PART:
                    found.begin_part()
                for slot in slots:
                    if (key := self._key(field, getattr(slot.record, field))) is not None:
                        found[key] = slot
                yield
        return duplicate

    def put_back(self, change: Change) -> None:
        """Undo a change in an unfinished copy: neither order nor indexes are there yet."""
        self.slots.discard(change.record.id)
        if change.old is not None:
            if len(self.slots) >= PART:
                self.slots.begin_part()
            self.slots[change.old.id] = Slot(change.number, cast("R", change.old))

    def ordered(self) -> Slices[list[Slot[R]]]:
        """Return every slot, in order of creation; at once if the table changes meanwhile."""
        if self._order is not None:
            return self._order
        before, runs = self.changes, list[list[Slot[R]]]()
        for slots in steps([*self.slots.all_values()]):
            runs.append(sorted(slots))
            yield
        order = [*chain.from_iterable(runs)]
        if any(later[0] < earlier[-1] for earlier, later in pairwise(runs)):
            merged, order = merge(*runs), []
            while step := [*islice(merged, STEP)]:
                order += step
                yield
        if before != self.changes:
            return self.order
        if self.kind.paged:
            self._order = order
        return order

    def indexed(self, field: str) -> Slices[Index[R]]:
        """Return the index of a field, made if it is not there yet; at once if the table changes meanwhile."""
        if field not in self.indexes:
            order, before = (yield from self.ordered()), self.changes
            index: Index[R] = Index()
            for slots in steps(order):
                for slot in slots:
                    index.add(getattr(slot.record, field), slot)
                yield
            if before != self.changes:
                return self.index(field)
            # Only now: a snapshot is exported in a thread, while requests may read it, too.
            self.indexes[field] = index
        return self.indexes[field]

    def index(self, field: str) -> Index[R]:
        """Return the index of a field, made at once if it is not there yet."""
        return completed(self.indexed(field))

    def __len__(self) -> int:
        return len(self.slots) + sum(map(len, self.slots.older))

    def __iter__(self) -> Iterator[R]:
        return iter([slot.record for slot in self.order])

    @property
    def order(self) -> list[Slot[R]]:
        return completed(self.ordered()) if self._order is None else self._order

    def unordered(self) -> list[R]:
        """Return every record, in no particular order. Unlike iteration it sorts nothing if the kind is not paged."""
        return [slot.record for slot in self.slots.all_values()]

    def get(self, id: str) -> R | None:
        slot = self.slots[id]
        return None if slot is None else slot.record

    def place(self, record: R) -> Slot[R]:
        """Return the slot of a record of this table, by which records can be put in order. Raises as :meth:`remove` does."""
        slot = self.slots[record.id]
        if slot is None or slot.record is not record:
            raise RuntimeError(f"{record.id} has been changed or removed since it was read; look it up again")
        return slot

    def pieces(self) -> list[object]:
        """Return all that the table consists of, so that a large one can be let go of piece by piece."""
        mappings: list[PartedDict[Any, Any]] = [self.slots, *self.indexes.values(), *self.unique.values()]
        older = chain.from_iterable(mapping.older for mapping in mappings)
        return [*steps([*self.slots.all_values()]), self._order, *mappings, *older]

    def where(self, field: str, value: object) -> list[R]:
        """Return the records whose indexed field has this value, oldest first; null is not indexed."""
        index = self.indexes.get(field)
        run = (self.index(field) if index is None else index)[value]
        if run is None:
            return []
        return [slot.record for slot in run] if isinstance(run, list) else [run.record]

    def find(self, field: str, value: object) -> R | None:
        """Return the record whose unique field has this value."""
        slot = self.unique[field][self._key(field, value)]
        return None if slot is None else slot.record

    def add(self, record: R, number: int) -> None:
        """Add a new record; ``number`` is its place in the order of creation.

        Raises ``ValueError``, as :meth:`replace` does, if its id or a unique value is taken; nothing has changed then.
        """
        keys = self._free_keys(record) if self.unique else _NONE
        slot = Slot(number, record)
        slots = self.slots
        if len(slots) >= PART:
            slots.begin_part()
        if (slots.older and slots[record.id] is not None) or slots.setdefault(record.id, slot) is not slot:
            raise ValueError(f"there is a {self.kind.kind} {record.id} already")
        self.changes += 1
        if self._order is not None:
            _insert(self._order, slot)
        for field, index in self.indexes.items():
            index.add(getattr(record, field), slot)
        for field, key in keys.items():
            if len(found := self.unique[field]) >= PART:
                found.begin_part()
            found[key] = slot

    def replace(self, old: R, new: R, changed: Collection[str] | None = None) -> int:
        """Put a record in the place of ``old`` and return its number; ``changed`` names the fields that may differ.

        It gets a new slot if ``created_at`` or a unique value differs. Raises ``RuntimeError``, as :meth:`remove` does,
        if ``old`` is not, or no longer, the record of that id.
        """
        slot = self.place(old)
        fields = self.kind.__struct_fields__ if changed is None else changed
        moving = {"created_at", *self.unique}.intersection(fields)
        if moving and any(getattr(old, name) != getattr(new, name) for name in moving):
            self._free_keys(new)
            self.remove(old)
            self.add(new, slot.number)
            return slot.number
        self.changes += 1
        for field, index in self.indexes.items():
            if field in fields and (before := getattr(old, field)) != (after := getattr(new, field)):
                index.remove(before, slot)
                index.add(after, slot)
        slot.record = new
        return slot.number

    def remove(self, record: R) -> int:
        """Remove a record and return its number in the order of creation."""
        slot = self.place(record)
        self.changes += 1
        self.slots.discard(record.id)
        if self._order is not None:
            _remove(self._order, slot)
        for field, index in self.indexes.items():
            index.remove(getattr(record, field), slot)
        for field, found in self.unique.items():
            found.discard(self._key(field, getattr(record, field)))
        return slot.number

    def _key(self, field: str, value: Any) -> Any:
        """Return the form in which unique values are compared."""
        if field not in self.kind.caseless or not isinstance(value, str):
            return value
        # A value that is in lower case already is its own key, which saves one string per customer.
        return value if (folded := value.casefold()) == value else folded

    def _free_keys(self, record: R) -> dict[str, Any]:
        """Return the record's unique values that are not null, by field. Raises ``ValueError`` if another record has one."""
        keys = {}
        for field, found in self.unique.items():
            key = self._key(field, getattr(record, field))
            slot = found[key]
            if slot is not None and slot.record.id != record.id:
                raise ValueError(f"another {self.kind.kind} has the {field} of {record.id}")
            if key is not None:
                keys[field] = key
        return keys


def _insert(run: list[Slot[R]], slot: Slot[R]) -> None:
    if not run or run[-1] < slot:
        run.append(slot)
    else:
        insort(run, slot)


def _remove(run: list[Slot[R]], slot: Slot[R]) -> None:
    """Remove a slot; most often it is the newest one that changes, or the oldest."""
    if run[-1] is slot:
        run.pop()
    else:
        del run[0 if run[0] is slot else bisect_left(run, slot)]
