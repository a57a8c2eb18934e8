"""A table: the records of one kind, by id, in order of creation, and by the values of their indexed fields."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator
from typing import Any, Generic

from emulator.core.records import R

Slot = tuple[str, int, str]
"""Where a record stands among its kind: (created_at, number in order of creation, id)."""


class Table(Generic[R]):
    """All records of one kind. Reading, adding, replacing and a page of any list cost the same at any size.

    ``order`` and every index hold *slots* in order of creation. A slot is found again by bisection, so removal and
    undo keep the order without a search; but what comes after it moves up, so a kind that is not paged has no order.
    """

    def __init__(self, kind: type[R]) -> None:
        self.kind = kind
        self.rows: dict[str, R] = {}
        self.slots: dict[str, Slot] = {}
        self.order: list[Slot] = []
        self.indexes: dict[str, dict[Any, list[Slot]]] = {field: {} for field in kind.indexes}
        self.unique: dict[str, dict[Any, str]] = {field: {} for field in kind.unique}

    def copy(self) -> Table[R]:
        """The same records, filed anew: what is added or removed here is not there."""
        twin = Table(self.kind)
        twin.rows, twin.slots, twin.order = self.rows.copy(), self.slots.copy(), self.order.copy()
        twin.indexes = {field: {key: run.copy() for key, run in index.items()} for field, index in self.indexes.items()}
        twin.unique = {field: ids.copy() for field, ids in self.unique.items()}
        return twin

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[R]:
        return iter([self.rows[slot[2]] for slot in (self.order if self.kind.paged else sorted(self.slots.values()))])

    def get(self, id: str) -> R | None:
        return self.rows.get(id)

    def oldest(self) -> R | None:
        """The record that was made first."""
        return self.rows[self.order[0][2]] if self.order else None

    def having(self, field: str, value: object) -> list[R]:
        """The records whose indexed field has this value, oldest first."""
        return [self.rows[slot[2]] for slot in self.indexes[field].get(value, ())]

    def find(self, field: str, value: object) -> R | None:
        """The record whose unique field has this value."""
        id = self.unique[field].get(self._key(field, value))
        return None if id is None else self.rows[id]

    def add(self, record: R, number: int) -> None:
        """File a new record; ``number`` is its place in the order of creation.

        Raises ``ValueError``, as :meth:`replace` does, before anything changes where an id or a unique value is taken.
        """
        if record.id in self.rows:
            raise ValueError(f"there is a {self.kind.kind} {record.id} already")
        if self.unique:
            self._refuse_taken(record)
        slot = (getattr(record, "created_at", ""), number, record.id)
        self.rows[record.id] = record
        self.slots[record.id] = slot
        if self.kind.paged:
            _insert(self.order, slot)
        for field, index in self.indexes.items():
            run = index.get(value := getattr(record, field))
            if run is None:
                index[value] = [slot]
            else:
                _insert(run, slot)
        for field, ids in self.unique.items():
            if (value := getattr(record, field)) is not None:
                ids[self._key(field, value)] = record.id

    def replace(self, old: R, new: R) -> None:
        """Put a record in the place of its former self."""
        if self.unique:
            self._refuse_taken(new)
        if getattr(old, "created_at", "") != getattr(new, "created_at", ""):
            number = self.remove(old)
            self.add(new, number)
            return
        self.rows[new.id] = new
        slot = self.slots[new.id]
        for field, index in self.indexes.items():
            before, after = getattr(old, field), getattr(new, field)
            if before != after:
                _remove(index, before, slot)
                _insert(index.setdefault(after, []), slot)
        for field, ids in self.unique.items():
            before, after = getattr(old, field), getattr(new, field)
            if before != after:
                ids.pop(self._key(field, before), None)
                if after is not None:
                    ids[self._key(field, after)] = new.id

    def remove(self, record: R) -> int:
        """Take a record out; its number in the order of creation, so that undo can put it back there."""
        slot = self.slots.pop(record.id)
        del self.rows[record.id]
        if self.kind.paged:
            del self.order[bisect_left(self.order, slot)]
        for field, index in self.indexes.items():
            _remove(index, getattr(record, field), slot)
        for field, ids in self.unique.items():
            ids.pop(self._key(field, getattr(record, field)), None)
        return slot[1]

    def _key(self, field: str, value: Any) -> Any:
        """What unique values are compared by."""
        if field not in self.kind.caseless or not isinstance(value, str):
            return value
        # One that is small already serves as its own key: there is one such string for each customer.
        return value if (folded := value.casefold()) == value else folded

    def _refuse_taken(self, record: R) -> None:
        for field, ids in self.unique.items():
            if ids.get(self._key(field, getattr(record, field)), record.id) != record.id:
                raise ValueError(f"another {self.kind.kind} has the {field} of {record.id}")


def _insert(slots: list[Slot], slot: Slot) -> None:
    """New records are the newest, so appending is the rule and searching the exception (undo, an edited date)."""
    if not slots or slots[-1] < slot:
        slots.append(slot)
    else:
        insort(slots, slot)


def _remove(index: dict[Any, list[Slot]], value: object, slot: Slot) -> None:
    slots = index[value]
    del slots[bisect_left(slots, slot)]
    if not slots:
        del index[value]
