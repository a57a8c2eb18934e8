"""Waiting: a list whose answer is held back until something is on it, or until the time is over."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from emulator.core.handlers import Page
from emulator.engine.runtime import Runtime


async def first_match(runtime: Runtime, seconds: float, look: Callable[[], Page[Any]]) -> Page[Any]:
    """The page as soon as anything is on the list, or as it is after so many real seconds."""
    # The loop's own time: a test that freezes the clocks of this process does not freeze that one.
    elapsed = asyncio.get_running_loop().time
    deadline = elapsed() + seconds
    while True:
        runtime.run_due()
        page = look()
        left = deadline - elapsed()
        if page.count or left <= 0 or runtime.broker.closed.is_set():
            return page
        with runtime.broker.subscribe(("event", "email")) as listener:
            await listener.next_batch(left)
