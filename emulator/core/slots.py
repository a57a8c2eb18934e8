"""Slots: the places of records in the order of a table, and the slots by the values of an indexed field."""

from __future__ import annotations

from bisect import bisect_left, insort
from typing import Any, Generic, Self, cast

import msgspec

from emulator.core.archive import is_archived
from emulator.core.parted_dict import PART, PartedDict
from emulator.core.records import R


class Slot(msgspec.Struct, Generic[R], gc=False):
    """A record's place in the order of its table: by ``created_at``, then by its number in the order of creation.

    A record that replaces another takes over its slot. Some tables have an :class:`~emulator.core.archive.Archived` in
    the place of records that are not in memory; :meth:`Table.records` reads them.
    """

    number: int
    record: R

    def __lt__(self, other: Slot[R]) -> bool:
        here, there = getattr(self.record, "created_at", ""), getattr(other.record, "created_at", "")
        return self.number < other.number if here == there else here < there


class Index(PartedDict[Any, Slot[R] | list[Slot[R]]]):
    """The slots of a table by the value of one field, those of each value in order; null is not indexed.

    A value that one record has is stored with its slot itself: in some indexes each value is of one record, and a list
    takes more memory than a slot. Each method that adds returns where the next value goes, as :meth:`grown` does.
    """

    __slots__ = ()

    def run(self, value: object) -> list[Slot[R]]:
        """The slots of the records that have this value, oldest first. The list is not to be changed."""
        run = self[value] if self.older else self.get(value)
        if run is None:
            return []
        return run if isinstance(run, list) else [run]

    def added(self, value: object, slot: Slot[R]) -> Self:
        """File a slot under a value."""
        run = self[value] if self.older else self.get(value)
        if isinstance(run, list):
            insert_slot(run, slot)
            return self
        if value is None:
            return self
        newest = self if len(self) < PART else self.grown()
        if run is None:
            newest[value] = slot
        else:
            self.discard(value)
            newest[value] = [run, slot] if run < slot else [slot, run]
        return newest

    def removed(self, value: object, slot: Slot[R]) -> Self:
        """Take out a slot that is filed under this value."""
        run = self[value] if self.older else self.get(value)
        if isinstance(run, list):
            remove_slot(run, slot)
            if len(run) == 1:
                self.discard(value)
                return self.added(value, run[0])
        elif run is not None:
            self.discard(value)
        return self

    def copied(self, slots: PartedDict[str, Slot[R]]) -> Self:
        """An index of the slots with the same ids among these."""
        return self.mapped(lambda run: same_slots(run, slots) if isinstance(run, list) else same_slots([run], slots)[0])


def same_slots(run: list[Slot[R]], slots: PartedDict[str, Slot[R]]) -> list[Slot[R]]:
    """The slots with the same ids among others, which have them all. Slots of archived records are shared."""
    return [slot if is_archived(slot.record) else cast("Slot[R]", slots[slot.record.id]) for slot in run]


def insert_slot(run: list[Slot[R]], slot: Slot[R]) -> None:
    """Insert a slot in order."""
    if not run or run[-1] < slot:
        run.append(slot)
    else:
        insort(run, slot)


def remove_slot(run: list[Slot[R]], slot: Slot[R]) -> None:
    """Remove a slot; most often it is the newest one that changes, or the oldest."""
    if run[-1] is slot:
        run.pop()
    else:
        del run[0 if run[0] is slot else bisect_left(run, slot)]
