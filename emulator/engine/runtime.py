"""One world as requests meet it: its clock, its journal, its outbox, its advances and its past."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cached_property
from inspect import isgenerator
from typing import Any, TypeVar, cast

from emulator.core.errors import ApiError
from emulator.core.repository import Copying
from emulator.core.slices import Slices
from emulator.core.unit_of_work import Effect, HttpResult, UnitOfWork
from emulator.core.world import World
from emulator.engine import persistence
from emulator.engine.clock import PATIENCE, Advances, Command, Scheduler, UnitRunner
from emulator.engine.directory import Directory
from emulator.engine.inbox import Inbox
from emulator.engine.journal import Checkpoint, Journal
from emulator.engine.outbox import Outbox, WebhookSender
from emulator.engine.persistence import WorldPersistence, WorldSnapshot
from emulator.engine.pubsub import Broker, restarted
from emulator.engine.storage.store import StorageError, WorldClosed
from emulator.engine.time_slices import in_slices, let_go
from emulator.engine.world_clock import FROZEN, RUNNING, Clock
from emulator.resources.app.settings import RateLimit, Settings

# -- limits on the requests of one key (B-25)


RETRY_SECONDS = 1
"""Seconds to wait when too many requests are under way; it is not known when one of them ends."""

MAX_RETRY_SECONDS = 24 * 3600
"""The longest that a client is asked to wait, however low the rate."""


class RateLimiter:
    """The limits of one key, by a bucket that fills steadily; each request takes a token. ``now`` is monotonic, in seconds."""

    def __init__(self) -> None:
        self._in_progress = 0
        self._limit: RateLimit | None = None
        self._tokens = self._since = 0.0

    @contextmanager
    def acquire(self, own: Settings, now: float) -> Iterator[None]:
        """Hold a place for one request, while the context lasts; 429 for one too many, which takes no token."""
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
        """Take a token, or raise 429 ``RATE_LIMIT_EXCEEDED`` with the whole seconds until there is one."""
        filled = self._tokens + (now - self._since) * limit.per_second
        if limit != self._limit:  # a new bucket is full, which allows a burst
            self._limit, filled = limit, limit.burst
        self._tokens, self._since = min(filled, float(limit.burst)), now
        if self._tokens < 1:
            wait = min((1 - self._tokens) / limit.per_second, MAX_RETRY_SECONDS)
            raise ApiError("RATE_LIMIT_EXCEEDED", retry_after=math.ceil(wait))
        self._tokens -= 1


# -- the past: checkpoints to rewind to, and named snapshots to restore


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
        self.changing: asyncio.Lock = asyncio.Lock()
        self._replaced = 0
        self._start: Checkpoint | None = None

    def on_commit(self, unit: UnitOfWork) -> None:
        """End what was under way after a unit of work that removed all records."""
        if unit.cleared:
            self._advances.cancel_all()
            self._publish_restart("reset")

    def checkpoint(self) -> Checkpoint:
        counters = self._runner.world.counters.copy()
        return Checkpoint(self._journal.count, self._runner.now(), counters, self._replaced)

    def beginning(self, checkpoint: Checkpoint | None) -> Checkpoint:
        """Return where a request that is answered now began: at its checkpoint, or where a change since then led.

        The checkpoint of a request that was under way during a rewind may lie in a past that no longer exists. A
        request that was rejected before it had a checkpoint changed nothing: it begins where the world is.
        """
        if checkpoint is None:
            return self.checkpoint()
        return checkpoint if self._start is None or checkpoint.replaced == self._replaced else self._start

    async def rewind(self, to: Checkpoint) -> int:
        """Undo every unit of work since a checkpoint, put clock and counters back, and return how many there were.

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
            units = self._journal.since(to)
            try:
                self._runner.rewind(units, to.counters.copy(), to.now)
            finally:
                self._outbox.resume()
            self._journal.rewind(to)
            self._restarted()
            self._publish_restart("rewind")
            return len(units)

    async def snapshot(self) -> WorldSnapshot:
        async with self.changing:
            self._runner.run_due()
            taken = persistence.take(self._runner.world, self._runner.clock)
            return taken._replace(world=await self.copy())

    async def copy(self) -> World:
        """Return a copy of the world as it is now. Records never change, so only their filing is copied."""
        copying, observers = Copying(self._runner.world), self._runner.observers
        note = copying.note
        observers.append(note)
        try:
            return await in_slices(copying.slices(), self._runner.scheduler.pauses)
        finally:
            observers.remove(note)

    async def restore(self, snapshot: WorldSnapshot) -> None:
        """Put a snapshot in the place of the world; its history begins with it."""
        pauses = self._runner.scheduler.pauses
        world = await in_slices(Copying(snapshot.world).slices(), pauses)
        # Here and not with their first use, which would make them without a pause.
        for table in world.tables():
            await in_slices(table.ordered(), pauses)
            for field in [*self._runner.world.table(table.kind).indexes]:
                await in_slices(table.indexed(field), pauses)
        clock = self._runner.clock.another(snapshot.now, snapshot.mode, snapshot.rate)
        world.now = clock.reached(world)
        await self.replace(world, clock, "restore")

    async def replace(self, world: World, clock: Clock, cause: str) -> None:
        """Put an unrelated world in the place of this one; it has no history."""
        async with self.changing:
            await self._cancel()
            replaced = [self._runner.world]
            try:
                self._runner.replace(world, clock)
            finally:
                self._outbox.resume()
            self._journal.clear()
            self._restarted()
            self._publish_restart(cause)
        await let_go(replaced.pop(), self._runner.scheduler.pauses)

    async def store_snapshot(self, name: str, snapshot: WorldSnapshot | None) -> None:
        """Store a snapshot under a name, as the newest one; None deletes the one that there is. Raises ``StorageError``."""
        if self._runner.persistence:
            self._runner.persistence.store_snapshot(name, snapshot)
        replaced = [self.snapshots.pop(name).world] if name in self.snapshots else []
        if snapshot is not None:
            self.snapshots[name] = snapshot
        if replaced:
            await let_go(replaced.pop(), self._runner.scheduler.pauses)

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


# -- the runtime


T = TypeVar("T")

Steps = Generator[Effect, HttpResult, Any]
"""A command that waits for effects: it yields each one and is sent its outcome."""

MOMENT = 0.1
"""Seconds (real time) that a change of the clock waits for jobs that are due."""


class Runtime(UnitRunner):
    """A world that is served, with its parts. Each part is given those parts that it calls, and no others.

    A world without ``persistence`` lasts as long as the process. ``last_used`` is when its last request was answered
    (real time, in seconds of the event loop's clock); 0 before the first. ``users``: requests that are served now.
    """

    def __init__(
        self,
        world: World,
        clock: Clock,
        sender: WebhookSender,
        persistence: WorldPersistence | None = None,
        *,
        scheduler: Scheduler | None = None,
        directory: Directory | None = None,
    ) -> None:
        super().__init__(world, clock, persistence, scheduler, directory)
        self.journal: Journal = Journal()
        self.broker: Broker = Broker()
        self.outbox: Outbox = Outbox(self, sender)
        self.advances: Advances = Advances(self, self.outbox, self.broker)
        self.history: History = History(self, self.journal, self.broker, self.outbox, self.advances)
        # In this order: subscribers learn of a restart before what happened in the unit of work that caused it.
        self.observers.extend(
            [
                self.journal.add_unit,
                self.outbox.on_commit,
                self.history.on_commit,
                self.broker.publish_unit,
                self.advances.on_commit,
            ]
        )
        self.when_undone.append(self.journal.add_undone)
        self.users: int = 0
        self.last_used: float = 0.0

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
        """Return the id of the next request of this world. A rejected request uses one up too, so it is drawn for good."""
        self.changed()
        return self.world.draw("req")

    async def read(self, query: Command, arguments: Mapping[str, Any]) -> Any:
        """Return what a function finds in the present world, which it does not change; it may be a generator of steps."""
        if not self.catch_up_if_idle():
            await self.catch_up()
        result: Any = query(self.world, **arguments)
        return await self.in_slices(cast("Slices[Any]", result)) if isgenerator(result) else result

    async def in_slices(self, steps: Slices[T]) -> T:
        return await in_slices(steps, self.scheduler.pauses)

    async def serve(self, command: Command, arguments: Mapping[str, Any], cause: str | None) -> Any:
        """Run one command as a unit of work, then the jobs it made due at once, and return its result.

        A command that is a generator yields effects whose outcome it must know; each stretch between two is a unit of
        work. Raises what the command raises, with none of that unit committed.
        """
        if not self.catch_up_if_idle():
            await self.catch_up()
        result = self.execute(command, arguments, cause)
        if isgenerator(result):
            result = await self._drive(cast("Steps", result), cause)
        # The command is committed. A job that cannot be stored now stays planned, and is no reason to report failure.
        if self.is_behind(self.world.now):
            with suppress(StorageError):
                await self.run_until(self.world.now)
        return result

    async def _drive(self, steps: Steps, cause: str | None) -> Any:
        done, outcome = self.commit(_step, {"steps": steps, "answer": None}, cause)
        while not done:
            answer = await self.outbox.ask(outcome)
            done, outcome = self.commit(_step, {"steps": steps, "answer": answer}, cause)
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
        """Whether anything is under way: a request, a stream, an advance, due jobs, deliveries or emails."""
        others = (self.advances.is_under_way, self.outbox.is_under_way, self.broker.is_followed)
        return self.users > 0 or any(others) or self.scheduler.is_working_on(self)

    # -- time

    async def catch_up(self, patience: float = PATIENCE) -> None:
        """Wait until every job due now has run (B-91). After ``patience`` seconds (real time) the world is served as it is."""
        try:
            await self.scheduler.catch_up(self, patience)
            self.run_due()
        except WorldClosed:
            raise
        except StorageError:  # reading goes on; what is to be stored next says why it cannot be
            pass

    async def freeze(self) -> None:
        await self.catch_up(MOMENT)
        self.set_clock(FROZEN)

    async def run_clock(self, rate: float) -> None:
        await self.catch_up(MOMENT)
        self.set_clock(RUNNING, rate)

    # -- the end

    def require_store(self) -> None:
        """Raise ``StorageError`` if the world may be another process's by now."""
        if self.persistence:
            self.persistence.durability.require()

    async def close(self) -> None:
        self.broker.close()
        await self.advances.close()
        await self.outbox.close()
        with suppress(StorageError):  # the units of work are stored already
            self.flush()
        if self.persistence:
            # A request that is still waiting for something must not write into the world as it is read next.
            self.persistence.end()


def _step(world: World, steps: Steps, answer: HttpResult) -> tuple[bool, Any]:
    """Return one stretch of a command: (False, the effect it waits for) or (True, its result)."""
    try:
        return False, steps.send(answer)
    except StopIteration as end:
        return True, end.value
