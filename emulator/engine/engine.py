"""The engine: every world this process runs, each opened by the first use of its key, or at start if it is kept."""

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
from emulator.engine.webhook_sender import WebhookSender
from emulator.errors import ApiError
from emulator.resources.app.keys import Key
from emulator.state.serialization import InvalidState
from emulator.state.store import CorruptStore, LeasedElsewhere, StorageError, Store

logger = logging.getLogger("emulator")

TICK = 0.05
"""Seconds between two looks at what fell due in worlds whose clocks run."""


Build = Callable[..., tuple[World, Clock]]
"""Makes the world and the clock of a key: new ones, or those that were ``saved``."""


STORE_CHECK_SECONDS = 1.0
"""Seconds between two looks for worlds that nobody runs any more, where several processes share them."""


class Engine:
    """Opens worlds and keeps the running ones going; in a ``store``, if there is one, they last (B-01, B-02).

    ``build`` takes a :class:`Start` as well, for one that is to start anew.
    """

    def __init__(
        self,
        build: Build,
        facts: ReferenceData,
        postman: WebhookSender | None = None,
        mailer: Mailer | None = None,
        store: Store | None = None,
    ) -> None:
        self.reference_data = facts
        self.store = store
        self._build = build
        self._webhook_sender = postman or WebhookSender()
        self._mailer = mailer
        self._ticker: asyncio.Task[None] | None = None
        self.runtimes: dict[Key, Runtime] = {}
        self._last_store_check = 0.0
        self.when_discarded: list[Callable[[Runtime], None]] = []

    def open(self, key: Key) -> Runtime:
        """The runtime of a key's world, opened now if need be. Raises the refusals of ``build`` and of the store."""
        runtime = self.runtimes.get(key)
        if runtime is None:
            runtime = self.runtimes[key] = self._runtime(key)
            if self._ticker:
                runtime.resume()
        return runtime

    def open_persisted(self) -> None:
        """Open every world that is kept and that nobody runs. Raises :class:`BrokenState`."""
        for key in self.store.unleased() if self.store else ():
            with suppress(LeasedElsewhere):  # another process was quicker
                self._open_listed(key)

    def _open_listed(self, key: Key) -> None:
        try:
            self.open(key)
        except StorageError:
            raise
        except ApiError as refusal:
            logger.info("the world %s stays closed: %s", key.name, refusal)

    def _runtime(self, key: Key) -> Runtime:
        if self.store is None:
            return Runtime(*self._build(key), self._webhook_sender, self._mailer)
        saved = self.store.load(key)
        try:
            world, clock = self._build(key, saved=saved)
            keeping = WorldPersistence(self.store, key)
            runtime = Runtime(world, clock, self._webhook_sender, self._mailer, keeping)
            for name, snapshot in self.store.snapshots(key).items():
                runtime.snapshots[name] = snapshots.load_world(snapshot, world)
        except InvalidState as fault:
            raise CorruptStore(f"the world {key}: {fault}") from None
        if saved is None:
            keeping.replace_world(runtime.snapshot())
        return runtime

    async def start_fresh(self, runtime: Runtime, start: Start) -> None:
        """A fresh world in the place of a runtime's. Raises what building it raises, and then nothing is changed."""
        key = Key(runtime.world.name, runtime.world.livemode)
        world, clock = self._build(key, start)
        runtime.inbox = Inbox()
        await runtime.replace(world, clock, "reset")
        runtime.journal.reset_coverage()

    async def discard(self, key: Key) -> None:
        """Throw a key's world away; the next use of the key opens a new one."""
        if self.store and key in self.runtimes:
            self.store.remove(key)
        await self.release(key)

    async def release(self, key: Key) -> None:
        """Run a key's world no longer; where it is kept, it stays.

        Whoever keeps runtimes by other names hears of it by ``when_discarded``.
        """
        runtime = self.runtimes.get(key)
        if runtime is None:
            return
        await runtime.close()
        # From here on nothing awaits: until now its requests were answered here, from now on nowhere or elsewhere.
        if self.runtimes.pop(key, None) is not None:
            for forget in self.when_discarded:
                forget(runtime)
            if self.store:
                self.store.release(key)

    async def start(self) -> None:
        """Take up what was under way in the worlds that were kept, and begin to run the jobs that fall due."""
        for runtime in self.runtimes.values() if self.store else ():
            runtime.resume()
        self._ticker = asyncio.create_task(self._tick())

    def close_streams(self) -> None:
        """Let go of whoever listens, for the server is about to stop."""
        for runtime in self.runtimes.values():
            runtime.broker.close()

    async def stop(self) -> None:
        """Stop the ticker and the deliveries under way."""
        if self._ticker:
            self._ticker.cancel()
            with suppress(asyncio.CancelledError):
                await self._ticker
        for runtime in self.runtimes.values():
            await runtime.close()
        if self.store:
            self.store.close()

    async def _share_worlds(self, store: Store) -> None:
        """Hand over what other processes ask for, and take over what they left behind."""
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
            await asyncio.sleep(TICK)
            if self.store and self.store.shared:
                await self._share_worlds(self.store)
            for runtime in list(self.runtimes.values()):
                try:
                    await runtime.run_due_cooperatively()
                    # What reading draws, ids of requests, is kept now and then: no answer waits for it.
                    runtime.flush()
                except StorageError:  # the store has told it, once; the jobs stay planned
                    pass
                except Exception:  # whatever is wrong with one world, the others' clocks go on
                    logger.exception("the due jobs of %s could not be run", runtime.world.name)
