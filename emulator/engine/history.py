"""The past of a world: checkpoints to rewind to, and named snapshots to restore."""

from __future__ import annotations

import asyncio

from emulator.core.errors import ApiError
from emulator.core.unit_of_work import UnitOfWork
from emulator.core.world import World
from emulator.engine import snapshots
from emulator.engine.clock import Advances, UnitRunner
from emulator.engine.journal import Journal
from emulator.engine.logged_request import Checkpoint
from emulator.engine.outbox import Outbox
from emulator.engine.pubsub import Broker, restarted
from emulator.engine.snapshots import WorldSnapshot
from emulator.engine.world_clock import Clock


class History:
    """Replaces the world by an earlier one, or by another. Advances and deliveries under way are canceled first.

    One of these changes runs at a time. A rewind counts on a past that a change before it may have taken away; then it
    is a conflict. A restore and a reset need no past. ``_replaced`` counts the changes; ``_start``: where the last led.

    ``snapshots`` are the named ones, the oldest first. ``changing`` is held by what changes them or the world.
    """

    def __init__(
        self, runner: UnitRunner, journal: Journal, broker: Broker, outbox: Outbox, advances: Advances
    ) -> None:
        self.snapshots: dict[str, WorldSnapshot] = {}
        self._runner = runner
        self._journal = journal
        self._broker = broker
        self._outbox = outbox
        self._advances = advances
        self.changing = asyncio.Lock()
        self._replaced = 0
        self._start: Checkpoint | None = None

    def on_commit(self, unit: UnitOfWork) -> None:
        """A unit of work that removed all records is the end of what was under way, too."""
        if unit.cleared:
            self._advances.cancel_all()
            self._publish_restart("reset")

    def checkpoint(self) -> Checkpoint:
        """The present place in the world's history."""
        counters = self._runner.world.counters.copy()
        return Checkpoint(self._journal.count, self._runner.now(), counters, self._replaced)

    def beginning(self, checkpoint: Checkpoint | None) -> Checkpoint:
        """Where a request that is answered now began: at its checkpoint, or where a change since then led.

        The checkpoint of a request that was under way during a rewind may lie in a past that no longer exists. A
        request that was rejected before it had a checkpoint changed nothing: it begins where the world is.
        """
        if checkpoint is None:
            return self.checkpoint()
        return checkpoint if self._start is None or checkpoint.replaced == self._replaced else self._start

    async def rewind(self, to: Checkpoint) -> int:
        """Undo every unit of work since a checkpoint, and put clock and counters back; how many there were.

        Raises 409 if another rewind, a restore or a reset came first, or if the journal no longer goes back so far.
        """
        replaced = self._replaced
        async with self.changing:
            if self._replaced != replaced:
                raise _too_late()
            await self._cancel()
            if not self._journal.reaches(to):  # requests were served until all was canceled
                self._outbox.resume()
                raise _too_late()
            return self._undo_since(to)

    def _undo_since(self, to: Checkpoint) -> int:
        units = self._journal.since(to)
        world = self._runner.world.copy()
        for unit in units:
            world.undo(unit)
        world.counters, world.now = to.counters.copy(), to.now
        undone = [change for unit in units for change in unit.changes]
        try:
            self._runner.replace(world, self._runner.clock.another(to.now), undone)
        finally:
            self._outbox.resume()
        self._journal.rewind(to)
        self._restarted()
        self._publish_restart("rewind")
        return len(units)

    def snapshot(self) -> WorldSnapshot:
        """The world as it is now. Records never change, so only their filing is copied."""
        self._runner.run_due()
        return snapshots.take(self._runner.world.copy(), self._runner.clock)

    async def restore(self, snapshot: WorldSnapshot) -> None:
        """Put a snapshot in the place of the world; its history begins with it."""
        world = snapshot.world.copy()
        clock = self._runner.clock.another(snapshot.now, snapshot.mode, snapshot.rate)
        world.now = clock.reached(world)
        await self.replace(world, clock, "restore")

    async def replace(self, world: World, clock: Clock, cause: str) -> None:
        """Put an unrelated world in the place of this one; it has no history."""
        async with self.changing:
            await self._cancel()
            try:
                self._runner.replace(world, clock)
            finally:
                self._outbox.resume()
            self._journal.clear()
            self._restarted()
            self._publish_restart(cause)

    def store_snapshot(self, name: str, snapshot: WorldSnapshot) -> None:
        """Store a snapshot under a name, as the newest one. Raises ``StorageError``."""
        if self._runner.persistence:
            self._runner.persistence.store_snapshot(name, snapshot)
        self.snapshots.pop(name, None)
        self.snapshots[name] = snapshot

    def delete_snapshot(self, name: str) -> None:
        """Delete the snapshot of a name. Raises ``StorageError``."""
        if self._runner.persistence:
            self._runner.persistence.store_snapshot(name, None)
        del self.snapshots[name]

    async def _cancel(self) -> None:
        await self._advances.close()
        await self._outbox.close()

    def _restarted(self) -> None:
        self._replaced += 1
        self._start = self.checkpoint()

    def _publish_restart(self, cause: str) -> None:
        self._broker.publish("reset", restarted(cause, self._runner.now()))
        self._broker.publish("clock", self._runner.clock_state())


def _too_late() -> ApiError:
    message = "Another rewind, a restore or a reset of this world came first; look at the journal again."
    return ApiError("INVALID_STATUS_TRANSITION", http_status=409, message=message)
