"""The exam: areas with marks, what was found in each, and the same in every format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from jsonschema import Draft7Validator

from emulator.checks import grade_report
from emulator.checks.app.cases import Place, cases
from emulator.checks.app.endings import EndingDifference, Weight
from emulator.checks.app.report import AppFinding, AppReport
from emulator.checks.grade_report import Exam, as_html
from emulator.checks.suite.search import SuiteReport
from emulator.checks.suite.table import DOUBTS
from emulator.cli.exec import CommandRun
from emulator.cli.report import examined_file

ROWS = list(DOUBTS.values())
PLACE = Place("request", 5, "POST /v1/refunds/")
LOST = next(case for case in cases([PLACE]) if case.kind.name == "drop-after")
TWO_REFUNDS = (EndingDifference(Weight.MONEY, "2 refunds <b> instead of 1"), EndingDifference(Weight.OBJECTS, "more"))
SWEPT = grade_report.of_app(
    AppReport([PLACE], 6, [AppFinding(LOST, TWO_REFUNDS, "It is <b>sent</b> again", "Send a request again")])
)
DOUBTED = grade_report.of_suite(SuiteReport(ROWS[:3], ROWS[3:4], ROWS[4:]))
UNASKED = grade_report.RECEIVER._replace(not_asked="Start your receiver.")
EXAM = Exam((SWEPT, UNASKED, DOUBTED))


def test_the_mark_is_the_mean_of_what_was_asked() -> None:
    assert [area.mark for area in EXAM.areas] == [75, None, 75]
    assert EXAM.mark == 75
    assert Exam((UNASKED,)).mark == 0


def test_the_areas_come_first_then_each_finding_with_what_fixes_it() -> None:
    lines = list(EXAM.lines())
    assert lines[0] == "75 of 100"
    assert [line.split()[0] for line in lines[2:5]] == ["app", "receiver", "suite"]
    text = "\n".join(lines)
    assert (
        "app (guide: test-app)\n"
        "  - It is <b>sent</b> again: 2 refunds <b> instead of 1 "
        "(request 5, POST /v1/refunds/: answer lost after it was executed)\n"
        "    It is <b>sent</b> again (how to fix it: guide, Test app, Send a request again)"
    ) in text
    assert "receiver (guide: signatures)\n    Start your receiver." in text
    assert f"  - {ROWS[3].sentence}\n    {ROWS[3].look}" in text


def test_a_command_that_fails_is_not_examined() -> None:
    exam = Exam((), "exit status 1, 2 failed")
    assert list(exam.lines())[-1].endswith("so nothing was asked: exit status 1, 2 failed")
    assert json.loads(grade_report.as_sarif(exam))["runs"][0]["results"][0]["level"] == "error"
    assert len([*ElementTree.fromstring(grade_report.as_junit(exam)).iter("failure")]) == 1
    assert "exit status 1, 2 failed" in as_html(exam)


def test_every_format_has_every_finding() -> None:
    sentences = {found.sentence for area in EXAM.areas for found in area.findings}
    assert len(sentences) == 2
    shown = json.loads(grade_report.as_json(EXAM))
    assert shown["mark"] == 75
    assert {found["sentence"] for area in shown["areas"] for found in area["findings"]} == sentences
    junit = ElementTree.fromstring(grade_report.as_junit(EXAM))
    assert {failure.get("message") for failure in junit.iter("failure")} == sentences
    assert [skipped.get("message") for skipped in junit.iter("skipped")] == ["Start your receiver."]
    [run] = json.loads(grade_report.as_sarif(EXAM))["runs"]
    assert {result["message"]["text"] for result in run["results"]} == sentences
    assert {result["ruleId"] for result in run["results"]} == {rule["id"] for rule in run["tool"]["driver"]["rules"]}
    page = as_html(EXAM)
    assert "2 refunds &lt;b&gt; instead of 1" in page
    assert "<b>" not in page
    badge = ElementTree.fromstring(grade_report.badge(EXAM))
    assert badge.get("aria-label") == "payments: 75 of 100"


TEXT = {"type": "object", "required": ["text"], "properties": {"text": {"type": "string", "minLength": 1}}}

RULE = {"type": "object", "required": ["id"], "properties": {"id": {"type": "string"}, "help": TEXT}}

PLACE_SCHEMA = {
    "type": "object",
    "required": ["physicalLocation"],
    "properties": {
        "physicalLocation": {
            "type": "object",
            "required": ["artifactLocation"],
            "properties": {
                "artifactLocation": {
                    "type": "object",
                    "required": ["uri"],
                    "properties": {"uri": {"type": "string", "pattern": "^[!-~]+$"}},
                },
                "region": {"type": "object", "properties": {"startLine": {"type": "integer", "minimum": 1}}},
            },
        },
    },
}

RESULT = {
    "type": "object",
    "required": ["ruleId", "level", "message", "locations"],
    "properties": {
        "ruleId": {"type": "string"},
        "level": {"enum": ["none", "note", "warning", "error"]},
        "message": TEXT,
        # The standard requires none, GitHub one.
        "locations": {"type": "array", "minItems": 1, "items": PLACE_SCHEMA},
    },
}

DRIVER = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": {"type": "string"},
        "version": {"type": "string"},
        "rules": {"type": "array", "uniqueItems": True, "items": RULE},
    },
}

SARIF: dict[str, Any] = {
    "type": "object",
    "required": ["version", "runs"],
    "properties": {
        "$schema": {"type": "string", "format": "uri"},
        "version": {"const": "2.1.0"},
        "runs": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["tool"],
                "properties": {
                    "tool": {"type": "object", "required": ["driver"], "properties": {"driver": DRIVER}},
                    "results": {"type": "array", "items": RESULT},
                },
            },
        },
    },
}
"""The part of the schema of SARIF 2.1.0 that the file uses. That schema allows no unknown property anywhere."""


def closed(schema: Any) -> Any:
    """A schema whose objects have no other properties."""
    if isinstance(schema, list):
        return [closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {name: closed(value) for name, value in schema.items()}
    return {**inner, "additionalProperties": False} if schema.get("type") == "object" else inner


@pytest.mark.parametrize("exam", [EXAM, Exam((UNASKED,)), Exam((), "exit status 1")])
def test_sarif_is_what_its_standard_requires(exam: Exam) -> None:
    Draft7Validator(closed(SARIF)).validate(json.loads(grade_report.as_sarif(exam)))


@pytest.mark.parametrize(
    ("command", "file"),
    [
        (["python", "tests/my suite.py"], "tests/my%20suite.py"),
        (["npm", "test"], "README.md"),
        (["/bin/sh", "-c", "true"], "README.md"),
    ],
)
def test_a_result_is_shown_at_the_file_that_the_command_names(
    command: list[str], file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("tests").mkdir()
    Path("tests/my suite.py").touch()
    [run] = json.loads(grade_report.as_sarif(EXAM, examined_file(command)))["runs"]
    places = [each["physicalLocation"] for result in run["results"] for each in result["locations"]]
    assert {place["artifactLocation"]["uri"] for place in places} == {file}


def test_an_audit_asks_each_rule_in_each_world_and_remarks_cost_nothing() -> None:
    found = {"severity": "warning", "rule": "refund-without-key", "title": "No key", "advice": "Send it."}
    first = {"findings": [found, {**found, "severity": "info", "rule": "x"}], "kept": [{"rule": "a"}, {"rule": "b"}]}
    second = {"findings": [], "kept": [{"rule": "refund-without-key"}]}
    area = grade_report.of_client([first, second])
    assert (area.passed, area.asked, [each.rule for each in area.findings]) == (3, 4, ["refund-without-key"])
    assert grade_report.of_client([{"findings": [], "kept": []}]).mark is None


def test_what_goes_well_has_to_be_seen_going_wrong() -> None:
    area = grade_report.of_usage({"payment_intent succeeded", "payment_intent canceled", "refund succeeded"})
    assert (area.passed, area.asked) == (1, 2)
    assert [each.sentence for each in area.findings] == ["no test sees a refund that fails (refund failed)"]
    assert grade_report.of_usage({"customer active"}).mark is None


def test_an_assumption_that_a_suite_depends_on_is_found() -> None:
    runs = [
        CommandRun(None, None, 0, ""),
        CommandRun("webhook_success", "2xx", 0, ""),
        CommandRun("search_nothing_found", "error", 1, "", depends=True),
    ]
    area = grade_report.of_assumptions(runs)
    assert (area.passed, area.asked) == (1, 2)
    assert area.findings[0].sentence == "the tests fail when search_nothing_found is error"


def test_a_receiver_that_accepts_what_is_forged_is_found() -> None:
    right = {
        "check": "valid",
        "passed": True,
        "sent": "a valid event",
        "expected": "accepted",
        "rule": "R",
        "advice": None,
    }
    wrong = {
        **right,
        "check": "forged",
        "passed": False,
        "sent": "a forged event",
        "expected": "refused",
        "advice": "Verify.",
    }
    area = grade_report.of_receiver([right, wrong])
    assert (area.mark, area.findings[0].fix) == (50, "Verify.")
    assert area.findings[0].sentence == "a forged event: expected to be rejected (R)"


def test_a_story_without_one_end_is_not_swept() -> None:
    area = grade_report.of_app(
        AppReport([PLACE], 2, [], unstable=[EndingDifference(Weight.OBJECTS, "2 customers instead of 1")])
    )
    assert (area.mark, "2 customers instead of 1" in (area.not_asked or "")) == (None, True)
