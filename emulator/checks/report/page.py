"""An exam as an HTML page without scripts or anything from elsewhere."""

from __future__ import annotations

from xml.etree.ElementTree import Element, SubElement, tostring

from emulator.checks.report.exam import Area, Exam

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .4rem .8rem .4rem 0; border-bottom: 1px solid #ddd; vertical-align: top; }
li { margin: .6rem 0; }
.fix { color: #555; }
@media (prefers-color-scheme: dark) { body { background: #181818; color: #eee; } .fix { color: #bbb; } }
"""


def as_html(exam: Exam) -> str:
    """The page: the mark, a table of the areas, and what was found in each."""
    page = Element("html", lang="en")
    head = SubElement(page, "head")
    SubElement(head, "meta", charset="utf-8")
    SubElement(head, "meta", name="viewport", content="width=device-width, initial-scale=1")
    _text(head, "title", f"Test: {exam.mark} of 100")
    _text(head, "style", STYLE)
    body = SubElement(page, "body")
    _text(body, "h1", f"{exam.mark} of 100")
    if exam.failure:
        _text(body, "p", f"The command fails with the right service, so nothing was asked: {exam.failure}")
    _summary(body, exam)
    for area in exam.areas:
        _section(body, area)
    return f"<!doctype html>\n{tostring(page, encoding='unicode', method='html')}\n"


def _summary(body: Element, exam: Exam) -> None:
    table = SubElement(body, "table")
    header = SubElement(SubElement(table, "thead"), "tr")
    for title in ("Area", "Mark", "Question"):
        _text(header, "th", title).set("scope", "col")
    rows = SubElement(table, "tbody")
    for area in exam.areas:
        row = SubElement(rows, "tr")
        _text(row, "th", area.name).set("scope", "row")
        _text(row, "td", area.result)
        _text(row, "td", area.question)


def _section(body: Element, area: Area) -> None:
    if not area.findings and not area.not_asked:
        return
    _text(body, "h2", area.name)
    if area.not_asked:
        _text(body, "p", area.not_asked)
    findings = SubElement(body, "ul")
    for finding in area.findings:
        item = SubElement(findings, "li")
        item.text = finding.sentence
        _text(item, "div", finding.fix).set("class", "fix")


def _text(parent: Element, tag: str, text: str) -> Element:
    element = SubElement(parent, tag)
    element.text = text
    return element
