"""Runs units of work and due jobs on one world, and stores each before anybody else learns of it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from emulator.core.calendar import Timestamp
from emulator.core.jobs import FailedJob, Job
from emulator.core.unit_of_work import Change, UnitOfWork
from emulator.core.world import World
from emulator.engine import snapshots
from emulator.engine.advance_result import AdvanceResult
from emulator.engine.clock import Clock, ClockState
from emulator.engine.persistence import WorldPersistence
from emulator.engine.time_slice import TimeSlice

logger = logging.getLogger("emulator")

Command = Callable[..., Any]
"""A function of a world and of named arguments, which changes the world."""


class UnitRunner:
    """The one way to change a world that is served. It is called on one event loop, and no unit of work awaits.

    ``world`` and ``clock`` are the present ones: a rewind, a restore or a reset replaces both. Each of the
    ``observers`` is given every unit of work once it is committed. ``result``, during an advance, counts what happens.
    """

    def __init__(self, world: World, clock: Clock, persistence: WorldPersistence | None = None) -> None:
        self.world = world
        self.clock = clock
        self.persistence = persistence
        self.observers: list[Callable[[UnitOfWork], object]] = []
        self.result: AdvanceResult | None = None

    def commit(self, command: Command, arguments: Mapping[str, Any], cause: str | None = None) -> Any:
        """Run what is due, then a command as a unit of work of its own; its result.

        Raises what the command raises, and ``StorageError``; then the world is as it was before the command.
        """
        self.run_due()
        with self.world.unit_of_work(cause) as unit:
            result = command(self.world, **arguments)
        self._committed(unit)
        return result

    def run_due(self) -> None:
        """Run every job that is due, each at its own instant, then bring the world to the present (B-91)."""
        now = self.clock.now()
        self.run_until(now)
        self.world.now = max(self.world.now, now)

    def run_until(self, instant: Timestamp) -> None:
        """Run every job that is due by an instant."""
        while self._run_next(instant):
            pass

    async def run_due_cooperatively(self) -> None:
        """Run every job that is due, with other tasks of the event loop in between; for a running clock."""
        now = self.clock.now()
        time_slice = TimeSlice()
        while self._run_next(now):
            await time_slice.pause_if_over()

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
            self._committed(self.world.fail_job(job, error))
            if self.result:
                self.result.failures.append(self.world.require(FailedJob, job.id))
            return
        self._committed(unit)
        if self.result:
            self.result.jobs += 1

    def _committed(self, unit: UnitOfWork) -> None:
        if self.persistence:
            self.persistence.add(self.world, self.clock, unit)
        for observe in self.observers:
            observe(unit)

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
        self.world, self.clock = world, clock
