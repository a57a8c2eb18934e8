"""The engine: every world of this process, opened on first use of its key or, if stored, at start.

Worlds that were idle longest are given up when there are too many.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from heapq import nsmallest
from itertools import chain
from typing import NamedTuple
from weakref import WeakValueDictionary

from emulator.core import calendar
from emulator.core.errors import ApiError
from emulator.core.limits import WORLDS
from emulator.core.records import Record
from emulator.core.world import World
from emulator.engine.clock import Clock, Scheduler
from emulator.engine.coverage import Coverage
from emulator.engine.fixtures import Start
from emulator.engine.http_client import WebhookSender
from emulator.engine.inbox import Inbox
from emulator.engine.reference_data import ReferenceData
from emulator.engine.runtime import Runtime
from emulator.engine.storage import serialization
from emulator.engine.storage.serialization import InvalidState, WorldSnapshot
from emulator.engine.storage.store import (
    NOTHING,
    Away,
    CorruptStore,
    Loaded,
    StorageError,
    Store,
    WorldPersistence,
)
from emulator.engine.time_slices import TimeSlice, let_go
from emulator.resources.app.clients import Key, domain
from emulator.resources.app.security_profiles import open_domains
from emulator.resources.billing.invoices import Invoice
from emulator.resources.checkout.checkout_sessions import CheckoutSession
from emulator.resources.payments.payment_links import PaymentLink
from emulator.resources.payments.refunds import Receipt
from emulator.resources.registry import make_indexes

# -- which worlds to give up


EMPTY_SECONDS = 3600.0
"""Seconds (real time) after its last request when a world that holds nothing is dropped."""

SWEEP_SECONDS = 600.0
"""Seconds (real time) between two searches for such worlds."""

SAME_SECONDS = 1.0
"""Two clocks that differ by less show the same."""


def may_be_dropped(runtime: Runtime, now: float, build: Build) -> bool:
    """Return whether a world is long idle and like a new one, but for its request journal."""
    world, clock = runtime.world, runtime.clock
    if (
        now - runtime.last_used <= EMPTY_SECONDS
        or runtime.is_in_use
        or runtime.journal.count
        or sum(map(len, world.tables())) > 1
        or runtime.history.snapshots
        or not runtime.inbox.is_unused
    ):
        return False
    new, its_clock = build(Key.of(world))
    apart = calendar.seconds_between(its_clock.now(), clock.now())
    same_mode = (clock.mode, clock.rate) == (its_clock.mode, its_clock.rate)
    same_clock = same_mode and abs(apart) < SAME_SECONDS
    present, fresh = (
        [record for table in compared.tables() for record in table] for compared in (world, new)
    )
    return same_clock and present == fresh


# -- the engine


logger = logging.getLogger("emulator")

TICK_SECONDS = 0.05
"""Seconds (real time) between two runs of the jobs that fell due behind running clocks."""

PUBLIC_KINDS: tuple[type[Record], ...] = (CheckoutSession, PaymentLink, Invoice, Receipt)
"""The kinds of object whose id is all that a buyer's link has."""


class PutAway(NamedTuple):
    """A stored world's names for requests without a key; ``domains`` None: any request opens it."""

    app: str
    public_ids: frozenset[str]
    domains: frozenset[str] | None


Build = Callable[..., tuple[World, Clock]]
"""Makes the world and the clock of a key: new ones, or those that were ``saved``."""

Snapshots = dict[str, WorldSnapshot]
"""Named snapshots of a world, the oldest first."""


class Engine:
    """Opens worlds and runs due jobs. A ``store`` keeps worlds beyond the process (B-01, B-02).

    Once more than ``max_worlds`` are open, those are closed whose last request is longest ago. A
    stored one is opened again on its next request; without a store it is lost.

    ``build`` also takes a :class:`Start`, for a world that is to be reset. Each function of
    ``when_discarded`` is called with a runtime that this engine no longer runs, each of
    ``before_end`` with one whose world is about to be reset or deleted.
    """

    def __init__(
        self,
        build: Build,
        reference_data: ReferenceData,
        sender: WebhookSender | None = None,
        store: Store | None = None,
        *,
        max_worlds: int = WORLDS.most,
    ) -> None:
        self.reference_data = reference_data
        self.store = store
        self._build = build
        self._sender = sender or WebhookSender()
        self._ticker: asyncio.Task[None] | None = None
        self.runtimes: dict[Key, Runtime] = {}
        self._max_worlds = max_worlds
        self._last_sweep = 0.0
        self._scheduler = Scheduler()
        self._opening: WeakValueDictionary[Key, asyncio.Lock] = WeakValueDictionary()
        self._follower: asyncio.Task[None] | None = None
        self._knows_all = store is None or not store.is_remote
        # Stored worlds that are not open; None where it is not known yet what they hold.
        self._put_away: dict[Key, PutAway | None] = {}
        self.when_discarded: list[Callable[[Runtime], None]] = []
        self.before_end: list[Callable[[Runtime], None]] = []

    async def open(self, key: Key) -> Runtime:
        """Return a key's runtime, opened on first use. Raises the errors of ``build`` and store."""
        runtime = self.runtimes.get(key)
        if runtime is None:
            async with self._opening.setdefault(key, asyncio.Lock()):
                runtime = self.runtimes.get(key) or await self._opened(key)
        return runtime

    async def _opened(self, key: Key) -> Runtime:
        time_slice = TimeSlice(self._scheduler.pauses)
        stored = self.store.persistence(key) if self.store else None
        with self._reading(key):
            loaded = await self.store.read(key, time_slice.pause_if_over) if self.store else NOTHING
            # In a thread, so that no other request waits for it: this world is not served yet.
            runtime = self._runtime(
                *await asyncio.to_thread(self._made, key, loaded), loaded, stored
            )
        if stored and loaded.world is None:
            await runtime.history.store()
        runtime.require_store()
        return self._begun(key, runtime)

    @contextmanager
    def _reading(self, key: Key) -> Iterator[None]:
        try:
            yield
        except InvalidState as error:
            raise CorruptStore(
                f"{self.store.name if self.store else key}: the world {key}: {error}"
            ) from None

    def _made(self, key: Key, loaded: Loaded) -> tuple[World, Clock, Snapshots]:
        world, clock = self._build(key, saved=loaded.world)
        make_indexes(world)
        return (
            world,
            clock,
            {name: serialization.loaded(saved, world) for name, saved in loaded.snapshots.items()},
        )

    def _runtime(
        self,
        world: World,
        clock: Clock,
        snapshots: Snapshots,
        loaded: Loaded,
        stored: WorldPersistence | None,
    ) -> Runtime:
        runtime = Runtime(world, clock, self._scheduler, stored, self._sender)
        runtime.history.snapshots |= snapshots
        if stored:
            stored.editions |= loaded.editions
        return runtime

    def _begun(self, key: Key, runtime: Runtime) -> Runtime:
        self.runtimes[key] = runtime
        self._put_away.pop(key, None)
        self._scheduler.plan(runtime)
        if self._ticker:
            runtime.outbox.resume()
        return runtime

    # -- the world of a request that has no key

    async def owner(self, id: str, app: str | None) -> Runtime | None:
        """Return the runtime of the world with this object, in App ``app`` if given (B-101).

        Raises ``StorageError`` while a stored world that is not known yet may have the object.
        """
        for named in (Key(app, livemode=False), Key(app, livemode=True)) if app else ():
            if named in self._put_away and self._put_away[named] is None:
                await self.open(named)
        key = await self._key_of(id)
        if key is None and self.store and not self._knows_all:
            raise Away(self.store.name)
        return None if key is None else await self.open(key)

    async def _key_of(self, id: str) -> Key | None:
        time_slice = TimeSlice(self._scheduler.pauses)
        kinds = [kind for kind in PUBLIC_KINDS if id.startswith(kind.prefix)] or PUBLIC_KINDS
        for key, runtime in list(self.runtimes.items()):
            if any(runtime.world.get(kind, id) for kind in kinds):
                return key
            await time_slice.pause_if_over()
        return next(
            (key for key, away in self._put_away.items() if away and id in away.public_ids), None
        )

    def of_app(self, app: str | None) -> Key | None:
        """Return the key of the App with this id."""
        open_ones = ((key, runtime.world.app) for key, runtime in self.runtimes.items())
        known = chain(open_ones, ((key, away.app) for key, away in self._put_away.items() if away))
        return next((key for key, id in known if id == app), None)

    def any_opens_to(self, origin: str) -> bool:
        """Return whether any App opens to pages of this origin."""
        wanted, open_ones = (
            domain(origin),
            (open_domains(runtime.world) for runtime in self.runtimes.values()),
        )
        known = chain(open_ones, (away.domains for away in self._put_away.values() if away))
        return any(domains is None or wanted in domains for domains in known)

    # -- from the start to the end

    def open_persisted(self) -> None:
        """Open the stored worlds, as many as may be open. Raises ``CorruptStore``."""
        if (store := self.store) is None or store.is_remote:
            return
        for key in store.stored()[: self._max_worlds]:
            try:
                with self._reading(key):
                    loaded = store.load(key)
                    runtime = self._runtime(
                        *self._made(key, loaded), loaded, store.persistence(key)
                    )
                self._begun(key, runtime)
            except StorageError:
                raise
            except ApiError as error:
                logger.info("the world %s stays closed: %s", key.name, error)

    async def start_fresh(self, runtime: Runtime, start: Start) -> None:
        """Replace a runtime's world by a new one. If ``build`` raises, nothing is changed."""
        world, clock = await asyncio.to_thread(self._build, Key.of(runtime.world), start)
        self._end(runtime)
        replaced = [await runtime.history.replace(world, clock, "reset")]
        runtime.inbox = Inbox()
        runtime.journal.coverage = Coverage()
        await let_go(replaced.pop(), self._scheduler.pauses)

    async def discard(self, key: Key) -> None:
        """Delete a key's world; the next use of the key opens a new one."""
        if (runtime := self.runtimes.get(key)) is None:
            return
        if runtime.persistence:
            runtime.persistence.remove()
        self._end(runtime)
        await self.release(key)
        self._put_away.pop(key, None)

    def _end(self, runtime: Runtime) -> None:
        for look in self.before_end:
            look(runtime)

    async def release(self, key: Key) -> None:
        """Stop running a key's world. A stored one stays in the store; its public pages find it."""
        runtime = self.runtimes.get(key)
        if runtime is not None:
            await runtime.close()
        # Nothing awaits from here on, so no request comes in between.
        if runtime is not None and self.runtimes.get(key) is runtime:
            self._forget(key, runtime)
            if not runtime.users:
                closed, runtime.world = [runtime.world], runtime.world.emptied()
                await let_go(closed.pop(), self._scheduler.pauses)

    def _forget(self, key: Key, runtime: Runtime) -> None:
        del self.runtimes[key]
        self._scheduler.forget(runtime)
        for forget in self.when_discarded:
            forget(runtime)
        if self.store:
            world, kinds = runtime.world, PUBLIC_KINDS
            ids = frozenset(
                chain.from_iterable(world.table(kind).slots.all_keys() for kind in kinds)
            )
            self._put_away[key] = PutAway(world.app, ids, open_domains(world))

    async def start(self) -> None:
        """Take up what was under way in stored worlds, and begin to run the jobs that fall due."""
        for runtime in self.runtimes.values() if self.store else ():
            runtime.outbox.resume()
        self._ticker = asyncio.create_task(self._tick())
        if self.store:
            self._follower = asyncio.create_task(
                self.store.follow(self._take_over, self._close_all)
            )

    def end_long_responses(self) -> None:
        """End streams of messages, and advances where they are: the server is about to stop."""
        for runtime in self.runtimes.values():
            runtime.broker.close()
            runtime.advances.cancel_all()

    async def stop(self) -> None:
        for task in filter(None, (self._ticker, self._follower)):
            task.cancel()
            await asyncio.wait([task])
        await self._scheduler.close()
        for runtime in self.runtimes.values():
            await runtime.close()
        if self.store:
            self.store.close()

    async def _take_over(self, keys: list[Key]) -> None:
        """Open the worlds taken over from a store, beside requests; jobs and deliveries go on."""
        time_slice = TimeSlice(self._scheduler.pauses)
        self._put_away = dict.fromkeys(keys)
        unread = keys[: self._max_worlds][::-1]
        while unread:
            try:
                await self.open(unread[-1])
            # The database has not answered for a moment; if it is lost, this is canceled.
            except Away:
                await asyncio.sleep(TICK_SECONDS)
                continue
            except (ApiError, CorruptStore):
                pass  # It must not hold up the others; a request for it says why it cannot be read.
            unread.pop()
            await time_slice.pause_if_over()
        self._knows_all = True

    async def _close_all(self) -> None:
        """Close every world of a store that this process no longer has."""
        self._knows_all = False
        for key in list(self.runtimes):
            with suppress(StorageError):
                await self.release(key)
        self._put_away.clear()

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(TICK_SECONDS)
            self._scheduler.look()
            # Reading draws ids of requests, too. They are stored here, so that no response waits
            # for it.
            self._scheduler.store_unsaved()
            if self.store:
                self.store.tidy()
            await self._close_idle()

    async def _close_idle(self) -> None:
        """Close the worlds beyond the limit and, from time to time, drop the empty ones."""
        if len(self.runtimes) > self._max_worlds:
            await self._make_room()
        now = asyncio.get_running_loop().time()
        if now - self._last_sweep > SWEEP_SECONDS:
            self._last_sweep = now
            await self._drop_empty(now)

    async def _make_room(self) -> None:
        """Close the worlds beyond the limit and 1 % more, to spare the next ones the search."""
        too_many = len(self.runtimes) - self._max_worlds + self._max_worlds // 100
        unused = (runtime for runtime in self.runtimes.values() if not runtime.is_in_use)
        closed = [
            Key.of(runtime.world)
            for runtime in nsmallest(too_many, unused, key=lambda runtime: runtime.last_use)
        ]
        for key in closed:
            await self.release(key)
        if closed:
            done = (
                "put away until they are used again"
                if self.store
                else "dropped, with all they held"
            )
            names = ", ".join(key.name for key in closed[:3]) + (", …" if len(closed) > 3 else "")
            logger.warning(
                "more than %d worlds are open: %d were %s: %s",
                self._max_worlds,
                len(closed),
                done,
                names,
            )

    async def _drop_empty(self, now: float) -> None:
        time_slice = TimeSlice(self._scheduler.pauses)
        for runtime in list(self.runtimes.values()):
            if may_be_dropped(runtime, now, self._build):
                with suppress(StorageError):
                    await self.discard(Key.of(runtime.world))
            await time_slice.pause_if_over()
