"""A time slice: long work pauses for other tasks every few milliseconds, whatever its single steps cost."""

from __future__ import annotations

import asyncio
import time

SLICE_SECONDS = 0.004
"""Seconds (real time) of work after which other tasks may run."""

LOOPS_PER_PAUSE = 6
"""Rounds of the event loop in a pause: a request takes as many, from its connection to its answer."""


class TimeSlice:
    """Measured by ``perf_counter``, which is bound when this module is imported: a test that freezes the time of its
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
        """Whether other tasks should run now."""
        return self._elapsed() - self._since > SLICE_SECONDS

    async def pause_if_over(self) -> None:
        """Call it after each step. Lets other tasks run if the slice is over; then the next slice begins."""
        if self.is_over:
            async with self._pauses:
                for _ in range(LOOPS_PER_PAUSE):
                    await asyncio.sleep(0)
            self._since = self._elapsed()
