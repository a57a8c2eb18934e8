"""Real time as the clocks of a server count it: no step of the system's clock moves it (B-91)."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

# freezegun replaces ``time.monotonic``, and may have done so before this module is imported. It
# leaves ``clock_gettime`` alone, and so does time-machine for every clock but the system's.
elapsed: Callable[[], float] = (
    partial(time.clock_gettime, time.CLOCK_BOOTTIME)
    if hasattr(time, "CLOCK_BOOTTIME")
    else getattr(sys.modules.get("freezegun.api"), "real_monotonic", time.monotonic)
)
"""Seconds that have passed, sleep of the machine included where the system counts it."""


def freezegun_freeze() -> Any:
    """Return freezegun's innermost freeze in force in this process, or None."""
    freezes = getattr(sys.modules.get("freezegun.api"), "freeze_factories", None)
    return freezes[-1] if freezes else None


def time_machine_travel() -> Any:
    """Return time-machine's innermost travel in force in this process, or None."""
    module = sys.modules.get("time_machine")
    travels = getattr(module, "traveller_stack", None) or getattr(module, "coordinates_stack", None)
    return travels[-1] if travels else None


def is_set_by_a_test() -> bool:
    # At each request: nearly no process has either library.
    if "freezegun.api" not in sys.modules and "time_machine" not in sys.modules:
        return False
    return freezegun_freeze() is not None or time_machine_travel() is not None


class RealTime:
    """The time for the clocks of one server: the system's at its start, and the time that has
    passed since.

    While a test has set the time of this process (freezegun, time-machine), it is the time that the
    test set.
    """

    def __init__(self) -> None:
        self._start: float | None = None
        self.now()

    def now(self) -> float:
        """Return Unix time in seconds."""
        if is_set_by_a_test():
            return time.time()
        if self._start is None:
            # A server that starts under a test's time asks the system once that has ended.
            self._start = time.time() - elapsed()
        return self._start + elapsed()
