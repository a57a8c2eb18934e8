"""Idle worlds: which of them to give up when there are too many, and which hold nothing at all."""

from __future__ import annotations

from collections.abc import Iterable
from heapq import nsmallest
from operator import attrgetter

from emulator.core import calendar
from emulator.core.records import Record
from emulator.core.world import World
from emulator.engine.runtime import Runtime
from emulator.engine.world_clock import Clock

EMPTY_SECONDS = 3600.0
"""Seconds (real time) after its last request when a world that holds nothing is dropped."""

SWEEP_SECONDS = 600.0
"""Seconds (real time) between two searches for such worlds."""

SAME_SECONDS = 1.0
"""Two clocks that differ by less show the same."""


def longest_unused(runtimes: Iterable[Runtime], count: int) -> list[Runtime]:
    """So many runtimes that nothing uses now, first the one whose last request is longest ago."""
    return nsmallest(count, (each for each in runtimes if not each.is_in_use), key=attrgetter("last_used"))


def may_be_empty(runtime: Runtime, now: float) -> bool:
    """Whether a world has been idle for a while, and it holds no more than a new one: its settings."""
    return (
        now - runtime.last_used > EMPTY_SECONDS
        and not runtime.is_in_use
        and runtime.journal.count == 0
        and sum(map(len, runtime.world.tables())) <= 1
        and not runtime.history.snapshots
        and runtime.inbox.is_unused
    )


def is_like(runtime: Runtime, fresh: tuple[World, Clock]) -> bool:
    """Whether a world is like one that is opened now, so that dropping it loses nothing but its request journal."""
    world, clock = fresh
    apart = calendar.seconds_between(clock.now(), runtime.clock.now())
    same_clock = (clock.mode, clock.rate) == (runtime.clock.mode, runtime.clock.rate) and abs(apart) < SAME_SECONDS
    return same_clock and _records(world) == _records(runtime.world)


def _records(world: World) -> list[Record]:
    return [record for table in world.tables() for record in table]
