"""The one report: the same findings as text, JSON, JUnit XML and a page. Its form is held here."""

from __future__ import annotations

import json
import re
from xml.etree import ElementTree

import pytest

from emulator.checks.report import Finding, Report, as_json, as_junit, joined
from emulator.ui.reports.report_page import page_of_report

DOUBLE = Finding(
    "a double refund",
    "A request is sent again without a key: a double refund",
    ["request 5, POST /v1/refunds/: its response was lost", "    2 refunds instead of 1 <b>"],
    "Send the same `Idempotency-Key`.",
    "payments-emulator test app --only 5:drop-after -- python buy.py",
)
SURVIVED = Finding("refund-short", "no test fails when a refund is short", fix="Assert the amount.", severity="warning")
REMARK = Finding("polling", "Objects were polled (polling)", severity="info")

APP = Report(
    "test app", "1 problem in 4 cases", [DOUBLE], right=["every other run"], notes=["5 requests."], facts={"runs": 6}
)
SUITE = Report("test suite", "50 %: 1 of 2 mutants caught.", [SURVIVED], right=["payment-twice"])
CLIENT = Report("test client", "5 requests checked.", [REMARK])

TEXT = """
1 problem in 4 cases
1. A request is sent again without a key: a double refund
    request 5, POST /v1/refunds/: its response was lost
        2 refunds instead of 1 <b>
    again: payments-emulator test app --only 5:drop-after -- python buy.py
    fix: Send the same `Idempotency-Key`.

5 requests.
"""


def test_as_text_each_finding_has_what_shows_it_how_to_repeat_it_and_what_to_do() -> None:
    assert f"\n{APP.text()}\n" == TEXT


def test_as_json_it_has_the_findings_and_the_facts_of_its_examination() -> None:
    assert json.loads(as_json(APP)) == {
        "examination": "test app",
        "passed": False,
        "headline": "1 problem in 4 cases",
        "unseen": "",
        "failure": None,
        "findings": [
            {
                "name": "a double refund",
                "title": "A request is sent again without a key: a double refund",
                "details": ["request 5, POST /v1/refunds/: its response was lost", "    2 refunds instead of 1 <b>"],
                "fix": "Send the same `Idempotency-Key`.",
                "again": "payments-emulator test app --only 5:drop-after -- python buy.py",
                "severity": "error",
            }
        ],
        "notes": ["5 requests."],
        "runs": 6,
    }


def test_as_junit_all_that_was_tried_is_a_case() -> None:
    suite = ElementTree.fromstring(as_junit(APP))
    assert (suite.get("name"), suite.get("tests"), suite.get("failures")) == ("test app", "2", "1")
    assert {case.get("name"): len(case) for case in suite} == {"a double refund": 1, "every other run": 0}
    failure = suite.find("testcase/failure")
    assert failure is not None
    assert (failure.get("message"), failure.get("type")) == (DOUBLE.title, "error")
    assert str(failure.text).splitlines() == [*DOUBLE.lines()]


def test_characters_that_xml_has_not_are_replaced() -> None:
    report = Report("test app", "1 problem", [Finding("a\x00b", "c\x1b[2J", ["d\x07"])])
    suite = ElementTree.fromstring(as_junit(report))
    assert [*suite.itertext()] == ["d\ufffd"]
    assert suite[0].get("name") == "a\ufffdb"


def test_the_page_escapes_all_and_loads_nothing() -> None:
    page = page_of_report(APP)
    assert "2 refunds instead of 1 &lt;b&gt;" in page
    assert "<code>Idempotency-Key</code>" in page
    assert re.findall(r'(?:src|href)="(?!#)|<script|@import|url\((?!#)', page) == []


@pytest.mark.parametrize(
    ("report", "passed"),
    [
        (APP, False),
        (CLIENT, True),
        (Report("test suite", "The command fails: exit status 1", failure="exit status 1"), False),
        (Report("test app", "No problem in 4 cases."), True),
    ],
)
def test_a_remark_is_no_problem_and_a_failure_is_one(report: Report, passed: bool) -> None:
    assert report.passed == passed
    assert json.loads(as_json(report))["passed"] == passed


def test_a_failure_is_a_failed_case() -> None:
    suite = ElementTree.fromstring(
        as_junit(Report("test suite", "The command fails: exit status 1", failure="exit status 1"))
    )
    assert [failure.get("message") for failure in suite.iter("failure")] == ["The command fails: exit status 1"]


def test_of_several_examinations_the_worst_comes_first() -> None:
    report = joined("test all", [CLIENT, SUITE, APP])
    assert report.headline == "2 problems; worst: A request is sent again without a key: a double refund"
    assert [each.name for each in report.findings] == [
        "test app: a double refund",
        "test suite: refund-short",
        "test client: polling",
    ]
    assert report.notes == [f"{each.examination}: {each.headline}" for each in (CLIENT, SUITE, APP)]
    assert [each["examination"] for each in report.facts["examinations"]] == ["test client", "test suite", "test app"]
    assert joined("test all", [CLIENT]).headline == "No problems"
