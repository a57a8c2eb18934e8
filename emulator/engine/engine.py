"""The engine: every world this process runs, each opened by the first use of its key (B-01, B-02)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress

from emulator.core.world import World
from emulator.engine.clock import Clock
from emulator.engine.facts import Facts
from emulator.engine.fixtures import Start
from emulator.engine.inbox import Inbox
from emulator.engine.mailer import Mailer
from emulator.engine.post import Postman
from emulator.engine.runtime import Runtime
from emulator.resources.keys import Key

logger = logging.getLogger("emulator")

TICK = 0.05
"""Seconds between two looks at what fell due in worlds whose clocks run."""


class Engine:
    """Opens worlds and keeps the running ones going. ``build`` makes the world and the clock of a key.

    It takes a :class:`Start` as well, for one that is to start anew.
    """

    def __init__(
        self,
        build: Callable[..., tuple[World, Clock]],
        facts: Facts,
        postman: Postman | None = None,
        mailer: Mailer | None = None,
    ) -> None:
        self.facts = facts
        self._build = build
        self._postman = postman or Postman()
        self._mailer = mailer
        self._ticker: asyncio.Task[None] | None = None
        self.runtimes: dict[Key, Runtime] = {}
        self.when_discarded: list[Callable[[Runtime], None]] = []

    def open(self, key: Key) -> Runtime:
        """The runtime of a key's world, opened now if need be."""
        runtime = self.runtimes.get(key)
        if runtime is None:
            runtime = self.runtimes[key] = Runtime(*self._build(key), self._postman, self._mailer)
        return runtime

    async def start_anew(self, runtime: Runtime, start: Start) -> None:
        """A fresh world in the place of a runtime's. Raises what building it raises, and then nothing is changed."""
        key = Key(runtime.world.name, runtime.world.livemode)
        world, clock = self._build(key, start)
        runtime.inbox = Inbox()
        await runtime.begin(world, clock, "reset")

    async def discard(self, key: Key) -> None:
        """Throw a key's world away; the next use of the key opens a new one.

        Whoever keeps runtimes by other names hears of it by ``when_discarded``.
        """
        runtime = self.runtimes.pop(key, None)
        if runtime is not None:
            await runtime.close()
            for forget in self.when_discarded:
                forget(runtime)

    async def start(self) -> None:
        """Begin to run, by themselves, the jobs that fall due."""
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

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(TICK)
            for runtime in list(self.runtimes.values()):
                try:
                    await runtime.keep_up()
                except Exception:  # whatever is wrong with one world, the others' clocks go on
                    logger.exception("the due jobs of %s could not be run", runtime.world.name)
