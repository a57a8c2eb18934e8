"""A table: the records of one kind, by id, in order of creation, and by their indexed fields.

Its mappings have parts: however large one grows, no single addition takes longer than some
milliseconds. Order and indexes are made when they are first read, which goes through all records
once: most tables are never listed, and fewer lists are filtered, but each order and index that
there is takes time with every change.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain
from operator import attrgetter
from typing import Any, Generic, NamedTuple, Self, TypeVar

import msgspec

from emulator.core.records import R

# -- a mapping in parts


K = TypeVar("K")
V = TypeVar("V")

PART = 87_381
"""Entries of one part: as many as a dict takes that has 2**17 places.

A dict that grows copies all it holds: a million entries take 0.1 s, the last growth of a part some
4 ms. One renewal may meet it in five tables.
"""


class PartedDict(dict[K, V | None]):
    """A dict in parts: itself the newest, ``older`` the full ones; ``parts[key]`` may be None.

    The newest part answers first, without a call in Python: in a long history, most of what is read
    is recent. Of the methods of a dict, only those below know the older parts. Before an entry is
    added to a part of ``PART`` entries,
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
        """Begin a new part: copying a full dict takes a quarter of the time of its last growth."""
        self.older = (*self.older, dict(self))
        self.clear()

    def fill(self, keys: Sequence[K], values: Sequence[V]) -> None:
        """Put entries into a mapping that is empty, in as many parts as they need."""
        for at in range(0, len(keys), PART):
            if at:
                self.begin_part()
            self.update(zip(keys[at : at + PART], values[at : at + PART], strict=True))

    def discard(self, key: K) -> V | None:
        """Remove an entry, if there is one, and return its value."""
        if (value := self.pop(key, None)) is not None or not self.older:
            return value
        for part in self.older:
            if (value := part.pop(key, None)) is not None:
                self.older = tuple(older for older in self.older if older)
                return value
        return None

    def all_values(self) -> Iterator[V]:
        """Return the values of all parts, the oldest part first."""
        # None is not stored
        return chain.from_iterable(part.values() for part in (*self.older, self))  # type: ignore[misc]

    def all_keys(self) -> Iterator[K]:
        return chain.from_iterable((*self.older, self))


# -- tables


class Slot(msgspec.Struct, Generic[R], gc=False):
    """A record's place in its table, by ``created_at``, then number; a replacement inherits it."""

    number: int
    record: R

    def __lt__(self, other: Slot[R]) -> bool:
        ours = getattr(self.record, "created_at", "")
        theirs = getattr(other.record, "created_at", "")
        return self.number < other.number if ours == theirs else ours < theirs


_number = attrgetter("number")
_created_at = attrgetter("record.created_at")


class Index(PartedDict[Any, Slot[R] | list[Slot[R]]]):
    """The slots of a table by the value of one field, in order; null is not indexed.

    A value that one record has is stored with its slot itself: in some indexes each value is of one
    record, and a list takes more memory than a slot.
    """

    __slots__ = ()

    def run(self, value: object) -> list[Slot[R]]:
        """Return the slots of the records with this value, oldest first; do not change the list."""
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


PIECE = 1000
"""Records that are let go of at a time."""

_NONE: dict[str, Any] = {}
"""The unique values of a kind that has none. Nothing is ever put into it."""


class Contents(NamedTuple, Generic[R]):
    """The records of a table at one instant, with the slots that they had then."""

    slots: list[Slot[R]]
    records: list[R]


class Walk(msgspec.Struct, Generic[R]):
    """A list that is read page by page: ``matches`` are all it selects, once they are known."""

    query: Mapping[str, Any]
    filters: Mapping[str, Any]
    matches: list[R] | None = None


class Table(Generic[R]):
    """All records of one kind. Reads, changes and a page of a list take the same time at any size.

    ``slots`` finds records by id; ``order`` and each index hold the same slots in order of
    creation. A slot is found in these lists by bisection, but removing it moves all slots after it;
    therefore kinds that are not paged keep no ``order``. A world has a table of each kind it holds,
    so that an empty table is small. ``walk`` is the list that was last read beyond its first page;
    None once the table has changed.
    """

    __slots__ = ("_order", "indexes", "kind", "slots", "stamped", "unique", "walk")

    def __init__(self, kind: type[R]) -> None:
        self.kind: type[R] = kind
        self.stamped: bool = "updated_at" in kind.__struct_fields__
        self.slots: PartedDict[str, Slot[R]] = PartedDict()
        self.indexes: dict[str, Index[R]] = {}
        self._order: list[Slot[R]] | None = None
        self.walk: Walk[R] | None = None
        self.unique: dict[str, PartedDict[Any, Slot[R]]] = (
            {field: PartedDict() for field in kind.unique} if kind.unique else _NONE
        )

    def contents(self) -> Contents[R]:
        """Return the contents from which :meth:`of` makes a table of the same records.

        It takes some milliseconds.
        """
        slots = [*(self.slots.all_values() if self._order is None else self._order)]
        return Contents(slots, [slot.record for slot in slots])

    @classmethod
    def of(cls, kind: type[R], contents: Contents[R]) -> Self:
        """Return a table of records; changes to it do not reach the one they are from, nor the
        other way round.
        """
        table = cls(kind)
        records = contents.records
        slots = [
            Slot(slot.number, record) for slot, record in zip(contents.slots, records, strict=True)
        ]
        table.slots.fill([record.id for record in records], slots)
        for field, taken in table.unique.items():
            having = [slot for slot in slots if getattr(slot.record, field) is not None]
            taken.fill([table._key(field, getattr(slot.record, field)) for slot in having], having)
        if kind.paged:
            _ = table.order  # made here and not with its first use
        return table

    def __len__(self) -> int:
        return len(self.slots) + sum(map(len, self.slots.older))

    def __iter__(self) -> Iterator[R]:
        return iter([slot.record for slot in self.order])

    @property
    def order(self) -> list[Slot[R]]:
        """Every slot, in order of creation."""
        if self._order is not None:
            return self._order
        # By keys, which are compared without a call in Python. Most often the slots are in order
        # already.
        order = sorted(self.slots.all_values(), key=_number)
        if "created_at" in self.kind.__struct_fields__:
            order.sort(key=_created_at)
        if self.kind.paged:
            self._order = order
        return order

    def index(self, field: str) -> Index[R]:
        """Return the index of a field, made now if it is not there yet."""
        if (index := self.indexes.get(field)) is None:
            index = self.indexes[field] = Index()
            runs: dict[Any, Slot[R] | list[Slot[R]]] = {}
            for slot in self.order:
                if (run := runs.get(value := getattr(slot.record, field))) is None:
                    runs[value] = slot
                elif isinstance(run, list):
                    run.append(slot)
                else:
                    runs[value] = [run, slot]
            runs.pop(None, None)
            index.fill([*runs], [*runs.values()])
        return index

    def unordered(self) -> list[R]:
        """Return every record, unsorted: iteration would sort the records of a paged kind."""
        return [slot.record for slot in self.slots.all_values()]

    def get(self, id: str) -> R | None:
        slot = self.slots[id]
        return None if slot is None else slot.record

    def place(self, record: R) -> Slot[R]:
        """Return the slot of a record, for sorting. Raises the errors of :meth:`remove`."""
        slot = self.slots[record.id]
        if slot is None or slot.record is not record:
            raise RuntimeError(
                f"{record.id} has been changed or removed since it was read; look it up again"
            )
        return slot

    def pieces(self) -> list[object]:
        """Return all parts of the table, so that a large one can be freed piece by piece."""
        mappings: list[PartedDict[Any, Any]] = [
            self.slots,
            *self.indexes.values(),
            *self.unique.values(),
        ]
        older = chain.from_iterable(mapping.older for mapping in mappings)
        slots = [*self.slots.all_values()]
        parts = (slots[at : at + PIECE] for at in range(0, len(slots), PIECE))
        return [*parts, self._order, self.walk, *mappings, *older]

    def where(self, field: str, value: object) -> list[R]:
        """Return the records with this value in an indexed field (not null), oldest first."""
        run = self.index(field)[value]
        if run is None:
            return []
        return [slot.record for slot in run] if isinstance(run, list) else [run.record]

    def find(self, field: str, value: object) -> R | None:
        """Return the record whose unique field has this value."""
        slot = self.unique[field][self._key(field, value)]
        return None if slot is None else slot.record

    def add(self, record: R, number: int) -> None:
        """Add a new record; ``number`` is its place in the order of creation.

        Raises ``ValueError``, as :meth:`replace` does, if its id or a unique value is taken;
        nothing has changed then.
        """
        keys = self._free_keys(record) if self.unique else _NONE
        slot = Slot(number, record)
        slots = self.slots
        if len(slots) >= PART:
            slots.begin_part()
        if (slots.older and slots[record.id] is not None) or slots.setdefault(
            record.id, slot
        ) is not slot:
            raise ValueError(f"there is a {self.kind.kind} {record.id} already")
        self.walk = None
        if self._order is not None:
            _insert(self._order, slot)
        for field, index in self.indexes.items():
            index.add(getattr(record, field), slot)
        for field, key in keys.items():
            if len(taken := self.unique[field]) >= PART:
                taken.begin_part()
            taken[key] = slot

    def replace(self, old: R, new: R, changed: Collection[str] | None = None) -> int:
        """Replace ``old`` and return its number; ``changed`` names the fields that may differ.

        It gets a new slot if ``created_at`` or a unique value differs. Raises ``RuntimeError``, as
        :meth:`remove` does, if ``old`` is not, or no longer, the record of that id.
        """
        slot = self.place(old)
        self.walk = None
        fields = self.kind.__struct_fields__ if changed is None else changed
        moving = {"created_at", *self.unique}.intersection(fields)
        if moving and any(getattr(old, name) != getattr(new, name) for name in moving):
            self._free_keys(new)
            self.remove(old)
            self.add(new, slot.number)
            return slot.number
        for field, index in self.indexes.items():
            if field in fields and (before := getattr(old, field)) != (
                after := getattr(new, field)
            ):
                index.remove(before, slot)
                index.add(after, slot)
        slot.record = new
        return slot.number

    def remove(self, record: R) -> int:
        """Remove a record and return its number in the order of creation."""
        slot = self.place(record)
        self.walk = None
        self.slots.discard(record.id)
        if self._order is not None:
            _remove(self._order, slot)
        for field, index in self.indexes.items():
            index.remove(getattr(record, field), slot)
        for field, taken in self.unique.items():
            taken.discard(self._key(field, getattr(record, field)))
        return slot.number

    def _key(self, field: str, value: Any) -> Any:
        """Return the form in which unique values are compared."""
        if field not in self.kind.caseless or not isinstance(value, str):
            return value
        # A value that is in lower case already is its own key, which saves one string per customer.
        return value if (folded := value.casefold()) == value else folded

    def _free_keys(self, record: R) -> dict[str, Any]:
        """Return a record's unique values but null. Raises ``ValueError`` if one is taken."""
        keys = {}
        for field, taken in self.unique.items():
            key = self._key(field, getattr(record, field))
            slot = taken[key]
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
