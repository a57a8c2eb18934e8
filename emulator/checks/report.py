"""The report of every examination: its findings, the worst first, as text, JSON, JUnit XML or page.

An examination makes a :class:`Report` of its findings. This module alone decides how they are
shown, and ``ui/reports`` for the page.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple
from xml.etree import ElementTree

import click

SEVERITIES = ("error", "warning", "info")
"""How bad a finding is, the worst first."""

COLOURS = {"error": "red", "warning": "yellow", "info": "blue"}


class Finding(NamedTuple):
    """One result of an examination that is not right. ``title`` is a sentence on the problem.

    ``name`` is the name of the thing that was tried, ``details`` are the lines that show the
    problem, ``fix`` says what to do, ``again`` is the command that tries it again.
    """

    name: str
    title: str
    details: Sequence[str] = ()
    fix: str = ""
    again: str = ""
    severity: str = "error"

    def lines(self) -> Iterator[str]:
        yield from self.details
        if self.again:
            yield f"again: {self.again}"
        if self.fix:
            yield f"fix: {self.fix}"


class Report(NamedTuple):
    """The findings of an examination. ``headline`` is the verdict, in one line.

    ``failure`` is why nothing could be tried, ``right`` names what was tried and is right,
    ``notes`` come after the findings, ``unseen`` before them: it says what nobody looked at.
    ``facts`` are further fields of the JSON.
    """

    examination: str
    headline: str
    findings: Sequence[Finding] = ()
    failure: str | None = None
    right: Sequence[str] = ()
    notes: Sequence[str] = ()
    facts: Mapping[str, object] = {}
    unseen: str = ""

    @property
    def passed(self) -> bool:
        """Whether nothing is wrong; a remark (``info``) is no problem."""
        return not (self.failure or self.problems)

    @property
    def problems(self) -> int:
        return sum(finding.severity != "info" for finding in self.findings)

    def lines(self, *, colour: bool = False) -> Iterator[str]:
        """Yield the report for people; with ``colour`` as a terminal shows it."""

        def styled(text: str, fg: str) -> str:
            return click.style(text, bold=True, fg=fg) if colour else text

        yield styled(self.headline, fg="green" if self.passed else "red")
        if self.unseen:
            yield self.unseen
        for number, finding in enumerate(self.findings, 1):
            yield styled(f"{number}. {finding.title}", fg=COLOURS[finding.severity])
            yield from (*(f"    {line}" for line in finding.lines()), "")
        yield from self.notes

    def text(self) -> str:
        return "\n".join(self.lines())


def as_json(report: Report) -> str:
    findings = [{**finding._asdict(), "details": [*finding.details]} for finding in report.findings]
    fields = {
        "examination": report.examination,
        "passed": report.passed,
        "headline": report.headline,
        "unseen": report.unseen,
        "failure": report.failure,
        "findings": findings,
        "notes": [*report.notes],
    }
    return json.dumps({**fields, **report.facts}, ensure_ascii=False)


def as_junit(report: Report) -> str:
    """Return the report as JUnit XML: a test case for each tried thing, which its findings fail."""
    failed: dict[str, list[Finding]] = {}
    for finding in report.findings:
        failed.setdefault(finding.name, []).append(finding)
    root = ElementTree.Element("testsuite", {"name": report.examination})
    if report.failure:
        _test_case(root, "the examination", [Finding("", report.headline)])
    for name in dict.fromkeys([*failed, *report.right]):
        _test_case(root, name, failed.get(name, ()))
    root.set("tests", str(len(root)))
    root.set("failures", str(sum(len(case) > 0 for case in root)))
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True)


def _test_case(root: ElementTree.Element, name: str, findings: Sequence[Finding]) -> None:
    case = ElementTree.SubElement(
        root, "testcase", classname=root.get("name", ""), name=printable(name)
    )
    for finding in findings:
        failure = ElementTree.SubElement(
            case, "failure", message=printable(finding.title), type=finding.severity
        )
        failure.text = printable("\n".join(finding.lines())) or None


def printable(text: str) -> str:
    """Return the text without characters that are invalid in XML or control a terminal."""
    return "".join(
        letter if letter.isprintable() or letter in "\n\t" else "\ufffd" for letter in text
    )


def joined(examination: str, reports: Sequence[Report]) -> Report:
    """Return the reports of several examinations as one, the worst findings first."""
    findings = [
        finding._replace(name=f"{report.examination}: {finding.name}")
        for report in reports
        for finding in report.findings
    ]
    findings.sort(key=lambda finding: SEVERITIES.index(finding.severity))
    failures = [f"{report.examination}: {report.failure}" for report in reports if report.failure]
    problems = sum(report.problems for report in reports)
    worst = f"; worst: {findings[0].title}" if problems else ""
    count = "1 problem" if problems == 1 else f"{problems or 'No'} problems"
    return Report(
        examination,
        f"{count}{worst}",
        findings,
        failure="; ".join(failures) or None,
        right=[f"{report.examination}: {name}" for report in reports for name in report.right],
        notes=[f"{report.examination}: {report.headline}" for report in reports],
        facts={"examinations": [json.loads(as_json(report)) for report in reports]},
    )
