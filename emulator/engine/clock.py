"""A moving clock's work: due jobs, one unit of work each, between other worlds and requests.

How time passes
===============

**Real time.** A running clock counts the time that passes, by a clock that no step of the system's
clock moves and that counts the sleep of the machine, where the system has one
(:class:`~emulator.engine.real_time.RealTime`). The system's clock is asked once, when the server
starts: all worlds of a server share that real time, so that one that was closed and opened again is
where it would be had it stayed open. After a restart a stored world has gone on by the difference
of the two servers' real times, or stands where it was if that is negative. So a system's clock that
was wrong does no harm to what runs, and what it is set to counts from the next start. Time that a
test sets in this process is the exception: while it is set, it is the real time, and its moves move
running clocks ahead.

**One loop.** A world has one list of planned jobs, in the order of their instants. To move its
clock is to take the first job that is due, set the world to that instant, run the job as a unit of
work, and look again: the job may have planned another for the same instant. Nothing else makes
anything happen later. The loop is in three places that differ in who asks for it: before each
request (:meth:`UnitRunner.run_due`), behind a running clock (:class:`Scheduler`), and in an advance
(:meth:`Advances.run`).

**One unit of work.** A world that is served is a :class:`UnitRunner`, the one way to change it.
Commands of requests and jobs alike are committed as a whole or undone as a whole, stored, and only
then shown to anybody: journal, webhooks, stream. A job that raises is undone, filed as a
``FailedJob``, and the clock goes on.

**What is due.** All jobs up to the instant that the clock shows. A world that has not done them yet
*lags*: its present instant is then that of its next job, never a later one, so that no request sees
a renewal as missing that is due.

**Which world is next.** The :class:`Scheduler` knows of each world when its next job is due (in
real time) and looks at no other. Worlds that lag are worked off in rotation, a slice of a few
milliseconds each. A request waits for the backlog of its own world for a second at most; then it is
served at the instant reached.

**Who gets to run in between.** Everything is on one event loop. After each
:class:`~emulator.engine.time_slices.TimeSlice` the loop makes some rounds for others: requests of
other worlds, deliveries, timers. All long work shares one lock for these pauses, so that two
advances at once leave others as much room as one does.

**What is waited for.** An advance waits, before each job, until every webhook and email caused so
far has its outcome: the response to a delivery decides whether a retry is planned, perhaps before
any other job. So the same story gives the same result however quick its receivers are. A receiver
that asks for an advance while one waits for its response would wait for ever; it gets a 409 instead
(:meth:`Advances.require_answered`).
"""

from __future__ import annotations

import asyncio
import heapq
import logging
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from copy import copy
from itertools import count
from typing import Any, Final, Literal, Self, TypeVar

import msgspec

from emulator.core import calendar
from emulator.core.calendar import Timestamp
from emulator.core.heaps import is_mostly_stale
from emulator.core.jobs import FailedJob, Job
from emulator.core.unit_of_work import CheckFailed, UnitOfWork
from emulator.core.world import World
from emulator.engine.broker import Broker, restarted
from emulator.engine.journal import Journal
from emulator.engine.real_time import RealTime
from emulator.engine.storage.serialization import WorldHeader
from emulator.engine.storage.store import STORED, StorageError, WorldClosed, WorldPersistence
from emulator.engine.time_slices import TimeSlice

logger = logging.getLogger("emulator")

T = TypeVar("T")

# -- the clock of a world: frozen, or running at a rate, with an offset; it never goes back (B-91)

ClockMode = Literal["running", "frozen"]

RUNNING: Final = "running"
FROZEN: Final = "frozen"


CLOCK_STARTS = "must be running, frozen, or frozen@ and an instant such as 2026-01-01T00:00:00Z"


class ClockState(msgspec.Struct, frozen=True, kw_only=True):
    """A clock's display. ``rate`` is world seconds for each real second; ``pending``, planned jobs.

    ``lag`` is how many seconds the world is behind its clock, because jobs that are due are not
    done yet.
    """

    now: Timestamp
    mode: ClockMode
    rate: float
    lag: float
    next_due_at: Timestamp | None
    pending: int


def parse_start(text: str) -> tuple[ClockMode, Timestamp | None]:
    """Return mode and instant of ``running``, ``frozen`` or ``frozen@INSTANT``.

    Raises ``ValueError``, which says what a start must be, for anything else, and for an instant
    that no clock shows (B-91).
    """
    if text == RUNNING:
        return RUNNING, None
    if text == FROZEN:
        return FROZEN, None
    mode, _, written = text.partition("@")
    try:
        instant = calendar.normalise(written) if mode == FROZEN else None
    except ValueError:
        instant = None
    if instant is None:
        raise ValueError(CLOCK_STARTS)
    if instant > calendar.END:
        raise ValueError(f"must be at most {FROZEN}@{calendar.END}, the last instant of a clock")
    return FROZEN, instant


class Clock:
    """The time in one world.

    A running clock is computed from where it was last set and the real time since then, never from
    its last reading, so no rounding adds up. If real time goes back, as it may when a test sets it,
    the clock stands still until real time has caught up. All clocks of a server share its
    ``real_time``.
    """

    def __init__(
        self,
        mode: ClockMode = RUNNING,
        at: Timestamp | None = None,
        rate: float = 1.0,
        real_time: RealTime | None = None,
    ) -> None:
        self.mode: ClockMode = mode
        self.rate: float = rate
        self._real_time = real_time or RealTime()
        self._run_from(at or calendar.from_epoch(self.wall()))

    def now(self) -> Timestamp:
        if self.mode == RUNNING:
            self._catch_up()
        return self._position

    def reached(self, world: World) -> Timestamp:
        """Return a world's instant: the clock's, or that of the first job due and not done."""
        now, job = self.now(), world.jobs.next()
        return now if job is None else min(now, job.due)

    def wall_at(self, instant: Timestamp) -> float | None:
        """Return when a running clock will show an instant (as :meth:`wall`); None for a frozen one
        and past the end.
        """
        if self.mode == FROZEN or instant > calendar.END:
            return None
        return self._since + calendar.seconds_between(self._anchor, instant) / self.rate

    def read(self, world: World) -> ClockState:
        # One reading: a fast clock has gone on by the second.
        now, job = self.now(), world.jobs.next()
        position = now if job is None else min(now, job.due)
        return ClockState(
            now=position,
            mode=self.mode,
            rate=self.rate,
            lag=calendar.seconds_between(position, now),
            next_due_at=None if job is None else job.due,
            pending=len(world.table(Job)),
        )

    def header(self, world: World, *, goes_on: bool = True) -> WorldHeader:
        """Return the stored state of clock and world; it ``goes_on`` or stands while unloaded."""
        counters, since = world.counters.copy(), self.wall() if goes_on else None
        return WorldHeader(
            now=self.now(),
            mode=self.mode,
            rate=self.rate,
            counters=counters,
            since=since,
            seed=world.seed,
        )

    def set(self, to: Timestamp) -> None:
        """Move to an instant; a past one leaves the clock where it is."""
        if to > self.now():
            self._run_from(to)

    def moved(self, to: Timestamp) -> Self:
        """Return a clock that goes on from an instant, or for a past one as this one does."""
        clock = copy(self)
        clock.set(to)
        return clock

    def wall(self) -> float:
        """Return the real time (Unix time, seconds)."""
        return self._real_time.now()

    def another(
        self, at: Timestamp, mode: ClockMode | None = None, rate: float | None = None
    ) -> Self:
        """Return a clock of this class at any instant, by default with this mode and rate."""
        return type(self)(
            mode or self.mode, at, self.rate if rate is None else rate, self._real_time
        )

    def resume_from(self, instant: Timestamp, since: float | None) -> None:
        """Go on as if this clock had shown an instant at ``since`` (Unix time, seconds).

        If that is still to come, since the system's clock was set back before this server started,
        go on from now.
        """
        self._run_from(instant, since)

    def _run_from(self, position: Timestamp, since: float | None = None) -> None:
        self._position = self._anchor = min(position, calendar.END)
        wall = self.wall()
        self._since = wall if since is None else min(since, wall)
        self._elapsed = 0.0

    def _catch_up(self) -> None:
        elapsed = (self.wall() - self._since) * self.rate
        if elapsed >= self._elapsed + 0.001:
            self._elapsed = elapsed
            self._position = min(calendar.plus(self._anchor, seconds=elapsed), calendar.END)


# -- one unit of work, and what is due

Command = Callable[..., Any]
"""A function of a world and of named arguments, which changes the world."""


class AdvanceResult:
    """An advance's counts: events by type, attempts by success, jobs that did not fail."""

    def __init__(self, start: Timestamp) -> None:
        self.start: Timestamp = start
        self.now: Timestamp = start
        self.jobs = 0
        self.events: Counter[str] = Counter()
        self.deliveries: Counter[bool] = Counter()
        self.failures: list[FailedJob] = []


class UnitRunner:
    """The one way to change a served world: on one event loop, with no await in a unit of work.

    ``world`` and ``clock`` are the present ones: a rewind, a restore or a reset replaces both.
    Without ``persistence`` the world lasts as long as the process. Each of the ``observers`` is
    given every unit of work once it is committed. ``result``, during an advance, counts what
    happens.
    """

    def __init__(
        self, world: World, clock: Clock, scheduler: Scheduler, persistence: WorldPersistence | None
    ) -> None:
        self.world: World = world
        self.clock: Clock = clock
        self.persistence = persistence
        self.scheduler = scheduler
        self.broker: Broker = Broker()
        self.journal: Journal = Journal(self.broker)
        self.observers: list[Callable[[UnitOfWork], object]] = []
        self.result: AdvanceResult | None = None

    def commit(
        self, command: Command, arguments: Mapping[str, Any], cause: str | None = None
    ) -> Any:
        """Run what is due, then a command as a unit of work of its own (:meth:`execute`)."""
        self.run_due()
        return self.execute(command, arguments, cause)

    def catch_up_if_idle(self) -> bool:
        """Return whether nothing is due, and if so bring the world to its clock's instant."""
        instant = self.clock.now()
        if self.is_behind(instant):
            return False
        # at each request, and max() takes as long again
        if instant > self.world.now:  # noqa: PLR1730
            self.world.now = instant
        return True

    def execute(
        self, command: Command, arguments: Mapping[str, Any], cause: str | None = None
    ) -> Any:
        """Run a command as a unit of work. Its errors and ``StorageError`` undo all changes."""
        try:
            with self.world.unit_of_work(cause) as unit:
                result = command(self.world, **arguments)
        except CheckFailed as error:
            self.journal.add_undone(error)
            raise
        self.committed(unit)
        return result

    def committed(self, unit: UnitOfWork) -> None:
        """Store a unit of work, then show it to all followers; undo it if storing fails."""
        if self.persistence and unit.changes:
            self.persistence.add(self.world, unit, self.clock.header(self.world))
            self.scheduler.unsaved.pop(self, None)
        else:
            self.changed()
        if unit.changed_nothing:
            return
        if unit.cleared:  # said before what else happened in the unit
            self.publish_restart("reset")
        self.journal.add_unit(unit)
        if self.result:
            for event in unit.events:
                self.result.events[event.type] += 1
            self.broker.tick(self.clock_state)
        for observe in self.observers:
            observe(unit)
        self.scheduler.plan(self)

    def publish_restart(self, cause: str) -> None:
        """Tell all followers that all they knew of the world no longer holds."""
        self.broker.publish("reset", restarted(cause, self.now()))
        self.broker.publish("clock", self.clock_state())

    def now(self) -> Timestamp:
        """Return the instant this world has reached: its clock's, unless it lags behind."""
        return self.clock.reached(self.world)

    def clock_state(self) -> ClockState:
        return self.clock.read(self.world)

    def run_due(self) -> None:
        """Run due jobs at their own instants, then bring the world to the instant reached (B-91).

        What takes longer than some milliseconds is left to the scheduler, and until then the world
        lags.
        """
        if not self.catch_up_if_idle():
            if not self.scheduler.is_working_on(self) and self.run_slice():
                self.scheduler.add(self)
            self.world.now = max(self.world.now, self.now())

    def run_slice(self) -> bool:
        """Run due jobs for some milliseconds, and return whether more are due."""
        instant, time_slice = self.clock.now(), TimeSlice()
        while self.run_next(instant):
            if time_slice.is_over:
                return self.is_behind(self.clock.now())
        return False

    def run_next(self, until: Timestamp) -> bool:
        """Run the next job if it is due by then, and return whether there was one."""
        job = self.world.jobs.next()
        if job is None or job.due > until:
            return False
        self.run(job)
        return True

    def run(self, job: Job) -> None:
        """Run a job. One that raises is rolled back, filed as a ``FailedJob`` and logged."""
        try:
            unit = self.world.run(job)
        except Exception as error:  # a failed job must not stop the clock
            logger.exception("job %s (%s of %s) failed", job.id, job.name, job.about)
            if isinstance(error, CheckFailed):
                self.journal.add_undone(error)
            self.committed(self.world.fail_job(job, error))
            if self.result:
                self.result.failures.append(self.world.require(FailedJob, job.id))
            return
        self.committed(unit)
        if self.result:
            self.result.jobs += 1

    # -- what the scheduler asks

    def next_due(self) -> float | None:
        """Return when the next job is due (Unix time): 0 if overdue, None if none ever is."""
        job = self.world.jobs.next()
        if job is None:
            return None
        return 0.0 if job.due <= self.clock.now() else self.clock.wall_at(job.due)

    def is_behind(self, instant: Timestamp) -> bool:
        job = self.world.jobs.next()
        return job is not None and job.due <= instant

    # -- what changes without a unit of work

    def run_at(self, job: Job) -> None:
        """Move the clock to a job, and run it. ``StorageError`` leaves all as it was."""
        before = self.clock, self.world.now
        self.clock = self.clock.moved(job.due)
        try:
            self.run(job)
        except StorageError:
            self.clock, self.world.now = before
            raise

    def replace_clock(self, clock: Clock) -> None:
        """Go by another clock, once it is stored (B-103).

        ``StorageError`` leaves the present one.
        """
        if self.persistence:
            self.persistence.write(self.world, (), clock.header(self.world))
            self.scheduler.unsaved.pop(self, None)
        self.clock = clock

    def changed(self) -> None:
        """Have the next tick store clock and counters, which changed and nobody relies on."""
        if self.persistence:
            self.scheduler.unsaved[self] = None

    def note(self) -> Future[Any]:
        """Store clock and counters, perhaps later; return the outcome. Raises ``StorageError``."""
        return self.persistence.note(self.clock.header(self.world)) if self.persistence else STORED

    def flush(self) -> None:
        """Store clock and counters if they are not. Raises ``StorageError``."""
        if self in self.scheduler.unsaved:
            self.replace_clock(self.clock)

    async def durable(self) -> None:
        """Wait until all that was done in the world is stored. Raises ``StorageError``."""
        if self.persistence:
            await self.persistence.wait()


# -- which world is next

CATCH_UP_SECONDS = 1.0
"""Seconds (real time) that a request waits for due jobs before it is served regardless."""

CLOCK_RETRY_SECONDS = 1.0
"""Seconds (real time) until a clock and counters that could not be stored are stored again."""


class Scheduler:
    """Knows each world's next due time, and works off the backlogs of late worlds in rotation.

    A world is planned once at most: the heap may hold older entries of it, which are skipped. An
    entry says only when to look at a world, so one that is too early does no harm. ``pauses`` are
    shared by all long work (advances, too). ``unsaved`` are the worlds whose clock or counters are
    not stored, each with the outcome of storing them if that is under way. ``_behind`` has the end
    of the next slice of each world that is behind.
    """

    def __init__(self) -> None:
        self.pauses: asyncio.Lock = asyncio.Lock()
        self.unsaved: dict[UnitRunner, Future[Any] | None] = {}
        self._store_after = 0.0
        self._heap: list[tuple[float, int, UnitRunner]] = []
        self._numbers = count()
        self._planned: dict[UnitRunner, float] = {}
        self._behind: dict[UnitRunner, asyncio.Future[None]] = {}
        self._worker: asyncio.Task[None] | None = None

    # -- when to look at which world

    def plan(self, world: UnitRunner) -> None:
        """Look at a world when its next job is due; call this after changes of jobs or clock."""
        due = world.next_due()
        if due is not None and due < self._planned.get(world, float("inf")):
            self._planned[world] = due
            heapq.heappush(self._heap, (due, next(self._numbers), world))
            if is_mostly_stale(self._heap, self._planned):
                self._heap = [
                    (at, next(self._numbers), planned) for planned, at in self._planned.items()
                ]
                heapq.heapify(self._heap)

    def forget(self, world: UnitRunner) -> None:
        if self._planned.pop(world, None) is not None:
            self._heap = [entry for entry in self._heap if entry[2] is not world]
            heapq.heapify(self._heap)
        self._end_slice(world)
        self.unsaved.pop(world, None)

    def store_unsaved(self) -> None:
        """Store changed clocks and counters of worlds; try a failed one again later."""
        now = asyncio.get_running_loop().time()
        if now < self._store_after:
            return
        for world, under_way in [*self.unsaved.items()]:
            try:
                outcome = under_way or world.note()
            except WorldClosed:
                del self.unsaved[world]
                continue
            except StorageError:  # the store has logged it, once
                self._store_after = now + CLOCK_RETRY_SECONDS
                continue
            if not outcome.done():
                self.unsaved[world] = outcome
            elif outcome.exception() is None:
                del self.unsaved[world]
            else:
                self.unsaved[world] = None
                self._store_after = now + CLOCK_RETRY_SECONDS

    def look(self) -> None:
        """Start on every world that has something due; visits no other."""
        for world in self._due_now():
            try:
                if world.is_behind(world.clock.now()):
                    self.add(world)
                else:
                    self.plan(world)
            except Exception:  # what is wrong with one world must not stop the clocks of the others
                logger.exception("the due jobs of %s could not be found", world)

    def _due_now(self) -> list[UnitRunner]:
        due = []
        while self._heap and self._heap[0][0] <= self._heap[0][2].clock.wall():
            at, _, world = heapq.heappop(self._heap)
            if self._planned.get(world) == at:
                del self._planned[world]
                due.append(world)
        return due

    # -- worlds that are behind

    def is_working_on(self, world: UnitRunner) -> bool:
        return world in self._behind

    def add(self, world: UnitRunner) -> None:
        """Work off the backlog of a world, in time slices."""
        if world not in self._behind:
            self._behind[world] = asyncio.get_running_loop().create_future()
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._work())

    async def catch_up(self, world: UnitRunner, patience: float | None = CATCH_UP_SECONDS) -> None:
        """Wait for a world's due jobs, up to some seconds (real time). Raises ``StorageError``."""
        until = world.clock.now()
        if not world.is_behind(until) or (world not in self._behind and not world.run_slice()):
            return
        self.add(world)
        with suppress(TimeoutError):
            async with asyncio.timeout(patience):
                while world.is_behind(until) and (slice_end := self._behind.get(world)):
                    await asyncio.shield(slice_end)

    async def close(self) -> None:
        """Run no more jobs, and let everything go on that waits for some."""
        if self._worker is not None:
            self._worker.cancel()
            await asyncio.wait([self._worker])
        for world in [*self._behind]:
            self._end_slice(world)

    async def _work(self) -> None:
        time_slice = TimeSlice(self.pauses)
        while self._behind:
            world = next(iter(self._behind))
            try:
                is_more_due = world.run_slice()
            # What is wrong with one world must not stop the clocks of the others.
            except Exception as error:
                if not isinstance(error, StorageError):  # the store has logged it, once
                    logger.error("the due jobs of a world could not be run", exc_info=error)
                self._end_slice(world, error)
                # Its jobs stay planned: it is looked at again at the next tick.
                self._planned[world] = 0.0
                heapq.heappush(self._heap, (0.0, next(self._numbers), world))
            else:
                self._end_slice(world)
                if is_more_due:
                    self.add(world)
                else:
                    self.plan(world)
            await time_slice.pause_if_over()

    def _end_slice(self, world: UnitRunner, error: Exception | None = None) -> None:
        """Wake all waiters for the slice, which check themselves whether another one follows."""
        if (slice_end := self._behind.pop(world, None)) is None:
            return
        if error is None:
            slice_end.set_result(None)
        else:
            slice_end.set_exception(error)
            slice_end.exception()  # perhaps nobody waits for it, which asyncio would report
