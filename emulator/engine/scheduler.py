"""The scheduler of all worlds: runs due jobs in time slices, so that a world with a backlog holds up only itself."""

from __future__ import annotations

import asyncio
import heapq
import logging
from contextlib import suppress
from itertools import count
from typing import Protocol

from emulator.core.calendar import Timestamp
from emulator.engine.storage.store import StorageError
from emulator.engine.time_slice import TimeSlice

logger = logging.getLogger("emulator")

PATIENCE = 1.0
"""Seconds (real time) that a request waits for the jobs of its world; then it is served at the instant reached."""

MAX_STALE = 64
"""The heap is rebuilt once it has twice as many entries as worlds are planned, and this many more."""


class Schedulable(Protocol):
    """One world with its clock, as the scheduler sees it."""

    def next_due(self) -> float | None:
        """When its next job is due (Unix time): 0 if that is due already, None if nothing will be."""

    def wall(self) -> float:
        """Real time by its clock (Unix time, seconds)."""

    def due_until(self) -> Timestamp:
        """The instant up to which its jobs are due."""

    def is_behind(self, instant: Timestamp) -> bool:
        """Whether a job is due by an instant and not done."""

    def flush(self) -> None:
        """Store clock and counters if they changed without a unit of work. Raises ``StorageError``."""

    def run_slice(self) -> bool:
        """Run due jobs for some milliseconds; whether more are due. Raises ``StorageError``."""


class Scheduler:
    """Knows when each world has something due, and works off the backlogs of those that are behind, in rotation.

    A world is planned once at most: the heap may hold older entries of it, which are skipped. An entry says only when
    to look at a world, so one that is too early does no harm. ``pauses`` are shared by all long work (advances, too).
    ``unsaved`` are the worlds whose clock or counters are to be stored at the next tick.
    """

    def __init__(self) -> None:
        self.pauses = asyncio.Lock()
        self.unsaved: set[Schedulable] = set()
        self._heap: list[tuple[float, int, Schedulable]] = []
        self._numbers = count()
        self._planned: dict[Schedulable, float] = {}
        self._behind: dict[Schedulable, list[tuple[Timestamp, asyncio.Future[None]]]] = {}
        self._worker: asyncio.Task[None] | None = None

    # -- when to look at which world

    def plan(self, world: Schedulable) -> None:
        """Look at a world when its next job is due; called after each change of its jobs or its clock."""
        due = world.next_due()
        if due is not None and due < self._planned.get(world, float("inf")):
            self._planned[world] = due
            heapq.heappush(self._heap, (due, next(self._numbers), world))
            if len(self._heap) > 2 * len(self._planned) + MAX_STALE:
                self._heap = [(at, next(self._numbers), each) for each, at in self._planned.items()]
                heapq.heapify(self._heap)

    def forget(self, world: Schedulable) -> None:
        """Look at a world no more."""
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
                if world.is_behind(world.due_until()):
                    self.add(world)
                else:
                    self.plan(world)
            except Exception:  # what is wrong with one world must not stop the clocks of the others
                logger.exception("the due jobs of %s could not be found", world)

    def _due_now(self) -> list[Schedulable]:
        due = []
        while self._heap and self._heap[0][0] <= self._heap[0][2].wall():
            at, _, world = heapq.heappop(self._heap)
            if self._planned.get(world) == at:
                del self._planned[world]
                due.append(world)
        return due

    # -- worlds that are behind

    def is_working_on(self, world: Schedulable) -> bool:
        """Whether a world has a backlog that is being worked off."""
        return world in self._behind

    def add(self, world: Schedulable) -> None:
        """Work off the backlog of a world, in time slices."""
        self._behind.setdefault(world, [])
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._work())

    async def catch_up(self, world: Schedulable, patience: float | None = PATIENCE) -> None:
        """Wait until a world has done what is due by now, for some seconds (real time) at most, or without limit.

        Raises ``StorageError`` if its jobs cannot be stored.
        """
        until = world.due_until()
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

    def _give_up(self, world: Schedulable, error: Exception) -> None:
        if not isinstance(error, StorageError):  # the store has logged it, once
            logger.error("the due jobs of a world could not be run", exc_info=error)
        self._release(self._behind.pop(world, []), error)
        self._retry(world)

    def _retry(self, world: Schedulable) -> None:
        """The jobs stay planned: look at the world again at the next tick."""
        self._planned[world] = 0.0
        heapq.heappush(self._heap, (0.0, next(self._numbers), world))

    def _after_slice(self, world: Schedulable, *, more: bool) -> None:
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
