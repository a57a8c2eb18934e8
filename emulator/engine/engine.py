"""The engine: every world this process runs, opened by the first use of its key, or at the start if it is stored."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from contextlib import suppress

from emulator.core.world import World
from emulator.engine import snapshots
from emulator.engine.clock import Clock
from emulator.engine.fixtures import Start
from emulator.engine.inbox import Inbox
from emulator.engine.mailer import Mailer
from emulator.engine.persistence import WorldPersistence
from emulator.engine.reference_data import ReferenceData
from emulator.engine.runtime import Runtime
from emulator.engine.scheduler import Scheduler
from emulator.engine.webhook_sender import WebhookSender
from emulator.errors import ApiError
from emulator.resources.app.keys import Key
from emulator.state.serialization import InvalidState
from emulator.state.store import CorruptStore, LeasedElsewhere, StorageError, Store

logger = logging.getLogger("emulator")

TICK_SECONDS = 0.05
"""Seconds (real time) between two runs of what fell due in worlds whose clocks run."""

Build = Callable[..., tuple[World, Clock]]
"""Makes the world and the clock of a key: new ones, or those that were ``saved``."""

STORE_CHECK_SECONDS = 1.0
"""Seconds (real time) between two looks for worlds that no process runs, where several processes share a store."""


class Engine:
    """Opens worlds and runs the jobs of those whose clocks run. Worlds outlast the process in a ``store`` (B-01, B-02).

    ``build`` also takes a :class:`Start`, for a world that is to be reset. Each function of ``when_discarded`` is
    called with a runtime that this engine no longer runs.
    """

    def __init__(
        self,
        build: Build,
        reference_data: ReferenceData,
        sender: WebhookSender | None = None,
        mailer: Mailer | None = None,
        store: Store | None = None,
    ) -> None:
        self.reference_data = reference_data
        self.store = store
        self._build = build
        self._sender = sender or WebhookSender()
        self._mailer = mailer
        self._ticker: asyncio.Task[None] | None = None
        self.runtimes: dict[Key, Runtime] = {}
        self._last_store_check = 0.0
        self._scheduler = Scheduler()
        self.when_discarded: list[Callable[[Runtime], None]] = []

    def open(self, key: Key) -> Runtime:
        """The runtime of a key's world, opened now if it is not yet. Raises what ``build`` and the store raise."""
        runtime = self.runtimes.get(key)
        if runtime is None:
            runtime = self.runtimes[key] = self._runtime(key)
            self._scheduler.plan(runtime.runner)
            if self._ticker:
                runtime.outbox.resume()
        return runtime

    def open_persisted(self) -> None:
        """Open every stored world that no process runs. Raises ``CorruptStore``."""
        for key in self.store.unleased() if self.store else ():
            with suppress(LeasedElsewhere):  # another process was quicker
                self._open_listed(key)

    def _open_listed(self, key: Key) -> None:
        try:
            self.open(key)
        except StorageError:
            raise
        except ApiError as error:
            logger.info("the world %s stays closed: %s", key.name, error)

    def _runtime(self, key: Key) -> Runtime:
        if self.store is None:
            return Runtime(*self._build(key), self._sender, self._mailer, scheduler=self._scheduler)
        saved = self.store.load(key)
        try:
            world, clock = self._build(key, saved=saved)
            persistence = WorldPersistence(self.store, key)
            runtime = Runtime(world, clock, self._sender, self._mailer, persistence, scheduler=self._scheduler)
            for name, snapshot in self.store.snapshots(key).items():
                runtime.history.snapshots[name] = snapshots.load_world(snapshot, world)
        except InvalidState as error:
            raise CorruptStore(f"the world {key}: {error}") from None
        if saved is None:
            persistence.replace_world(runtime.history.snapshot())
        return runtime

    async def start_fresh(self, runtime: Runtime, start: Start) -> None:
        """Put a new world in the place of a runtime's. Raises what ``build`` raises; then nothing is changed."""
        key = Key(runtime.world.name, runtime.world.livemode)
        world, clock = self._build(key, start)
        runtime.inbox = Inbox()
        await runtime.history.replace(world, clock, "reset")
        runtime.journal.reset_coverage()

    async def discard(self, key: Key) -> None:
        """Delete a key's world; the next use of the key opens a new one."""
        if self.store and key in self.runtimes:
            self.store.remove(key)
        await self.release(key)

    async def release(self, key: Key) -> None:
        """Run a key's world no longer. A stored one stays in the store."""
        runtime = self.runtimes.get(key)
        if runtime is None:
            return
        await runtime.close()
        # Nothing awaits from here on, so no request comes in between: until now this process answered those of this
        # world, and as soon as the store has released it another process may.
        if self.runtimes.pop(key, None) is not None:
            self._scheduler.forget(runtime.runner)
            for forget in self.when_discarded:
                forget(runtime)
            if self.store:
                self.store.release(key)

    async def start(self) -> None:
        """Take up what was under way in stored worlds, and begin to run the jobs that fall due."""
        for runtime in self.runtimes.values() if self.store else ():
            runtime.outbox.resume()
        self._ticker = asyncio.create_task(self._tick())

    def close_streams(self) -> None:
        """End every stream of messages, because the server is about to stop."""
        for runtime in self.runtimes.values():
            runtime.broker.close()

    async def stop(self) -> None:
        """Stop the ticker and the deliveries under way."""
        if self._ticker:
            self._ticker.cancel()
            with suppress(asyncio.CancelledError):
                await self._ticker
        await self._scheduler.close()
        for runtime in self.runtimes.values():
            await runtime.close()
        if self.store:
            self.store.close()

    async def _share_worlds(self, store: Store) -> None:
        """Hand over the worlds that other processes ask for, and take over those that no process runs any more."""
        busy = {key for key, runtime in self.runtimes.items() if runtime.is_busy}
        for key in store.lease_requests(busy):
            with suppress(StorageError):
                await self.release(key)
        if time.monotonic() - self._last_store_check > STORE_CHECK_SECONDS:
            self._last_store_check = time.monotonic()
            with suppress(StorageError):
                self.open_persisted()

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(TICK_SECONDS)
            if self.store and self.store.shared:
                await self._share_worlds(self.store)
            self._scheduler.look()
            for runtime in list(self.runtimes.values()) if self.store else ():
                # Reading draws ids of requests, too. They are stored here, so that no answer waits for it.
                with suppress(StorageError):  # the store has logged it, once
                    runtime.flush()
