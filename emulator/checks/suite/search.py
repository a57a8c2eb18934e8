"""The search for mutants, services that are wrong in one way, that survive a test suite.

The command runs with the right service, then with each mutant that concerns it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from emulator.checks.report import Finding, Report
from emulator.checks.runs import ONE_AT_A_TIME, RunLimits, Runs, counted
from emulator.checks.suite.mutants import Mutant, MutationPoint

# -- the report: which mutants the command caught, and the score


SAYS_NOTHING = 5
"""The least number of survivors, with no mutant caught, to say that a suite asserts nothing."""


class SuiteReport(NamedTuple):
    """``failure`` is that of the command with the right service; then nothing else was tried.

    ``untouched`` are the mutants that do not concern the command, ``left_out`` those that a client
    must not depend on; ``remaining`` counts those that were not tried. ``repeat`` tries one again;
    ``{case}`` stands for the mutant's name.
    """

    caught: Sequence[Mutant]
    survived: Sequence[Mutant]
    untouched: Sequence[Mutant]
    remaining: int = 0
    failure: str | None = None
    interrupted: bool = False
    left_out: Sequence[Mutant] = ()
    repeat: str = "--only {case}"

    @property
    def tried(self) -> int:
        return len(self.caught) + len(self.survived)

    @property
    def score(self) -> float:
        """The percentage of mutants that were caught; 0 if none was tried."""
        return 100 * len(self.caught) / self.tried if self.tried else 0.0

    def passes(self, least: float) -> bool:
        """Return whether the score is at least this percentage."""
        return self.failure is None and self.tried > 0 and self.score >= least

    @property
    def headline(self) -> str:
        if self.failure:
            return (
                "The command fails with the right service, so nothing else was tried:"
                f" {self.failure}"
            )
        if not self.tried:
            uses = "let it use PAYMENTS_EMULATOR_URL and PAYMENTS_EMULATOR_KEY"
            none = f"No mutant concerns what the command does; if it sends requests, {uses}."
            return "No mutant was tried." if self.remaining else none
        caught = (
            f"{len(self.caught)} of {counted(self.tried, 'mutant')} caught, {len(self.survived)}"
            " survived"
        )
        return f"{int(self.score)} %: {caught}; {len(self.untouched)} not applicable."

    def report(self) -> Report:
        """Return the report: one finding for each mutant that survives."""
        findings = []
        for mutant in self.survived:
            again = self.repeat.replace("{case}", mutant.name)
            findings.append(
                Finding(
                    mutant.name,
                    f"no test fails when {mutant.wrong}",
                    (),
                    mutant.look,
                    again,
                    "warning",
                )
            )
        if not self.caught and len(self.survived) >= SAYS_NOTHING:
            nothing = (
                "The command passes whatever the service does wrong: it asserts nothing about it."
            )
            findings = [Finding("suite", nothing)]
        caught, untouched, left_out = (
            [mutant.name for mutant in mutants]
            for mutants in (self.caught, self.untouched, self.left_out)
        )
        notes = []
        if left_out:
            notes.append(
                "Left out, because a client must not depend on it (--only '*' tries it):"
                f" {', '.join(left_out)}."
            )
        if self.remaining:
            ended = "Interrupted" if self.interrupted else "The budget ended"
            notes.append(f"{ended} before {self.remaining} of them.")
        facts = {
            "score": round(self.score, 1),
            "caught": caught,
            "untouched": untouched,
            "left_out": left_out,
        }
        return Report(
            "test suite",
            self.headline,
            findings,
            self.failure or (None if self.tried or self.remaining else self.headline),
            right=caught,
            notes=notes,
            facts={**facts, "remaining": self.remaining, "interrupted": self.interrupted},
        )


# -- the search


class MutantRun(NamedTuple):
    """The command's end. ``failure``: its cause in one line; ``reached``: the mutants concerned.

    Each has the Apps in which it did; None is one of them where it is not known.
    """

    failure: str | None
    reached: Mapping[str, Collection[str | None]]


def try_mutants(
    play: Callable[[Mutant | None], MutantRun],
    mutants: Mapping[str, Mutant],
    limits: RunLimits = ONE_AT_A_TIME,
    *,
    only: Sequence[str] = (),
    skip: Sequence[str] = (),
) -> SuiteReport:
    """Run the command with the right service, then with its mutants; several threads call ``play``.

    ``only`` and ``skip`` are patterns of names; optional ones are tried where ``only`` names them.
    A mutant runs only the tests that reached its point with the right service, if each has an App
    of its own. Ctrl-C ends the search; the report has what was found before.
    """
    runs = Runs[Mutant, MutantRun](play, limits)
    named = [
        mutant
        for mutant in mutants.values()
        if not named_by(mutant, skip) and (not only or named_by(mutant, only))
    ]
    wanted = [mutant for mutant in named if only or not mutant.is_optional]
    try:
        right = play(None)
    except KeyboardInterrupt:
        return SuiteReport((), (), (), remaining=len(wanted), interrupted=True)
    if right.failure is not None:
        return SuiteReport((), (), (), failure=right.failure)
    concerning = _narrowed(
        [mutant for mutant in wanted if mutant.name in right.reached], right.reached, play
    )
    runs.play_all(concerning)
    played = runs.endings
    # A part of the tests may do other things than all of them do.
    lost = [
        mutant
        for mutant in concerning
        if mutant.tests and mutant.name in played and mutant.name not in played[mutant.name].reached
    ]
    runs.play_all([] if runs.interrupted else [mutant._replace(tests=None) for mutant in lost])
    # A mutant that was not reached this time says nothing about the command.
    tried = [
        mutant
        for mutant in concerning
        if mutant.name in played and mutant.name in played[mutant.name].reached
    ]
    return SuiteReport(
        left_out=[
            mutant for mutant in named if mutant not in wanted and mutant.name in right.reached
        ],
        caught=[mutant for mutant in tried if played[mutant.name].failure is not None],
        survived=[mutant for mutant in tried if played[mutant.name].failure is None],
        untouched=[mutant for mutant in named if mutant.name not in right.reached],
        remaining=len(concerning) - len(played),
        interrupted=runs.interrupted,
    )


def _narrowed(
    mutants: list[Mutant],
    apps: Mapping[str, Collection[str | None]],
    play: Callable[[Mutant | None], MutantRun],
) -> list[Mutant]:
    """Return the mutants with the tests they need; unchanged if the tests do not pass alone."""
    narrowed = [mutant._replace(tests=_own_tests(apps.get(mutant.name, ()))) for mutant in mutants]
    fewest = min((mutant.tests for mutant in narrowed if mutant.tests), key=len, default=None)
    right = Mutant(
        "right", "nothing is wrong", "", (MutationPoint.SHOWN, lambda right: right), tests=fewest
    )
    # The second run shows that the first one leaves nothing behind.
    if fewest is None or any(play(right).failure is not None for _ in range(2)):
        return mutants
    return narrowed


def _own_tests(apps: Collection[str | None]) -> frozenset[str] | None:
    """Return the tests behind these Apps, if each App begins with a test's digest."""
    known = [re.fullmatch(r"([0-9a-f]{12})-.+", app or "") for app in apps]
    return frozenset(match[1] for match in known if match) if known and all(known) else None


def named_by(mutant: Mutant, patterns: Sequence[str]) -> bool:
    """Return whether a pattern such as ``refund-*`` names a mutant."""
    return any(fnmatchcase(mutant.name, pattern) for pattern in patterns)
