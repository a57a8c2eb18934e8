"""The search: the command runs with the right service, then with each wrong one that concerns it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple, TypeVar

from emulator.checks.runs import ONE_AT_A_TIME, RunLimits, Runs
from emulator.checks.suite.doubt_report import SuiteReport
from emulator.checks.suite.seams import Doubt


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
    limits: RunLimits = ONE_AT_A_TIME,
    *,
    only: Sequence[str] = (),
    skip: Sequence[str] = (),
    most: int | None = None,
) -> SuiteReport:
    """Run the command with the right service, then with each wrong one that concerns it.

    ``only`` and ``skip`` are names of rows. Of more than ``most`` rows a sample is tried, always the same. Ctrl-C ends
    the search; the report has what was found before.
    """
    runs = Runs[Doubt, DoubtRun](play, limits)
    wanted = [row for row in doubts.values() if row.name not in skip and (not only or row.name in only)]
    try:
        right = play(None)
    except KeyboardInterrupt:
        return SuiteReport((), (), (), remaining=len(wanted), interrupted=True)
    if right.failure is not None:
        return SuiteReport((), (), (), failure=right.failure)
    concerning = sample([row for row in wanted if row.name in right.reached], most)
    runs.play_all(concerning)
    played = runs.endings
    # A row that was not reached this time says nothing about the command.
    asked = [row for row in concerning if row.name in played and row.name in played[row.name].reached]
    return SuiteReport(
        noticed=[row for row in asked if played[row.name].failure is not None],
        unnoticed=[row for row in asked if played[row.name].failure is None],
        untouched=[row for row in wanted if row.name not in right.reached],
        remaining=len(concerning) - len(played),
        interrupted=runs.interrupted,
    )


def sample(values: Sequence[T], most: int | None) -> list[T]:
    """At most so many of the values, evenly spaced; all of them without a limit."""
    if most is None or len(values) <= most:
        return list(values)
    return [values[number * len(values) // most] for number in range(most)]
