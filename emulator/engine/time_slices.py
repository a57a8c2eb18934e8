"""Who gets to run in between: after some milliseconds of work the loop makes some rounds for others.

:mod:`emulator.engine.clock` says why, in its paragraph of the same name.
"""

from __future__ import annotations

import asyncio
import time
from typing import TypeVar

from emulator.core.slices import Slices
from emulator.core.world import World

SLICE_SECONDS = 0.004
"""Seconds (real time) of work after which other tasks may run."""

LOOPS_PER_PAUSE = 6
"""Rounds of the event loop in a pause: a request takes as many, from its connection to its answer."""


class TimeSlice:
    """Some milliseconds of work, after which other tasks run.

    It is measured by ``perf_counter``, which is bound when this module is imported: a test that freezes the time of its
    process later does not reach it, and other tasks still run.

    Tasks that share ``pauses`` pause one after the other, so that between any two of their slices other tasks get a
    whole pause, however many of them work at the same time.
    """

    _elapsed = staticmethod(time.perf_counter)

    def __init__(self, pauses: asyncio.Lock | None = None) -> None:
        self._pauses = pauses or asyncio.Lock()
        self._since = self._elapsed()

    @property
    def is_over(self) -> bool:
        return self._elapsed() - self._since > SLICE_SECONDS

    async def pause_if_over(self) -> None:
        """Call it after each step. Lets other tasks run if the slice is over; then the next slice begins."""
        if self.is_over:
            async with self._pauses:
                for _ in range(LOOPS_PER_PAUSE):
                    await asyncio.sleep(0)
            self._since = self._elapsed()


async def let_go(world: World, pauses: asyncio.Lock) -> None:
    """Free a world to which nobody else refers, in slices: to free 100,000 customers at once takes 50 ms."""
    tables, pieces = world.tables(), list[object]()
    del world
    time_slice = TimeSlice(pauses)
    while tables or pieces:
        if tables:
            pieces += tables.pop().pieces()
        else:
            pieces.pop()
        await time_slice.pause_if_over()


T = TypeVar("T")


async def in_slices(steps: Slices[T], pauses: asyncio.Lock) -> T:
    """Return the result of work that grows with the world; other tasks run between its slices."""
    time_slice = TimeSlice(pauses)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: T = end.value
            return result
        await time_slice.pause_if_over()
