"""The past of a world: checkpoints to rewind to, and named snapshots to restore."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from emulator.core.errors import ApiError
from emulator.core.records import Record
from emulator.core.world import World, WorldContents
from emulator.engine.advances import Advances
from emulator.engine.clock import Clock, UnitRunner
from emulator.engine.logged_requests import Checkpoint
from emulator.engine.outbox import Outbox
from emulator.engine.reading import compute
from emulator.engine.storage.serialization import WorldSnapshot, saved
from emulator.engine.storage.store import WORLD, Edition, StorageError
from emulator.engine.time_slices import TimeSlice, let_go


class History:
    """Replaces the world by an earlier or another one, after canceling advances and deliveries.

    One of these changes runs at a time. A rewind counts on a past that a change before it may have
    taken away; then it is a conflict. A restore and a reset need no past. ``_replaced`` counts the
    changes; ``_start``: where the last led.

    ``snapshots`` are the named ones, the oldest first. ``changing`` is held by what changes them or
    the world.
    """

    def __init__(self, runner: UnitRunner, advances: Advances, outbox: Outbox) -> None:
        self.snapshots: dict[str, WorldSnapshot] = {}
        self.changing: asyncio.Lock = asyncio.Lock()
        self._runner = runner
        self._advances = advances
        self._outbox = outbox
        self._replaced = 0
        self._start: Checkpoint | None = None

    def checkpoint(self) -> Checkpoint:
        runner = self._runner
        return Checkpoint(
            runner.journal.count, runner.now(), runner.world.counters.copy(), self._replaced
        )

    def beginning(self, checkpoint: Checkpoint | None) -> Checkpoint:
        """Return where the present request began: its checkpoint, or the target of a later change.

        The checkpoint of a request that was under way during a rewind may lie in a past that no
        longer exists. A request that was rejected before it had a checkpoint changed nothing: it
        begins where the world is.
        """
        if checkpoint is None:
            return self.checkpoint()
        if self._start is None or checkpoint.replaced == self._replaced:
            return checkpoint
        return self._start

    async def rewind(self, to: Checkpoint) -> int:
        """Undo all units of work since a checkpoint, with clock and counters; return their number.

        Raises 409 if another rewind, a restore or a reset came first, or if the journal no longer
        goes back so far.
        """
        replaced = self._replaced
        async with self.changing:
            if self._replaced != replaced:
                raise _too_late()
            await self._cancel()
            try:
                return self._undo_since(to)
            finally:
                self._outbox.resume()

    def _undo_since(self, to: Checkpoint) -> int:
        """Rewind at once, in time set by the undone work; an error leaves everything as it was."""
        runner, world, journal = self._runner, self._runner.world, self._runner.journal
        if not journal.reaches(to):  # requests were served until all was canceled
            raise _too_late()
        units, clock = journal.since(to), runner.clock.another(to.now)
        before = world.counters, world.now
        for unit in units:
            world.undo(unit)
        world.counters, world.now = to.counters.copy(), to.now
        if runner.persistence:
            try:
                undone = [change for unit in units for change in unit.changes]
                runner.persistence.write(world, undone, clock.header(world))
            except StorageError:
                for unit in reversed(units):
                    world.undo(unit.inverse())
                world.counters, world.now = before
                raise
        journal.rewind(to)
        self._restarted(clock, "rewind")
        return len(units)

    async def snapshot(self) -> WorldSnapshot:
        """Return the world as it is now. Records never change, so only their filing is copied."""
        runner = self._runner
        async with self.changing:
            head = runner.clock.header(runner.world, goes_on=False)
            contents = WorldContents(runner.world)
            return WorldSnapshot(await compute(runner.world.size, contents.world), head)

    async def restore(self, snapshot: WorldSnapshot) -> None:
        """Put a snapshot in the place of the world; its history begins with it."""
        runner = self._runner
        indexes = {table.kind: [*table.indexes] for table in runner.world.tables()}
        world = await compute(snapshot.world.size, _copy, snapshot.world, indexes)
        clock = runner.clock.another(snapshot.head.now, snapshot.head.mode, snapshot.head.rate)
        world.now = clock.reached(world)
        await let_go(await self.replace(world, clock, "restore"), runner.scheduler.pauses)

    async def replace(self, world: World, clock: Clock, cause: str) -> World:
        """Put an unrelated world in the place of this one, which is returned; it has no history.

        ``StorageError`` leaves the present one.
        """
        runner = self._runner
        present = WorldSnapshot(world, clock.header(world))
        async with self.changing, self._prepared(present) as edition:
            await self._cancel()
            try:
                if runner.persistence and edition:
                    runner.persistence.put(WORLD, edition, clock.header(world))
                replaced, runner.world = runner.world, world
                runner.journal.clear()
                self._restarted(clock, cause)
                return replaced
            finally:
                self._outbox.resume()

    async def store(self) -> None:
        """Store the world for the first time. Raises ``StorageError``."""
        now = WorldSnapshot(self._runner.world, self._runner.clock.header(self._runner.world))
        if self._runner.persistence:
            async with self._prepared(now) as edition:
                self._runner.persistence.put(WORLD, edition, now.head)

    async def store_snapshot(self, name: str, snapshot: WorldSnapshot | None) -> None:
        """Store a snapshot under a name, as newest; None deletes it. Raises ``StorageError``."""
        if self._runner.persistence:
            async with self._prepared(snapshot) as edition:
                self._runner.persistence.put(name, edition, snapshot and snapshot.head)
        replaced = [self.snapshots.pop(name).world] if name in self.snapshots else []
        if snapshot is not None:
            self.snapshots[name] = snapshot
        if replaced:
            await let_go(replaced.pop(), self._runner.scheduler.pauses)

    @asynccontextmanager
    async def _prepared(self, snapshot: WorldSnapshot | None) -> AsyncIterator[Edition | None]:
        """Store all of a world but the part stored with its placing; None without either."""
        runner = self._runner
        if runner.persistence is None or snapshot is None:
            yield None
            return
        pause = TimeSlice(runner.scheduler.pauses).pause_if_over
        async with runner.persistence.prepared(saved(snapshot), pause) as edition:
            yield edition

    async def _cancel(self) -> None:
        await self._advances.close()
        await self._outbox.close()

    def _restarted(self, clock: Clock, cause: str) -> None:
        """Go on with the world that there is now, and say so to all that follow it."""
        self._runner.clock = clock
        self._runner.scheduler.plan(self._runner)
        self._replaced += 1
        self._start = self.checkpoint()
        self._runner.publish_restart(cause)


def _copy(original: World, indexes: Mapping[type[Record], list[str]]) -> World:
    """Return a copy of a world with these indexes: made here and not with their first use."""
    world = WorldContents(original).world()
    for table in world.tables():
        for field in indexes.get(table.kind, ()):
            table.index(field)
    return world


def _too_late() -> ApiError:
    message = (
        "Another rewind, a restore or a reset of this world came first; look at the journal again."
    )
    return ApiError("INVALID_STATUS_TRANSITION", http_status=409, message=message)
