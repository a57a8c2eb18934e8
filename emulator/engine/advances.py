"""Advances: a world's clock on its way to later instants, one journey after the other; each can be stopped (B-92)."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

from emulator.core import calendar
from emulator.core.calendar import Timestamp
from emulator.core.ids import IdSource
from emulator.core.jobs import FailedJob
from emulator.engine.time_slice import TimeSlice
from emulator.errors import ApiError

if TYPE_CHECKING:
    from emulator.engine.runtime import Runtime

logger = logging.getLogger("emulator")

RUNNING = "running"
COMPLETED = "completed"
STOPPED = "stopped"
FAILED = "failed"

IDS = IdSource("advances")
"""Ids of their own: whether an advance is asked about changes no id that its world draws."""

KEPT = 100
"""Advances of one world that can be asked about; no more than these are under way."""


class AdvanceResult:
    """What happened during an advance that began at ``start`` and has come to ``reached``."""

    def __init__(self, start: Timestamp) -> None:
        self.start = self.now = start
        self.jobs = 0
        self.events: Counter[str] = Counter()
        self.deliveries: Counter[bool] = Counter()
        self.failures: list[FailedJob] = []


class Target(NamedTuple):
    """Where an advance leads: to an instant, or until something has happened on the way."""

    to: Timestamp
    until: Callable[[AdvanceResult], bool] = lambda tally: False


TargetResolver = Callable[[], Target]
"""Says where an advance leads, seen from the present instant; raises what makes it impossible."""


class Advance:
    """One journey. While it waits for those before it, course and tally are what they would be if it began now."""

    task: asyncio.Task[None]

    def __init__(self, id: str, plot: TargetResolver, now: Timestamp) -> None:
        self.id = id
        self.resolver = plot
        self.target = plot()
        self.result = AdvanceResult(now)

    @property
    def status(self) -> str:
        """Whether it is under way (or waits), and if not, how it ended."""
        if not self.task.done():
            return RUNNING
        if self.task.cancelled():
            return STOPPED
        return FAILED if self.error else COMPLETED

    @property
    def error(self) -> BaseException | None:
        """What ended it, if that was nobody's wish."""
        return self.task.exception() if self.task.done() and not self.task.cancelled() else None

    @property
    def progress(self) -> float:
        """How much of the way lies behind it, 0 to 1; one that is completed has it all behind it."""
        if self.status == COMPLETED:
            return 1.0
        start, here, to = map(calendar.parse, (self.result.start, self.result.now, self.target.to))
        return min((here - start) / (to - start), 1.0) if to > start else 0.0


class Advances:
    """The advances of one world. They wait for each other; between two jobs of one, others have their turn."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._queue = asyncio.Lock()
        self._numbers = count(1)
        self._current: set[Advance] = set()
        self._finished: dict[str, Advance] = {}

    def begin(self, plot: TargetResolver) -> Advance:
        """Set out, and let it be asked about. Raises what ``plot`` raises, and 429 where too many wait already."""
        self._make_room()
        advance = self._start_next(plot)
        self._finished[advance.id] = advance
        return advance

    async def make(self, plot: TargetResolver) -> AdvanceResult:
        """The whole journey: what happened on it, also when it was stopped. Raises what ended it."""
        advance = self._start_next(plot)
        try:
            await asyncio.wait([advance.task])
        finally:
            advance.task.cancel()
        if advance.error:
            raise advance.error
        return advance.result

    def find(self, id: str) -> Advance:
        """One that was begun; 404 ``NOT_FOUND`` for one never heard of, or forgotten by now."""
        if id not in self._finished:
            raise ApiError("NOT_FOUND", message=f"There is no advance {id[:60]!r}.")
        return self._finished[id]

    async def stop(self, advance: Advance) -> None:
        """End it between two jobs; one that has ended stays as it is."""
        advance.task.cancel()
        await asyncio.wait([advance.task])

    def stop_all(self) -> None:
        """End every one before anything more is done."""
        for advance in self._current:
            advance.task.cancel()

    async def close(self) -> None:
        """End every one, and wait until all have ended."""
        self.stop_all()
        if self._current:
            await asyncio.wait([advance.task for advance in self._current])

    def _make_room(self) -> None:
        """Forget the oldest that has ended, if there are too many."""
        if len(self._finished) < KEPT:
            return
        ended = next((id for id, advance in self._finished.items() if advance.status != RUNNING), None)
        if ended is None:
            raise ApiError("TOO_MANY_REQUESTS", retry_after=1, message=f"{KEPT} advances are under way already.")
        del self._finished[ended]

    def _start_next(self, plot: TargetResolver) -> Advance:
        advance = Advance(IDS.id("adv", next(self._numbers)), plot, self._runtime.clock.now())
        advance.task = asyncio.create_task(self._run(advance))
        advance.task.add_done_callback(lambda task: self._ended(advance))
        self._current.add(advance)
        return advance

    def _ended(self, advance: Advance) -> None:
        self._current.discard(advance)
        if advance.error and not isinstance(advance.error, ApiError):
            logger.error("advance %s failed", advance.id, exc_info=advance.error)

    async def _run(self, advance: Advance) -> None:
        runtime = self._runtime
        async with self._queue:
            # Attempts that were under way before belong to what began them; whether they are done by now is chance.
            await runtime.dispatcher.settled()
            advance.result = runtime.result = AdvanceResult(runtime.clock.now())
            try:
                runtime.run_due()
                advance.target = advance.resolver()
                await self._step(advance)
                await runtime.dispatcher.mails.empty()
            finally:
                runtime.result = None
                advance.result.now = runtime.clock.now()
                runtime.broker.publish_unit("clock", runtime.clock_state())

    async def _step(self, advance: Advance) -> None:
        runtime, pace = self._runtime, TimeSlice()
        to = min(advance.target.to, calendar.END)
        while True:
            # The outcome of an attempt decides on a retry, which may be due before any other job.
            await runtime.dispatcher.settled()
            # Asked here, for jobs may also be run, and things happen, while deliveries are waited for.
            if advance.target.until(advance.result):
                return
            job = runtime.world.jobs.next()
            if job is None or job.due > to:
                break
            runtime.clock.set(job.due)
            runtime.run(job)
            advance.result.now = job.due
            await pace.pause_if_over()
        runtime.clock.set(to)
        runtime.run_due()
