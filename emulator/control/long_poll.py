"""Long polling: the response to a list is delayed until the list is not empty, or until a timeout."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from emulator.core.handlers import Page
from emulator.engine.runtime import Runtime


async def first_match(runtime: Runtime, seconds: float, look: Callable[[], Page[Any]]) -> Page[Any]:
    """The page as soon as it has a match, or the empty page after that many seconds of real time."""
    # The time of the event loop: a test that freezes the clocks of this process does not freeze this one.
    loop_time = asyncio.get_running_loop().time
    deadline = loop_time() + seconds
    while True:
        await runtime.catch_up()
        page = look()
        left = deadline - loop_time()
        if page.count or left <= 0 or runtime.broker.closed.is_set():
            return page
        with runtime.broker.subscribe(("event", "email")) as subscriber:
            await subscriber.next_batch(left)
