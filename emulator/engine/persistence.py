"""Keeping: how the world of a runtime lasts in a store, turn by turn, with its clock and its counters."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from emulator.core.unit_of_work import Change, UnitOfWork
from emulator.core.world import World
from emulator.engine import snapshots
from emulator.engine.clock import Clock
from emulator.engine.snapshots import Snapshot
from emulator.resources.app.keys import Key
from emulator.state.store import StorageError, Store


class WorldPersistence:
    """One world's place in a store. Everything raises ``NotStored``, and then nothing of it is kept."""

    def __init__(self, store: Store, key: Key) -> None:
        self._store = store
        self._key = key
        self._stored_ids: tuple[Any, ...] = ()

    def add(self, world: World, clock: Clock, turn: UnitOfWork) -> None:
        """Keep a turn, and clock and counters with it; one that cannot be kept is undone."""
        if turn.changes:
            try:
                self._write(world, clock, turn.changes)
            except StorageError:
                world.undo(turn)
                raise

    def flush(self, world: World, clock: Clock) -> None:
        """Keep clock and counters where they moved without a turn: an id was drawn, the clock was set."""
        if self._stored_ids != (clock.settings, world.counters):
            self._write(world, clock)

    def replace_world(self, snapshot: Snapshot, changes: Iterable[Change] | None = None) -> None:
        """Keep the world as this one, which comes of these changes; without any, in place of all that was kept."""
        saved = snapshots.saved(snapshot)
        if changes is None:
            self._store.replace(saved)
        else:
            self._store.write(self._key, snapshot.world, changes, saved.head)
        self._stored_ids = ()

    def snapshot(self, name: str, snapshot: Snapshot | None) -> None:
        """Keep a snapshot under a name, as the newest one; None forgets it."""
        self._store.put_snapshot(self._key, name, None if snapshot is None else snapshots.saved(snapshot))

    def _write(self, world: World, clock: Clock, changes: Iterable[Change] = ()) -> None:
        self._store.write(self._key, world, changes, snapshots.head(world, clock))
        self._stored_ids = (clock.settings, world.counters.copy())
