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


class Turn(msgspec.Struct, gc=False):
    """What one request or one job does: the list of its changes, its events and its wishes.

    ``counters`` are the world's counters as they were before, for undo. ``wiped`` tells that it took out everything.
    """

    cause: str | None
    counters: dict[str, int]
    changes: list[Change] = []
    events: list[Event] = []
    wishes: list[Effect] = []
    wiped: bool = False


class Running(msgspec.Struct):
    """A turn of a world while it runs."""

    world: World
    turn: Turn

    def __enter__(self) -> Turn:
        self.world._turn = self.turn
        return self.turn

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: object) -> None:
        if kind is not None:
            self.world.undo(self.turn)
        self.world._turn = None
