"""Time that freezegun or time-machine froze or moved in this process, and the followers to notify.

A clock follows them: while they set the time, the world has it. Neither library is imported here.
"""

from __future__ import annotations

from calendar import timegm
from collections.abc import Callable
from contextvars import ContextVar
from functools import wraps
from typing import Any, NamedTuple

from emulator.core import calendar
from emulator.core.calendar import Timestamp
from emulator.engine.clock import RUNNING, Clock, ClockMode
from emulator.engine.real_time import RealTime, freezegun_freeze, time_machine_travel

# -- who moves time


MOVES = {
    "FrozenDateTimeFactory": ("tick", "move_to"),
    "TickingDateTimeFactory": ("tick", "move_to"),
    # Its tick() is called by each look at the time.
    "StepTickTimeFactory": ("move_to",),
    "Traveller": ("shift", "move_to"),
    "Coordinates": ("shift", "move_to"),  # of time-machine 2
}
"""The methods that move time, by the class of the object that a test moves time by."""

followers: list[Callable[[], None]] = []
"""Called after each move of a watched freeze or travel, in the thread that moved it."""

_moving: ContextVar[bool] = ContextVar("moving", default=False)


class Travel(NamedTuple):
    """A freeze or travel in force: what started it, and the object by which the test moves time."""

    started_by: str
    source: Any

    @property
    def instant(self) -> float:
        """The instant that the test has set, in seconds since 1970.

        Minus infinity for a travel of time-machine that ticked and has ended, which cannot be asked
        any more.
        """
        kind = type(self.source).__name__
        if kind not in ("FrozenDateTimeFactory", "TickingDateTimeFactory", "StepTickTimeFactory"):
            try:
                return float(self.source.time_ns() / 1e9)
            except ValueError:
                return float("-inf")
        # Calling one with auto_tick_seconds moves it on, but one that ticks has its instant only
        # when called.
        moment = self.source() if kind == "TickingDateTimeFactory" else self.source.time_to_freeze
        return float(timegm(moment.timetuple()) + moment.microsecond / 1e6)

    def watch(self) -> None:
        for name in MOVES.get(type(self.source).__name__, ()):
            if name not in vars(self.source):
                setattr(self.source, name, _announced(getattr(self.source, name)))


def innermost() -> Travel | None:
    """Return the freeze or travel in force; None if time runs as it does."""
    if (freeze := freezegun_freeze()) is not None:
        return Travel("freeze_time", freeze)
    travel = time_machine_travel()
    return None if travel is None else Travel("time_machine.travel", travel)


def _announced(move: Callable[..., Any]) -> Callable[..., Any]:
    """Return a move's method that calls the followers afterwards; one method may call the other."""

    @wraps(move)
    def moved(*args: Any, **kwargs: Any) -> Any:
        if _moving.get():
            return move(*args, **kwargs)
        token = _moving.set(True)
        try:
            result = move(*args, **kwargs)
        finally:
            _moving.reset(token)
        for follow in [*followers]:
            follow()
        return result

    return moved


# -- a clock that follows


class FollowingClock(Clock):
    """While the test sets the time, the clock is at that instant and moves with it.

    Advances of the clock are then added as an offset. Afterwards it continues from its instant, in
    its own mode. It never goes back (B-91).
    """

    def __init__(
        self,
        mode: ClockMode = RUNNING,
        at: Timestamp | None = None,
        rate: float = 1.0,
        real_time: RealTime | None = None,
    ) -> None:
        self._travel: Travel | None = None
        self._own_rate = rate
        self._furthest = 0.0
        super().__init__(mode, at, rate, real_time)

    def now(self) -> Timestamp:
        self._follow()
        if self._travel is not None:
            self._catch_up()
        return super().now()

    def wall(self) -> float:
        if self._travel is None:
            return super().wall()
        instant = self._travel.instant
        self._furthest = max(self._furthest, instant)
        return instant

    def lag(self) -> float:
        """Return the travel's seconds behind the world, which rule out following; 0 if none."""
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
            # A travel that has ended, or is hidden by an inner one, may have moved since the last
            # look.
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
