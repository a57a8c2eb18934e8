"""Queues whose items are handled by tasks in the background; a failure of one item stops none of the others."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from emulator.engine.clock import TimeSlice
from emulator.engine.storage.store import StorageError

logger = logging.getLogger("emulator")

T = TypeVar("T")


class WorkQueues(Generic[T]):
    """A queue for each key. Items of one key are handled in order, one at a time; keys do not wait for each other.

    At most ``at_once`` items are handled at the same time. What ``handle`` raises is logged, and the next item follows.
    Handling an item may wait for nothing, so between two of them other tasks run once a time slice is over; ``pauses``
    are those of :class:`TimeSlice`.
    """

    def __init__(
        self, handle: Callable[[T], Awaitable[object]], at_once: int = 1, pauses: asyncio.Lock | None = None
    ) -> None:
        self._handle = handle
        self._pauses = pauses
        self._slots = asyncio.Semaphore(at_once)
        self._waiting: dict[str, deque[T]] = defaultdict(deque)
        self._workers: dict[str, asyncio.Task[None]] = {}

    def put(self, key: str, item: T) -> None:
        """Handle an item once those before it are handled; returns at once."""
        self._waiting[key].append(item)
        if key not in self._workers:
            self._workers[key] = asyncio.create_task(self._work(key))

    @property
    def is_working(self) -> bool:
        """Whether an item waits or is being handled."""
        return bool(self._workers)

    async def settled(self) -> None:
        """Wait until every item was handled."""
        while self._workers:
            await asyncio.wait(list(self._workers.values()))

    async def close(self) -> None:
        """Drop what waits, and cancel what is being handled. What is put in later is not concerned."""
        workers = dict(self._workers)
        for worker in workers.values():
            worker.cancel()
        if workers:  # tens of thousands of worlds that do nothing are closed at once
            await asyncio.gather(*workers.values(), return_exceptions=True)
        for key, worker in workers.items():
            if self._workers.get(key) is worker:  # canceled before its first step, it had no chance to clear up
                del self._workers[key], self._waiting[key]

    async def _work(self, key: str) -> None:
        waiting, time_slice = self._waiting[key], TimeSlice(self._pauses)
        try:
            while waiting:
                async with self._slots:
                    await self._handle_guarded(waiting.popleft())
                await time_slice.pause_if_over()
        finally:
            del self._workers[key]
            del self._waiting[key]

    async def _handle_guarded(self, item: T) -> None:
        try:
            await self._handle(item)
        except StorageError:  # the store has logged it, once
            pass
        except Exception:
            logger.exception("%s failed", item)
