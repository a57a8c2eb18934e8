"""The one report: equal findings as text, JSON, JUnit XML and page; ``test all`` joins several."""

from __future__ import annotations

import json
import re
import shlex
import socket
import sys
from contextlib import closing
from pathlib import Path
from xml.etree import ElementTree

import pytest

from contract_tests.support.receiver import Receiver
from contract_tests.surfaces.checks.receiver.test_certifier import SECRET
from contract_tests.surfaces.cli.terminal import Ended, run
from emulator.checks.client import report
from emulator.checks.report import Finding, Report, as_json, as_junit, joined
from emulator.ui.reports.failure_sentences import sentence_of
from emulator.ui.reports.report_page import page_of_failed_test, page_of_report

DOUBLE = Finding(
    "a double refund",
    "A request is sent again without a key: a double refund",
    ["request 5, POST /v1/refunds/: its response was lost", "    2 refunds instead of 1 <b>"],
    "Send the same `Idempotency-Key`.",
    "payments-emulator test app --only 5:drop-after -- python buy.py",
)
SURVIVED = Finding(
    "refund-short",
    "no test fails when a refund is short",
    fix="Assert the amount.",
    severity="warning",
)
REMARK = Finding("polling", "Objects were polled (polling)", severity="info")

APP = Report(
    "test app",
    "1 problem in 4 cases",
    [DOUBLE],
    right=["every other run"],
    notes=["5 requests."],
    facts={"runs": 6},
)
SUITE = Report("test suite", "50 %: 1 of 2 mutants caught.", [SURVIVED], right=["payment-twice"])
CLIENT = Report("test client", "5 requests checked.", [REMARK])
FAILED = Report("test suite", "The command fails: exit status 1", failure="exit status 1")

TEXT = """
1 problem in 4 cases
1. A request is sent again without a key: a double refund
    request 5, POST /v1/refunds/: its response was lost
        2 refunds instead of 1 <b>
    again: payments-emulator test app --only 5:drop-after -- python buy.py
    fix: Send the same `Idempotency-Key`.

5 requests.
"""


def test_as_text_each_finding_is_whole() -> None:
    """What shows it, how to repeat it, what to do."""
    assert f"\n{APP.text()}\n" == TEXT


def test_as_json_each_finding_is_whole() -> None:
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
                "details": [
                    "request 5, POST /v1/refunds/: its response was lost",
                    "    2 refunds instead of 1 <b>",
                ],
                "fix": "Send the same `Idempotency-Key`.",
                "again": "payments-emulator test app --only 5:drop-after -- python buy.py",
                "severity": "error",
            }
        ],
        "notes": ["5 requests."],
        "runs": 6,
    }


def test_as_junit_all_that_was_tried_is_a_case() -> None:
    """Characters that XML does not have are replaced."""
    suite = ElementTree.fromstring(as_junit(APP))
    assert (suite.get("name"), suite.get("tests"), suite.get("failures")) == ("test app", "2", "1")
    assert {case.get("name"): len(case) for case in suite} == {
        "a double refund": 1,
        "every other run": 0,
    }
    failure = suite.find("testcase/failure")
    assert failure is not None
    assert (failure.get("message"), failure.get("type")) == (DOUBLE.title, "error")
    assert str(failure.text).splitlines() == [*DOUBLE.lines()]
    strange = Report("test app", "1 problem", [Finding("a\x00b", "c\x1b[2J", ["d\x07"])])
    suite = ElementTree.fromstring(as_junit(strange))
    assert ([*suite.itertext()], suite[0].get("name")) == (["d\ufffd"], "a\ufffdb")
    suite = ElementTree.fromstring(as_junit(FAILED))
    assert [failure.get("message") for failure in suite.iter("failure")] == [FAILED.headline]


def test_the_page_escapes_all() -> None:
    page = page_of_report(APP)
    assert "2 refunds instead of 1 &lt;b&gt;" in page
    assert "<code>Idempotency-Key</code>" in page


def test_the_page_loads_nothing() -> None:
    page = page_of_report(APP)
    assert re.findall(r'(?:src|href)="(?!#)|<script|@import|url\((?!#)', page) == []


def test_the_page_labels_how_to_try_again() -> None:
    assert "<strong>again:</strong> <code" in page_of_report(APP)


def test_the_page_labels_what_to_do() -> None:
    page = page_of_report(APP)
    assert "<strong>fix:</strong> Send the same" in page


GUIDE_SECTION = "going-live/#send-a-request-again"


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        (
            f"https://acme.example/payments/{GUIDE_SECTION}",
            f'<a href="https://acme.example/payments/{GUIDE_SECTION}">'
            "Guide, going-live: Send a request again</a>",
        ),
        (
            "file:///site-packages/going-live/index.html#send-a-request-again",
            " Guide, going-live: Send a request again<",
        ),
    ],
)
def test_the_page_links_the_guide_but_no_file_of_this_machine(address: str, shown: str) -> None:
    page = page_of_report(APP._replace(findings=[DOUBLE._replace(fix=address)]))
    assert shown in page
    assert "file:" not in page


def test_a_failed_count_of_events_is_a_sentence() -> None:
    count = "where 2 = <built-in method count of list object at 0x7f>('invoice.paid')"
    for compared in ("2 == 3", "3 == 2"):
        page = page_of_failed_test("t", f"AssertionError: assert {compared}\n +  {count}", "", None)
        assert page.index("invoice.paid happened 2 times, not 3.") < page.index("AssertionError")
    assert " happened " not in page_of_failed_test("t", "assert 2 == 3", "", None)


OF_EVENTS = "where 1 = len([{'id': 'evt_1'}])\n +    where [{'id': 'evt_1'}] = of('invoice.paid')"


@pytest.mark.parametrize(
    ("why", "sentence"),
    [
        (f"AssertionError: assert 1 == 2\n +  {OF_EVENTS}", "invoice.paid happened 1 time, not 2."),
        (
            "AssertionError: assert 'refund.failed' in ['customer.created']",
            "refund.failed did not happen.",
        ),
        (
            "AssertionError: assert 'refund.failed' not in ['refund.failed']",
            "refund.failed happened, which the test rules out.",
        ),
        (
            "assert got['status'] == 'past_due'\nAssertionError: assert 'active' == 'past_due'",
            "The status is active, not past_due.",
        ),
        (
            "assert 5900 == invoice.amount_paid\nassert 5900 == 5000",
            "The amount paid is 5,000 minor units, not 5,900.",
        ),
        (
            "assert reply.status_code == 201\nassert 404 == 201\n +  where 404 = <Response [404]>",
            "The status code is 404, not 201.",
        ),
        (
            "AssertionError: no webhook invoice.paid arrived within 2 s.\nNo webhook was received.",
            "No webhook invoice.paid arrived within 2 s.",
        ),
        (
            "AssertionError: did not happen: customer.deleted\nEvents inside:",
            "Did not happen: customer.deleted.",
        ),
        ("assert 2 == 3", ""),
        ("assert left == right\nassert 2 == 3", ""),
        ("KeyError: 'x'", ""),
    ],
)
def test_a_failure_is_a_sentence_where_its_kind_is_known(why: str, sentence: str) -> None:
    assert sentence_of(why) == sentence


def test_an_id_leads_to_the_first_place_of_a_failed_test_that_names_it() -> None:
    id = "sub_6Fd4sA7gH2jK9lQ1wE5rT8yU"
    story = f"How the objects stand:\n  {id}  <b>\nRequests:\n  subscription.created  {id}"
    page = page_of_failed_test("t", "", story, None)
    assert page.index(f'<span id="{id}">{id}</span>  &lt;b&gt;') < page.index(f'<a href="#{id}">')


def test_of_several_examinations_the_worst_comes_first() -> None:
    report = joined("test all", [CLIENT, SUITE, APP])
    assert (
        report.headline
        == "2 problems; worst: A request is sent again without a key: a double refund"
    )
    names = ["test app: a double refund", "test suite: refund-short", "test client: polling"]
    assert [finding.name for finding in report.findings] == names
    assert report.notes == [
        f"{summary.examination}: {summary.headline}" for summary in (CLIENT, SUITE, APP)
    ]
    assert [examination["examination"] for examination in report.facts["examinations"]] == [
        "test client",
        "test suite",
        "test app",
    ]
    assert joined("test all", [CLIENT]).headline == "No problems"


def test_a_rule_is_followed_if_no_app_broke_it() -> None:
    broken, kept, untried = (
        {"rule": rule, "severity": "error", "advice": "", "section": ""} for rule in "abc"
    )
    finding = {**broken, "title": "", "count": 1, "requests": [], "object_ids": []}
    audits = [
        {"findings": [finding], "kept": [], "untried": [kept, untried]},
        {"findings": [], "kept": [broken, kept], "untried": [untried]},
    ]
    audited = report([{**audit, "request_count": 1} for audit in audits])
    rules = {name: [rule["rule"] for rule in audited.facts[name]] for name in ("kept", "untried")}
    assert rules == {"kept": ["b"], "untried": ["c"]}


OWN_SUITE = (sys.executable, str(Path(__file__).parents[1] / "suite/suite.py"), "amount")
APPLICATION = f"{sys.executable} {Path(__file__).parents[1] / 'app/client.py'} careless"
NOTHING = (sys.executable, "-c", "")


def examined(*arguments: str | Path) -> Ended:
    return run("test", "all", *map(str, arguments))


@pytest.mark.long
def test_all_examinations_are_in_one_report() -> None:
    ended = examined("--app", APPLICATION, "--json", "--", *OWN_SUITE)
    assert (ended.status, ended.errors) == (1, "")
    report = json.loads(ended.output)
    assert [examination["examination"] for examination in report["examinations"]] == [
        "test app",
        "test client",
        "test suite",
    ]
    assert report["headline"].endswith(
        "; worst: A request is sent again without an Idempotency-Key: a double refund"
    )
    severities = [finding["severity"] for finding in report["findings"]]
    assert severities == sorted(severities, key=["error", "warning", "info"].index)
    again = next(
        finding["again"]
        for finding in report["findings"]
        if finding["name"].startswith("test suite: ")
    )
    assert again.startswith("payments-emulator test suite --only ")
    assert again.endswith(f" -- {shlex.join(OWN_SUITE)}")


def test_without_options_the_suite_is_examined_with_its_client() -> None:
    ended = examined("--json", "--", *OWN_SUITE)
    examinations = [
        examination["examination"] for examination in json.loads(ended.output)["examinations"]
    ]
    assert (ended.status, examinations) == (1, ["test client", "test suite"])


def test_a_receiver_is_examined() -> None:
    """This one accepts everything."""
    with closing(Receiver()) as receiver:
        ended = examined("--json", "--receiver", receiver.url, "--secret", SECRET, "--", *NOTHING)
    titles = [
        finding["title"]
        for finding in json.loads(ended.output)["findings"]
        if "receiver" in finding["name"]
    ]
    assert "An event signed with another secret: not rejected" in titles


def test_a_receiver_that_is_not_there_is_reported() -> None:
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{reserved.getsockname()[1]}/webhooks"
        ended = examined("--receiver", url, "--secret", SECRET, "--", *NOTHING)
    assert (ended.status, ended.output) == (2, "")
    assert f"No receiver responds at {url}" in ended.errors
