"""The engine: every world of this process, opened by the first use of its key, or at the start if it is stored.

Worlds that were idle longest are given up when there are too many, and stored worlds of processes that ended are taken over.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from heapq import nsmallest
from operator import attrgetter

from emulator.core import calendar
from emulator.core.errors import ApiError
from emulator.core.limits import WORLDS
from emulator.core.records import Record
from emulator.core.world import World
from emulator.engine import persistence
from emulator.engine.clock import Scheduler, TimeSlice
from emulator.engine.directory import Directory
from emulator.engine.fixtures import Start
from emulator.engine.inbox import Inbox
from emulator.engine.outbox import Mailer, WebhookSender
from emulator.engine.persistence import WorldPersistence, take
from emulator.engine.pubsub import EncodedMessages
from emulator.engine.reference_data import ReferenceData
from emulator.engine.runtime import Runtime
from emulator.engine.storage.serialization import InvalidState, StoredWorld
from emulator.engine.storage.store import CorruptStore, LeasedElsewhere, StorageError, Store
from emulator.engine.world_clock import Clock
from emulator.resources.app.clients import Key

# -- which worlds to give up


EMPTY_SECONDS = 3600.0
"""Seconds (real time) after its last request when a world that holds nothing is dropped."""

SWEEP_SECONDS = 600.0
"""Seconds (real time) between two searches for such worlds."""

SAME_SECONDS = 1.0
"""Two clocks that differ by less show the same."""


def longest_unused(runtimes: Iterable[Runtime], count: int) -> list[Runtime]:
    """Return up to ``count`` idle runtimes, least recently used first."""
    return nsmallest(count, (each for each in runtimes if not each.is_in_use), key=attrgetter("last_used"))


def may_be_empty(runtime: Runtime, now: float) -> bool:
    """Return whether a world has been idle for a while, and it holds no more than a new one: its settings."""
    return (
        now - runtime.last_used > EMPTY_SECONDS
        and not runtime.is_in_use
        and runtime.journal.count == 0
        and sum(map(len, runtime.world.tables())) <= 1
        and not runtime.history.snapshots
        and runtime.inbox.is_unused
    )


def is_like(runtime: Runtime, fresh: tuple[World, Clock]) -> bool:
    """Return whether a world is like one that is opened now, so that dropping it loses nothing but its request journal."""
    world, clock = fresh
    apart = calendar.seconds_between(clock.now(), runtime.clock.now())
    same_clock = (clock.mode, clock.rate) == (runtime.clock.mode, runtime.clock.rate) and abs(apart) < SAME_SECONDS
    return same_clock and _records(world) == _records(runtime.world)


def _records(world: World) -> list[Record]:
    return [record for table in world.tables() for record in table]


# -- stored worlds that no process runs


CHECK_SECONDS = 1.0
"""Seconds (real time) between two looks for such worlds, where several processes share a store."""

START_SECONDS = 2.0
"""Seconds (real time) in which a start opens such worlds before it serves; the others are opened beside requests."""

TAKEOVER_SECONDS = 0.05
"""Seconds (real time) for which worlds are taken over at a time; then requests run as long, for they come first."""


class Takeover:
    """Opens such worlds by ``open``, with pauses for requests, which open what they need themselves."""

    def __init__(self, open: Callable[[Key], object], pauses: asyncio.Lock) -> None:
        self._open = open
        self._pauses = pauses
        self._checked_at = 0.0
        self._free: list[Key] = []

    async def run(self, store: Store, room: int, handed_over: Collection[Key]) -> None:
        """Open a few, no more than there is ``room`` for; the others with the next calls.

        Those that were just ``handed_over`` are left to the processes that asked for them, which ask every now and then.
        """
        began = time.monotonic()
        if began - self._checked_at > CHECK_SECONDS:
            self._checked_at = began
            with suppress(StorageError):
                self._free = store.stored()[: max(room, 0)]
        if handed_over:
            self._free = [key for key in self._free if key not in handed_over]
        time_slice = TimeSlice(self._pauses)
        while self._free and time.monotonic() - began < TAKEOVER_SECONDS:
            # One that cannot be read must not hold up the others; a request for it says why.
            with suppress(StorageError, CorruptStore):
                self._open(self._free.pop())
            await time_slice.pause_if_over()


# -- the engine


logger = logging.getLogger("emulator")

TICK_SECONDS = 0.05
"""Seconds (real time) between two runs of what fell due in worlds whose clocks run."""

Build = Callable[..., tuple[World, Clock]]
"""Makes the world and the clock of a key: new ones, or those that were ``saved``."""


class Engine:
    """Opens worlds and runs the jobs of those whose clocks run. Worlds outlast the process in a ``store`` (B-01, B-02).

    Once more than ``max_worlds`` are open, those are closed whose last request is longest ago. A stored one is opened
    again when it is asked for; without a store it is lost.

    ``build`` also takes a :class:`Start`, for a world that is to be reset. Each function of ``when_discarded`` is
    called with a runtime that this engine no longer runs, each of ``before_end`` with one whose world is about to be
    reset or deleted.
    """

    def __init__(
        self,
        build: Build,
        reference_data: ReferenceData,
        sender: WebhookSender | None = None,
        mailer: Mailer | None = None,
        store: Store | None = None,
        *,
        max_worlds: int = WORLDS.most,
    ) -> None:
        self.reference_data = reference_data
        self.store = store
        self._build = build
        self._sender = sender or WebhookSender()
        self._mailer = mailer
        self._ticker: asyncio.Task[None] | None = None
        self.runtimes: dict[Key, Runtime] = {}
        self._max_worlds = max_worlds
        self._last_sweep = 0.0
        self._scheduler = Scheduler()
        self._takeover = Takeover(self._open_listed, self._scheduler.pauses)
        self.directory = Directory()
        self.encoded_messages = EncodedMessages()
        self.when_discarded: list[Callable[[Runtime], None]] = []
        self.before_end: list[Callable[[Runtime], None]] = []

    def open(self, key: Key) -> Runtime:
        """Return the runtime of a key's world, opened now if it is not yet. Raises what ``build`` and the store raise."""
        try:
            return self._opened(key)
        except LeasedElsewhere:
            if self.store:
                self.store.ask_for(key)
            raise

    def _opened(self, key: Key) -> Runtime:
        runtime = self.runtimes.get(key)
        if runtime is None:
            try:
                runtime = self.runtimes[key] = self._runtime(key)
            except BaseException:
                if self.store:
                    self.store.release(key)
                raise
            self.directory.add(runtime.world)
            self._scheduler.plan(runtime.runner)
            if self._ticker:
                runtime.outbox.resume()
        return runtime

    def owner(self, id: str) -> Runtime | None:
        """Return the runtime of the world that has an object with this id, of a kind that has a public page."""
        key = self.directory.owner(id)
        with suppress(ApiError):  # it is stored, but another process runs it
            return None if key is None else self.open(key)
        return None

    def open_persisted(self) -> None:
        """Open the stored worlds that no process runs, as many as may be open. Raises ``CorruptStore``.

        Where processes share a store, those that take too long are left to the takeover.
        """
        until = time.monotonic() + START_SECONDS
        for key in self.store.stored() if self.store else ():
            is_late = self.store is not None and self.store.shared and time.monotonic() > until
            if is_late or len(self.runtimes) >= self._max_worlds:
                return
            with suppress(LeasedElsewhere):  # another process was quicker
                self._open_listed(key)

    def _open_listed(self, key: Key) -> None:
        try:
            self._opened(key)
        except StorageError:
            raise
        except ApiError as error:
            logger.info("the world %s stays closed: %s", key.name, error)

    def _runtime(self, key: Key) -> Runtime:
        saved = self.store.load(key) if self.store else None
        persistence = WorldPersistence(self.store, key) if self.store else None
        world, clock = self._built(key, saved)
        runtime = Runtime(
            world,
            clock,
            self._sender,
            self._mailer,
            persistence,
            scheduler=self._scheduler,
            directory=self.directory,
        )
        if self.store and persistence:
            self._load_snapshots(self.store, key, runtime)
            if saved is None:
                persistence.replace_world(take(world, clock))
        return runtime

    def _built(self, key: Key, saved: StoredWorld | None) -> tuple[World, Clock]:
        if saved is None:
            return self._build(key)
        try:
            return self._build(key, saved=saved)
        except InvalidState as error:
            raise CorruptStore(f"{self.store.name if self.store else key}: the world {key}: {error}") from None

    def _load_snapshots(self, store: Store, key: Key, runtime: Runtime) -> None:
        try:
            for name, snapshot in store.snapshots(key).items():
                runtime.history.snapshots[name] = persistence.load_world(snapshot, runtime.world)
        except InvalidState as error:
            raise CorruptStore(f"{store.name}: the world {key}: {error}") from None

    async def start_fresh(self, runtime: Runtime, start: Start) -> None:
        """Put a new world in the place of a runtime's. Raises what ``build`` raises; then nothing is changed."""
        world, clock = self._build(_key(runtime), start)
        self._end(runtime)
        runtime.inbox = Inbox()
        await runtime.history.replace(world, clock, "reset")
        runtime.journal.reset_coverage()

    async def discard(self, key: Key) -> None:
        """Delete a key's world; the next use of the key opens a new one."""
        if self.store and key in self.runtimes:
            self.store.remove(key)
        if (runtime := self.runtimes.get(key)) is not None:
            self._end(runtime)
            self.directory.remove(runtime.world)
        await self.release(key)

    def _end(self, runtime: Runtime) -> None:
        for look in self.before_end:
            look(runtime)

    async def release(self, key: Key) -> None:
        """Run a key's world no longer. A stored one stays in the store, and is found by its public pages."""
        runtime = self.runtimes.get(key)
        if runtime is not None:
            await runtime.close()
        # Nothing awaits from here on, so no request comes in between: until now this process answered those of this
        # world, and as soon as the store has released it another process may.
        if self.runtimes.get(key) is not runtime:
            return
        if runtime is not None:
            self._forget(runtime)
        if self.store:
            # Also what it holds of a world that is not open: it connects again once it holds nothing.
            self.store.release(key)

    def _forget(self, runtime: Runtime) -> None:
        del self.runtimes[_key(runtime)]
        self._scheduler.forget(runtime.runner)
        for forget in self.when_discarded:
            forget(runtime)
        if not self.store:
            self.directory.remove(runtime.world)

    async def start(self) -> None:
        """Take up what was under way in stored worlds, and begin to run the jobs that fall due."""
        for runtime in self.runtimes.values() if self.store else ():
            runtime.outbox.resume()
        self._ticker = asyncio.create_task(self._tick())

    def end_long_answers(self) -> None:
        """End streams of messages, and advances where they are, because the server is about to stop."""
        for runtime in self.runtimes.values():
            runtime.broker.close()
            runtime.advances.cancel_all()

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
        handed_over = set(store.lease_requests(busy))
        for key in handed_over:
            with suppress(StorageError):
                await self.release(key)
        await self._takeover.run(store, self._max_worlds - len(self.runtimes), handed_over)

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(TICK_SECONDS)
            if self.store and self.store.shared:
                await self._share_worlds(self.store)
            self._scheduler.look()
            # Reading draws ids of requests, too. They are stored here, so that no answer waits for it.
            self._scheduler.store_unsaved()
            await self._close_idle()

    async def _close_idle(self) -> None:
        """Close the worlds that are too many and, from time to time, drop those that hold nothing."""
        if len(self.runtimes) > self._max_worlds:
            await self._make_room()
        now = asyncio.get_running_loop().time()
        if now - self._last_sweep > SWEEP_SECONDS:
            self._last_sweep = now
            await self._drop_empty(now)

    async def _make_room(self) -> None:
        """Close the worlds that are too many, and a hundredth more, so that not each new one makes us search."""
        too_many = len(self.runtimes) - self._max_worlds + self._max_worlds // 100
        closed = [_key(runtime) for runtime in longest_unused(self.runtimes.values(), too_many)]
        for key in closed:
            await self.release(key)
        if closed:
            done = "put away until they are used again" if self.store else "dropped, with all they held"
            names = ", ".join(key.name for key in closed[:3]) + (", …" if len(closed) > 3 else "")
            logger.warning("more than %d worlds are open: %d were %s: %s", self._max_worlds, len(closed), done, names)

    async def _drop_empty(self, now: float) -> None:
        time_slice = TimeSlice(self._scheduler.pauses)
        for runtime in list(self.runtimes.values()):
            if may_be_empty(runtime, now) and is_like(runtime, self._build(_key(runtime))):
                with suppress(StorageError):
                    await self.discard(_key(runtime))
            await time_slice.pause_if_over()


def _key(runtime: Runtime) -> Key:
    return Key(runtime.world.name, runtime.world.livemode)
