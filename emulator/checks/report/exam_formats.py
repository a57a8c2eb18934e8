"""An exam for programs: as JSON, JUnit and SARIF, and as a badge."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree

from emulator.checks.report.exam import Area, Exam
from emulator.version import VERSION

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
