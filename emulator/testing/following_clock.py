"""A clock that follows freezegun and time-machine: while they set the time, the world has it."""

from __future__ import annotations

import time

from emulator.core import calendar
from emulator.core.calendar import Timestamp
from emulator.engine.world_clock import RUNNING, Clock, ClockMode
from emulator.testing.time_travel import Travel, innermost


class FollowingClock(Clock):
    """While the test sets the time, the clock is at that instant and moves with it.

    Advances of the clock are then added as an offset. Afterwards it continues from its instant, in its own mode.
    It never goes back (B-91).
    """

    def __init__(self, mode: ClockMode = RUNNING, at: Timestamp | None = None, rate: float = 1.0) -> None:
        self._travel: Travel | None = None
        self._own_rate = rate
        self._furthest = 0.0
        super().__init__(mode, at, rate)

    def now(self) -> Timestamp:
        self._follow()
        if self._travel is not None:
            self._catch_up()
        return super().now()

    def wall(self) -> float:
        if self._travel is None:
            return time.time()
        instant = self._travel.instant
        self._furthest = max(self._furthest, instant)
        return instant

    def lag(self) -> float:
        """How many seconds the travel in force is behind the world, so that it cannot be followed; 0 if it is not."""
        travel = innermost()
        if travel is None:
            return 0.0
        furthest = self._furthest if travel == self._travel else _epoch(self._position)
        return max(furthest - travel.instant, 0.0)

    def _follow(self) -> None:
        travel = innermost()
        if travel == self._travel:
            return
        if self._travel is None:
            self._own_rate = self.rate
        else:
            # A travel that has ended, or is hidden by an inner one, may have moved since the last look.
            self._catch_up()
        position = self._position
        self._travel = travel
        self.rate = self._own_rate if travel is None else 1.0
        self._run_from(position if travel is None else self._reached(travel, position))

    def _reached(self, travel: Travel, position: Timestamp) -> Timestamp:
        travel.watch()
        instant = travel.instant
        self._furthest = max(instant, _epoch(position))
        return max(calendar.from_epoch(instant), position)


def _epoch(instant: Timestamp) -> float:
    return calendar.parse(instant).timestamp()
