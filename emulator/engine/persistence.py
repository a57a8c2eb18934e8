"""A world as it is stored: one unit of work after the other, and whole, as a snapshot."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

import msgspec

from emulator.core.calendar import Timestamp
from emulator.core.unit_of_work import Change, UnitOfWork
from emulator.core.world import World
from emulator.engine.redaction import scrubbed
from emulator.engine.storage import serialization
from emulator.engine.storage.serialization import InvalidState, StoredWorld, WorldHeader
from emulator.engine.storage.store import StorageError, Store, WorldClosed
from emulator.engine.world_clock import Clock, ClockMode
from emulator.resources.app.clients import Key

# -- whole, at one instant


class WorldSnapshot(NamedTuple):
    """A world at one instant, with the mode and rate of its clock."""

    world: World
    now: Timestamp
    mode: ClockMode
    rate: float


def take(world: World, clock: Clock) -> WorldSnapshot:
    """Return a snapshot of a world at the present instant of its clock. It holds this very world, not a copy."""
    return WorldSnapshot(world, clock.now(), clock.mode, clock.rate)


ROWS = 250
"""Records that are encoded at a time, which takes about a millisecond."""


def exported(snapshot: WorldSnapshot) -> Iterator[bytes]:
    """Yield the snapshot as JSON, the content of a TinyDB file with this one world; empty bytes are a pause, too."""
    world = snapshot.world
    yield msgspec.json.encode(serialization.tables([StoredWorld(Key.of(world), header(snapshot), {})]))[:-1]
    for table in world.tables():
        slices, order = table.ordered(), None
        while order is None:
            try:
                next(slices)
                yield b""
            except StopIteration as end:
                order = end.value
        if order:
            rows = ((str(slot.number), serialization.row_of(slot.record)) for slot in order)
            yield from _table(f"{Key.of(world)}/{table.kind.kind}", rows)
    yield b"}"


def exported_to_share(snapshot: WorldSnapshot) -> list[bytes]:
    """Return the same, scrubbed; it takes long and is for a thread."""
    tables: dict[str, Any] = serialization.tables([saved(snapshot)])
    plain = {name: {number: msgspec.to_builtins(row) for number, row in rows.items()} for name, rows in tables.items()}
    whole = scrubbed(plain, snapshot.world)
    head = {name: whole.pop(name) for name in ("emulator", "worlds")}
    parts = (part for name, rows in whole.items() for part in _table(name, iter(rows.items())))
    return [msgspec.json.encode(head)[:-1], *parts, b"}"]


def _table(name: str, rows: Iterator[tuple[str, Any]]) -> Iterator[bytes]:
    yield b",%s:{" % msgspec.json.encode(name)
    separator = b""
    while step := [*islice(rows, ROWS)]:
        yield separator + msgspec.json.encode(dict(step))[1:-1]
        separator = b","
    yield b"}"


def saved(snapshot: WorldSnapshot) -> StoredWorld:
    """Return the snapshot as it is stored. Its clock will go on from its instant, however long ago that is then."""
    world = snapshot.world
    rows = {
        table.kind.kind: [(table.place(record).number, serialization.row_of(record)) for record in table]
        for table in world.tables()
        if len(table)
    }
    return StoredWorld(Key.of(world), header(snapshot), rows)


def header(snapshot: WorldSnapshot) -> WorldHeader:
    world, now, mode, rate = snapshot
    return WorldHeader(now=now, mode=mode, rate=rate, counters=dict(world.counters), seed=world.seed)


def restore(value: Any, into: World) -> WorldSnapshot:
    """Return exported values as a world like ``into``; of several worlds, that of its App. Raises ``InvalidState``."""
    worlds: Mapping[Key, StoredWorld] = serialization.content(value).worlds
    own = worlds.get(Key.of(into))
    if own is None and len(worlds) != 1:
        raise InvalidState(f"it holds {len(worlds)} worlds, and none of them is that of {into.name}")
    return load_world(own or next(iter(worlds.values())), into)


def load_world(saved: StoredWorld, into: World) -> WorldSnapshot:
    world = into.emptied()
    serialization.fill(world, saved)
    return WorldSnapshot(world, world.now, saved.head.mode, saved.head.rate)


# -- one unit of work after the other


class WorldPersistence:
    """One world in a store. Every method raises ``StorageError``, and then has stored nothing."""

    def __init__(self, store: Store, key: Key) -> None:
        self._store = store
        self._key = key
        self._stored_state: tuple[Any, ...] = ()
        self._ended = False
        self.durability = store.durability(key)

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
            self._open_store.replace(saved(snapshot))
        else:
            self._open_store.write(self._key, snapshot.world, changes, header(snapshot))
        self._stored_state = ()

    def store_snapshot(self, name: str, snapshot: WorldSnapshot | None) -> None:
        """Store a snapshot under a name, as the newest one; None deletes it."""
        self._open_store.put_snapshot(self._key, name, None if snapshot is None else saved(snapshot))

    def end(self) -> None:
        """Store nothing more: the world may be read again from now on, here or by another process."""
        self._ended = True

    @property
    def _open_store(self) -> Store:
        if self._ended:
            raise WorldClosed(self._key)
        return self._store

    def _write(self, world: World, clock: Clock, changes: Iterable[Change] = ()) -> None:
        # With ``since`` a running clock goes on while the world is not loaded.
        head = msgspec.structs.replace(header(take(world, clock)), since=time.time())
        self._open_store.write(self._key, world, changes, head)
        self._stored_state = (clock.settings, world.counters.copy())
