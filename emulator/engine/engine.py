"""The engine: every world this process runs, each opened by the first use of its key, or at start if it is kept."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from contextlib import suppress

from emulator.core.world import World
from emulator.engine import archive
from emulator.engine.clock import Clock
from emulator.engine.facts import Facts
from emulator.engine.fixtures import Start
from emulator.engine.inbox import Inbox
from emulator.engine.keeping import Keeping
from emulator.engine.mailer import Mailer
from emulator.engine.post import Postman
from emulator.engine.runtime import Runtime
from emulator.errors import Refusal
from emulator.resources.keys import Key
from emulator.state.form import Unreadable
from emulator.state.store import BrokenState, Elsewhere, NotStored, Store

logger = logging.getLogger("emulator")

TICK = 0.05
"""Seconds between two looks at what fell due in worlds whose clocks run."""


Build = Callable[..., tuple[World, Clock]]
"""Makes the world and the clock of a key: new ones, or those that were ``saved``."""


LOOK = 1.0
"""Seconds between two looks for worlds that nobody runs any more, where several processes share them."""


class Engine:
    """Opens worlds and keeps the running ones going; in a ``store``, if there is one, they last (B-01, B-02).

    ``build`` takes a :class:`Start` as well, for one that is to start anew.
    """

    def __init__(
        self,
        build: Build,
        facts: Facts,
        postman: Postman | None = None,
        mailer: Mailer | None = None,
        store: Store | None = None,
    ) -> None:
        self.facts = facts
        self.store = store
        self._build = build
        self._postman = postman or Postman()
        self._mailer = mailer
        self._ticker: asyncio.Task[None] | None = None
        self.runtimes: dict[Key, Runtime] = {}
        self._looked = 0.0
        self.when_discarded: list[Callable[[Runtime], None]] = []

    def open(self, key: Key) -> Runtime:
        """The runtime of a key's world, opened now if need be. Raises the refusals of ``build`` and of the store."""
        runtime = self.runtimes.get(key)
        if runtime is None:
            runtime = self.runtimes[key] = self._runtime(key)
            if self._ticker:
                runtime.resume()
        return runtime

    def open_kept(self) -> None:
        """Open every world that is kept and that nobody runs. Raises :class:`BrokenState`."""
        for key in self.store.vacant() if self.store else ():
            with suppress(Elsewhere):  # another process was quicker
                self._open_listed(key)

    def _open_listed(self, key: Key) -> None:
        try:
            self.open(key)
        except NotStored:
            raise
        except Refusal as refusal:
            logger.info("the world %s stays closed: %s", key.name, refusal)

    def _runtime(self, key: Key) -> Runtime:
        if self.store is None:
            return Runtime(*self._build(key), self._postman, self._mailer)
        saved = self.store.load(key)
        try:
            world, clock = self._build(key, saved=saved)
            keeping = Keeping(self.store, key)
            runtime = Runtime(world, clock, self._postman, self._mailer, keeping)
            for name, snapshot in self.store.snapshots(key).items():
                runtime.snapshots[name] = archive.revive(snapshot, world)
        except Unreadable as fault:
            raise BrokenState(f"the world {key}: {fault}") from None
        if saved is None:
            keeping.whole(runtime.snapshot())
        return runtime

    async def start_anew(self, runtime: Runtime, start: Start) -> None:
        """A fresh world in the place of a runtime's. Raises what building it raises, and then nothing is changed."""
        key = Key(runtime.world.name, runtime.world.livemode)
        world, clock = self._build(key, start)
        runtime.inbox = Inbox()
        await runtime.begin(world, clock, "reset")
        runtime.journal.uncover()

    async def discard(self, key: Key) -> None:
        """Throw a key's world away; the next use of the key opens a new one."""
        if self.store and key in self.runtimes:
            self.store.remove(key)
        await self.let_go(key)

    async def let_go(self, key: Key) -> None:
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

    def hang_up(self) -> None:
        """Let go of whoever listens, for the server is about to stop."""
        for runtime in self.runtimes.values():
            runtime.news.close()

    async def stop(self) -> None:
        """Stop the ticker, the deliveries under way and the connections."""
        if self._ticker:
            self._ticker.cancel()
            with suppress(asyncio.CancelledError):
                await self._ticker
        for runtime in self.runtimes.values():
            await runtime.close()
        await self._postman.close()
        if self.store:
            self.store.close()

    async def _share(self, store: Store) -> None:
        """Hand over what other processes ask for, and take over what they left behind."""
        busy = {key for key, runtime in self.runtimes.items() if runtime.is_busy}
        for key in store.claimed(busy):
            with suppress(NotStored):
                await self.let_go(key)
        if time.monotonic() - self._looked > LOOK:
            self._looked = time.monotonic()
            with suppress(NotStored):
                self.open_kept()

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(TICK)
            if self.store and self.store.shared:
                await self._share(self.store)
            for runtime in list(self.runtimes.values()):
                try:
                    await runtime.keep_up()
                    # What reading draws, ids of requests, is kept now and then: no answer waits for it.
                    runtime.keep_rest()
                except NotStored:  # the store has told it, once; the jobs stay planned
                    pass
                except Exception:  # whatever is wrong with one world, the others' clocks go on
                    logger.exception("the due jobs of %s could not be run", runtime.world.name)
