"""One world as requests meet it: its clock, its journal, its outbox, its advances and its past."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cached_property
from inspect import isgenerator
from itertools import count
from typing import Any, TypeVar, cast

from emulator.core.calendar import Timestamp
from emulator.core.errors import ApiError
from emulator.core.lists import Selection
from emulator.core.unit_of_work import Change, Effect, HttpResult, UnitOfWork
from emulator.core.world import World
from emulator.engine.advances import Advances, Target
from emulator.engine.clock import (
    CATCH_UP_SECONDS,
    FROZEN,
    Clock,
    ClockMode,
    Command,
    Scheduler,
    UnitRunner,
)
from emulator.engine.history import History
from emulator.engine.http_client import WebhookSender
from emulator.engine.inbox import Inbox
from emulator.engine.outbox import Outbox
from emulator.engine.rate_limits import RateLimiter
from emulator.engine.reading import View, examine, read_page
from emulator.engine.storage.store import (
    StorageError,
    WorldClosed,
    WorldPersistence,
)
from emulator.engine.time_slices import TimeSlice
from emulator.resources.webhooks.endpoints import WebhookEndpoint

T = TypeVar("T")

Steps = Generator[Effect, HttpResult, Any]
"""A command that waits for effects: it yields each one and is sent its outcome."""

SHORT_CATCH_UP_SECONDS = 0.1
"""Seconds (real time) that a change of the clock waits for jobs that are due."""


USES = count(1)
"""The numbers of requests by which worlds were used, in the order of their responses."""


class Runtime(UnitRunner):
    """A served world with its parts. Each part is given the parts that it calls.

    ``last_used`` is when its last request got a response (real time, in seconds of the event
    loop's clock); 0 before the first. ``last_use`` is that request's number among those of all
    worlds: the loop's clock counts milliseconds. ``users``: requests that are served now.
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
        self.history: History = History(self, self.advances, self.outbox)
        self.has_inboxes: bool = False
        self.users: int = 0
        self.last_used: float = 0.0
        self.last_use: int = 0

    def committed(self, unit: UnitOfWork) -> None:
        super().committed(unit)
        if unit.cleared:
            self.advances.cancel_all()
        if unit.effects:
            self.outbox.perform(unit.effects)
        if self.has_inboxes and any(map(_is_new_endpoint, unit.changes)):
            self.inbox.check_pending(self.world)

    # What most worlds never use is made with the first use.

    @cached_property
    def running_keys(self) -> set[str]:
        """The Idempotency-Keys of requests that have no response yet (B-16)."""
        return set()

    @cached_property
    def inbox(self) -> Inbox:
        self.has_inboxes = True
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
        """Return the result of a function of the present world, which does not change it.

        If the result is a selection, return its page.
        """
        if not self.catch_up_if_idle():
            await self.catch_up()
        result: Any = query(self.world, **arguments)
        return await read_page(result) if isinstance(result, Selection) else result

    async def examine(self, function: Callable[..., T], *args: Any) -> T:
        """Return ``function(view, *args)``, where the function looks at all of the world."""
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
        """Count one of the ``users`` no more: its request has its response."""
        self.users -= 1
        self.last_used = asyncio.get_running_loop().time()
        self.last_use = next(USES)

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

    async def catch_up(self, patience: float = CATCH_UP_SECONDS) -> None:
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
        await self.catch_up(SHORT_CATCH_UP_SECONDS)
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
        await self.catch_up(SHORT_CATCH_UP_SECONDS)
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


def _is_new_endpoint(change: Change) -> bool:
    return change.old is None and isinstance(change.new, WebhookEndpoint)


def _step(world: World, steps: Steps, response: HttpResult) -> tuple[bool, Any]:
    """Return one stretch of a command: (False, the effect it waits for) or (True, its result)."""
    try:
        return False, steps.send(response)
    except StopIteration as end:
        return True, end.value
