"""Calls of coroutines on event loops of other threads, which end with the loop or before it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")

CoroutineFunction = Callable[[], Coroutine[Any, Any, T]]
"""Called on its loop, so that no coroutine is made that never runs there."""


class AwaitedFutures:
    """Futures that threads wait for, until ``cancel``."""

    def __init__(self) -> None:
        self._futures: set[Future[Any]] = set()

    def result(self, future: Future[T]) -> T:
        """What the future returns or raises; ``CancelledError`` after ``cancel``."""
        self._futures.add(future)
        try:
            return future.result()
        finally:
            self._futures.discard(future)

    def cancel(self) -> None:
        """End the waiting."""
        for future in self._futures.copy():
            future.cancel()


class LoopCalls:
    """Calls on a loop that runs, until it is being closed: then ``_live``, like all its tasks, is canceled."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._waiting = AwaitedFutures()
        self._is_over = False
        self._tasks: set[asyncio.Task[None]] = set()
        self._host = asyncio.run_coroutine_threadsafe(self._live(), loop)

    def run(self, make: CoroutineFunction[T]) -> T:
        """The result of a call; for any other thread than the loop's. Raises ``CancelledError`` when it is over."""
        future: Future[T] = Future()
        try:
            self._loop.call_soon_threadsafe(self._start, make, future)
        except RuntimeError:  # the loop is closed
            raise CancelledError from None
        return self._waiting.result(future)

    def cancel(self) -> None:
        """Give up the calls under way."""
        self._waiting.cancel()
        self._soon(lambda: [task.cancel() for task in self._tasks])

    def close(self) -> None:
        """Take no more calls."""
        self._soon(self._host.cancel)

    def _soon(self, call: Callable[[], object]) -> None:
        with suppress(RuntimeError):  # the loop is closed, and all has ended with it
            self._loop.call_soon_threadsafe(call)

    async def _live(self) -> None:
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            self._is_over = True
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    def _start(self, make: CoroutineFunction[T], future: Future[T]) -> None:
        if self._is_over or future.cancelled():
            future.cancel()
            return
        task = self._loop.create_task(_fulfil(make, future))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def _fulfil(make: CoroutineFunction[T], future: Future[T]) -> None:
    try:
        result = await make()
    except asyncio.CancelledError:
        future.cancel()
        raise
    except BaseException as error:  # raised again in the thread that waits
        if future.set_running_or_notify_cancel():
            future.set_exception(error)
    else:
        if future.set_running_or_notify_cancel():
            future.set_result(result)


def may_wait_for(loop: asyncio.AbstractEventLoop) -> bool:
    """Whether a loop runs and this thread, which would hold it up, may wait for it."""
    try:
        return loop.is_running() and loop is not asyncio.get_running_loop()
    except RuntimeError:  # this thread runs none
        return True
