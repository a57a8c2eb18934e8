"""Persistence: stores a world, one unit of work after the other, with its clock and its counters."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from emulator.core.unit_of_work import Change, UnitOfWork
from emulator.core.world import World
from emulator.engine import snapshots
from emulator.engine.snapshots import WorldSnapshot
from emulator.engine.storage.store import LeasedElsewhere, StorageError, Store
from emulator.engine.world_clock import Clock
from emulator.resources.app.keys import Key


class WorldPersistence:
    """One world in a store. Every method raises ``StorageError``, and then has stored nothing."""

    def __init__(self, store: Store, key: Key) -> None:
        self._store = store
        self._key = key
        self._stored_state: tuple[Any, ...] = ()
        self._ended = False
        self._durable = store.durability()

    def add(self, world: World, clock: Clock, unit: UnitOfWork) -> None:
        """Store a unit of work with clock and counters; one that cannot be stored is undone."""
        if unit.changes:
            try:
                self._write(world, clock, unit.changes)
            except StorageError:
                world.undo(unit)
                raise

    def flush(self, world: World, clock: Clock) -> None:
        """Store clock and counters if they moved without a unit of work: an id was drawn, the clock was set."""
        if self._stored_state != (clock.settings, world.counters):
            self._write(world, clock)

    def replace_world(self, snapshot: WorldSnapshot, changes: Iterable[Change] | None = None) -> None:
        """Store another world: by the changes that led to it, or, with None, in place of all that was stored."""
        if changes is None:
            self._leased.replace(snapshots.saved(snapshot))
        else:
            self._leased.write(self._key, snapshot.world, changes, snapshots.header(snapshot))
        self._stored_state = ()

    def store_snapshot(self, name: str, snapshot: WorldSnapshot | None) -> None:
        """Store a snapshot under a name, as the newest one; None deletes it."""
        self._leased.put_snapshot(self._key, name, None if snapshot is None else snapshots.saved(snapshot))

    async def durable(self) -> None:
        """Wait until all that was stored outlasts a crash of the store as well."""
        if self._durable is not None:
            await self._durable()

    def end(self) -> None:
        """Store nothing more: from now on another process may run the world, or this one has read it again."""
        self._ended = True

    @property
    def _leased(self) -> Store:
        if self._ended:
            raise LeasedElsewhere(self._key)
        return self._store

    def _write(self, world: World, clock: Clock, changes: Iterable[Change] = ()) -> None:
        self._leased.write(self._key, world, changes, snapshots.head(world, clock))
        self._stored_state = (clock.settings, world.counters.copy())
