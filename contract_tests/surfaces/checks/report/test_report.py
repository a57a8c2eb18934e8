"""The report of test all: areas with marks, what was found in each, and the same in every format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from jsonschema import Draft7Validator

from emulator.checks import all_report
from emulator.checks.all_report import AllReport, Examined, as_html
from emulator.checks.app.cases import Place, cases
from emulator.checks.app.endings import EndingDifference, Weight
from emulator.checks.app.report import AppFinding, AppReport
from emulator.checks.suite.search import SuiteReport
from emulator.checks.suite.table import MUTANTS
from emulator.cli.everything import examined_file, today
from emulator.cli.exec import CommandRun

ROWS = list(MUTANTS.values())
PLACE = Place("request", 5, "POST /v1/refunds/")
LOST = next(case for case in cases([PLACE]) if case.kind.name == "drop-after")
TWO_REFUNDS = (EndingDifference(Weight.MONEY, "2 refunds <b> instead of 1"), EndingDifference(Weight.OBJECTS, "more"))
FOUND = AppFinding(LOST, TWO_REFUNDS, "It is <b>sent</b> again", "Send a request again")
IN_APP = all_report.of_app(AppReport([PLACE], 6, [FOUND], repeat="test app --only {case} -- buy"))
IN_SUITE = all_report.of_suite(SuiteReport(ROWS[:3], ROWS[3:4], ROWS[4:]))
UNEXAMINED = all_report.RECEIVER._replace(not_examined="Start your receiver.")
EXAMINED = Examined("shop", "pytest -x", "2026-01-31", "payments-emulator 1.2.3, Python 3.13.0")
REPORT = AllReport(EXAMINED, (IN_APP, UNEXAMINED, IN_SUITE))


def test_the_mark_is_the_mean_of_what_was_examined() -> None:
    assert [area.mark for area in REPORT.areas] == [75, None, 75]
    assert REPORT.mark == 75
    assert AllReport(EXAMINED, (UNEXAMINED,)).mark is None


def test_it_is_said_where_nothing_was_examined() -> None:
    assert AllReport(EXAMINED, (UNEXAMINED,)).headline == "Nothing was examined."
    sample = EXAMINED._replace(sample=1)
    assert AllReport(sample, (UNEXAMINED,)).headline == "A sample: no problem, 1 area not examined"


@pytest.mark.parametrize("epoch", ["", "never", "²", "9" * 20])
def test_an_instant_that_no_calendar_has_is_ignored(monkeypatch: pytest.MonkeyPatch, epoch: str) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", epoch)
    assert today() >= "2026-01-01"


def test_a_sample_has_no_mark_in_any_form() -> None:
    report = REPORT._replace(examined=EXAMINED._replace(sample=2))
    assert report.headline == "A sample: 2 problems, 1 area not examined"
    assert next(report.lines()) == report.headline
    shown = json.loads(all_report.as_json(report))
    assert (shown["mark"], {area["mark"] for area in shown["areas"]}, shown["sample"]) == (None, {None}, 2)
    assert "100" not in all_report.badge(report)
    assert "a sample of at most 2 in each area" in as_html(report)
    assert " of 100" not in as_html(report)


def test_the_verdict_comes_first_then_of_what_it_is_then_the_areas() -> None:
    lines = list(REPORT.lines())
    assert lines[0] == "75 of 100: 2 problems, 1 area not examined"
    assert lines[1] == "shop · pytest -x · 2026-01-31 · payments-emulator 1.2.3, Python 3.13.0 · whole"
    assert [line.split()[0] for line in lines[3:6]] == ["app", "receiver", "suite"]
    assert "only app and suite" in EXAMINED._replace(only=["app", "suite"]).line
    assert AllReport(EXAMINED, (UNEXAMINED, IN_APP._replace(findings=()))).headline == (
        "75 of 100: no problem, 1 area not examined"
    )


def test_each_finding_has_what_fixes_it_and_what_repeats_it() -> None:
    text = "\n".join(REPORT.lines())
    assert (
        "app (guide: test-app)\n"
        "  - It is <b>sent</b> again: 2 refunds <b> instead of 1 "
        "(request 5, POST /v1/refunds/: executed, but its response was lost)\n"
        "    It is <b>sent</b> again. Fix: Send a request again (guide: test-app)\n"
        "    again: test app --only 5:drop-after -- buy"
    ) in text
    assert "receiver (guide: signatures)\n    Start your receiver." in text
    assert f"  - {ROWS[3].sentence}\n    {ROWS[3].look}\n    again: --only {ROWS[3].name}" in text


def test_a_command_that_fails_is_not_examined() -> None:
    report = AllReport(EXAMINED, (), "exit status 1, 2 failed")
    assert next(report.lines()).endswith("so nothing was examined: exit status 1, 2 failed")
    assert json.loads(all_report.as_sarif(report))["runs"][0]["results"][0]["level"] == "error"
    coloured = report._replace(failure="\x1b[31m2 failed")
    [failure] = ElementTree.fromstring(all_report.as_junit(coloured)).iter("failure")
    assert failure.get("message") == "\ufffd[31m2 failed"
    assert "exit status 1, 2 failed" in as_html(report)
    assert "not examined" in all_report.badge(report)


def test_every_format_has_every_finding() -> None:
    sentences = {found.sentence for area in REPORT.areas for found in area.findings}
    assert len(sentences) == 2
    shown = json.loads(all_report.as_json(REPORT))
    assert shown["mark"] == 75
    assert {found["sentence"] for area in shown["areas"] for found in area["findings"]} == sentences
    junit = ElementTree.fromstring(all_report.as_junit(REPORT))
    assert {failure.get("message") for failure in junit.iter("failure")} == sentences
    assert [skipped.get("message") for skipped in junit.iter("skipped")] == ["Start your receiver."]
    [run] = json.loads(all_report.as_sarif(REPORT))["runs"]
    assert {result["message"]["text"] for result in run["results"]} == sentences
    assert {result["ruleId"] for result in run["results"]} == {rule["id"] for rule in run["tool"]["driver"]["rules"]}
    page = as_html(REPORT)
    assert "2 refunds &lt;b&gt; instead of 1" in page
    assert "<b>" not in page
    badge = ElementTree.fromstring(all_report.badge(REPORT))
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
    """Return a schema whose objects have no other properties."""
    if isinstance(schema, list):
        return [closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {name: closed(value) for name, value in schema.items()}
    return {**inner, "additionalProperties": False} if schema.get("type") == "object" else inner


@pytest.mark.parametrize(
    "report", [REPORT, AllReport(EXAMINED, (UNEXAMINED,)), AllReport(EXAMINED, (), "exit status 1")]
)
def test_sarif_is_what_its_standard_requires(report: AllReport) -> None:
    Draft7Validator(closed(SARIF)).validate(json.loads(all_report.as_sarif(report)))


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
    [run] = json.loads(all_report.as_sarif(REPORT, examined_file(command)))["runs"]
    places = [each["physicalLocation"] for result in run["results"] for each in result["locations"]]
    assert {place["artifactLocation"]["uri"] for place in places} == {file}


def test_an_audit_tries_each_rule_in_each_world_and_remarks_cost_nothing() -> None:
    found = {"severity": "warning", "rule": "refund-without-key", "title": "No key", "advice": "Send it."}
    first = {"findings": [found, {**found, "severity": "info", "rule": "x"}], "kept": [{"rule": "a"}, {"rule": "b"}]}
    second = {"findings": [], "kept": [{"rule": "refund-without-key"}]}
    area = all_report.of_client([first, second], "again")
    assert (area.passed, area.tried, [each.rule for each in area.findings]) == (3, 4, ["refund-without-key"])
    assert all_report.of_client([{"findings": [], "kept": []}], "again").mark is None


def test_what_goes_well_has_to_be_seen_going_wrong() -> None:
    area = all_report.of_usage({"payment_intent succeeded", "payment_intent canceled", "refund succeeded"}, "again")
    assert (area.passed, area.tried) == (1, 2)
    assert [each.sentence for each in area.findings] == ["no test sees a refund that fails (refund failed)"]
    assert all_report.of_usage({"customer active"}, "again").mark is None


def test_an_assumption_that_a_suite_depends_on_is_found() -> None:
    runs = [
        CommandRun(None, None, 0, ""),
        CommandRun("webhook_success", "2xx", 0, ""),
        CommandRun("search_nothing_found", "error", 1, "", depends=True),
    ]
    area = all_report.of_assumptions(runs, "exec --assume {case}")
    assert (area.passed, area.tried) == (1, 2)
    assert area.findings[0].sentence == "the tests fail when search_nothing_found is error"
    assert area.findings[0].again == "exec --assume search_nothing_found=error"


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
    area = all_report.of_receiver([right, wrong], "test receiver")
    assert (area.mark, area.findings[0].fix) == (50, "Verify.")
    assert area.findings[0].sentence == "a forged event: expected to be rejected (R)"


def test_a_story_without_one_end_is_not_examined() -> None:
    area = all_report.of_app(
        AppReport([PLACE], 2, [], unstable=[EndingDifference(Weight.OBJECTS, "2 customers instead of 1")])
    )
    assert (area.mark, "2 customers instead of 1" in (area.not_examined or "")) == (None, True)
