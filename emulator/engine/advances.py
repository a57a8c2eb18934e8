"""The advances of a world's clock: destination, progress, and events on the way (B-92)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from itertools import count
from typing import NamedTuple

from emulator.core import calendar
from emulator.core.calendar import Timestamp
from emulator.core.errors import ApiError
from emulator.core.ids import IdSource
from emulator.engine.clock import AdvanceResult, UnitRunner
from emulator.engine.outbox import Outbox
from emulator.engine.time_slices import TimeSlice

logger = logging.getLogger("emulator")

# -- one advance


ADVANCING = "running"
COMPLETED = "completed"
STOPPED = "stopped"
FAILED = "failed"

IDS = IdSource("advances")
"""A source of its own: whether an advance can be asked about changes no id that its world draws."""

MAX_ADVANCES = 100
"""Advances of one world that can be asked about; no more than these are under way."""


class Target(NamedTuple):
    """Where an advance leads: to an instant, or until a condition holds on the way."""

    to: Timestamp
    until: Callable[[AdvanceResult], bool] = lambda result: False


TargetResolver = Callable[[], Target]
"""Computes where an advance leads from the present instant; raises if it is impossible."""


class Advance:
    """One advance of the clock.

    The resolver is called here and once more when the advance begins. Here, because a target that
    is impossible must be an error of the request, and because the API shows the target of an
    advance that still waits. Then, because the advances before it move the clock from which "a day
    later" or "the next job" is counted. For the same reason its result starts over: an advance that
    waits has not come from anywhere yet.
    """

    task: asyncio.Task[None]

    def __init__(self, id: str, resolver: TargetResolver, now: Timestamp) -> None:
        self.id = id
        self.resolver = resolver
        self.target: Target = resolver()
        self.result: AdvanceResult = AdvanceResult(now)

    @property
    def status(self) -> str:
        """``running`` while it is under way or waits, then how it ended."""
        if not self.task.done():
            return ADVANCING
        if self.task.cancelled():
            return STOPPED
        return FAILED if self.error else COMPLETED

    @property
    def error(self) -> BaseException | None:
        return self.task.exception() if self.task.done() and not self.task.cancelled() else None

    @property
    def progress(self) -> float:
        """The share of the way done, 0 to 1; an advance that is over, even early, is at 1."""
        if self.status == COMPLETED:
            return 1.0
        start, here, to = map(calendar.parse, (self.result.start, self.result.now, self.target.to))
        return min((here - start) / (to - start), 1.0) if to > start else 0.0


# -- all of one world


class Advances:
    """The advances of one world, one after another; requests are served between two jobs."""

    def __init__(self, runner: UnitRunner, outbox: Outbox) -> None:
        self._runner = runner
        self._outbox = outbox
        self._queue = asyncio.Lock()
        self._numbers = count(1)
        self._current: list[Advance] = []
        self._by_id: dict[str, Advance] = {}
        self._settling = 0

    def begin(self, resolver: TargetResolver) -> Advance:
        """Start an observable advance. Raises the resolver's errors, and 429 if too many run."""
        if len(self._by_id) >= MAX_ADVANCES:
            ended = next(
                (id for id, advance in self._by_id.items() if advance.status != ADVANCING), None
            )
            if ended is None:
                message = f"{MAX_ADVANCES} advances are under way already."
                raise ApiError("TOO_MANY_REQUESTS", retry_after=1, message=message)
            del self._by_id[ended]
        advance = self._start(resolver)
        self._by_id[advance.id] = advance
        return advance

    async def run(self, resolver: TargetResolver) -> AdvanceResult:
        """Advance to the end or until stopped and return the counts; raise the error that ended it.

        Raises 409 if this is asked while a delivery is handled that another advance waits for.
        """
        await self.require_answered()
        advance = self._start(resolver)
        try:
            await asyncio.wait([advance.task])
        finally:
            advance.task.cancel()
        if advance.error:
            raise advance.error
        return advance.result

    async def settle(self) -> None:
        """Wait until everything caused so far has its outcome: what is due now, and deliveries.

        It does not wait while a delivery is handled that is waited for already, as both would wait
        for each other.
        """
        if self._is_waiting and await self._outbox.unanswered():
            return
        self._settling += 1
        try:
            self._runner.run_due()
            await self._outbox.settled()
        finally:
            self._settling -= 1

    async def require_answered(self, webhook: str | None = None) -> None:
        """Raise 409 if something waits for an unfinished delivery to one endpoint or to any."""
        if self._is_waiting and (delivery := await self._outbox.unanswered(webhook)):
            raise ApiError("DELIVERY_UNDER_WAY", delivery=delivery)

    @property
    def is_under_way(self) -> bool:
        return bool(self._current)

    @property
    def _is_waiting(self) -> bool:
        return self.is_under_way or self._settling > 0

    def find(self, id: str) -> Advance:
        """Return an advance that was begun; 404 ``NOT_FOUND`` if none of this id is kept."""
        if id not in self._by_id:
            raise ApiError("NOT_FOUND", message=f"There is no advance {id[:60]!r}.")
        return self._by_id[id]

    async def stop(self, advance: Advance) -> None:
        """Stop an advance between two jobs; one that has ended stays as it is."""
        advance.task.cancel()
        await asyncio.wait([advance.task])

    def cancel_all(self) -> None:
        for advance in self._current:
            advance.task.cancel()

    async def close(self) -> None:
        """Cancel every advance, and wait until all have ended."""
        self.cancel_all()
        if self._current:
            await asyncio.wait([advance.task for advance in self._current])

    def _start(self, resolver: TargetResolver) -> Advance:
        advance = Advance(IDS.id("adv", next(self._numbers)), resolver, self._runner.now())
        advance.task = asyncio.create_task(self._run(advance))
        advance.task.add_done_callback(lambda task: self._ended(advance))
        self._current.append(advance)
        return advance

    def _ended(self, advance: Advance) -> None:
        self._current.remove(advance)
        if advance.error and not isinstance(advance.error, ApiError):
            logger.error("advance %s failed", advance.id, exc_info=advance.error)

    async def _run(self, advance: Advance) -> None:
        runner = self._runner
        async with self._queue:
            # Attempts under way before this advance are not its own; counting them would make its
            # result a matter of how quick receivers are.
            await self._outbox.settled()
            advance.result = runner.result = AdvanceResult(runner.now())
            try:
                await runner.scheduler.catch_up(runner, None)
                runner.run_due()
                advance.target = advance.resolver()
                await self._run_jobs(advance)
            finally:
                runner.result = None
                advance.result.now = runner.now()
                runner.broker.publish("clock", runner.clock_state())

    async def _run_jobs(self, advance: Advance) -> None:
        runner, time_slice = self._runner, TimeSlice(self._runner.scheduler.pauses)
        to = min(advance.target.to, calendar.END)
        while True:
            # The outcome of an attempt decides on a retry, which may be due before any other job.
            await self._outbox.settled()
            # Only now: while deliveries were waited for, requests may have run jobs and triggered
            # events.
            if advance.target.until(advance.result):
                return
            job = runner.world.jobs.next()
            if job is None or job.due > to:
                break
            runner.run_at(job)
            advance.result.now = job.due
            await time_slice.pause_if_over()
        runner.replace_clock(runner.clock.moved(to))
        runner.run_due()
        runner.scheduler.plan(runner)
