"""One world as requests meet it: its clock, its journal, its outbox, its advances and its past."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Callable, Generator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import cached_property
from inspect import isgenerator
from typing import Any, TypeVar, cast

from emulator.core.calendar import Timestamp
from emulator.core.errors import ApiError
from emulator.core.lists import Selection
from emulator.core.records import Record
from emulator.core.unit_of_work import Effect, HttpResult, UnitOfWork
from emulator.core.world import World, WorldContents
from emulator.engine.advances import Advances, Target
from emulator.engine.clock import (
    FROZEN,
    PATIENCE,
    Clock,
    ClockMode,
    Command,
    Scheduler,
    TimeSlice,
    UnitRunner,
    let_go,
)
from emulator.engine.http_client import WebhookSender
from emulator.engine.inbox import Inbox
from emulator.engine.logged_requests import Checkpoint
from emulator.engine.outbox import Outbox
from emulator.engine.reading import View, compute, examine, read_page
from emulator.engine.storage.serialization import WorldSnapshot, saved
from emulator.engine.storage.store import (
    WORLD,
    Edition,
    StorageError,
    WorldClosed,
    WorldPersistence,
)
from emulator.resources.app.settings import RateLimit, Settings

# -- limits on the requests of one key (B-25)


RETRY_SECONDS = 1
"""Seconds to wait when too many requests are under way; it is not known when one of them ends."""

MAX_RETRY_SECONDS = 24 * 3600
"""The longest that a client is asked to wait, however low the rate."""


class RateLimiter:
    """A key's limits: requests take tokens from a filling bucket. ``now`` is monotonic seconds."""

    def __init__(self) -> None:
        self._in_progress = 0
        self._limit: RateLimit | None = None
        self._tokens = self._since = 0.0

    @contextmanager
    def acquire(self, own: Settings, now: float) -> Iterator[None]:
        """Hold a place for one request while the context lasts; else 429, taking no token."""
        if own.concurrency_limit is not None and self._in_progress >= own.concurrency_limit:
            raise ApiError("TOO_MANY_REQUESTS", retry_after=RETRY_SECONDS)
        if own.rate_limit is not None:
            self._take(own.rate_limit, now)
        self._in_progress += 1
        try:
            yield
        finally:
            self._in_progress -= 1

    def _take(self, limit: RateLimit, now: float) -> None:
        """Take a token, or raise 429 ``RATE_LIMIT_EXCEEDED`` with the whole seconds to wait."""
        filled = self._tokens + (now - self._since) * limit.per_second
        if limit != self._limit:  # a new bucket is full, which allows a burst
            self._limit, filled = limit, limit.burst
        self._tokens, self._since = min(filled, float(limit.burst)), now
        if self._tokens < 1:
            wait = min((1 - self._tokens) / limit.per_second, MAX_RETRY_SECONDS)
            raise ApiError("RATE_LIMIT_EXCEEDED", retry_after=math.ceil(wait))
        self._tokens -= 1


# -- the runtime


T = TypeVar("T")

Steps = Generator[Effect, HttpResult, Any]
"""A command that waits for effects: it yields each one and is sent its outcome."""

MOMENT = 0.1
"""Seconds (real time) that a change of the clock waits for jobs that are due."""


class Runtime(UnitRunner):
    """A served world with its parts. Parts are given the ones they call; ``history`` calls all.

    ``last_used`` is when its last request was answered (real time, in seconds of the event loop's
    clock); 0 before the first. ``users``: requests that are served now.
    """

    def __init__(
        self,
        world: World,
        clock: Clock,
        scheduler: Scheduler,
        persistence: WorldPersistence | None,
        sender: WebhookSender,
    ) -> None:
        super().__init__(world, clock, scheduler, persistence)
        self.outbox: Outbox = Outbox(self, sender)
        self.advances: Advances = Advances(self, self.outbox)
        self.history: History = History(self)
        self.users: int = 0
        self.last_used: float = 0.0

    def committed(self, unit: UnitOfWork) -> None:
        super().committed(unit)
        if unit.cleared:
            self.advances.cancel_all()
        if unit.effects:
            self.outbox.perform(unit.effects)

    # What most worlds never use is made with the first use.

    @cached_property
    def running_keys(self) -> set[str]:
        """The Idempotency-Keys of requests that are not answered yet (B-16)."""
        return set()

    @cached_property
    def inbox(self) -> Inbox:
        return Inbox()

    @cached_property
    def rate_limiter(self) -> RateLimiter:
        return RateLimiter()

    # -- requests

    def request_id(self) -> str:
        """Return a new request id. Rejected requests use one up too, so it is drawn for good."""
        self.changed()
        return self.world.draw("req")

    async def read(self, query: Command, arguments: Mapping[str, Any]) -> Any:
        """Return what a function finds in the present world, which it does not change; of a
        selection its page.
        """
        if not self.catch_up_if_idle():
            await self.catch_up()
        result: Any = query(self.world, **arguments)
        return await read_page(result) if isinstance(result, Selection) else result

    async def examine(self, function: Callable[..., T], *args: Any) -> T:
        """Return what a function finds that looks at all of a world: ``function(view, *args)``."""
        return await examine(View(self.world, self.journal), function, *args)

    async def serve(self, command: Command, arguments: Mapping[str, Any], cause: str | None) -> Any:
        """Run a command as a unit of work, then the jobs it made due at once; return its result.

        A command that is a generator yields effects whose outcome it must know; each stretch
        between two is a unit of work. Raises what the command raises, with none of that unit
        committed.
        """
        if not self.catch_up_if_idle():
            await self.catch_up()
        result = self.execute(command, arguments, cause)
        if isgenerator(result):
            result = await self._drive(cast("Steps", result), cause)
        # The command is committed. A job that cannot be stored now stays planned, and is no reason
        # to report failure.
        if self.is_behind(self.world.now):
            instant, time_slice = self.world.now, TimeSlice(self.scheduler.pauses)
            with suppress(StorageError):
                while self.run_next(instant):
                    await time_slice.pause_if_over()
        return result

    async def _drive(self, steps: Steps, cause: str | None) -> Any:
        done, outcome = self.commit(_step, {"steps": steps, "response": None}, cause)
        while not done:
            response = await self.outbox.ask(outcome)
            done, outcome = self.commit(_step, {"steps": steps, "response": response}, cause)
        return outcome

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Keep the world while the context lasts, in which a request is served."""
        self.users += 1
        try:
            yield
        finally:
            self.release()

    def release(self) -> None:
        """Count one of the ``users`` no more: its request was answered."""
        self.users -= 1
        self.last_used = asyncio.get_running_loop().time()

    @property
    def is_in_use(self) -> bool:
        """Whether a request, stream, advance, due job, delivery or email is under way."""
        others = (
            self.advances.is_under_way,
            self.outbox.is_under_way,
            bool(self.broker.subscribers),
        )
        return self.users > 0 or any(others) or self.scheduler.is_working_on(self)

    # -- time

    async def catch_up(self, patience: float = PATIENCE) -> None:
        """Wait for all jobs due now (B-91), at most ``patience`` seconds (real time)."""
        try:
            await self.scheduler.catch_up(self, patience)
            self.run_due()
        except WorldClosed:
            raise
        except StorageError:  # reading goes on; what is to be stored next says why it cannot be
            pass

    async def freeze_at(self, instant: Timestamp) -> None:
        """Stop the clock at a later instant, once what is due until then has run.

        It is stopped first, as a running clock could pass the instant, and stored with each step of
        the advance: if that fails before its first step, the clock runs on.
        """
        await self.catch_up(MOMENT)
        former = self.clock
        self.clock = stopped = former.another(self.now(), FROZEN)
        try:
            await self.advances.run(lambda: Target(instant))
            if self.clock is stopped:  # a reset may have stopped the advance before its first step
                self.replace_clock(stopped)
        except ApiError:
            if self.clock is stopped:
                self.clock = former
                self.scheduler.plan(self)
            raise

    async def set_clock(self, mode: ClockMode, rate: float | None = None) -> None:
        """Stop the clock or run it on from the world's reached instant; the lag is not made up.

        Raises ``StorageError``, and then goes by the clock that it had.
        """
        await self.catch_up(MOMENT)
        self.replace_clock(self.clock.another(self.now(), mode, rate))
        self.scheduler.plan(self)

    # -- the end

    def require_store(self) -> None:
        """Raise ``StorageError`` if the world may be another process's by now."""
        if self.persistence:
            self.persistence.require()

    async def close(self) -> None:
        self.broker.close()
        await self.advances.close()
        await self.outbox.close()
        with suppress(StorageError):  # the units of work are stored already
            self.flush()
        if self.persistence:
            # A request that still waits must not write into the world as it is read next.
            self.persistence.end()


def _step(world: World, steps: Steps, response: HttpResult) -> tuple[bool, Any]:
    """Return one stretch of a command: (False, the effect it waits for) or (True, its result)."""
    try:
        return False, steps.send(response)
    except StopIteration as end:
        return True, end.value


# -- the past: checkpoints to rewind to, and named snapshots to restore


class History:
    """Replaces the world by an earlier or another one, after canceling advances and deliveries.

    One of these changes runs at a time. A rewind counts on a past that a change before it may have
    taken away; then it is a conflict. A restore and a reset need no past. ``_replaced`` counts the
    changes; ``_start``: where the last led.

    ``snapshots`` are the named ones, the oldest first. ``changing`` is held by what changes them or
    the world.
    """

    def __init__(self, runtime: Runtime) -> None:
        self.snapshots: dict[str, WorldSnapshot] = {}
        self.changing: asyncio.Lock = asyncio.Lock()
        self._runtime = runtime
        self._replaced = 0
        self._start: Checkpoint | None = None

    def checkpoint(self) -> Checkpoint:
        runtime = self._runtime
        return Checkpoint(
            runtime.journal.count, runtime.now(), runtime.world.counters.copy(), self._replaced
        )

    def beginning(self, checkpoint: Checkpoint | None) -> Checkpoint:
        """Return where the present request began: its checkpoint, or the target of a later change.

        The checkpoint of a request that was under way during a rewind may lie in a past that no
        longer exists. A request that was rejected before it had a checkpoint changed nothing: it
        begins where the world is.
        """
        if checkpoint is None:
            return self.checkpoint()
        return (
            checkpoint
            if self._start is None or checkpoint.replaced == self._replaced
            else self._start
        )

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
                self._runtime.outbox.resume()

    def _undo_since(self, to: Checkpoint) -> int:
        """Rewind at once, in time set by the undone work; an error leaves everything as it was."""
        runtime, world, journal = self._runtime, self._runtime.world, self._runtime.journal
        if not journal.reaches(to):  # requests were served until all was canceled
            raise _too_late()
        units, clock, before = (
            journal.since(to),
            runtime.clock.another(to.now),
            (world.counters, world.now),
        )
        for unit in units:
            world.undo(unit)
        world.counters, world.now = to.counters.copy(), to.now
        if runtime.persistence:
            try:
                undone = [change for unit in units for change in unit.changes]
                runtime.persistence.write(world, undone, clock.header(world))
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
        runtime = self._runtime
        async with self.changing:
            head, contents = (
                runtime.clock.header(runtime.world, goes_on=False),
                WorldContents(runtime.world),
            )
            return WorldSnapshot(await compute(runtime.world.size, contents.world), head)

    async def restore(self, snapshot: WorldSnapshot) -> None:
        """Put a snapshot in the place of the world; its history begins with it."""
        runtime = self._runtime
        indexes = {table.kind: [*table.indexes] for table in runtime.world.tables()}
        world = await compute(snapshot.world.size, _copy, snapshot.world, indexes)
        clock = runtime.clock.another(snapshot.head.now, snapshot.head.mode, snapshot.head.rate)
        world.now = clock.reached(world)
        await let_go(await self.replace(world, clock, "restore"), runtime.scheduler.pauses)

    async def replace(self, world: World, clock: Clock, cause: str) -> World:
        """Put an unrelated world in the place of this one, which is returned; it has no history.

        ``StorageError`` leaves the present one.
        """
        runtime = self._runtime
        present = WorldSnapshot(world, clock.header(world))
        async with self.changing, self._prepared(present) as edition:
            await self._cancel()
            try:
                if runtime.persistence and edition:
                    runtime.persistence.put(WORLD, edition, clock.header(world))
                replaced, runtime.world = runtime.world, world
                runtime.journal.clear()
                self._restarted(clock, cause)
                return replaced
            finally:
                runtime.outbox.resume()

    async def store(self) -> None:
        """Store the world for the first time. Raises ``StorageError``."""
        now = WorldSnapshot(self._runtime.world, self._runtime.clock.header(self._runtime.world))
        if self._runtime.persistence:
            async with self._prepared(now) as edition:
                self._runtime.persistence.put(WORLD, edition, now.head)

    async def store_snapshot(self, name: str, snapshot: WorldSnapshot | None) -> None:
        """Store a snapshot under a name, as newest; None deletes it. Raises ``StorageError``."""
        if self._runtime.persistence:
            async with self._prepared(snapshot) as edition:
                self._runtime.persistence.put(name, edition, snapshot and snapshot.head)
        replaced = [self.snapshots.pop(name).world] if name in self.snapshots else []
        if snapshot is not None:
            self.snapshots[name] = snapshot
        if replaced:
            await let_go(replaced.pop(), self._runtime.scheduler.pauses)

    @asynccontextmanager
    async def _prepared(self, snapshot: WorldSnapshot | None) -> AsyncIterator[Edition | None]:
        """Store all of a world but the part stored with its placing; None without either."""
        runtime = self._runtime
        if runtime.persistence is None or snapshot is None:
            yield None
            return
        pause = TimeSlice(runtime.scheduler.pauses).pause_if_over
        async with runtime.persistence.prepared(saved(snapshot), pause) as edition:
            yield edition

    async def _cancel(self) -> None:
        await self._runtime.advances.close()
        await self._runtime.outbox.close()

    def _restarted(self, clock: Clock, cause: str) -> None:
        """Go on with the world that there is now, and say so to all that follow it."""
        self._runtime.clock = clock
        self._runtime.scheduler.plan(self._runtime)
        self._replaced += 1
        self._start = self.checkpoint()
        self._runtime.publish_restart(cause)


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
