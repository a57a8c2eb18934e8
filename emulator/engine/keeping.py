"""Keeping: how the world of a runtime lasts in a store, turn by turn, with its clock and its counters."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from emulator.core.turns import Change, Turn
from emulator.core.world import World
from emulator.engine import archive
from emulator.engine.archive import Snapshot
from emulator.engine.clock import Clock
from emulator.resources.keys import Key
from emulator.state.store import NotStored, Store


class Keeping:
    """One world's place in a store. Everything raises ``NotStored``, and then nothing of it is kept."""

    def __init__(self, store: Store, key: Key) -> None:
        self._store = store
        self._key = key
        self._known: tuple[Any, ...] = ()

    def turn(self, world: World, clock: Clock, turn: Turn) -> None:
        """Keep a turn, and clock and counters with it; one that cannot be kept is undone."""
        if turn.changes:
            try:
                self._write(world, clock, turn.changes)
            except NotStored:
                world.undo(turn)
                raise

    def rest(self, world: World, clock: Clock) -> None:
        """Keep clock and counters where they moved without a turn: an id was drawn, the clock was set."""
        if self._known != (clock.course, world.counters):
            self._write(world, clock)

    def whole(self, snapshot: Snapshot, changes: Iterable[Change] | None = None) -> None:
        """Keep the world as this one, which comes of these changes; without any, in place of all that was kept."""
        saved = archive.saved(snapshot)
        if changes is None:
            self._store.replace(saved)
        else:
            self._store.write(self._key, snapshot.world, changes, saved.head)
        self._known = ()

    def snapshot(self, name: str, snapshot: Snapshot | None) -> None:
        """Keep a snapshot under a name, as the newest one; None forgets it."""
        self._store.keep_snapshot(self._key, name, None if snapshot is None else archive.saved(snapshot))

    def _write(self, world: World, clock: Clock, changes: Iterable[Change] = ()) -> None:
        self._store.write(self._key, world, changes, archive.head(world, clock))
        self._known = (clock.course, world.counters.copy())
