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
from emulator.core.ids import Source
from emulator.core.jobs import FailedJob
from emulator.engine.pace import Pace
from emulator.errors import Refusal

if TYPE_CHECKING:
    from emulator.engine.runtime import Runtime

logger = logging.getLogger("emulator")

RUNNING = "running"
COMPLETED = "completed"
STOPPED = "stopped"
FAILED = "failed"

IDS = Source("advances")
"""Ids of their own: whether an advance is asked about changes no id that its world draws."""

KEPT = 100
"""Advances of one world that can be asked about; no more than these are under way."""


class Tally:
    """What happened during an advance that began at ``start`` and has come to ``reached``."""

    def __init__(self, start: Timestamp) -> None:
        self.start = self.reached = start
        self.jobs = 0
        self.events: Counter[str] = Counter()
        self.deliveries: Counter[bool] = Counter()
        self.failures: list[FailedJob] = []


class Course(NamedTuple):
    """Where an advance leads: to an instant, or until something has happened on the way."""

    to: Timestamp
    until: Callable[[Tally], bool] = lambda tally: False


Plot = Callable[[], Course]
"""Says where an advance leads, seen from the present instant; raises what makes it impossible."""


class Advance:
    """One journey. While it waits for those before it, course and tally are what they would be if it began now."""

    task: asyncio.Task[None]

    def __init__(self, id: str, plot: Plot, now: Timestamp) -> None:
        self.id = id
        self.plot = plot
        self.course = plot()
        self.tally = Tally(now)

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
        start, here, to = map(calendar.parse, (self.tally.start, self.tally.reached, self.course.to))
        return min((here - start) / (to - start), 1.0) if to > start else 0.0


class Advances:
    """The advances of one world. They wait for each other; between two jobs of one, others have their turn."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._line = asyncio.Lock()
        self._numbers = count(1)
        self._under_way: set[Advance] = set()
        self._kept: dict[str, Advance] = {}

    def begin(self, plot: Plot) -> Advance:
        """Set out, and let it be asked about. Raises what ``plot`` raises, and 429 where too many wait already."""
        self._make_room()
        advance = self._set_out(plot)
        self._kept[advance.id] = advance
        return advance

    async def make(self, plot: Plot) -> Tally:
        """The whole journey: what happened on it, also when it was stopped. Raises what ended it."""
        advance = self._set_out(plot)
        try:
            await asyncio.wait([advance.task])
        finally:
            advance.task.cancel()
        if advance.error:
            raise advance.error
        return advance.tally

    def find(self, id: str) -> Advance:
        """One that was begun; 404 ``NOT_FOUND`` for one never heard of, or forgotten by now."""
        if id not in self._kept:
            raise Refusal("NOT_FOUND", message=f"There is no advance {id[:60]!r}.")
        return self._kept[id]

    async def stop(self, advance: Advance) -> None:
        """End it between two jobs; one that has ended stays as it is."""
        advance.task.cancel()
        await asyncio.wait([advance.task])

    def stop_all(self) -> None:
        """End every one before anything more is done."""
        for advance in self._under_way:
            advance.task.cancel()

    async def close(self) -> None:
        """End every one, and wait until all have ended."""
        self.stop_all()
        if self._under_way:
            await asyncio.wait([advance.task for advance in self._under_way])

    def _make_room(self) -> None:
        """Forget the oldest that has ended, if there are too many."""
        if len(self._kept) < KEPT:
            return
        ended = next((id for id, advance in self._kept.items() if advance.status != RUNNING), None)
        if ended is None:
            raise Refusal("TOO_MANY_REQUESTS", retry_after=1, message=f"{KEPT} advances are under way already.")
        del self._kept[ended]

    def _set_out(self, plot: Plot) -> Advance:
        advance = Advance(IDS.id("adv", next(self._numbers)), plot, self._runtime.clock.now())
        advance.task = asyncio.create_task(self._travel(advance))
        advance.task.add_done_callback(lambda task: self._ended(advance))
        self._under_way.add(advance)
        return advance

    def _ended(self, advance: Advance) -> None:
        self._under_way.discard(advance)
        if advance.error and not isinstance(advance.error, Refusal):
            logger.error("advance %s failed", advance.id, exc_info=advance.error)

    async def _travel(self, advance: Advance) -> None:
        runtime = self._runtime
        async with self._line:
            # Attempts that were under way before belong to what began them; whether they are done by now is chance.
            await runtime.dispatcher.settled()
            advance.tally = runtime.tally = Tally(runtime.clock.now())
            try:
                runtime.run_due()
                advance.course = advance.plot()
                await self._move(advance)
                await runtime.dispatcher.mails.empty()
            finally:
                runtime.tally = None
                advance.tally.reached = runtime.clock.now()
                runtime.news.tell("clock", runtime.reading())

    async def _move(self, advance: Advance) -> None:
        runtime, pace = self._runtime, Pace()
        to = min(advance.course.to, calendar.END)
        while True:
            # The outcome of an attempt decides on a retry, which may be due before any other job.
            await runtime.dispatcher.settled()
            # Asked here, for jobs may also be run, and things happen, while deliveries are waited for.
            if advance.course.until(advance.tally):
                return
            job = runtime.world.schedule.next()
            if job is None or job.due > to:
                break
            runtime.clock.set(job.due)
            runtime.run(job)
            advance.tally.reached = job.due
            await pace.step()
        runtime.clock.set(to)
        runtime.run_due()
