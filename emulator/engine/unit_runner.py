"""Runs units of work and due jobs on one world, and stores each before anybody else learns of it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from emulator.core.calendar import Timestamp
from emulator.core.jobs import FailedJob, Job
from emulator.core.unit_of_work import Change, CheckFailed, UnitOfWork
from emulator.core.world import World
from emulator.engine import snapshots
from emulator.engine.advance_result import AdvanceResult
from emulator.engine.clock import FROZEN, RUNNING, Clock, ClockState
from emulator.engine.directory import Directory
from emulator.engine.persistence import WorldPersistence
from emulator.engine.scheduler import Scheduler
from emulator.engine.time_slice import TimeSlice

logger = logging.getLogger("emulator")

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
        self.scheduler = scheduler or Scheduler()
        self._directory = directory or Directory()
        self.world = world
        self.clock = clock
        self.persistence = persistence
        self.observers: list[Callable[[UnitOfWork], object]] = []
        self.when_undone: list[Callable[[UnitOfWork], object]] = []
        self.result: AdvanceResult | None = None

    def commit(self, command: Command, arguments: Mapping[str, Any], cause: str | None = None) -> Any:
        """Run what is due, then a command as a unit of work of its own; its result.

        Raises what the command raises, and ``StorageError``; then the world is as it was before the command.
        """
        self.run_due()
        try:
            with self.world.unit_of_work(cause) as unit:
                result = command(self.world, **arguments)
        except CheckFailed as error:
            self._undone(error)
            raise
        self._committed(unit)
        return result

    def now(self) -> Timestamp:
        """The instant this world has reached: its clock's, unless it lags behind."""
        return self.clock.reached(self.world)

    def run_due(self) -> None:
        """Run jobs that are due, each at its own instant, then bring the world to the instant reached (B-91).

        What takes longer than some milliseconds is left to the scheduler, and until then the world lags.
        """
        instant = self.clock.now()
        if self.is_behind(instant):
            if not self.scheduler.is_working_on(self) and self.run_slice():
                self.scheduler.add(self)
            instant = self.now()
        self.world.now = max(self.world.now, instant)

    def run_slice(self) -> bool:
        """Run due jobs for some milliseconds; whether more are due."""
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

    def freeze(self) -> None:
        """Stop the clock at the instant this world has reached; what it was behind is not made up for."""
        self._set_clock(self.clock.another(self.now(), FROZEN))

    def run_at(self, rate: float) -> None:
        """Run the clock from the instant this world has reached, ``rate`` seconds of the world for each real second."""
        self._set_clock(self.clock.another(self.now(), RUNNING, rate))

    def advance_clock(self, to: Timestamp) -> None:
        """Set the clock to a later instant."""
        self.clock.set(to)
        self.changed()

    def _set_clock(self, clock: Clock) -> None:
        self.clock = clock
        self.changed()
        self.scheduler.plan(self)

    def changed(self) -> None:
        """Note that clock or counters changed without a unit of work, so that the next tick stores them."""
        if self.persistence:
            self.scheduler.unsaved.add(self)

    # -- what the scheduler asks

    def next_due(self) -> float | None:
        """When the next job is due (Unix time): 0 if that is due already, None if nothing will be."""
        job = self.world.jobs.next()
        if job is None:
            return None
        return 0.0 if job.due <= self.clock.now() else self.clock.wall_at(job.due)

    def wall(self) -> float:
        """Real time by this world's clock (Unix time, seconds)."""
        return self.clock.wall()

    def due_until(self) -> Timestamp:
        """The instant up to which jobs are due, which is what the clock calls for."""
        return self.clock.now()

    def is_behind(self, instant: Timestamp) -> bool:
        """Whether a job is due by an instant and not done."""
        job = self.world.jobs.next()
        return job is not None and job.due <= instant

    def _run_next(self, until: Timestamp) -> bool:
        """Run the next job if it is due by then; whether there was one."""
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

    def clock_state(self) -> ClockState:
        """What the clock shows, and when the next job is due."""
        return self.clock.read(self.world)

    def flush(self) -> None:
        """Store clock and counters if they moved without a unit of work. Raises ``StorageError``."""
        if self.persistence:
            self.persistence.flush(self.world, self.clock)

    def replace(self, world: World, clock: Clock, changes: Iterable[Change] | None = None) -> None:
        """Run another world from now on. Raises ``StorageError``; then the present one stays.

        ``changes`` led from the present world to the other one; None means that the two are unrelated.
        """
        if self.persistence:
            self.persistence.replace_world(snapshots.take(world, clock), changes)
        self._directory.remove(self.world)
        self._directory.add(world)
        self.world, self.clock = world, clock
        self.scheduler.plan(self)
