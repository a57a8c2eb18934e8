"""A runtime: one world as requests meet it, with its clock, its journal, its outbox, its advances and its history."""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Mapping
from contextlib import suppress
from functools import cached_property
from inspect import isgenerator
from typing import Any, cast

from emulator.core.calendar import Timestamp
from emulator.core.effects import Effect, HttpResult
from emulator.core.unit_of_work import UnitOfWork
from emulator.core.world import World
from emulator.engine.advances import AdvanceResult, TargetResolver
from emulator.engine.clock import PATIENCE, Advances, Command, Scheduler, UnitRunner
from emulator.engine.directory import Directory
from emulator.engine.history import History
from emulator.engine.inbox import Inbox
from emulator.engine.journal import Journal
from emulator.engine.mailer import Mailer
from emulator.engine.outbox import Outbox
from emulator.engine.persistence import WorldPersistence
from emulator.engine.pubsub import Broker
from emulator.engine.rate_limit import RateLimiter
from emulator.engine.storage.store import StorageError
from emulator.engine.trace_contexts import TraceContexts, Traces
from emulator.engine.webhook_sender import WebhookSender
from emulator.engine.world_clock import Clock, ClockState

Steps = Generator[Effect, HttpResult, Any]
"""A command that waits for effects: it yields each one and is sent its outcome."""

MOMENT = 0.1
"""Seconds (real time) that a change of the clock waits for jobs that are due."""


class Runtime:
    """Puts the parts together and serves requests. Each part is given those parts that it calls, and no others.

    A world without ``persistence`` lasts as long as the process. ``last_used`` is when its last request was answered
    (real time, in seconds of the event loop's clock); 0 before the first. ``users``: requests that are served now.
    """

    def __init__(
        self,
        world: World,
        clock: Clock,
        sender: WebhookSender,
        mailer: Mailer | None = None,
        persistence: WorldPersistence | None = None,
        *,
        scheduler: Scheduler | None = None,
        directory: Directory | None = None,
        traces: Traces | None = None,
    ) -> None:
        self.runner = UnitRunner(world, clock, persistence, scheduler, directory)
        self.traces = traces or TraceContexts()
        self.journal = Journal()
        self.broker = Broker()
        self.outbox = Outbox(self.runner, sender, mailer, self.traces)
        self.advances = Advances(self.runner, self.outbox, self.broker)
        self.history = History(self.runner, self.journal, self.broker, self.outbox, self.advances)
        self.runner.observers.append(self._on_commit)
        self.runner.when_undone.append(self.journal.add_undone)
        self._driven = 0
        self.users = 0
        self.last_used = 0.0

    # What most worlds never use is made with the first use.

    @cached_property
    def running_keys(self) -> set[str]:
        """The Idempotency-Keys of requests that are not answered yet (B-16)."""
        return set()

    @cached_property
    def inbox(self) -> Inbox:
        """The inboxes of the world."""
        return Inbox()

    @cached_property
    def rate_limiter(self) -> RateLimiter:
        """The limits on its requests."""
        return RateLimiter()

    @property
    def world(self) -> World:
        """The present world; a rewind, a restore or a reset replaces it."""
        return self.runner.world

    @property
    def clock(self) -> Clock:
        """The present world's clock."""
        return self.runner.clock

    def _on_commit(self, unit: UnitOfWork) -> None:
        """Pass on a unit of work. Subscribers learn of a restart before what happened in the unit that caused it."""
        self.journal.add_unit(unit)
        self.traces.committed(unit, self.world.now)
        self.outbox.on_commit(unit)
        self.history.on_commit(unit)
        self.broker.publish_unit(unit)
        self.advances.on_commit(unit)

    # -- requests

    def request_id(self) -> str:
        """The id of the next request of this world. A rejected request uses one up too, so it is drawn for good."""
        self.runner.changed()
        return self.world.draw("req")

    async def serve(self, command: Command, arguments: Mapping[str, Any], cause: str | None) -> Any:
        """Run one command as a unit of work, then the jobs it made due at once; its result.

        A command that is a generator yields effects whose outcome it must know; each stretch between two is a unit of
        work. Raises what the command raises, with none of that unit committed.
        """
        if self.runner.is_behind(self.runner.clock.now()):
            await self.catch_up()
        result = self.runner.commit(command, arguments, cause)
        if isgenerator(result):
            result = await self._drive(cast("Steps", result), cause)
        # The command is committed. A job that cannot be stored now stays planned, and is no reason to report failure.
        if self.runner.is_behind(self.world.now):
            with suppress(StorageError):
                await self.runner.run_until(self.world.now)
        return result

    async def _drive(self, steps: Steps, cause: str | None) -> Any:
        self._driven += 1
        try:
            done, outcome = self.runner.commit(_step, {"steps": steps, "answer": None}, cause)
            while not done:
                answer = await self.outbox.ask(outcome)
                done, outcome = self.runner.commit(_step, {"steps": steps, "answer": answer}, cause)
        finally:
            self._driven -= 1
        return outcome

    def in_use(self) -> Use:
        """A request is served: while the context lasts, the world is not given up."""
        return Use(self)

    @property
    def is_in_use(self) -> bool:
        """Whether anything is under way: a request, a stream, an advance, due jobs, deliveries or emails."""
        others = (self.advances.is_under_way, self.outbox.is_under_way, self.broker.is_followed)
        return self.users > 0 or any(others) or self.runner.scheduler.is_working_on(self.runner)

    @property
    def is_busy(self) -> bool:
        """Whether a request is under way here that takes more than one unit of work."""
        return self.runner.result is not None or self._driven > 0

    # -- time

    def clock_state(self) -> ClockState:
        """What the clock shows, and when the next job is due."""
        return self.runner.clock_state()

    def now(self) -> Timestamp:
        """The instant this world has reached: its clock's, unless it lags behind."""
        return self.runner.now()

    async def catch_up(self, patience: float = PATIENCE) -> None:
        """Wait until every job that is due now has run, each at its own instant, then bring the world there (B-91).

        A world that takes longer than ``patience`` seconds (real time) is served at the instant it has reached.
        """
        await self.runner.scheduler.catch_up(self.runner, patience)
        self.runner.run_due()

    async def freeze(self) -> None:
        """Stop the clock, after a moment for jobs that are due, at the instant this world has reached."""
        await self.catch_up(MOMENT)
        self.runner.freeze()

    async def run_clock(self, rate: float) -> None:
        """Run the clock on from the instant this world has reached, at ``rate`` times real time."""
        await self.catch_up(MOMENT)
        self.runner.run_at(rate)

    async def advance(self, resolver: TargetResolver) -> AdvanceResult:
        """Advance the clock, and wait until the advance ends (:meth:`Advances.run`)."""
        return await self.advances.run(resolver)

    # -- the end

    def flush(self) -> None:
        """Store clock and counters if they moved without a unit of work. Raises ``StorageError``."""
        self.runner.flush()

    async def close(self) -> None:
        """Cancel what is under way."""
        self.broker.close()
        await self.advances.close()
        await self.outbox.close()
        with suppress(StorageError):  # the units of work are stored already
            self.flush()
        if self.runner.persistence:
            # A request that is still waiting for something must not write into the world as it is read next.
            self.runner.persistence.end()


def _step(world: World, steps: Steps, answer: HttpResult) -> tuple[bool, Any]:
    """One stretch of a command: (False, the effect it waits for) or (True, its result)."""
    try:
        return False, steps.send(answer)
    except StopIteration as end:
        return True, end.value


class Use:
    """The use of a world by one request. A class, since a generator as a context manager takes three times as long."""

    __slots__ = ("_runtime",)

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def __enter__(self) -> None:
        self._runtime.users += 1

    def __exit__(self, *_: object) -> None:
        self._runtime.users -= 1
        self._runtime.last_used = asyncio.get_running_loop().time()
