"""The report of a doubt: which wrong services the command noticed, and the score."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from emulator.checks import junit
from emulator.checks.suite.seams import Doubt

NONE_CONCERNS = "No wrong service concerns what the command does."


class SuiteReport(NamedTuple):
    """``failure`` is that of the command with the right service; then nothing else was tried.

    ``untouched`` are the rows that do not concern the command, ``remaining`` counts those that were not tried.
    ``repeat`` asks one row again; ``{case}`` stands for its name.
    """

    noticed: Sequence[Doubt]
    unnoticed: Sequence[Doubt]
    untouched: Sequence[Doubt]
    remaining: int = 0
    failure: str | None = None
    interrupted: bool = False
    repeat: str = "--only {case}"

    @property
    def asked(self) -> int:
        """How many wrong services were tried."""
        return len(self.noticed) + len(self.unnoticed)

    @property
    def score(self) -> float:
        """The percentage of wrong services that were noticed; 0 if none was tried."""
        return 100 * len(self.noticed) / self.asked if self.asked else 0.0

    def passes(self, least: float) -> bool:
        """Whether the score is at least this percentage."""
        return self.failure is None and self.asked > 0 and self.score >= least

    def lines(self) -> Iterator[str]:
        """The report for people."""
        if self.failure:
            yield f"The command fails with the right service, so nothing else was tried: {self.failure}"
            return
        for row in self.unnoticed:
            yield from (row.sentence, f"    {row.look}", f"    again: {self.repeat.replace('{case}', row.name)}", "")
        yield self._result()
        if self.remaining:
            yield f"{'Interrupted' if self.interrupted else 'The budget ended'} before {self.remaining} of them."

    def _result(self) -> str:
        if not self.asked:
            return "No wrong service was tried." if self.remaining else NONE_CONCERNS
        others = len(self.untouched)
        concern = "1 other does not concern" if others == 1 else f"{others} others do not concern"
        noticed = f"{len(self.noticed)} of {self.asked} wrong services were noticed"
        return f"{int(self.score)} %: {noticed}; {concern} the command."

    def text(self) -> str:
        """The report as one text."""
        return "\n".join(self.lines())

    def as_dict(self) -> dict[str, Any]:
        """The report for programs."""
        return {
            "score": round(self.score, 1),
            "noticed": [row.name for row in self.noticed],
            "unnoticed": [_as_json(row) for row in self.unnoticed],
            "untouched": [row.name for row in self.untouched],
            "remaining": self.remaining,
            "failure": self.failure,
            "interrupted": self.interrupted,
        }

    def as_junit(self) -> str:
        """The report as JUnit XML: a test case for each wrong service, which fails where it was not noticed."""
        right = junit.TestCase("the right service", [junit.TestFailure(next(self.lines()))] if self.failure else [])
        rows = (*self.noticed, *self.unnoticed)
        cases = [
            junit.TestCase(row.name, [junit.TestFailure(row.sentence, row.look)] if row in self.unnoticed else [])
            for row in rows
        ]
        return junit.report("test suite", "test suite", [right, *cases])


def _as_json(row: Doubt) -> dict[str, Any]:
    return {"name": row.name, "sentence": row.sentence, "look": row.look}
