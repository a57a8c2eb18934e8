"""Durability: one wait for the disk of a database, for all who need it at that moment."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor


class Durability:
    """Knows which commits of a session outlast a crash of the database, where they do not wait for the disk themselves.

    ``flush`` blocks until all that was committed before its call is on the disk. It is called in ``thread``, so that
    the event loop goes on. What it raises is raised to all who wait.
    """

    def __init__(self, flush: Callable[[], object], thread: Executor) -> None:
        self._flush = flush
        self._thread = thread
        self._committed = 0
        self._durable = 0
        self._flushing: asyncio.Task[None] | None = None

    def committed(self) -> None:
        """Something was committed."""
        self._committed += 1

    async def reached(self) -> None:
        """Wait until all that was committed before this call is on the disk."""
        wanted = self._committed
        while self._durable < wanted:
            if self._flushing is None:
                self._flushing = asyncio.create_task(self._run())
            await asyncio.shield(self._flushing)

    async def _run(self) -> None:
        covered = self._committed
        try:
            await asyncio.get_running_loop().run_in_executor(self._thread, self._flush)
            self._durable = covered
        finally:
            self._flushing = None
