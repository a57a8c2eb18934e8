"""A table of which only some records are in memory; the others are read from the archive."""

from __future__ import annotations

import sys
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator
from itertools import islice, takewhile
from typing import Any, Self

import msgspec

from emulator.core.archive import Archive, Archived, is_archived
from emulator.core.calendar import LAST, Timestamp
from emulator.core.events import Event
from emulator.core.records import R, to_wire
from emulator.core.slots import Slot
from emulator.core.tables import Table

BATCH = 1000
"""Records that are read from the archive at a time."""


class ArchivedTable(Table[R]):
    """``slots`` has the records in memory only; the order and the indexes have all, so that pages are found as fast.

    The slot of an archived record is shared by the copies of a table. Therefore it never changes: a record that comes
    back to memory gets another slot in its place. ``archived`` counts these slots.
    """

    __slots__ = ("_archive", "_drawn", "_latest", "archived")

    def __init__(self, kind: type[R], archive: Archive) -> None:
        super().__init__(kind)
        self.archived = 0
        self._archive = archive
        self._latest = Archived("")
        # Whether every archived id begins as those do that the world draws: then no other one is looked for.
        self._drawn = True

    def emptied(self) -> Self:
        return type(self)(self.kind, self._archive)

    def copy(self) -> Self:
        duplicate = super().copy()
        duplicate.archived, duplicate._drawn = self.archived, self._drawn
        return duplicate

    def complete(self) -> Self:
        """A table of the same records with all of them in memory."""
        duplicate = self.emptied()
        for slot, record in self.read(self.order):
            duplicate.add(record, slot.number)
        return duplicate

    def archive_oldest(self, most: int, before: Timestamp = LAST) -> list[R]:
        """Have so many of the oldest records at most, all of which are stored, leave memory; the records that did.

        Only those leave that were created before an instant (UTC).
        """
        oldest: Iterator[Slot[Any]] = islice(self.slots.all_values(), most)
        leaving = list(takewhile(lambda slot: slot.record.created_at < before, oldest))
        records = [slot.record for slot in leaving]
        for slot, record in zip(leaving, records, strict=True):
            if record.created_at != self._latest.created_at:
                # Records of several kinds are made at one instant: they share its text.
                self._latest = Archived(sys.intern(record.created_at))
            self._drawn = self._drawn and self._is_drawn(record.id)
            self.slots.discard(record.id)
            slot.record = self._latest
        self.archived += len(leaving)
        return records

    # -- reading

    def __len__(self) -> int:
        return len(self.order)

    def __iter__(self) -> Iterator[R]:
        return (record for _, record in self.read(self.order.copy()))

    def slot(self, id: str) -> Slot[R] | None:
        return self.slots[id] or self._found(id)

    def get(self, id: str) -> R | None:
        slot = self.slot(id)
        return None if slot is None else slot.record

    def place(self, record: R) -> Slot[R]:
        slot = self.slot(record.id)
        # What was read from the archive at different times is equal, not identical.
        return slot if slot is not None and _same(slot.record, record) else super().place(record)

    def find(self, field: str, value: object) -> R | None:
        slot = self.unique[field][self._key(field, value)]
        return None if slot is None else self.records([slot])[0]

    def records(self, slots: Iterable[Slot[R]]) -> list[R]:
        return [record for _, record in self.read(slots)]

    def read(self, slots: Iterable[Slot[R]]) -> Iterator[tuple[Slot[R], R]]:
        waiting = iter(slots)
        while batch := list(islice(waiting, BATCH)):
            numbers = [slot.number for slot in batch if is_archived(slot.record)]
            found = self._archive.load(self.kind, numbers) if numbers else {}
            for slot in batch:
                yield slot, found[slot.number] if is_archived(slot.record) else slot.record

    def mentioning(self, id: str) -> list[Slot[R]] | None:
        if not self.kind.mentions:
            return None
        stored = self._archive.about(self.kind, id)
        slots = [self.slots[record.id] or self._standing(Slot(number, record)) for number, record in stored]
        return sorted(slot for slot in slots if slot is not None)

    def _found(self, id: str) -> Slot[R] | None:
        """A slot with an archived record, for use outside the table; None if there is none with this id."""
        if not self.archived or (self._drawn and not self._is_drawn(id)):
            return None
        found = self._archive.find(self.kind, id)
        return found and self._standing(Slot(*found))

    def _standing(self, slot: Slot[R]) -> Slot[R] | None:
        """The slot, if it is that of an archived record; one that was removed may still be in the state."""
        place = bisect_left(self.order, slot)
        there = self.order[place] if place < len(self.order) else None
        stands = there is not None and there.number == slot.number and is_archived(there.record)
        return slot if stands else None

    def _is_drawn(self, id: str | None) -> bool:
        return id is not None and id.startswith(self.kind.prefix)

    # -- changing

    def replace(self, old: R, new: R, changed: Collection[str] | None = None) -> None:
        self._recall(old)
        super().replace(old, new, changed)

    def remove(self, record: R) -> int:
        self._recall(record)
        return super().remove(record)

    def _recall(self, record: R) -> None:
        """Have a record in memory, if it is archived."""
        if self.slots[record.id] is not None or (slot := self._found(record.id)) is None:
            return
        if not _same(slot.record, record):
            return
        slot.record = record
        place = bisect_left(self.order, slot)
        former, self.order[place] = self.order[place], slot
        for field, index in self.indexes.items():
            value = getattr(record, field)
            self.indexes[field] = index.removed(value, former).added(value, slot)
        for field, found in self.unique.items():
            found.discard(self._key(field, getattr(record, field)))
        self._add_unique(record, slot)
        self.slots = self.slots.grown()
        self.slots[record.id] = slot
        self.archived -= 1


def _same(held: R, record: R) -> bool:
    """Whether a record that was read earlier is the one that is held. Of an event, only what is shown is stored."""
    if held is record or held == record:
        return True
    return isinstance(record, Event) and msgspec.json.encode(to_wire(held)) == msgspec.json.encode(to_wire(record))
