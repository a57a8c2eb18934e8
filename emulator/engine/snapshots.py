"""Snapshots: a world at one instant, to be restored, exported as plain values, and imported from them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from emulator.core.calendar import Timestamp
from emulator.core.world import World
from emulator.engine.scrubbing import scrubbed
from emulator.engine.storage import serialization
from emulator.engine.storage.serialization import InvalidState, StoredWorld, WorldHeader
from emulator.engine.world_clock import Clock, ClockMode
from emulator.resources.app.keys import Key


class WorldSnapshot(NamedTuple):
    """A world at one instant, with the mode and rate of its clock."""

    world: World
    now: Timestamp
    mode: ClockMode
    rate: float


def take(world: World, clock: Clock) -> WorldSnapshot:
    """A snapshot of a world at the present instant of its clock. It holds this very world, not a copy."""
    return WorldSnapshot(world, clock.now(), clock.mode, clock.rate)


def export(snapshot: WorldSnapshot, *, share: bool = False) -> dict[str, Any]:
    """The snapshot as plain values: the content of a TinyDB file with this one world; to ``share``, scrubbed."""
    plain: dict[str, Any] = msgspec.to_builtins(serialization.tables([saved(snapshot)]))
    return scrubbed(plain, snapshot.world) if share else plain


def saved(snapshot: WorldSnapshot) -> StoredWorld:
    """The snapshot as it is stored. Its clock will go on from its instant, however long ago that is then."""
    world = snapshot.world
    return StoredWorld(Key(world.name, world.livemode), header(snapshot), serialization.all_rows(world))


def header(snapshot: WorldSnapshot) -> WorldHeader:
    """What is stored of a snapshot beside its records."""
    world, now, mode, rate = snapshot
    return WorldHeader(now=now, mode=mode, rate=rate, counters=dict(world.counters), seed=world.seed)


def head(world: World, clock: Clock) -> WorldHeader:
    """What is stored of a running world beside its records. A running clock goes on while the world is not loaded."""
    now, counters = clock.now(), dict(world.counters)
    return WorldHeader(now=now, mode=clock.mode, rate=clock.rate, counters=counters, since=time.time(), seed=world.seed)


def restore(value: Any, into: World) -> WorldSnapshot:
    """The snapshot in exported values, as a world like ``into`` (same App, same mode). Raises ``InvalidState``.

    Among several worlds it is the one of that App.
    """
    worlds: Mapping[Key, StoredWorld] = serialization.content(value).worlds
    own = worlds.get(Key(into.name, into.livemode))
    if own is None and len(worlds) != 1:
        raise InvalidState(f"it holds {len(worlds)} worlds, and none of them is that of {into.name}")
    return load_world(own or next(iter(worlds.values())), into)


def load_world(saved: StoredWorld, into: World) -> WorldSnapshot:
    """The stored world, as a world like ``into``. Raises ``InvalidState``."""
    world = into.emptied()
    serialization.fill(world, saved)
    return WorldSnapshot(world, world.now, saved.head.mode, saved.head.rate)
