"""The archive: a world at one instant, to come back to, to be saved as plain values and brought back from them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from emulator.core.calendar import Timestamp
from emulator.core.world import World
from emulator.engine.clock import Clock
from emulator.resources.app.keys import Key
from emulator.state import serialization
from emulator.state.serialization import InvalidState, StoredWorld, WorldHeader


class Snapshot(NamedTuple):
    """A world at one instant, with how its clock went."""

    world: World
    now: Timestamp
    mode: str
    rate: float


def export(snapshot: Snapshot) -> dict[str, Any]:
    """The snapshot as plain values: a TinyDB file with this one world."""
    plain: dict[str, Any] = msgspec.to_builtins(serialization.tables([saved(snapshot)]))
    return plain


def saved(snapshot: Snapshot) -> StoredWorld:
    """The snapshot as it is saved; its clock goes on from where it was, however long that is ago."""
    world, now, mode, rate = snapshot
    head = WorldHeader(now=now, mode=_mode(mode), rate=rate, counters=dict(world.counters), seed=world.seed)
    return StoredWorld(Key(world.name, world.livemode), head, serialization.all_rows(world))


def head(world: World, clock: Clock) -> WorldHeader:
    """What a world that is at work is beside its records; its clock goes on while nobody looks."""
    now, counters = clock.now(), dict(world.counters)
    return WorldHeader(
        now=now, mode=_mode(clock.mode), rate=clock.rate, counters=counters, since=time.time(), seed=world.seed
    )


def _mode(mode: str) -> Any:
    return mode


def restore(value: Any, into: World) -> Snapshot:
    """The snapshot that was exported so, as a world like ``into`` (same App, same side). Raises :class:`Unreadable`.

    Of several worlds it is the one of that App.
    """
    worlds: Mapping[Key, StoredWorld] = serialization.content(value).worlds
    own = worlds.get(Key(into.name, into.livemode))
    if own is None and len(worlds) != 1:
        raise InvalidState(f"it holds {len(worlds)} worlds, and none of them is that of {into.name}")
    return load_world(own or next(iter(worlds.values())), into)


def load_world(saved: StoredWorld, into: World) -> Snapshot:
    """What was saved, as a world like ``into``. Raises :class:`Unreadable`."""
    world = emptied(into)
    serialization.fill(world, saved)
    return Snapshot(world, world.now, saved.head.mode, saved.head.rate)


def emptied(world: World) -> World:
    """A world of the same App without a single record."""
    empty = world.copy()
    with empty.unit_of_work():
        empty.clear(keep=())
    return empty
