"""Runs of a story or a command, several at a time, each in a sandbox of its own, until the time is over or Ctrl-C."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import Generic, NamedTuple, Protocol, TypeVar


class Named(Protocol):
    """What is tried in a run."""

    @property
    def name(self) -> str:
        """A name that no other has."""


N = TypeVar("N", bound=Named)
E = TypeVar("E")


class RunLimits(NamedTuple):
    """How many runs there are at a time, and until when.

    ``budget`` is in seconds (real time): no run starts later. ``planned`` is called before the first case with the number
    of cases and the seconds that they take at least, ``progress`` with the runs done so far and all, from several threads.
    ``stop`` is called on Ctrl-C; it is to end the runs under way.
    """

    workers: int = 1
    budget: float | None = None
    progress: Callable[[int, int], None] = lambda done, of: None
    stop: Callable[[], None] = lambda: None
    planned: Callable[[int, float], None] = lambda cases, seconds: None


ONE_AT_A_TIME = RunLimits()

BEAT = 0.5
"""Seconds (real time) of a wait for runs: one without a limit misses a Ctrl-C that comes as it begins."""


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
        self._planned += len(tried)
        with ThreadPoolExecutor(self._limits.workers) as pool:
            try:
                waiting = {pool.submit(self._play_one, each) for each in tried}
                while waiting:
                    done, waiting = wait(waiting, BEAT, FIRST_EXCEPTION)
                    for each in done:
                        each.result()
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


def counted(number: int, noun: str) -> str:
    """Return ``1 case``, ``2 cases``, ``2 deliveries``."""
    if number == 1:
        return f"1 {noun}"
    return f"{number} {noun.removesuffix('y')}ies" if noun.endswith("y") else f"{number} {noun}s"
