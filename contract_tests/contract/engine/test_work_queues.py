"""Work queues: what is put in while they are closed."""

from __future__ import annotations

import asyncio
import time

import pytest

from emulator.engine.clock import SLICE_SECONDS
from emulator.engine.outbox import WorkQueues


@pytest.mark.parametrize("rounds", range(6))
def test_what_is_put_in_while_others_are_canceled_is_handled(rounds: int) -> None:
    """At whichever moment it comes, while a rewind waits for the deliveries that it canceled."""
    handled: list[str] = []

    async def handle(item: str) -> None:
        if item == "canceled":
            await asyncio.Event().wait()
        handled.append(item)

    async def put_later(queues: WorkQueues[str]) -> None:
        for _ in range(rounds):
            await asyncio.sleep(0)
        queues.put("another key", "later")

    async def play() -> None:
        queues = WorkQueues(handle)
        queues.put("a key", "canceled")
        await asyncio.sleep(0)
        await asyncio.gather(queues.close(), put_later(queues))
        await queues.settled()

    asyncio.run(play())
    assert handled == ["later"]


def test_closing_ends_when_what_is_handled_has_been_canceled() -> None:
    """As a connection to a receiver, which is closed before the server is."""
    cleared: list[str] = []

    async def handle(item: str) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            cleared.append(item)

    async def play() -> list[str]:
        queues = WorkQueues(handle)
        queues.put("a key", "delivery")
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        await queues.close()
        return list(cleared)

    assert asyncio.run(play()) == ["delivery"]


def test_items_that_wait_for_nothing_let_others_run() -> None:
    """Deliveries that a fault loses are sent nowhere: a thousand of them hold up no request of another world."""
    handled: list[int] = []
    seen: list[int] = []

    async def handle(item: int) -> None:
        until = time.perf_counter() + 2 * SLICE_SECONDS
        while time.perf_counter() < until:
            pass
        handled.append(item)

    async def another_task() -> None:
        seen.append(len(handled))

    async def play() -> None:
        queues = WorkQueues(handle)
        for item in range(20):
            queues.put("a key", item)
        other = asyncio.create_task(another_task())
        await queues.settled()
        await other

    asyncio.run(play())
    assert len(handled) == 20
    assert seen[0] < 20
