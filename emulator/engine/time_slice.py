"""A pace: long work that gives way to others every few milliseconds, however much or little each step of it costs."""

from __future__ import annotations

import asyncio
import time

SLICE_SECONDS = 0.004
"""Seconds (real time) of work after which others have a turn."""

STEPS_PER_LOOK = 6
"""Turns of the event loop that others have then: a request takes as many, from its connection to its answer."""


class TimeSlice:
    """Measured in the machine's own time. It is looked up here, where a test that freezes the time of its process does
    not reach it: others are let by all the same.
    """

    _elapsed = staticmethod(time.perf_counter)

    def __init__(self) -> None:
        self._since = self._elapsed()

    async def pause_if_over(self) -> None:
        """A step is done; if it is time to, others are let by before the next one."""
        if self._elapsed() - self._since > SLICE_SECONDS:
            for _ in range(STEPS_PER_LOOK):
                await asyncio.sleep(0)
            self._since = self._elapsed()
