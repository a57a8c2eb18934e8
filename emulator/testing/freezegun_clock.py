"""A clock that follows freezegun: while a test of this process freezes time, the world's time is the frozen one."""

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
    """What freezegun keeps for each ``freeze_time`` that is in force; the frozen instant is naive UTC."""

    time_to_freeze: datetime

    def __call__(self) -> datetime: ...


def innermost() -> Factory | None:
    """The freeze in force, if freezegun is in use at all; it is never imported for its own sake."""
    freezegun = sys.modules.get("freezegun.api")
    factories = freezegun.freeze_factories if freezegun else []
    return factories[-1] if factories else None


class FollowingClock(Clock):
    """As long as time is frozen it goes by the freeze: to its instant, and on with ``tick()`` and ``move_to()``.

    What the clock is advanced by in between is kept as an offset. Afterwards it goes on from where it then is, in its
    own manner. It never goes back (B-91).
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
        """How many seconds the freeze in force is behind where it can be followed; 0 if all is well."""
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
            # What a freeze that is over, or hidden by an inner one, moved on since anybody looked still counts.
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
    # Some factories step on whenever they are called; but one that moves by itself tells only when called.
    moving = type(factory).__name__ == "TickingDateTimeFactory"
    moment: datetime = factory() if moving else factory.time_to_freeze
    return timegm(moment.timetuple()) + moment.microsecond / 1e6
