"""What a run found: the mutants that survived, each with its place and its difference, and the score."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache

from contract_tests.quality.mutants.coverage_map import ROOT
from contract_tests.quality.mutants.equivalent import Equivalents
from contract_tests.quality.mutants.runner import NOT_COVERED, Judged
from contract_tests.quality.mutants.worker import SURVIVED

EQUIVALENT = "equivalent"


class Report:
    """The verdicts of a run, those of equivalent mutants by that name."""

    def __init__(self, judged: Iterable[Judged], equivalents: Equivalents) -> None:
        self.survivors: list[Judged] = []
        self.outcomes: Counter[str] = Counter()
        for each in sorted(judged, key=lambda each: each.mutant):
            undetected = each.outcome in (SURVIVED, NOT_COVERED)
            if undetected and equivalents.reason(each.mutant, _source(each.mutant.path)):
                self.outcomes[EQUIVALENT] += 1
            else:
                self.outcomes[each.outcome] += 1
                self.survivors += [each] if undetected else []

    @property
    def score(self) -> float:
        """The share of mutants that were noticed, of 100; equivalent ones do not count."""
        judged = self.outcomes.total() - self.outcomes[EQUIVALENT]
        return 100 * (judged - len(self.survivors)) / judged if judged else 100.0

    def lines(self) -> Iterator[str]:
        """The report for a terminal."""
        for each in self.survivors:
            before, after = each.mutant.change(_source(each.mutant.path))
            yield f"{each.mutant.path}:{each.mutant.line}  {each.outcome}, {each.tests} tests execute it"
            yield from (f"    - {line}" for line in before.splitlines())
            yield from (f"    + {line}" for line in after.splitlines())
        counts = ", ".join(f"{number} {outcome}" for outcome, number in sorted(self.outcomes.items()))
        yield f"{self.score:.1f} of 100: {counts or 'no mutants'}"


@cache
def _source(path: str) -> str:
    return (ROOT / path).read_text("utf-8")
