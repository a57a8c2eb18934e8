"""What a run found: each difference with its request and assumptions, and the report by operation and assumption."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from emulator.checks.traffic.comparison import Difference
from emulator.engine.redaction import redact_field
from emulator.engine.reference_data import numbered_assumptions

SHOWN = 80
"""Characters of a value that are shown."""

MAX_GROUPS = 1_000
"""Kinds of difference that are listed; what comes beyond is counted."""


class ProxyFinding(NamedTuple):
    """A difference in the answer to a request. Values are masked. ``assumptions`` are those that may be about it."""

    number: int
    request: str
    operation: str
    field: str
    place: str
    service: Any
    emulator: Any
    numbers: tuple[str, ...]

    @classmethod
    def of(
        cls, number: int, request: str, operation: str, difference: Difference, assumptions: tuple[str, ...]
    ) -> ProxyFinding:
        """The finding of a difference."""
        name = difference.field.rpartition(".")[2]
        one, other = redact_field(name, difference.service), redact_field(name, difference.emulator)
        return cls(number, request, operation, difference.field, difference.place, one, other, assumptions)

    def __str__(self) -> str:
        cited = f" ({', '.join(self.numbers)})" if self.numbers else ""
        values = f"{_short(self.service)}, the emulator's {_short(self.emulator)}"
        return f"{self.number}. {self.request}: {self.field} is {values}{cited}"


class DifferenceGroup(NamedTuple):
    """Equal kinds of difference: how many there were, the first of them, and all their assumptions."""

    times: int
    first: ProxyFinding
    numbers: tuple[str, ...]


class Findings:
    """The counts of a run, and its differences by operation and field."""

    def __init__(self) -> None:
        self.compared = 0
        self.events = 0
        self.differing = 0
        self.skipped: Counter[str] = Counter()
        self._groups: dict[tuple[str, str], DifferenceGroup] = {}

    def skip(self, why: str) -> None:
        """Count a request that cannot be compared."""
        if why in self.skipped or len(self.skipped) < MAX_GROUPS:
            self.skipped[why] += 1

    def add(self, finding: ProxyFinding) -> None:
        """Count a difference."""
        self.differing += 1
        at = (finding.operation, finding.place)
        before = self._groups.get(at)
        if before is not None or len(self._groups) < MAX_GROUPS:
            before = before or DifferenceGroup(0, finding, ())
            cited = tuple(dict.fromkeys((*before.numbers, *finding.numbers)))
            self._groups[at] = DifferenceGroup(before.times + 1, before.first, cited)

    @property
    def groups(self) -> list[DifferenceGroup]:
        """The differences by operation, then by field."""
        return [self._groups[at] for at in sorted(self._groups)]

    def counted(self) -> str:
        """The counts in one sentence."""
        skipped = self.skipped.total()
        return (
            f"{self.compared} requests and {self.events} events compared, {skipped} requests not compared, "
            f"{self.differing} differences of {len(self._groups)} kinds."
        )

    def lines(self) -> Iterator[str]:
        """The report: each operation with its kinds of difference, then each assumption with what may show it."""
        operation = ""
        for group in self.groups:
            if group.first.operation != operation:
                operation = group.first.operation
                yield f"{operation}"
            yield f"  {group.times} × {_described(group)}"
        for number, places in self.by_assumption().items():
            yield f"{number} {titled(number)}: {', '.join(places)}"
        for why, count in sorted(self.skipped.items()):
            yield f"Not compared, {count} ×: {why}"
        yield self.counted()

    def by_assumption(self) -> dict[str, list[str]]:
        """Where each assumption may not hold: operations with fields."""
        found: dict[str, list[str]] = {}
        for group in self.groups:
            for number in group.numbers:
                found.setdefault(number, []).append(f"{group.first.operation} {group.first.place}")
        return dict(sorted(found.items()))

    def as_json(self) -> dict[str, Any]:
        """The report as plain values."""
        return {
            "compared": self.compared,
            "events": self.events,
            "differing": self.differing,
            "not_compared": dict(self.skipped),
            "differences": [
                {**group.first._asdict(), "numbers": group.numbers, "times": group.times} for group in self.groups
            ],
            "numbers": self.by_assumption(),
        }


def _described(group: DifferenceGroup) -> str:
    finding = group.first
    cited = f"  {', '.join(group.numbers)}" if group.numbers else ""
    return f"{finding.place}: {_short(finding.service)}, the emulator's {_short(finding.emulator)}{cited}"


def titled(number: str) -> str:
    """The title of an assumption, and the named assumptions and settings that change it."""
    assumption = numbered_assumptions()[number]
    changed = [*assumption.names, *assumption.settings]
    return assumption.title + (f" ({', '.join(changed)})" if changed else "")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
