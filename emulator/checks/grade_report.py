"""The grade: one exam of a client and its tests, made of what sweep, certify, audit, coverage, doubt and assumptions find."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement, tostring

from emulator.checks.app.report import AppReport, causes
from emulator.checks.suite.search import SuiteReport
from emulator.control.audit.audit import audit_of
from emulator.control.coverage import GROUPS, Points, summary
from emulator.engine.engine import Engine
from emulator.engine.journal import Coverage
from emulator.engine.runtime import Runtime
from emulator.version import VERSION

# -- the exam: its areas, what was asked and found in each, and the mark


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


# -- areas, each made from the report of one of the other commands


APP = Area("app", "Does a lost answer or webhook change how it ends?", "test-app")
RECEIVER = Area("receiver", "Does the webhook receiver accept what is valid and reject what is not?", "signatures")
CLIENT = Area("client", "Does the client follow the service's usage rules?", "test-client")
USAGE = Area("usage", "Do the tests see what can go wrong with what they use?", "ci")
SUITE = Area("suite", "Would the tests notice if the service were wrong?", "test-suite")
ASSUMPTIONS = Area("assumptions", "Do the tests pass whichever way the specification is read?", "assumptions")

EXPECTED: Mapping[str, str] = {"accepted": "accepted", "refused": "rejected"}
"""How sentences name what ``test receiver --json`` expects of a receiver."""

FIX_ASSUMPTION = "Do not depend on how this sentence of the specification is read (/docs/assumptions)."

GOES_WRONG: Mapping[str, tuple[str, str]] = {
    "payment_intent succeeded": ("payment_intent canceled", "a payment that fails"),
    "refund succeeded": ("refund failed", "a refund that fails"),
    "checkout_session complete": ("checkout_session expired", "a checkout session that expires"),
    "subscription active": ("subscription past_due", "a renewal that fails"),
    "subscription trialing": ("subscription active", "a trial that ends"),
}
"""By a state that tests reach when all goes well: the state that they also have to see, and when it is reached."""


def of_app(report: AppReport) -> Area:
    """What was found in an application; each run but the two baselines is a question."""
    if report.failure or report.unstable:
        reason = report.failure or report.unstable[0].sentence
        return APP._replace(not_asked=f"The command does not end the same way twice: {reason}")
    findings = [
        ExamFinding(
            cause.worst.rule or cause.worst.case.kind.name,
            f"{cause.title} ({cause.worst.case.sentence})",
            cause.worst.fix,
        )
        for cause in causes(report.findings)
    ]
    return APP._replace(asked=report.cases, passed=report.cases - len(report.findings), findings=findings)


def of_receiver(results: Iterable[Mapping[str, Any]]) -> Area:
    """What a webhook receiver made of valid and invalid deliveries."""
    shown = [*results]
    findings = [
        ExamFinding(
            each["check"],
            f"{each['sent']}: expected to be {EXPECTED[each['expected']]} ({each['rule']})",
            each["advice"],
        )
        for each in shown
        if not each["passed"]
    ]
    return RECEIVER._replace(asked=len(shown), passed=len(shown) - len(findings), findings=findings)


def of_client(audits: Sequence[Mapping[str, Any]]) -> Area:
    """What the audits of all worlds found: each rule is asked in each world that it is about.

    A test that provokes a failure breaks a rule in its own world alone. Remarks (``info``) cost nothing.
    """
    broken = [found for audit in audits for found in audit["findings"] if found["severity"] != "info"]
    findings = {found["rule"]: ExamFinding(found["rule"], found["title"], found["advice"]) for found in broken}
    passed = sum(len(audit["kept"]) for audit in audits)
    if not broken and not passed:
        return CLIENT._replace(not_asked="No rule is about what the command does.")
    ordered = [findings[rule] for rule in sorted(findings)]
    return CLIENT._replace(asked=passed + len(broken), passed=passed, findings=ordered)


def of_usage(reached: Collection[str]) -> Area:
    """Whether the tests reach the states of failure of what they use; ``reached``: states such as ``invoice paid``."""
    used = {good: bad for good, bad in GOES_WRONG.items() if good in reached}
    missing = [(state, when) for state, when in used.values() if state not in reached]
    findings = [
        ExamFinding(state, f"no test sees {when} ({state})", f"Add a test of {when} (guide: Magic values).")
        for state, when in missing
    ]
    if not used:
        return USAGE._replace(not_asked="The command reaches no state in which something has gone well.")
    return USAGE._replace(asked=len(used), passed=len(used) - len(missing), findings=findings)


def of_suite(report: SuiteReport) -> Area:
    """Which wrong services no test notices."""
    findings = [ExamFinding(row.name, row.sentence, row.look) for row in report.unnoticed]
    if not report.asked:
        return SUITE._replace(not_asked="No wrong service concerns what the command does.")
    return SUITE._replace(asked=report.asked, passed=len(report.noticed), findings=findings)


def of_assumptions(runs: Sequence[Any]) -> Area:
    """On which other values of assumptions the command depends; each but the first of the runs is a question."""
    others = runs[1:]
    findings = [
        ExamFinding(str(run.assumption), f"the tests {'fail' if run.status else 'pass'} {run.title}", FIX_ASSUMPTION)
        for run in others
        if run.depends
    ]
    return ASSUMPTIONS._replace(asked=len(others), passed=len(others) - len(findings), findings=findings)


# -- what the worlds of a run leave behind for the exam


class ExamRecorder:
    """Looks at each world before it ends: a test suite may have one for each test."""

    def __init__(self) -> None:
        self.audits: list[dict[str, Any]] = []
        self._requests = self._passed_over = 0
        self._used: dict[str, set[str]] = {name: set() for name in GROUPS}

    def attach(self, engine: Engine) -> None:
        """Look at each world of this engine that is reset or deleted."""
        engine.before_end.append(self.look)

    def collect(self, engine: Engine) -> None:
        """Look at the worlds that are left when the engine has stopped."""
        for runtime in engine.runtimes.values():
            self.look(runtime)

    def look(self, runtime: Runtime) -> None:
        """Note what a world has seen."""
        audit = audit_of(runtime)
        if audit["request_count"]:
            self.audits.append(audit)
        coverage = runtime.journal.flush_coverage()
        self._requests += sum(number for (operation, _), number in coverage.answers.items() if operation)
        self._passed_over += coverage.skipped
        for name, points in GROUPS.items():
            self._used[name] |= points(coverage).exercised

    @property
    def reached(self) -> set[str]:
        """The states that objects entered, such as ``invoice paid``."""
        return self._used["states"]

    def usage(self, names: Iterable[str]) -> dict[str, Any]:
        """What was used in any of the worlds, and what was not, by group of the coverage report."""
        documented = {name: GROUPS[name](Coverage()).documented for name in names}
        groups = {name: summary(Points(points, self._used[name])) for name, points in documented.items()}
        return {"request_count": self._requests, "passed_over": self._passed_over, "groups": groups}


# -- for programs: JSON, JUnit, SARIF, and a badge


COLOURS = ((95, "#2e7d32"), (80, "#6a8f00"), (60, "#b26a00"), (0, "#b71c1c"))
"""The colour of a badge from this mark on."""

README = "README.md"
"""Where results are shown if the command names no file."""


def as_json(exam: Exam) -> str:
    """The exam as indented JSON."""
    areas = [
        {**area._asdict(), "mark": area.mark, "findings": [each._asdict() for each in area.findings]}
        for area in exam.areas
    ]
    return json.dumps({"mark": exam.mark, "failure": exam.failure, "areas": areas}, indent=2) + "\n"


def as_junit(exam: Exam) -> str:
    """The exam as JUnit XML: a suite for each area, with a failed case for each finding."""
    suites = ElementTree.Element("testsuites", name="test all")
    if exam.failure:
        suite = ElementTree.SubElement(suites, "testsuite", name="command", tests="1", failures="1")
        case = ElementTree.SubElement(suite, "testcase", classname="test all", name="the command")
        ElementTree.SubElement(case, "failure", message=exam.failure)
    for area in exam.areas:
        failures = str(len(area.findings))
        suite = ElementTree.SubElement(suites, "testsuite", name=area.name, tests=str(area.asked), failures=failures)
        if area.not_asked:
            case = ElementTree.SubElement(suite, "testcase", classname=f"test {area.name}", name=area.question)
            ElementTree.SubElement(case, "skipped", message=area.not_asked)
        for finding in area.findings:
            case = ElementTree.SubElement(suite, "testcase", classname=f"test {area.name}", name=finding.rule)
            ElementTree.SubElement(case, "failure", message=finding.sentence).text = finding.fix
    return ElementTree.tostring(suites, encoding="unicode") + "\n"


def as_sarif(exam: Exam, file: str = README) -> str:
    """The exam in the Static Analysis Results Interchange Format 2.1.0, which code hosts show beside the code.

    ``file``: a path in the repository at which every result is shown. No result is about one line, but GitHub rejects
    results without a place.
    """
    rules = {f"{area.name}/{each.rule}": each for area in exam.areas for each in area.findings}
    driver = {
        "name": "payments-emulator test all",
        "version": VERSION,
        "rules": [{"id": id, "help": {"text": finding.fix}} for id, finding in rules.items()],
    }
    place = {"artifactLocation": {"uri": quote(file)}, "region": {"startLine": 1}}
    results = [_sarif_result(area, each.rule, each.sentence) for area in exam.areas for each in area.findings]
    if exam.failure:
        results.append({"ruleId": "command", "level": "error", "message": {"text": exam.failure}})
    placed = [{**result, "locations": [{"physicalLocation": place}]} for result in results]
    run = {"tool": {"driver": driver}, "results": placed}
    schema = "https://json.schemastore.org/sarif-2.1.0.json"
    return json.dumps({"$schema": schema, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _sarif_result(area: Area, rule: str, sentence: str) -> dict[str, Any]:
    return {"ruleId": f"{area.name}/{rule}", "level": "warning", "message": {"text": sentence}}


def badge(exam: Exam) -> str:
    """A badge with the mark, as SVG."""
    colour = next(colour for least, colour in COLOURS if exam.mark >= least)
    text = f"{exam.mark} of 100"
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" width="150" height="20" role="img" '
        f'aria-label="payments: {text}"><title>payments: {text}</title>'
        '<rect width="150" height="20" rx="3" fill="#444"/>'
        f'<path d="M72 0h75a3 3 0 0 1 3 3v14a3 3 0 0 1-3 3H72z" fill="{colour}"/>'
        '<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" text-anchor="middle">'
        f'<text x="36" y="14">payments</text><text x="111" y="14">{text}</text></g></svg>\n'
    )


# -- for people: an HTML page without scripts or anything from elsewhere


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
