"""A table: the records of one kind, by id, in order of creation, and by the values of their indexed fields."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from functools import cache
from typing import Any, Generic, Self

from emulator.core.parted_dict import PART, PartedDict
from emulator.core.records import R, Record
from emulator.core.slots import Index, Slot, insert_slot, remove_slot, same_slots

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
        "_last_date",
        "_last_number",
        "_paged",
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
        # The latest date and the highest number of any record so far: a new one beyond both comes last in every list.
        self._last_date, self._last_number = "", 0
        self.checked = kind.checked
        self.checks_additions = "id" in kind.checked
        self.slots: PartedDict[str, Slot[R]] = PartedDict()
        self.order: list[Slot[R]] = []
        self.indexes: dict[str, Index[R]] = {field: Index() for field in kind.indexes} if kind.indexes else _NONE
        self.unique: dict[str, PartedDict[Any, Slot[R]]] = (
            {field: PartedDict() for field in kind.unique} if kind.unique else _NONE
        )

    def emptied(self) -> Self:
        """A table of this kind without records."""
        return type(self)(self.kind)

    def copy(self) -> Self:
        """A table of the same records; changes to one table do not reach the other."""
        duplicate = self.emptied()
        slots = duplicate.slots = self.slots.mapped(lambda slot: Slot(slot.number, slot.record))
        duplicate.order = same_slots(self.order, slots)
        duplicate._last_number, duplicate._last_date = self._last_number, self._last_date
        duplicate.indexes = {field: index.copied(slots) for field, index in self.indexes.items()}
        duplicate.unique = {
            field: found.mapped(lambda slot: same_slots([slot], slots)[0]) for field, found in self.unique.items()
        }
        return duplicate

    def __len__(self) -> int:
        return self.slots.size() if self.slots.older else len(self.slots)

    def __iter__(self) -> Iterator[R]:
        return iter(self.records(self.in_order()))

    def in_order(self) -> list[Slot[R]]:
        """The slots of all records, oldest first. The list is not to be changed."""
        return self.order if self._paged else sorted(self.slots.all_values())

    def in_memory(self) -> list[R]:
        """The records that are in memory, in no particular order. It sorts nothing, even if the kind is not paged."""
        return [slot.record for slot in self.slots.all_values()]

    def records(self, slots: Iterable[Slot[R]]) -> list[R]:
        """The records of some slots of this table."""
        return [slot.record for slot in slots]

    def read(self, slots: Iterable[Slot[R]]) -> Iterator[tuple[Slot[R], R]]:
        """Some slots of this table with their records, which need not all be in memory at a time."""
        return ((slot, slot.record) for slot in slots)

    def mentioning(self, id: str) -> list[Slot[R]] | None:
        """The slots of the records that mention an object (``kind.mentions``), oldest first; None if unknown."""
        return None

    def slot(self, id: str) -> Slot[R] | None:
        """The slot of the record with this id, to be read."""
        return self.slots[id]

    def get(self, id: str) -> R | None:
        slot = self.slots[id]
        return None if slot is None else slot.record

    def place(self, record: R) -> Slot[R]:
        """The slot of a record of this table, by which records can be put in order. Raises as :meth:`remove` does."""
        slot = self.slots[record.id]
        if slot is None or slot.record is not record:
            raise RuntimeError(f"{record.id} has been changed or removed since it was read; look it up again")
        return slot

    def oldest(self) -> R | None:
        """The record that was created first."""
        return next(iter(self.records(self.order[:1])), None)

    def where(self, field: str, value: object) -> list[R]:
        """The records whose indexed field has this value, oldest first; none for null, which is not indexed."""
        return self.records(self.indexes[field].run(value))

    def find(self, field: str, value: object) -> R | None:
        """The record whose unique field has this value."""
        slot = self.unique[field][self._key(field, value)]
        return None if slot is None else slot.record

    def add(self, record: R, number: int) -> None:
        """Add a new record; ``number`` is its place in the order of creation.

        Raises ``ValueError``, as :meth:`replace` does, if its id or a unique value is taken; nothing has changed then.
        """
        if self.unique:
            self._require_unique(record)
        slot = Slot(number, record)
        slots = self.slots
        if len(slots) >= PART:
            slots = self.slots = slots.grown()
        if (slots.older and slots[record.id] is not None) or slots.setdefault(record.id, slot) is not slot:
            raise ValueError(f"there is a {self.kind.kind} {record.id} already")
        date = record.created_at if self._dated else ""  # type: ignore[attr-defined]  # _dated says that the kind has it
        if is_newest := number > self._last_number and date >= self._last_date:
            self._last_number, self._last_date = number, date
        else:
            self._last_number, self._last_date = max(number, self._last_number), max(date, self._last_date)
        if self._paged:
            self.order.append(slot) if is_newest else insert_slot(self.order, slot)
        for field, index in self.indexes.items():
            value = getattr(record, field)
            if is_newest and isinstance(run := index.get(value), list):
                run.append(slot)
            elif value is not None:
                self.indexes[field] = index.added(value, slot)
        if self.unique:
            self._add_unique(record, slot)

    def replace(self, old: R, new: R, changed: Collection[str] | None = None) -> None:
        """Put a record in the place of ``old``; it gets a new slot if ``created_at`` or a unique value differs.

        ``changed`` names the fields that may differ; by default, all may. Raises ``RuntimeError``, as :meth:`remove`
        does, if ``old`` is not, or no longer, the record of that id.
        """
        slot = self.place(old)
        fields = self.kind.__struct_fields__ if changed is None else changed
        if not self._slot_fields.isdisjoint(fields) and _differ(old, new, self._slot_fields):
            self._require_unique(new)
            self.remove(old)
            self.add(new, slot.number)
            return
        for field, index in self.indexes.items():
            if field in fields and (before := getattr(old, field)) != (after := getattr(new, field)):
                self.indexes[field] = index.removed(before, slot).added(after, slot)
        slot.record = new

    def remove(self, record: R) -> int:
        """Remove a record; returns its number in the order of creation."""
        slot = self.place(record)
        self.slots.discard(record.id)
        if self._paged:
            remove_slot(self.order, slot)
        for field, index in self.indexes.items():
            self.indexes[field] = index.removed(getattr(record, field), slot)
        for field, found in self.unique.items():
            found.discard(self._key(field, getattr(record, field)))
        return slot.number

    def _add_unique(self, record: R, slot: Slot[R]) -> None:
        for field, found in self.unique.items():
            if (value := getattr(record, field)) is not None:
                self.unique[field] = found.grown()
                self.unique[field][self._key(field, value)] = slot

    def _key(self, field: str, value: Any) -> Any:
        """The form in which unique values are compared."""
        if field not in self.kind.caseless or not isinstance(value, str):
            return value
        # A value that is in lower case already is its own key, which saves one string per customer.
        return value if (folded := value.casefold()) == value else folded

    def _require_unique(self, record: R) -> None:
        for field in self.unique:
            holder = self.find(field, getattr(record, field))
            if holder is not None and holder.id != record.id:
                raise ValueError(f"another {self.kind.kind} has the {field} of {record.id}")


@cache
def _traits(kind: type[Record]) -> tuple[bool, bool, frozenset[str]]:
    """Whether records of a kind have ``created_at`` and ``updated_at``, and the fields that decide a record's place.

    If one of these changes, the record needs a new slot.
    """
    dated = "created_at" in kind.__struct_fields__
    fields = frozenset(kind.unique) | ({"created_at"} if dated else frozenset())
    return dated, "updated_at" in kind.__struct_fields__, fields


def _differ(old: Record, new: Record, fields: Iterable[str]) -> bool:
    return any(getattr(old, field) != getattr(new, field) for field in fields)
