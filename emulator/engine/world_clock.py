"""A world's clock: running with real time (at a rate, with an offset) or frozen; it never goes back (B-91)."""

from __future__ import annotations

import time
from typing import Final, Literal, Self

import msgspec

from emulator.core import calendar
from emulator.core.calendar import Timestamp
from emulator.core.jobs import Job
from emulator.core.world import World

ClockMode = Literal["running", "frozen"]

RUNNING: Final = "running"
FROZEN: Final = "frozen"


class ClockState(msgspec.Struct, frozen=True, kw_only=True):
    """What a clock shows. ``rate`` is seconds of the world for each real second; ``pending`` counts planned jobs.

    ``lag`` is how many seconds the world is behind its clock, because jobs that are due are not done yet.
    """

    now: Timestamp
    mode: ClockMode
    rate: float
    lag: float
    next_due_at: Timestamp | None
    pending: int


def parse_start(text: str) -> tuple[ClockMode, Timestamp | None]:
    """Return mode and instant of ``running``, ``frozen`` or ``frozen@INSTANT``; raises ``ValueError`` for anything else."""
    mode, at, instant = text.partition("@")
    if at and mode == FROZEN:
        return FROZEN, calendar.normalise(instant)
    if text == RUNNING:
        return RUNNING, None
    if text == FROZEN:
        return FROZEN, None
    raise ValueError(text)


class Clock:
    """What time it is in one world.

    A running clock is computed from where it was last set and the real time since then, never from its last reading,
    so no rounding adds up. If real time goes back, the clock stands still until real time has caught up. ``time.time``
    is looked up at each call, so a test that freezes or moves the time of this process does so to running clocks, too.
    """

    def __init__(self, mode: ClockMode = RUNNING, at: Timestamp | None = None, rate: float = 1.0) -> None:
        self.mode: ClockMode = mode
        self.rate: float = rate
        self._run_from(at or calendar.from_epoch(self.wall()))

    def now(self) -> Timestamp:
        if self.mode == RUNNING:
            self._catch_up()
        return self._position

    def reached(self, world: World) -> Timestamp:
        """Return the instant that a world has reached: this clock's, or that of the first job that is due and not done."""
        now, job = self.now(), world.jobs.next()
        return now if job is None else min(now, job.due)

    def wall_at(self, instant: Timestamp) -> float | None:
        """Return when a running clock will show an instant (Unix time, seconds); None for a frozen one and past the end."""
        if self.mode == FROZEN or instant > calendar.END:
            return None
        return self._since + calendar.seconds_between(self._anchor, instant) / self.rate

    def read(self, world: World) -> ClockState:
        now, job = self.now(), world.jobs.next()  # one reading: a fast clock has gone on by the second
        position = now if job is None else min(now, job.due)
        return ClockState(
            now=position,
            mode=self.mode,
            rate=self.rate,
            lag=calendar.seconds_between(position, now),
            next_due_at=None if job is None else job.due,
            pending=len(world.table(Job)),
        )

    def set(self, to: Timestamp) -> None:
        """Move to an instant; a past one leaves the clock where it is."""
        if to > self.now():
            self._run_from(to)

    def wall(self) -> float:
        return time.time()

    def another(self, at: Timestamp, mode: ClockMode | None = None, rate: float | None = None) -> Self:
        """Return a clock of the same class at any instant, also a past one, with the mode and rate of this one by default."""
        return type(self)(mode or self.mode, at, self.rate if rate is None else rate)

    def resume_from(self, instant: Timestamp, since: float | None) -> None:
        """Go on as if this clock had shown an instant when real time was ``since`` (Unix time, seconds)."""
        self._run_from(instant)
        if since is not None:
            self._since = since

    @property
    def settings(self) -> tuple[str, float, Timestamp, float]:
        """What determines the clock's readings: it differs once the clock was set or changed, not as time passes."""
        return self.mode, self.rate, self._anchor, self._since

    def _run_from(self, position: Timestamp) -> None:
        self._position = self._anchor = min(position, calendar.END)
        self._since = self.wall()
        self._elapsed = 0.0

    def _catch_up(self) -> None:
        elapsed = (self.wall() - self._since) * self.rate
        if elapsed >= self._elapsed + 0.001:
            self._elapsed = elapsed
            self._position = min(calendar.plus(self._anchor, seconds=elapsed), calendar.END)
