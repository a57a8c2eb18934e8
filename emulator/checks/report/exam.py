"""The exam: its areas, what was asked and found in each, and the mark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple


class ExamFinding(NamedTuple):
    """Something that was found: ``rule`` names its kind, ``sentence`` says it, ``fix`` is what to do about it."""

    rule: str
    sentence: str
    fix: str


class Area(NamedTuple):
    """One part of the exam.

    ``asked`` counts what was tried, ``passed`` how much of it was right. ``not_asked`` says why nothing was tried, and
    how to have it tried; such an area has no mark.
    """

    name: str
    question: str
    guide: str
    asked: int = 0
    passed: int = 0
    findings: Sequence[ExamFinding] = ()
    not_asked: str | None = None

    @property
    def mark(self) -> int | None:
        """The percentage that was right, rounded down."""
        return 100 * self.passed // self.asked if self.asked else None

    @property
    def result(self) -> str:
        """The mark and what it is made of, on one line."""
        return "not asked" if self.mark is None else f"{self.mark} of 100 ({self.passed} of {self.asked})"


class Exam(NamedTuple):
    """All areas. ``failure`` is that of the command itself; then nothing was asked."""

    areas: Sequence[Area]
    failure: str | None = None

    @property
    def mark(self) -> int:
        """The mean of the areas that were asked, rounded down; 0 if none was."""
        marks = [area.mark for area in self.areas if area.mark is not None]
        return sum(marks) // len(marks) if marks else 0

    def lines(self) -> Iterator[str]:
        """The report for people: the areas first, then what was found in each."""
        yield f"{self.mark} of 100"
        yield ""
        if self.failure:
            yield f"The command fails with the right service, so nothing was asked: {self.failure}"
            return
        for area in self.areas:
            yield f"{area.name:12}{area.result:>24}   {area.question}"
        for area in self.areas:
            if area.findings or area.not_asked:
                yield from ("", f"{area.name} (guide: {area.guide})", *_details(area))


def _details(area: Area) -> Iterator[str]:
    if area.not_asked:
        yield f"    {area.not_asked}"
    for finding in area.findings:
        yield from (f"  - {finding.sentence}", f"    {finding.fix}")
