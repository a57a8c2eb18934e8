"""What a run of the proxy found: each difference with its request and assumptions, grouped, and as a page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element, SubElement, tostring

from emulator.checks.traffic.comparison import Difference
from emulator.engine.redaction import redact_field
from emulator.engine.reference_data import numbered_assumptions
from emulator.ui.base.pages import content_security_policy, hash_of, public_headers
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
        """Return the finding of a difference."""
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
    """Return the page as a response."""
    headers = public_headers(content_security_policy(style_src=hash_of(STYLE))) | {"Cache-Control": "no-store"}
    text = as_html(findings, last, upstream)
    return Response(200, text.encode(), headers, "text/html; charset=utf-8")


def as_html(findings: Findings, last: Iterable[ProxyFinding], upstream: str) -> str:
    """Return the page: the counts, the kinds of difference by operation, the assumptions, and the last differences."""
    page = Element("html", lang="en")
    head = SubElement(page, "head")
    SubElement(head, "meta", charset="utf-8")
    SubElement(head, "meta", {"http-equiv": "refresh", "content": str(REFRESH)})
    SubElement(head, "meta", name="viewport", content="width=device-width, initial-scale=1")
    _text(head, "title", "Service and emulator side by side")
    _text(head, "style", STYLE)
    body = SubElement(page, "body")
    _text(body, "h1", "Service and emulator side by side")
    _text(body, "p", f"The service is {upstream}. {findings.counted()}")
    _table(
        body,
        "By operation",
        ("Operation", "Field", "Times", "Service", "Emulator", "Assumptions"),
        ((each.first.operation, each.first.place, each.times, *_rest(each.first)) for each in findings.groups),
    )
    _table(
        body,
        "By assumption",
        ("Assumption", "About", "Where"),
        ((number, titled(number), ", ".join(places)) for number, places in findings.by_assumption().items()),
    )
    _table(
        body,
        "The last differences",
        ("No.", "Request", "Field", "Service", "Emulator", "Assumptions"),
        ((each.number, each.request, each.field, *_rest(each)) for each in last),
    )
    _table(body, "Not compared", ("Times", "Why"), ((count, why) for why, count in [*findings.skipped.items()]))
    return f"<!doctype html>\n{tostring(page, encoding='unicode', method='html')}\n"


def _rest(finding: ProxyFinding) -> tuple[str, str, str]:
    return finding.service, finding.emulator, ", ".join(finding.numbers)


def _table(body: Element, title: str, columns: Iterable[str], rows: Iterable[Iterable[object]]) -> None:
    """Add a table under a heading; nothing where it has no rows."""
    filled = [*rows]
    if not filled:
        return
    _text(body, "h2", title)
    table = SubElement(body, "table")
    header = SubElement(SubElement(table, "thead"), "tr")
    for column in columns:
        _text(header, "th", column).set("scope", "col")
    cells = SubElement(table, "tbody")
    for row in filled:
        line = SubElement(cells, "tr")
        for value in row:
            _text(line, "td", str(value))


def _text(parent: Element, tag: str, text: str) -> Element:
    element = SubElement(parent, tag)
    element.text = text
    return element
