"""Who gets to run in between: long work pauses every few milliseconds, and other tasks run."""

from __future__ import annotations

import asyncio
import time

from emulator.core.world import World

SLICE_SECONDS = 0.004
"""Seconds (real time) of work after which other tasks may run."""

LOOPS_PER_PAUSE = 6
"""Rounds of the event loop in a pause: a request takes as many, from connection to response."""


class TimeSlice:
    """Some milliseconds of work, after which other tasks run.

    It is measured by ``perf_counter``, which is bound when this module is imported: a test that
    freezes the time of its process later does not reach it, and other tasks still run.

    Tasks that share ``pauses`` pause one after the other, so that between any two of their slices
    other tasks get a whole pause, however many of them work at the same time.
    """

    _elapsed = staticmethod(time.perf_counter)

    def __init__(self, pauses: asyncio.Lock | None = None) -> None:
        self._pauses = pauses or asyncio.Lock()
        self._since = self._elapsed()

    @property
    def is_over(self) -> bool:
        return self._elapsed() - self._since > SLICE_SECONDS

    async def pause_if_over(self) -> None:
        """Call after each step: lets other tasks run if the slice is over, then begins the next."""
        if self.is_over:
            async with self._pauses:
                for _ in range(LOOPS_PER_PAUSE):
                    await asyncio.sleep(0)
            self._since = self._elapsed()


async def let_go(world: World, pauses: asyncio.Lock) -> None:
    """Free an unused world in slices: freeing 100,000 customers at once takes 50 ms."""
    tables, pieces = world.tables(), list[object]()
    del world
    time_slice = TimeSlice(pauses)
    while tables or pieces:
        if tables:
            pieces += tables.pop().pieces()
        else:
            pieces.pop()
        await time_slice.pause_if_over()
