"""Virtual time: an event loop that never waits, and clocks of this process that show its time."""

from __future__ import annotations

import asyncio
import selectors
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

from emulator.engine.time_slices import TimeSlice

EPOCH = 1767225600.0
"""Real time at the beginning of every story (Unix time): 2026-01-01."""

UNIT_SECONDS = 0.002
"""What a unit of work costs, about four times what it costs in fact."""

LONGEST_STRETCH = 0.25
"""Seconds that one task may work while all others wait; also the last chance to end a task that never would."""


class Stalled(BaseException):
    """A task held up all others for too long. Not an ``Exception``, so that nothing handles it on the way."""


class VirtualTime:
    """Seconds since the beginning: work makes them pass, and where all tasks wait, time jumps to the next timer.

    ``stalled`` says what was wrong once a task held up all others.
    """

    def __init__(self) -> None:
        self.now = 0.0
        self.stalled: str | None = None
        self._last_pause = 0.0

    def read(self) -> float:
        return self.now

    def work(self) -> None:
        """A unit of work was done. Raises :class:`Stalled`."""
        self.now += UNIT_SECONDS
        if self.now - self._last_pause > LONGEST_STRETCH:
            self.stalled = f"other worlds waited for {self.now - self._last_pause:.2f} s"
            raise Stalled(self.stalled)

    def pause(self, seconds: float) -> None:
        """The loop goes round: tasks that are ready get their chance, or the next timer is due after some seconds."""
        self.now += seconds
        self._last_pause = self.now

    def wall(self) -> float:
        """Unix time."""
        return EPOCH + self.now


class _Selector(selectors.SelectSelector):
    """Waits for nothing: no file is ever ready, and timers are reached at once."""

    def __init__(self, clock: VirtualTime) -> None:
        super().__init__()
        self._clock = clock

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self._clock.pause(max(timeout or 0.0, 0.0))
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop on virtual time, without threads."""

    def __init__(self, clock: VirtualTime) -> None:
        super().__init__(_Selector(clock))
        self._virtual = clock

    def time(self) -> float:
        return self._virtual.now

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:  # type: ignore[override]  # as its base, but for a type variable
        """Call a function in the next round of the loop."""
        future = self.create_future()

        def call() -> None:
            try:
                result = func(*args)
            except Exception as error:
                future.set_exception(error)
            else:
                future.set_result(result)

        self.call_soon(call)
        return future


@contextmanager
def virtual_time() -> Iterator[tuple[VirtualTime, VirtualLoop]]:
    """A loop on virtual time; while the context lasts, every clock of this process shows it."""
    clock = VirtualTime()
    loop = VirtualLoop(clock)
    with ExitStack() as stack:
        stack.callback(loop.close)
        for name, read in (("time", clock.wall), ("monotonic", clock.read), ("perf_counter", clock.read)):
            stack.enter_context(patch.object(time, name, read))
        stack.enter_context(patch.object(TimeSlice, "_elapsed", staticmethod(clock.read)))
        yield clock, loop
