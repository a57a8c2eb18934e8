"""A pace: long work that gives way to others every few milliseconds, however much or little each step of it costs."""

from __future__ import annotations

import asyncio
import time

AT_A_STRETCH = 0.004
"""Seconds of work after which others have a turn."""


class Pace:
    """Counts the thread's work and not the time: a test that freezes the clocks of its process changes nothing."""

    def __init__(self) -> None:
        self._since = time.thread_time()

    async def step(self) -> None:
        """A step is done; if it is time to, others are let by before the next one."""
        if time.thread_time() - self._since > AT_A_STRETCH:
            await asyncio.sleep(0)
            self._since = time.thread_time()
