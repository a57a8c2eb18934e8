"""A table: the records of one kind, by id, in order of creation, and by the values of their indexed fields."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cache
from typing import Any, Generic, Self

import msgspec

from emulator.core.records import R, Record


class Slot(msgspec.Struct, Generic[R], order=True, gc=False):
    """A record's place in the order of its table: by ``created_at``, then by its number in the order of creation.

    A record that replaces another takes over its slot.
    """

    created_at: str
    number: int
    record: R


_NONE: dict[str, Any] = {}
"""The indexes of a kind that has none. Nothing is ever put into it, for its tables loop over its fields."""


class Table(Generic[R]):
    """All records of one kind. Reading, adding, replacing and a page of a list take the same time at any size.

    ``slots`` finds records by id; ``order`` and each index hold the same slots in order of creation. A slot is found in
    these lists by bisection, but removing it moves all slots after it; therefore kinds that are not paged have no
    ``order``. A world has a table of each kind it holds, so that an empty table is small.
    """

    __slots__ = (
        "_dated",
        "_paged",
        "_pairs",
        "_slot_fields",
        "checked",
        "checks_additions",
        "indexes",
        "kind",
        "order",
        "slots",
        "stamped",
        "unique",
    )

    def __init__(self, kind: type[R]) -> None:
        self.kind = kind
        self._paged = kind.paged
        self._dated, self.stamped, self._slot_fields = _traits(kind)
        self.checked = kind.checked
        self.checks_additions = "id" in kind.checked
        self.slots: dict[str, Slot[R]] = {}
        self.order: list[Slot[R]] = []
        self.indexes: dict[str, dict[Any, list[Slot[R]]]] = (
            {field: defaultdict(list) for field in kind.indexes} if kind.indexes else _NONE
        )
        self._pairs = tuple(self.indexes.items())
        self.unique: dict[str, dict[Any, Slot[R]]] = {field: {} for field in kind.unique} if kind.unique else _NONE

    def copy(self) -> Self:
        """A table of the same records; changes to one table do not reach the other."""
        duplicate = type(self)(self.kind)
        slots = duplicate.slots = {
            id: Slot(slot.created_at, slot.number, slot.record) for id, slot in self.slots.items()
        }

        def copied(run: list[Slot[R]]) -> list[Slot[R]]:
            return [slots[slot.record.id] for slot in run]

        duplicate.order = copied(self.order)
        for field, index in self.indexes.items():
            duplicate.indexes[field].update((key, copied(run)) for key, run in index.items())
        duplicate.unique = {
            field: {key: slots[slot.record.id] for key, slot in index.items()} for field, index in self.unique.items()
        }
        return duplicate

    def __len__(self) -> int:
        return len(self.slots)

    def __iter__(self) -> Iterator[R]:
        return iter([slot.record for slot in (self.order if self.kind.paged else sorted(self.slots.values()))])

    def unordered(self) -> list[R]:
        """Every record, in no particular order. Unlike iteration it sorts nothing if the kind is not paged."""
        return [slot.record for slot in self.slots.values()]

    def get(self, id: str) -> R | None:
        slot = self.slots.get(id)
        return None if slot is None else slot.record

    def oldest(self) -> R | None:
        """The record that was created first."""
        return self.order[0].record if self.order else None

    def where(self, field: str, value: object) -> list[R]:
        """The records whose indexed field has this value, oldest first."""
        run = self.indexes[field].get(value)
        return [slot.record for slot in run] if run else []

    def find(self, field: str, value: object) -> R | None:
        """The record whose unique field has this value."""
        slot = self.unique[field].get(self._key(field, value))
        return None if slot is None else slot.record

    def add(self, record: R, number: int) -> None:
        """Add a new record; ``number`` is its place in the order of creation.

        Raises ``ValueError``, as :meth:`replace` does, if its id or a unique value is taken; nothing has changed then.
        """
        if self.unique:
            self._require_unique(record)
        slot = Slot(record.created_at if self._dated else "", number, record)  # type: ignore[attr-defined]  # _dated says that the kind has created_at
        if self.slots.setdefault(record.id, slot) is not slot:
            raise ValueError(f"there is a {self.kind.kind} {record.id} already")
        insert: Callable[..., None] = insort
        if self._paged:
            insert = _inserter(self.order, slot)
            insert(self.order, slot)
        for field, index in self._pairs:
            insert(index[getattr(record, field)], slot)
        for field, found in self.unique.items():
            if (value := getattr(record, field)) is not None:
                found[self._key(field, value)] = slot

    def replace(self, old: R, new: R, changed: Collection[str] | None = None) -> None:
        """Put a record in the place of ``old``; it gets a new slot if ``created_at`` or a unique value differs.

        ``changed`` names the fields that may differ; by default, all may. Raises ``RuntimeError``, as :meth:`remove`
        does, if ``old`` is not, or no longer, the record of that id.
        """
        slot = self._slot_of(old)
        fields = self.kind.__struct_fields__ if changed is None else changed
        if not self._slot_fields.isdisjoint(fields) and _indexes_changed(old, new, self._slot_fields):
            self._require_unique(new)
            self.remove(old)
            self.add(new, slot.number)
            return
        for field in self.indexes.keys() & fields:
            before, after = getattr(old, field), getattr(new, field)
            if before != after:
                index = self.indexes[field]
                _remove(index, before, slot)
                run = index[after]
                _inserter(run, slot)(run, slot)
        slot.record = new

    def remove(self, record: R) -> int:
        """Remove a record; returns its number in the order of creation."""
        slot = self._slot_of(record)
        del self.slots[record.id]
        if self.kind.paged:
            del self.order[bisect_left(self.order, slot)]
        for field, index in self.indexes.items():
            _remove(index, getattr(record, field), slot)
        for field, found in self.unique.items():
            found.pop(self._key(field, getattr(record, field)), None)
        return slot.number

    def _slot_of(self, record: R) -> Slot[R]:
        slot = self.slots.get(record.id)
        if slot is None or slot.record is not record:
            raise RuntimeError(f"{record.id} has been changed or removed since it was read; look it up again")
        return slot

    def _key(self, field: str, value: Any) -> Any:
        """The form in which unique values are compared."""
        if field not in self.kind.caseless or not isinstance(value, str):
            return value
        # A value that is in lower case already is its own key, which saves one string per customer.
        return value if (folded := value.casefold()) == value else folded

    def _require_unique(self, record: R) -> None:
        for field, found in self.unique.items():
            slot = found.get(self._key(field, getattr(record, field)))
            if slot is not None and slot.record.id != record.id:
                raise ValueError(f"another {self.kind.kind} has the {field} of {record.id}")


@cache
def _traits(kind: type[Record]) -> tuple[bool, bool, frozenset[str]]:
    """Whether records of a kind have ``created_at`` and ``updated_at``, and the fields that decide a record's place.

    If one of these changes, the record needs a new slot.
    """
    dated = "created_at" in kind.__struct_fields__
    fields = frozenset(kind.unique) | ({"created_at"} if dated else frozenset())
    return dated, "updated_at" in kind.__struct_fields__, fields


def _indexes_changed(old: Record, new: Record, fields: Iterable[str]) -> bool:
    return any(getattr(old, field) != getattr(new, field) for field in fields)


def _inserter(run: list[Slot[R]], slot: Slot[R]) -> Callable[[list[Slot[R]], Slot[R]], None]:
    """How to insert a slot in order: new records go to the end; only undo and edited dates need a search."""
    return list.append if not run or run[-1] < slot else insort


def _remove(index: dict[Any, list[Slot[R]]], value: object, slot: Slot[R]) -> None:
    run = index[value]
    if run[-1] is slot:  # most often it is the newest that changes
        run.pop()
    else:
        del run[bisect_left(run, slot)]
    if not run:
        del index[value]
