"""What runs when a world's clock moves: due jobs, one unit of work each, with other worlds and requests in between.

How time passes
===============

**One loop.** A world has one list of planned jobs, in the order of their instants. To move its clock is to take the
first job that is due, set the world to that instant, run the job as a unit of work, and look again: the job may have
planned another for the same instant. Nothing else makes anything happen later. The loop is in three places that
differ in who asks for it: before each request (:meth:`UnitRunner.run_due`), behind a running clock
(:class:`Scheduler`), and in an advance (:meth:`Advances.run`).

**One unit of work.** A world that is served is a :class:`UnitRunner`, the one way to change it. Commands of requests and jobs
alike are committed as a whole or undone as a whole, stored, and only then shown to anybody: journal, webhooks, stream. A
job that raises is undone, filed as a ``FailedJob``, and the clock goes on.

**What is due.** All jobs up to the instant that the clock shows. A world that has not done them yet *lags*: its present
instant is then that of its next job, never a later one, so that no request sees a renewal as missing that is due.

**Which world is next.** The :class:`Scheduler` knows of each world when its next job is due (in real time) and looks at no
other. Worlds that lag are worked off in rotation, a slice of a few milliseconds each. A request waits for the backlog of
its own world for a second at most; then it is served at the instant reached.

**Who gets to run in between.** Everything is on one event loop. After each :class:`TimeSlice` the loop makes some rounds
for others: requests of other worlds, deliveries, timers. All long work shares one lock for these pauses, so that two
advances at once leave others as much room as one does.

**What is waited for.** An advance waits, before each job, until every webhook and email caused so far has its outcome:
the answer to a delivery decides whether a retry is planned, perhaps before any other job. So the same story gives the
same result however quick its receivers are. A receiver that asks for an advance while one waits for its answer would wait
for ever; it gets a 409 instead (:meth:`Advances.require_answered`).
"""

from __future__ import annotations

import asyncio
import heapq
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import count
from typing import Any

from emulator.core import calendar
from emulator.core.calendar import Timestamp
from emulator.core.errors import ApiError
from emulator.core.jobs import FailedJob, Job
from emulator.core.unit_of_work import CheckFailed, UnitOfWork
from emulator.core.world import World
from emulator.engine import persistence
from emulator.engine.advances import IDS, MAX_ADVANCES, UNDER_WAY, Advance, AdvanceResult, Outcomes, TargetResolver
from emulator.engine.directory import Directory
from emulator.engine.persistence import WorldPersistence
from emulator.engine.pubsub import Broker
from emulator.engine.storage.store import StorageError
from emulator.engine.time_slices import TimeSlice
from emulator.engine.world_clock import Clock, ClockMode, ClockState

logger = logging.getLogger("emulator")

# -- one unit of work, and what is due

Command = Callable[..., Any]
"""A function of a world and of named arguments, which changes the world."""


class UnitRunner:
    """The one way to change a world that is served. It is called on one event loop, and no unit of work awaits.

    ``world`` and ``clock`` are the present ones: a rewind, a restore or a reset replaces both. Each of the
    ``observers`` is given every unit of work once it is committed, each of ``when_undone`` those that a strict world
    undid because a check failed. ``result``, during an advance, counts what happens.
    """

    def __init__(
        self,
        world: World,
        clock: Clock,
        persistence: WorldPersistence | None = None,
        scheduler: Scheduler | None = None,
        directory: Directory | None = None,
    ) -> None:
        self.scheduler: Scheduler = scheduler or Scheduler()
        self._directory = directory or Directory()
        self.world: World = world
        self.clock: Clock = clock
        self.persistence = persistence
        self.observers: list[Callable[[UnitOfWork], object]] = []
        self.when_undone: list[Callable[[UnitOfWork], object]] = []
        self.result: AdvanceResult | None = None

    def commit(self, command: Command, arguments: Mapping[str, Any], cause: str | None = None) -> Any:
        """Run what is due, then a command as a unit of work of its own (:meth:`execute`)."""
        self.run_due()
        return self.execute(command, arguments, cause)

    def catch_up_if_idle(self) -> bool:
        """Return whether nothing is due, and if so bring the world to its clock's instant."""
        instant = self.clock.now()
        if self.is_behind(instant):
            return False
        if instant > self.world.now:  # noqa: PLR1730  # at each request, and max() takes as long again
            self.world.now = instant
        return True

    def execute(self, command: Command, arguments: Mapping[str, Any], cause: str | None = None) -> Any:
        """Run a command as a unit of work and return its result. What it raises, or ``StorageError``, leaves no change."""
        try:
            with self.world.unit_of_work(cause) as unit:
                result = command(self.world, **arguments)
        except CheckFailed as error:
            self._undone(error)
            raise
        self._committed(unit)
        return result

    def now(self) -> Timestamp:
        """Return the instant this world has reached: its clock's, unless it lags behind."""
        return self.clock.reached(self.world)

    def run_due(self) -> None:
        """Run jobs that are due, each at its own instant, then bring the world to the instant reached (B-91).

        What takes longer than some milliseconds is left to the scheduler, and until then the world lags.
        """
        if not self.catch_up_if_idle():
            if not self.scheduler.is_working_on(self) and self.run_slice():
                self.scheduler.add(self)
            self.world.now = max(self.world.now, self.now())

    def run_slice(self) -> bool:
        """Run due jobs for some milliseconds, and return whether more are due."""
        instant, time_slice = self.clock.now(), TimeSlice()
        while self._run_next(instant):
            if time_slice.is_over:
                return self.is_behind(self.clock.now())
        return False

    async def run_until(self, instant: Timestamp) -> None:
        """Run every job that is due by an instant, with other tasks of the event loop in between."""
        time_slice = TimeSlice(self.scheduler.pauses)
        while self._run_next(instant):
            await time_slice.pause_if_over()

    # -- the clock

    def advance_clock(self, to: Timestamp) -> None:
        self.clock.set(to)
        self.changed()

    def set_clock(self, mode: ClockMode, rate: float | None = None) -> None:
        """Stop the clock, or run it on, from the instant this world has reached; what it was behind is not made up for."""
        self.clock = self.clock.another(self.now(), mode, rate)
        self.changed()
        self.scheduler.plan(self)

    def changed(self) -> None:
        """Note that clock or counters changed without a unit of work, so that the next tick stores them."""
        if self.persistence:
            self.scheduler.unsaved.add(self)

    # -- what the scheduler asks

    def next_due(self) -> float | None:
        """Return when the next job is due (Unix time): 0 if that is due already, None if nothing will be."""
        job = self.world.jobs.next()
        if job is None:
            return None
        return 0.0 if job.due <= self.clock.now() else self.clock.wall_at(job.due)

    def is_behind(self, instant: Timestamp) -> bool:
        job = self.world.jobs.next()
        return job is not None and job.due <= instant

    def _run_next(self, until: Timestamp) -> bool:
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
                self._undone(error)
            self._committed(self.world.fail_job(job, error))
            if self.result:
                self.result.failures.append(self.world.require(FailedJob, job.id))
            return
        self._committed(unit)
        if self.result:
            self.result.jobs += 1

    def _committed(self, unit: UnitOfWork) -> None:
        if unit.changed_nothing:
            return
        if self.persistence:
            self.persistence.add(self.world, self.clock, unit)
        self._directory.on_commit(self.world, unit)
        for observe in self.observers:
            observe(unit)
        self.scheduler.plan(self)

    def _undone(self, error: CheckFailed) -> None:
        assert error.unit is not None  # only a strict world raises it
        for observe in self.when_undone:
            observe(error.unit)

    async def durable(self) -> None:
        """Wait until all that was done in the world is stored. Raises ``StorageError``."""
        if self.persistence:
            await self.persistence.durability.wait()

    def clock_state(self) -> ClockState:
        return self.clock.read(self.world)

    def flush(self) -> None:
        """Store clock and counters if they moved without a unit of work. Raises ``StorageError``."""
        if self.persistence:
            self.persistence.flush(self.world, self.clock)

    def replace(self, world: World, clock: Clock) -> None:
        """Run an unrelated world from now on. Raises ``StorageError``; then the present one stays."""
        if self.persistence:
            self.persistence.replace_world(persistence.take(world, clock))
        self._directory.remove(self.world)
        self._directory.add(world)
        self.world, self.clock = world, clock
        self.scheduler.plan(self)

    def rewind(self, units: Sequence[UnitOfWork], counters: dict[str, int], now: Timestamp) -> None:
        """Undo the last units of work, the newest first, and put counters and clock back.

        It takes as long as what is undone, however large the world is. Raises ``StorageError``; then nothing is undone.
        """
        world, clock, before = self.world, self.clock.another(now), (self.world.counters, self.world.now)
        for unit in units:
            world.undo(unit)
        world.counters, world.now = counters, now
        if self.persistence:
            try:
                undone = [change for unit in units for change in unit.changes]
                self.persistence.replace_world(persistence.take(world, clock), undone)
            except StorageError:
                for unit in reversed(units):
                    world.undo(unit.inverse())
                world.counters, world.now = before
                raise
        for unit in units:
            self._directory.on_commit(world, unit.inverse())
        self.clock = clock
        self.scheduler.plan(self)


# -- which world is next

PATIENCE = 1.0
"""Seconds (real time) that a request waits for the jobs of its world; then it is served at the instant reached."""

MAX_STALE = 64
"""The heap is rebuilt once it has twice as many entries as worlds are planned, and this many more."""


class Scheduler:
    """Knows when each world has something due, and works off the backlogs of those that are behind, in rotation.

    A world is planned once at most: the heap may hold older entries of it, which are skipped. An entry says only when
    to look at a world, so one that is too early does no harm. ``pauses`` are shared by all long work (advances, too).
    ``unsaved`` are the worlds whose clock or counters are to be stored at the next tick.
    """

    def __init__(self) -> None:
        self.pauses: asyncio.Lock = asyncio.Lock()
        self.unsaved: set[UnitRunner] = set()
        self._heap: list[tuple[float, int, UnitRunner]] = []
        self._numbers = count()
        self._planned: dict[UnitRunner, float] = {}
        self._behind: dict[UnitRunner, list[tuple[Timestamp, asyncio.Future[None]]]] = {}
        self._worker: asyncio.Task[None] | None = None

    # -- when to look at which world

    def plan(self, world: UnitRunner) -> None:
        """Look at a world when its next job is due; called after each change of its jobs or its clock."""
        due = world.next_due()
        if due is not None and due < self._planned.get(world, float("inf")):
            self._planned[world] = due
            heapq.heappush(self._heap, (due, next(self._numbers), world))
            if len(self._heap) > 2 * len(self._planned) + MAX_STALE:
                self._heap = [(at, next(self._numbers), each) for each, at in self._planned.items()]
                heapq.heapify(self._heap)

    def forget(self, world: UnitRunner) -> None:
        if self._planned.pop(world, None) is not None:
            self._heap = [entry for entry in self._heap if entry[2] is not world]
            heapq.heapify(self._heap)
        self._release(self._behind.pop(world, []))
        self.unsaved.discard(world)

    def store_unsaved(self) -> None:
        """Store clock and counters of the worlds where they changed. What cannot be stored is tried again."""
        for world in [*self.unsaved]:
            with suppress(StorageError):  # the store has logged it, once
                world.flush()
                self.unsaved.discard(world)

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
        self._behind.setdefault(world, [])
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._work())

    async def catch_up(self, world: UnitRunner, patience: float | None = PATIENCE) -> None:
        """Wait for what is due in a world by now, for some seconds (real time) or without limit. Raises ``StorageError``."""
        until = world.clock.now()
        if not world.is_behind(until) or (world not in self._behind and not world.run_slice()):
            return
        self.add(world)
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._behind[world].append((until, done))
        try:
            await asyncio.wait([done], timeout=patience)
        finally:
            done.cancel()  # from here on no one waits for it
        if not done.cancelled():
            done.result()

    async def close(self) -> None:
        """Run no more jobs, and let everything go on that waits for some."""
        if self._worker is not None:
            self._worker.cancel()
            await asyncio.wait([self._worker])
        for waiting in self._behind.values():
            self._release(waiting)
        self._behind.clear()

    async def _work(self) -> None:
        time_slice = TimeSlice(self.pauses)
        while self._behind:
            world = next(iter(self._behind))
            try:
                more = world.run_slice()
            except Exception as error:  # what is wrong with one world must not stop the clocks of the others
                self._give_up(world, error)
            else:
                self._after_slice(world, more=more)
            await time_slice.pause_if_over()

    def _give_up(self, world: UnitRunner, error: Exception) -> None:
        if not isinstance(error, StorageError):  # the store has logged it, once
            logger.error("the due jobs of a world could not be run", exc_info=error)
        self._release(self._behind.pop(world, []), error)
        # Its jobs stay planned: it is looked at again at the next tick.
        self._planned[world] = 0.0
        heapq.heappush(self._heap, (0.0, next(self._numbers), world))

    def _after_slice(self, world: UnitRunner, *, more: bool) -> None:
        waiting = self._behind.pop(world, [])
        self._release([each for each in waiting if not world.is_behind(each[0])])
        if more:
            self._behind[world] = [each for each in waiting if not each[1].done()]
        else:
            self._release(waiting)
            self.plan(world)

    def _release(self, waiting: list[tuple[Timestamp, asyncio.Future[None]]], error: Exception | None = None) -> None:
        for _, done in waiting:
            if done.done():
                continue
            if error is None:
                done.set_result(None)
            else:
                done.set_exception(error)


# -- moving the clock


class Advances:
    """The advances of one world. They wait for each other; between two jobs of one, requests are served."""

    def __init__(self, runner: UnitRunner, outbox: Outcomes, broker: Broker) -> None:
        self._runner = runner
        self._outbox = outbox
        self._broker = broker
        self._queue = asyncio.Lock()
        self._numbers = count(1)
        self._current: list[Advance] = []
        self._by_id: dict[str, Advance] = {}
        self._settling = 0

    def begin(self, resolver: TargetResolver) -> Advance:
        """Start an advance that can be asked about. Raises what the resolver does, and 429 if too many are under way."""
        if len(self._by_id) >= MAX_ADVANCES:
            ended = next((id for id, advance in self._by_id.items() if advance.status != UNDER_WAY), None)
            if ended is None:
                message = f"{MAX_ADVANCES} advances are under way already."
                raise ApiError("TOO_MANY_REQUESTS", retry_after=1, message=message)
            del self._by_id[ended]
        advance = self._start(resolver)
        self._by_id[advance.id] = advance
        return advance

    async def run(self, resolver: TargetResolver) -> AdvanceResult:
        """Advance to the end and return what happened, also if the advance was stopped. Raises what ended it.

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

        It does not wait while a delivery is handled that is waited for already, as both would wait for each other.
        """
        if self._is_waiting and await self._outbox.unanswered():
            return
        self._settling += 1
        try:
            self._runner.run_due()
            await self._outbox.deliveries_settled()
        finally:
            self._settling -= 1

    async def require_answered(self, webhook: str | None = None) -> None:
        """Raise 409 if something waits for a delivery, to one endpoint or to any, that is still being handled."""
        if self._is_waiting and (delivery := await self._outbox.unanswered(webhook)):
            raise ApiError("DELIVERY_UNDER_WAY", delivery=delivery)

    @property
    def is_under_way(self) -> bool:
        return bool(self._current)

    @property
    def _is_waiting(self) -> bool:
        return self.is_under_way or self._settling > 0

    def find(self, id: str) -> Advance:
        """Return an advance that was begun; 404 ``NOT_FOUND`` if there is none of this id, or none any more."""
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

    def on_commit(self, unit: UnitOfWork) -> None:
        """Count the events of a unit of work if an advance is under way, and publish where its clock is."""
        result = self._runner.result
        if result is not None:
            for event in unit.events:
                result.events[event.type] += 1
            self._broker.tick(self._runner.clock_state)

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
            # Attempts under way before this advance are not its own; counting them would make its result a matter of
            # how quick receivers are.
            await self._outbox.deliveries_settled()
            advance.result = runner.result = AdvanceResult(runner.now())
            try:
                await runner.scheduler.catch_up(runner, None)
                runner.run_due()
                advance.target = advance.resolver()
                await self._run_jobs(advance)
            finally:
                runner.result = None
                advance.result.now = runner.now()
                self._broker.publish("clock", runner.clock_state())

    async def _run_jobs(self, advance: Advance) -> None:
        runner, time_slice = self._runner, TimeSlice(self._runner.scheduler.pauses)
        to = min(advance.target.to, calendar.END)
        while True:
            # The outcome of an attempt decides on a retry, which may be due before any other job.
            await self._outbox.deliveries_settled()
            # Only now: while deliveries were waited for, requests may have run jobs and triggered events.
            if advance.target.until(advance.result):
                return
            job = runner.world.jobs.next()
            if job is None or job.due > to:
                break
            runner.advance_clock(job.due)
            runner.run(job)
            advance.result.now = job.due
            await time_slice.pause_if_over()
        runner.advance_clock(to)
        runner.run_due()
        runner.scheduler.plan(runner)
