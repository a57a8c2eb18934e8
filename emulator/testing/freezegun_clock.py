"""A clock that follows freezegun: while a test freezes time in this process, the world has the frozen time.

freezegun documents no way to tell which ``freeze_time`` is in force and what its instant is. Without that a world could
neither follow an inner freeze nor notice a freeze before its own time. So this module reads ``freeze_factories`` and
``time_to_freeze`` of ``freezegun.api``, which have no underscore but are not documented either; tests cover their use.
"""

from __future__ import annotations

import sys
import time
from calendar import timegm
from datetime import datetime
from typing import Protocol

from emulator.core import calendar
from emulator.core.calendar import Timestamp
from emulator.engine.clock import RUNNING, Clock, ClockMode


class Factory(Protocol):
    """What freezegun stores for each ``freeze_time`` in force; the frozen instant is naive UTC."""

    time_to_freeze: datetime

    def __call__(self) -> datetime: ...


def innermost() -> Factory | None:
    """The freeze in force, or None. freezegun is never imported here, only looked up."""
    freezegun = sys.modules.get("freezegun.api")
    factories = freezegun.freeze_factories if freezegun else []
    return factories[-1] if factories else None


class FollowingClock(Clock):
    """While time is frozen, the clock is at the frozen instant and moves with ``tick()`` and ``move_to()``.

    Advances of the clock during a freeze are added as an offset. After the freeze it continues from its instant, in
    its own mode. It never goes back (B-91).
    """

    def __init__(self, mode: ClockMode = RUNNING, at: Timestamp | None = None, rate: float = 1.0) -> None:
        self._factory: Factory | None = None
        self._own_rate = rate
        self._furthest = 0.0
        super().__init__(mode, at, rate)

    def now(self) -> Timestamp:
        self._follow()
        if self._factory is not None:
            self._catch_up()
        return super().now()

    def wall(self) -> float:
        if self._factory is None:
            return time.time()
        instant = _instant(self._factory)
        self._furthest = max(self._furthest, instant)
        return instant

    def lag(self) -> float:
        """How many seconds the freeze in force is behind the world, so that it cannot be followed; 0 if it is not."""
        factory = innermost()
        if factory is None:
            return 0.0
        furthest = self._furthest if factory is self._factory else _epoch(self._position)
        return max(furthest - _instant(factory), 0.0)

    def _follow(self) -> None:
        factory = innermost()
        if factory is self._factory:
            return
        if self._factory is None:
            self._own_rate = self.rate
        else:
            # A freeze that has ended, or is hidden by an inner one, may have moved since the last look.
            self._catch_up()
        position = self._position
        self._factory = factory
        self.rate = self._own_rate if factory is None else 1.0
        self._run_from(position if factory is None else self._reached(factory, position))

    def _reached(self, factory: Factory, position: Timestamp) -> Timestamp:
        frozen = _instant(factory)
        self._furthest = max(frozen, _epoch(position))
        return max(calendar.from_epoch(frozen), position)


def _epoch(instant: Timestamp) -> float:
    return calendar.parse(instant).timestamp()


def _instant(factory: Factory) -> float:
    # Calling a factory with auto_tick_seconds moves it on, but one that ticks has its instant only when called.
    ticking = type(factory).__name__ == "TickingDateTimeFactory"
    moment: datetime = factory() if ticking else factory.time_to_freeze
    return timegm(moment.timetuple()) + moment.microsecond / 1e6
