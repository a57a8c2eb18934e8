"""The search for mutants, services that are wrong in one way, that survive a test suite.

The command runs with the right service, then with each mutant that concerns it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from emulator.checks.report import Finding, Report
from emulator.checks.runs import ONE_AT_A_TIME, RunLimits, Runs, counted
from emulator.checks.suite.mutants import Mutant, MutationPoint

# -- the report: which mutants the command caught, and the score


NONE_CONCERNS = (
    "No mutant concerns what the command does; if it sends requests, let it use PAYMENTS_EMULATOR_URL and "
    "PAYMENTS_EMULATOR_KEY."
)

ASSERTS_NOTHING = "The command passes whatever the service does wrong: it asserts nothing about it."

SAYS_NOTHING = 5
"""How many mutants at least must survive, and none be caught, to say that a suite asserts nothing."""


class SuiteReport(NamedTuple):
    """``failure`` is that of the command with the right service; then nothing else was tried.

    ``untouched`` are the mutants that do not concern the command, ``left_out`` those that a client must not depend on;
    ``remaining`` counts those that were not tried. ``repeat`` tries one again; ``{case}`` stands for its name.
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
    def asserts_nothing(self) -> bool:
        return not self.caught and len(self.survived) >= SAYS_NOTHING

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

    def report(self) -> Report:
        """Return what was found, one finding for each mutant that survives."""
        headline, failure = self._result(), self.failure
        if failure:
            headline = f"The command fails with the right service, so nothing else was tried: {failure}"
        elif not (self.tried or self.remaining):
            failure = headline
        findings = [
            Finding(
                row.name, row.sentence, fix=row.look, again=self.repeat.replace("{case}", row.name), severity="warning"
            )
            for row in self.survived
        ]
        if self.asserts_nothing:
            findings = [Finding("suite", ASSERTS_NOTHING)]
        return Report(
            "test suite",
            headline,
            findings,
            failure,
            right=[row.name for row in self.caught],
            notes=[*self._notes()],
            facts=self._facts(),
        )

    def _notes(self) -> Iterator[str]:
        if self.left_out:
            names = ", ".join(row.name for row in self.left_out)
            yield f"Left out, because a client must not depend on it (--all tries it): {names}."
        if self.remaining:
            yield f"{'Interrupted' if self.interrupted else 'The budget ended'} before {self.remaining} of them."

    def _result(self) -> str:
        if not self.tried:
            return "No mutant was tried." if self.remaining else NONE_CONCERNS
        others = len(self.untouched)
        concern = "1 other does not concern" if others == 1 else f"{others} others do not concern"
        caught = f"{len(self.caught)} of {counted(self.tried, 'mutant')} caught, {len(self.survived)} survived"
        return f"{int(self.score)} %: {caught}; {concern} the command."

    def _facts(self) -> dict[str, Any]:
        return {
            "score": round(self.score, 1),
            "caught": [row.name for row in self.caught],
            "untouched": [row.name for row in self.untouched],
            "left_out": [row.name for row in self.left_out],
            "remaining": self.remaining,
            "interrupted": self.interrupted,
        }


# -- the search


class MutantRun(NamedTuple):
    """How the command ended. ``failure`` is why it failed, in one line, ``reached`` which mutants concerned it.

    ``apps`` are those in which each mutant was reached; None is one of them where it is not known.
    """

    failure: str | None
    reached: Collection[str]
    apps: Mapping[str, Collection[str | None]] = {}


RunCommand = Callable[[Mutant | None], MutantRun]
"""Runs the command once with a service that is wrong in one way or, with None, in no way; called by several threads."""


def try_mutants(
    play: RunCommand,
    mutants: Mapping[str, Mutant],
    limits: RunLimits = ONE_AT_A_TIME,
    *,
    only: Sequence[str] = (),
    skip: Sequence[str] = (),
) -> SuiteReport:
    """Run the command with the right service, then with each mutant that concerns it.

    ``only`` and ``skip`` are patterns of names; optional ones are tried where ``only`` names them. A mutant runs
    only the tests that reached its point with the right service, if each has an App of its own.
    Ctrl-C ends the search; the report has what was found before.
    """
    runs = Runs[Mutant, MutantRun](play, limits)
    named = [row for row in mutants.values() if not named_by(row, skip) and (not only or named_by(row, only))]
    wanted = [row for row in named if only or not row.is_optional]
    try:
        right = play(None)
    except KeyboardInterrupt:
        return SuiteReport((), (), (), remaining=len(wanted), interrupted=True)
    if right.failure is not None:
        return SuiteReport((), (), (), failure=right.failure)
    concerning = _narrowed([row for row in wanted if row.name in right.reached], right.apps, play)
    runs.play_all(concerning)
    played = runs.endings
    # A part of the tests may do other things than all of them do.
    lost = [row for row in concerning if row.tests and row.name in played and row.name not in played[row.name].reached]
    runs.play_all([] if runs.interrupted else [row._replace(tests=None) for row in lost])
    # A mutant that was not reached this time says nothing about the command.
    tried = [row for row in concerning if row.name in played and row.name in played[row.name].reached]
    return SuiteReport(
        left_out=[row for row in named if row not in wanted and row.name in right.reached],
        caught=[row for row in tried if played[row.name].failure is not None],
        survived=[row for row in tried if played[row.name].failure is None],
        untouched=[row for row in named if row.name not in right.reached],
        remaining=len(concerning) - len(played),
        interrupted=runs.interrupted,
    )


TEST_APP = re.compile(r"([0-9a-f]{12})-.+")
"""An App that the pytest plugin gave a test: it begins with the digest of the test."""


def _narrowed(rows: list[Mutant], apps: Mapping[str, Collection[str | None]], play: RunCommand) -> list[Mutant]:
    """Return the mutants with the tests that each needs; as they are where tests do not pass without the others."""
    narrowed = [row._replace(tests=_own_tests(apps.get(row.name, ()))) for row in rows]
    fewest = min((row.tests for row in narrowed if row.tests), key=len, default=None)
    # The second run shows that the first one leaves nothing behind.
    if fewest is None or any(play(RIGHT._replace(tests=fewest)).failure is not None for _ in range(2)):
        return rows
    return narrowed


def _own_tests(apps: Collection[str | None]) -> frozenset[str] | None:
    """Return the tests that gave these Apps to their worlds, if each App is of a test."""
    known = [TEST_APP.fullmatch(app or "") for app in apps]
    return frozenset(each[1] for each in known if each) if known and all(known) else None


RIGHT = Mutant("right", "nothing is wrong", "", (MutationPoint.SHOWN, lambda right: right))
"""The right service, as a mutant for which some tests are run."""


def named_by(row: Mutant, patterns: Sequence[str]) -> bool:
    """Return whether a pattern such as ``refund-*`` names a mutant."""
    return any(fnmatchcase(row.name, pattern) for pattern in patterns)
