"""Time that a test froze or moved in this process, by freezegun or time-machine, and who is notified when it moves.

Neither library documents how to find out which freeze or travel is in force, nor calls anybody back when it moves. So
this module reads ``freeze_factories`` of ``freezegun.api`` and ``traveller_stack`` of ``time_machine`` (before its
release 3 ``coordinates_stack``), which have no underscore but are not documented either; tests cover their use. To
learn of moves it wraps, on the one object that the test moves time by, the methods that do so. Neither library is
imported here.
"""

from __future__ import annotations

import sys
from calendar import timegm
from collections.abc import Callable
from contextvars import ContextVar
from functools import wraps
from typing import Any, NamedTuple

MOVES = {
    "FrozenDateTimeFactory": ("tick", "move_to"),
    "TickingDateTimeFactory": ("tick", "move_to"),
    # Its tick() is called by each look at the time.
    "StepTickTimeFactory": ("move_to",),
    "Traveller": ("shift", "move_to"),
    "Coordinates": ("shift", "move_to"),
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

        Minus infinity for a travel of time-machine that ticked and has ended, which cannot be asked any more.
        """
        kind = type(self.source).__name__
        if kind not in ("FrozenDateTimeFactory", "TickingDateTimeFactory", "StepTickTimeFactory"):
            try:
                return float(self.source.time_ns() / 1e9)
            except ValueError:
                return float("-inf")
        # Calling one with auto_tick_seconds moves it on, but one that ticks has its instant only when called.
        moment = self.source() if kind == "TickingDateTimeFactory" else self.source.time_to_freeze
        return float(timegm(moment.timetuple()) + moment.microsecond / 1e6)

    def watch(self) -> None:
        """Call the followers after each move from now on."""
        for name in MOVES.get(type(self.source).__name__, ()):
            if name not in vars(self.source):
                setattr(self.source, name, _announced(getattr(self.source, name)))


def innermost() -> Travel | None:
    """The freeze or travel in force; None if time runs as it does."""
    if factories := getattr(sys.modules.get("freezegun.api"), "freeze_factories", None):
        return Travel("freeze_time", factories[-1])
    time_machine = sys.modules.get("time_machine")
    travellers = getattr(time_machine, "traveller_stack", None) or getattr(time_machine, "coordinates_stack", None)
    return Travel("time_machine.travel", travellers[-1]) if travellers else None


def _announced(move: Callable[..., Any]) -> Callable[..., Any]:
    """The method of a move, which calls the followers once it is done; one method may call the other."""

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
