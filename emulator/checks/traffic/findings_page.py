"""The page of the proxy: what differs so far, without scripts or anything from elsewhere."""

from __future__ import annotations

from collections.abc import Iterable
from xml.etree.ElementTree import Element, SubElement, tostring

from emulator.checks.traffic.grouped_findings import Findings, ProxyFinding, titled
from emulator.ui.base.headers import content_security_policy, hash_of, public_headers
from emulator.web.context import Response

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
    """The page as a response."""
    headers = public_headers(content_security_policy(style_src=hash_of(STYLE))) | {"Cache-Control": "no-store"}
    text = as_html(findings, last, upstream)
    return Response(200, text.encode(), headers, "text/html; charset=utf-8")


def as_html(findings: Findings, last: Iterable[ProxyFinding], upstream: str) -> str:
    """The page: the counts, the kinds of difference by operation, the assumptions, and the last differences."""
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
    """A table under a heading; nothing where it has no rows."""
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
