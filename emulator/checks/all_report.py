"""The report of ``test all``: what the other examinations found of an application and its tests, area by area."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote

from emulator.checks import junit
from emulator.checks.app.report import AppReport, causes
from emulator.checks.runs import counted
from emulator.checks.suite.search import NONE_CONCERNS, SuiteReport
from emulator.document.paths import guide_link
from emulator.insight.coverage import needed
from emulator.version import VERSION

# -- the report: its areas, what was tried and found in each, and the mark


class AreaFinding(NamedTuple):
    """Something that was found: ``rule`` names its kind, ``sentence`` says it, ``fix`` is what to do about it.

    ``again`` is the command line that repeats it alone.
    """

    rule: str
    sentence: str
    fix: str
    again: str = ""


class Area(NamedTuple):
    """One part of the report.

    ``tried`` counts what was tried, ``passed`` how much of it was right. ``not_examined`` says why nothing was tried,
    and how to have it tried.
    """

    name: str
    question: str
    guide: str
    tried: int = 0
    passed: int = 0
    findings: Sequence[AreaFinding] = ()
    not_examined: str | None = None

    @property
    def mark(self) -> int | None:
        """The percentage that was right, rounded down; None where nothing was tried."""
        return 100 * self.passed // self.tried if self.tried else None

    @property
    def result(self) -> str:
        """How much of what was tried was right."""
        return f"{self.passed} of {self.tried}" if self.tried else "not examined"


class Examined(NamedTuple):
    """Of which project, by which command and when a report is.

    ``only`` names the areas if not all were wanted, ``sample`` is the most that was tried in each.
    """

    project: str
    command: str
    date: str
    versions: str
    only: Sequence[str] = ()
    sample: int | None = None

    @property
    def line(self) -> str:
        """What was examined, on one line."""
        part = f"only {' and '.join(self.only)}" if self.only else "whole"
        extent = f"a sample of at most {self.sample} in each area" if self.sample else part
        return f"{self.project} · {self.command} · {self.date} · {self.versions} · {extent}"


class AllReport(NamedTuple):
    """All areas. ``failure`` is that of the command itself; then nothing was tried."""

    examined: Examined
    areas: Sequence[Area]
    failure: str | None = None

    @property
    def mark(self) -> int | None:
        """The mean of the areas that were examined, rounded down. A sample has none: it says too little."""
        marks = [area.mark for area in self.areas if area.mark is not None]
        return sum(marks) // len(marks) if marks and not self.examined.sample else None

    @property
    def problems(self) -> int:
        """How many findings there are."""
        return sum(len(area.findings) for area in self.areas)

    @property
    def headline(self) -> str:
        """The verdict in one line, such as ``43 of 100: 5 problems, 1 area not examined``."""
        if self.failure:
            return f"The command fails with the right service, so nothing was examined: {self.failure}"
        skipped = sum(area.not_examined is not None for area in self.areas)
        found = counted(self.problems, "problem") if self.problems else "no problem"
        rest = f", {counted(skipped, 'area')} not examined" if skipped else ""
        if self.mark is None and not self.examined.sample:
            return "Nothing was examined."
        lead = "A sample" if self.mark is None else f"{self.mark} of 100"
        return f"{lead}: {found}{rest}"

    def lines(self) -> Iterator[str]:
        """Yield the report for people: the verdict, the areas, and what was found in each."""
        yield from (self.headline, self.examined.line)
        if not self.failure:
            yield ""
        for area in self.areas:
            yield f"{area.name:12}{area.result:>14}   {area.question}"
        for area in self.areas:
            if area.findings or area.not_examined:
                yield from ("", f"{area.name} (guide: {area.guide})", *_details(area))


def _details(area: Area) -> Iterator[str]:
    if area.not_examined:
        yield f"    {area.not_examined}"
    for finding in area.findings:
        yield from (f"  - {finding.sentence}", f"    {finding.fix}", f"    again: {finding.again}")


# -- areas, each made from the report of one of the other commands


APP = Area("app", "Does a lost response or webhook change how it ends?", "test-app")
RECEIVER = Area("receiver", "Does the webhook receiver accept what is valid and reject what is not?", "signatures")
CLIENT = Area("client", "Does the client follow the service's usage rules?", "test-client")
USAGE = Area("usage", "Do the tests see what can go wrong with what they use?", "test-suite")
SUITE = Area("suite", "Would the tests notice if the service were wrong?", "test-suite")
ASSUMPTIONS = Area("assumptions", "Do the tests pass whichever way the specification is read?", "test-all")

EXPECTED: Mapping[str, str] = {"accepted": "accepted", "refused": "rejected"}
"""How sentences name what ``test receiver --json`` expects of a receiver."""

FIX_ASSUMPTION = "Do not depend on how this sentence of the specification is read (/docs/assumptions)."


def of_app(report: AppReport) -> Area:
    """Return what was found in an application; each run but the two baselines is a case."""
    if report.failure or report.unstable:
        reason = report.failure or report.unstable[0].sentence
        return APP._replace(not_examined=f"The command does not end the same way twice: {reason}")
    findings = [
        AreaFinding(
            cause.worst.rule or cause.worst.case.kind.name,
            f"{cause.title} ({cause.worst.case.sentence})",
            cause.worst.fix,
            report.repeat.replace("{case}", cause.worst.case.name),
        )
        for cause in causes(report.findings)
    ]
    return APP._replace(tried=report.cases, passed=report.cases - len(report.findings), findings=findings)


def of_receiver(results: Iterable[Mapping[str, Any]], again: str) -> Area:
    """Return what a webhook receiver made of valid and invalid deliveries."""
    shown = [*results]
    findings = [
        AreaFinding(
            each["check"],
            f"{each['sent']}: expected to be {EXPECTED[each['expected']]} ({each['rule']})",
            each["advice"],
            again,
        )
        for each in shown
        if not each["passed"]
    ]
    return RECEIVER._replace(tried=len(shown), passed=len(shown) - len(findings), findings=findings)


def of_client(audits: Sequence[Mapping[str, Any]], again: str) -> Area:
    """Return what the audits of all worlds found: each rule is tried in each world that it is about.

    A test that provokes a failure breaks a rule in its own world alone. Remarks (``info``) cost nothing.
    """
    broken = [found for audit in audits for found in audit["findings"] if found["severity"] != "info"]
    findings = {found["rule"]: AreaFinding(found["rule"], found["title"], found["advice"], again) for found in broken}
    passed = sum(len(audit["kept"]) for audit in audits)
    if not broken and not passed:
        return CLIENT._replace(not_examined="No rule is about what the command does.")
    ordered = [findings[rule] for rule in sorted(findings)]
    return CLIENT._replace(tried=passed + len(broken), passed=passed, findings=ordered)


def of_usage(reached: Collection[str], again: str) -> Area:
    """Return which states of failure the tests reach, of what they use; ``reached``: such as ``invoice paid``."""
    needs = needed(reached)
    findings = [
        AreaFinding(
            need.bad,
            f"no test sees {need.when} ({need.bad})",
            f"Add a test of {need.when} (guide: Simulate failures).",
            again,
        )
        for need in needs
        if need.bad not in reached
    ]
    if not needs:
        return USAGE._replace(not_examined="The command reaches no state in which something has gone well.")
    return USAGE._replace(tried=len(needs), passed=len(needs) - len(findings), findings=findings)


def of_suite(report: SuiteReport) -> Area:
    """Return which mutants survive the tests."""
    findings = [
        AreaFinding(row.name, row.sentence, row.look, report.repeat.replace("{case}", row.name))
        for row in report.survived
    ]
    if not report.tried:
        return SUITE._replace(not_examined=NONE_CONCERNS)
    return SUITE._replace(tried=report.tried, passed=len(report.caught), findings=findings)


def of_assumptions(runs: Sequence[Any], again: str) -> Area:
    """Return on which other values of assumptions the command depends; each but the first of the runs is a case.

    In ``again`` ``{case}`` stands for the assumption and its value.
    """
    others = runs[1:]
    findings = [
        AreaFinding(
            str(run.assumption),
            f"the tests {'fail' if run.status else 'pass'} {run.title}",
            FIX_ASSUMPTION,
            again.replace("{case}", f"{run.assumption}={run.value}"),
        )
        for run in others
        if run.depends
    ]
    return ASSUMPTIONS._replace(tried=len(others), passed=len(others) - len(findings), findings=findings)


# -- for programs: JSON, JUnit, SARIF, and a badge


COLOURS = ((95, "#2e7d32"), (80, "#6a8f00"), (60, "#b26a00"), (0, "#b71c1c"))
"""The colour of a badge from this mark on."""

README = "README.md"
"""Where results are shown if the command names no file."""


def as_json(report: AllReport) -> str:
    """Return the report as indented JSON."""
    areas = [
        {
            **area._asdict(),
            "mark": None if report.mark is None else area.mark,
            "findings": [finding._asdict() for finding in area.findings],
        }
        for area in report.areas
    ]
    head = {"headline": report.headline, "mark": report.mark, "problems": report.problems}
    shown = {**head, **report.examined._asdict(), "failure": report.failure, "areas": areas}
    return json.dumps(shown, indent=2) + "\n"


def as_junit(report: AllReport) -> str:
    """Return the report as JUnit XML: a suite for each area, with a failed case for each finding."""
    suites = [
        junit.test_suite(area.name, f"test {area.name}", _cases(area), tests=str(area.tried)) for area in report.areas
    ]
    if report.failure:
        whole = junit.TestCase("the command", [junit.TestFailure(report.failure)])
        suites.insert(0, junit.test_suite("command", "test all", [whole]))
    return junit.report_of_suites("test all", suites)


def _cases(area: Area) -> list[junit.TestCase]:
    if area.not_examined:
        return [junit.TestCase(area.question, skipped=area.not_examined)]
    return [
        junit.TestCase(each.rule, [junit.TestFailure(each.sentence, f"{each.fix}\n{each.again}")])
        for each in area.findings
    ]


def as_sarif(report: AllReport, file: str = README) -> str:
    """Return the report in the Static Analysis Results Interchange Format 2.1.0, which code hosts show beside the code.

    ``file``: a path in the repository at which every result is shown. No result is about one line, but GitHub rejects
    results without a place.
    """
    rules = {f"{area.name}/{each.rule}": each for area in report.areas for each in area.findings}
    driver = {
        "name": "payments-emulator test all",
        "version": VERSION,
        "rules": [{"id": id, "help": {"text": finding.fix}} for id, finding in rules.items()],
    }
    place = {"artifactLocation": {"uri": quote(file)}, "region": {"startLine": 1}}
    results = [
        {"ruleId": f"{area.name}/{each.rule}", "level": "warning", "message": {"text": each.sentence}}
        for area in report.areas
        for each in area.findings
    ]
    if report.failure:
        results.append({"ruleId": "command", "level": "error", "message": {"text": report.failure}})
    placed = [{**result, "locations": [{"physicalLocation": place}]} for result in results]
    run = {"tool": {"driver": driver}, "results": placed}
    schema = "https://json.schemastore.org/sarif-2.1.0.json"
    return json.dumps({"$schema": schema, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def badge(report: AllReport) -> str:
    """Return a badge as SVG: the mark, or that nothing was examined; a sample has no badge."""
    colour = next(colour for least, colour in COLOURS if (report.mark or 0) >= least)
    text = "not examined" if report.mark is None else f"{report.mark} of 100"
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" width="150" height="20" role="img" '
        f'aria-label="payments: {text}"><title>payments: {text}</title>'
        '<rect width="150" height="20" rx="3" fill="#444"/>'
        f'<path d="M72 0h75a3 3 0 0 1 3 3v14a3 3 0 0 1-3 3H72z" fill="{colour}"/>'
        '<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" text-anchor="middle">'
        f'<text x="36" y="14">payments</text><text x="111" y="14">{text}</text></g></svg>\n'
    )


# -- for people: a page without scripts or anything from elsewhere


def as_html(report: AllReport) -> str:
    """Return the page: the verdict, a table of the areas, and what was found in each."""
    # Imported here: only the page needs templates.
    from emulator.ui.reports.report_page import page_of_areas

    return page_of_areas(report, {area.name: guide_link(area.guide) for area in report.areas})
