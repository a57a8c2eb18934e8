"""The search: the command runs with the right service, then with each wrong one that concerns it."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, TypeVar

from emulator.doubt.doubt_report import DoubtReport
from emulator.doubt.seams import Doubt


class DoubtRun(NamedTuple):
    """How the command ended. ``failure`` is why it failed, in one line, ``reached`` which rows concerned it."""

    failure: str | None
    reached: Collection[str]


T = TypeVar("T")

RunCommand = Callable[[Doubt | None], DoubtRun]
"""Runs the command once with a service that is wrong in one way or, with None, in no way; called by several threads."""


def doubt(
    play: RunCommand,
    doubts: Mapping[str, Doubt],
    *,
    only: Sequence[str] = (),
    skip: Sequence[str] = (),
    most: int | None = None,
    budget: float | None = None,
    workers: int = 1,
    progress: Callable[[int, int], None] = lambda done, of: None,
) -> DoubtReport:
    """Run the command with the right service, then with each wrong one that concerns it.

    ``only`` and ``skip`` are names of rows. Of more than ``most`` rows a sample is tried, always the same. ``budget``
    is in seconds (real time): no run starts later. ``progress`` is called with the runs done so far and all.
    """
    deadline = None if budget is None else time.monotonic() + budget
    right = play(None)
    wanted = [row for row in doubts.values() if row.name not in skip and (not only or row.name in only)]
    if right.failure is not None:
        return DoubtReport((), (), (), failure=right.failure)
    concerning = sample([row for row in wanted if row.name in right.reached], most)
    played: dict[str, DoubtRun] = {}

    def run(row: Doubt) -> None:
        if deadline is None or time.monotonic() < deadline:
            played[row.name] = play(row)
            progress(len(played), len(concerning))

    with ThreadPoolExecutor(workers) as pool:
        try:
            list(pool.map(run, concerning))
        except KeyboardInterrupt:
            # What was found so far is reported.
            pool.shutdown(cancel_futures=True)
    # A row that was not reached this time says nothing about the command.
    asked = [row for row in concerning if row.name in played and row.name in played[row.name].reached]
    return DoubtReport(
        noticed=[row for row in asked if played[row.name].failure is not None],
        unnoticed=[row for row in asked if played[row.name].failure is None],
        untouched=[row for row in wanted if row.name not in right.reached],
        remaining=len(concerning) - len(played),
    )


def sample(values: Sequence[T], most: int | None) -> list[T]:
    """At most so many of the values, evenly spaced; all of them without a limit."""
    if most is None or len(values) <= most:
        return list(values)
    return [values[number * len(values) // most] for number in range(most)]
