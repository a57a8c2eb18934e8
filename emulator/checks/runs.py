"""Runs of a story or command in sandboxes of their own, several at a time, until time is up."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Generic, NamedTuple, Protocol, TypeVar

AFTERWARDS = "2d"
"""The clock's faultless move after a scenario: the default retry policy ends within it (B-84)."""


class Named(Protocol):
    """What is tried in a run, by a name that no other has."""

    @property
    def name(self) -> str: ...


N = TypeVar("N", bound=Named)
E = TypeVar("E")


class RunLimits(NamedTuple):
    """How many runs there are at a time, and until when.

    ``budget`` is in seconds (real time): no run starts later. ``planned`` is called before the
    first run with the number of runs and the seconds that they take at least, ``progress`` with
    the runs done so far and all, from several threads. ``stop`` is called on Ctrl-C; it ends the
    runs under way. ``named`` is called with the first problem, as soon as a run has shown it.
    """

    workers: int = 1
    budget: float | None = None
    progress: Callable[[int, int], None] = lambda done, of: None
    stop: Callable[[], None] = lambda: None
    planned: Callable[[int, float], None] = lambda runs, seconds: None
    named: Callable[[str], None] = lambda problem: None


ONE_AT_A_TIME = RunLimits()


class Runs(Generic[N, E]):
    """The runs so far, and how each ended, by the name of what was tried."""

    def __init__(self, play: Callable[[N], E], limits: RunLimits) -> None:
        self._play = play
        self._limits = limits
        self._deadline = None if limits.budget is None else time.monotonic() + limits.budget
        self._planned = 0
        self.endings: dict[str, E] = {}
        self.interrupted: bool = False

    def play_all(self, tried: Sequence[N]) -> None:
        """Try each of these, until the time is over or Ctrl-C."""
        # Imported here: commands that only count need no threads.
        from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait

        self._planned += len(tried)
        with ThreadPoolExecutor(self._limits.workers) as pool:
            try:
                waiting = {pool.submit(self._play_one, named) for named in tried}
                while waiting:
                    # A wait without a limit misses a Ctrl-C that comes as it begins.
                    done, waiting = wait(waiting, 0.5, FIRST_EXCEPTION)
                    for run in done:
                        run.result()
            except KeyboardInterrupt:
                self.interrupted = True
                pool.shutdown(wait=False, cancel_futures=True)
                self._limits.stop()

    def _play_one(self, tried: N) -> None:
        if self._deadline is not None and time.monotonic() >= self._deadline:
            return
        ending = self._play(tried)
        # A run that was stopped shows nothing.
        if not self.interrupted:
            self.endings[tried.name] = ending
            self._limits.progress(len(self.endings), self._planned)


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return ``1 case``, ``2 cases``, ``2 deliveries``."""
    regular = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{number} {noun if number == 1 else plural or regular}"
