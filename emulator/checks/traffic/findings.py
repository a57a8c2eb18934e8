"""What a run of the proxy found: each difference with its request and assumptions, grouped, and as a page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from emulator.checks.traffic.comparison import Difference
from emulator.engine.redaction import redact_field
from emulator.engine.reference_data import numbered_assumptions
from emulator.ui.base.pages import content_security_policy, environment, hash_of, public_headers
from emulator.web.context import Response

# -- findings by operation and assumption


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
        """Return the counts in one sentence."""
        skipped = self.skipped.total()
        return (
            f"{self.compared} requests and {self.events} events compared, {skipped} requests not compared, "
            f"{self.differing} differences of {len(self._groups)} kinds."
        )

    def lines(self) -> Iterator[str]:
        """Yield the report: each operation with its kinds of difference, then each assumption with what may show it."""
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
        """Return where each assumption may not hold: operations with fields."""
        found: dict[str, list[str]] = {}
        for group in self.groups:
            for number in group.numbers:
                found.setdefault(number, []).append(f"{group.first.operation} {group.first.place}")
        return dict(sorted(found.items()))

    def as_json(self) -> dict[str, Any]:
        """Return the report as plain values."""
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
    """Return the title of an assumption, and the named assumptions and settings that change it."""
    assumption = numbered_assumptions()[number]
    changed = [*assumption.names, *assumption.settings]
    return assumption.title + (f" ({', '.join(changed)})" if changed else "")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"


# -- the page, without scripts or anything from elsewhere


STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 75rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .3rem .8rem .3rem 0; border-bottom: 1px solid #ddd; vertical-align: top; }
td { overflow-wrap: anywhere; }
@media (prefers-color-scheme: dark) { body { background: #181818; color: #eee; } }
"""

REFRESH = 5
"""Seconds after which a browser loads the page again."""


def response(findings: Findings, last: Iterable[ProxyFinding], upstream: str) -> Response:
    """Return the page: the counts, the kinds of difference by operation, the assumptions, and the last differences."""
    page = environment("emulator.ui.reports", static="emulator.ui.console").get_template("traffic.html")
    text = page.render(style=STYLE, refresh=REFRESH, upstream=upstream, findings=findings, last=last, titled=titled)
    headers = public_headers(content_security_policy(style_src=hash_of(STYLE))) | {"Cache-Control": "no-store"}
    return Response(200, text.encode(), headers, b"text/html; charset=utf-8")
