"""A turn: what one request or one job does to a world, kept or undone as a whole (idea 3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from emulator.core.effects import Effect
from emulator.core.records import Record

if TYPE_CHECKING:
    from emulator.core.world import Event, World


class Change(msgspec.Struct, frozen=True, gc=False):
    """One record before and after; ``old`` is None for a new one, ``new`` for one that is gone.

    ``number`` is the record's place in the order of creation where one is added or removed. Like records (see there),
    changes are nothing to the garbage collector.
    """

    old: Record | None
    new: Record | None
    number: int

    @property
    def record(self) -> Record:
        """The record as it is now or, if it is gone, as it was last."""
        record = self.new or self.old
        assert record is not None
        return record


class UnitOfWork(msgspec.Struct, gc=False):
    """What one request or one job does: the list of its changes, its events and its wishes.

    ``counters`` are the world's counters as they were before, for undo. ``wiped`` tells that it took out everything.
    """

    cause: str | None
    counters: dict[str, int]
    changes: list[Change] = []
    events: list[Event] = []
    effects: list[Effect] = []
    cleared: bool = False

    def touches(self, id: str) -> bool:
        """Whether it made, changed or removed the record with this id."""
        return any(change.record.id == id for change in self.changes)


class UnitOfWorkContext(msgspec.Struct):
    """A turn of a world while it runs."""

    world: World
    unit: UnitOfWork

    def __enter__(self) -> UnitOfWork:
        self.world._unit = self.unit
        return self.unit

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: object) -> None:
        if kind is not None:
            self.world.undo(self.unit)
        self.world._unit = None
