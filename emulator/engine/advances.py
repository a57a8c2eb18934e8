"""An advance of a world's clock: where it leads, how far it has come, and what happened on the way (B-92)."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple, Protocol

from emulator.core import calendar
from emulator.core.calendar import Timestamp
from emulator.core.ids import IdSource
from emulator.core.jobs import FailedJob


class AdvanceResult:
    """Counts of an advance, from ``start`` to ``now``: events by type, attempts by success, jobs that did not fail."""

    def __init__(self, start: Timestamp) -> None:
        self.start: Timestamp = start
        self.now: Timestamp = start
        self.jobs = 0
        self.events: Counter[str] = Counter()
        self.deliveries: Counter[bool] = Counter()
        self.failures: list[FailedJob] = []


UNDER_WAY = "running"
COMPLETED = "completed"
STOPPED = "stopped"
FAILED = "failed"

IDS = IdSource("advances")
"""A source of its own: whether an advance can be asked about changes no id that its world draws."""

MAX_ADVANCES = 100
"""Advances of one world that can be asked about; no more than these are under way."""


class Target(NamedTuple):
    """Where an advance leads: to an instant, or until a condition holds on the way."""

    to: Timestamp
    until: Callable[[AdvanceResult], bool] = lambda result: False


TargetResolver = Callable[[], Target]
"""Computes where an advance leads from the present instant; raises what makes it impossible."""


class Outcomes(Protocol):
    """The deliveries of a world, as an advance waits for them (:class:`~emulator.engine.outbox.Outbox`)."""

    async def deliveries_settled(self) -> None:
        """Wait until each attempt that was begun has its outcome."""

    async def unanswered(self, webhook: str | None = None) -> str | None:
        """Return a delivery, to one endpoint or to any, that is still being handled."""


class Advance:
    """One advance of the clock.

    The resolver is called here and once more when the advance begins. Here, because a target that is impossible must
    be an error of the request, and because the API shows the target of an advance that still waits. Then, because the
    advances before it move the clock from which "a day later" or "the next job" is counted. For the same reason its
    result starts over: an advance that waits has not come from anywhere yet.
    """

    task: asyncio.Task[None]

    def __init__(self, id: str, resolver: TargetResolver, now: Timestamp) -> None:
        self.id = id
        self.resolver = resolver
        self.target: Target = resolver()
        self.result: AdvanceResult = AdvanceResult(now)

    @property
    def status(self) -> str:
        """``running`` while it is under way or waits, then how it ended."""
        if not self.task.done():
            return UNDER_WAY
        if self.task.cancelled():
            return STOPPED
        return FAILED if self.error else COMPLETED

    @property
    def error(self) -> BaseException | None:
        return self.task.exception() if self.task.done() and not self.task.cancelled() else None

    @property
    def progress(self) -> float:
        """The share of the way that is done, 0 to 1; a completed advance, also one that ended early, is at 1."""
        if self.status == COMPLETED:
            return 1.0
        start, here, to = map(calendar.parse, (self.result.start, self.result.now, self.target.to))
        return min((here - start) / (to - start), 1.0) if to > start else 0.0
