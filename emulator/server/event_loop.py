"""Event loops of servers and tested applications: timers in real time, even if a test froze it."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    Base = asyncio.SelectorEventLoop
else:
    Base = asyncio.ProactorEventLoop if sys.platform == "win32" else asyncio.SelectorEventLoop


class RealTimeLoop(Base):
    """The event loop of asyncio on this system.

    freezegun also freezes ``time.monotonic``, by which asyncio's own loop sets its timers: a server
    in the process of the test would wait for ever, and so would an application with a timeout.
    """

    # In the class, because freezegun replaces names of modules; it may have done so before this
    # module is imported.
    _now: Callable[[], float] = staticmethod(
        getattr(sys.modules.get("freezegun.api"), "real_monotonic", time.monotonic)
    )

    def time(self) -> float:
        """Return the seconds of a clock that no test moves."""
        return self._now()


def new_event_loop() -> asyncio.AbstractEventLoop:
    """Return a server's loop: uvloop's if installed, which is faster and has its own clock."""
    try:
        import uvloop
    except ImportError:
        return RealTimeLoop()
    return uvloop.new_event_loop()


FACTORY = f"{__name__}:{new_event_loop.__name__}"
"""The name by which uvicorn finds it."""
