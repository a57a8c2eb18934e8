"""The audit on the command line: a report to read, JSON, and a check that can fail."""

from __future__ import annotations

import json
from typing import Any

import pytest

from contract_tests.support.contract import Contract
from contract_tests.support.sandbox import RunningServer, Sandbox
from contract_tests.surfaces.cli.conftest import Cli
from emulator.checks.client import SHOWN_IDS, report


@pytest.fixture
def careless(sandbox: Sandbox) -> str:
    """A client that asks for a refund without a key: a warning, and, by the way the test paid, an info; the request."""
    body = {"transaction": sandbox.deposit()["id"]}
    return str(sandbox.api.request("POST", "/refunds/", json=body).headers["request-id"])


def test_an_app_without_requests(sandbox: Sandbox, cli: Cli) -> None:
    summary, untried = cli("test", "client").lines
    assert untried.startswith("Not exercised: ignored-retry-after, unsafe-retry, ")
    assert summary.startswith("0 requests checked: 0 errors, 0 warnings, 0 info; 0 rules followed, ")
    sandbox.customer()
    assert cli("test", "client", "--fail-on", "info", "--json").objects[0]["findings"] == []
    assert "'error', 'warning', 'info'" in cli("test", "client", "--fail-on", "worry").usage_error


def test_a_report_to_read(sandbox: Sandbox, cli: Cli, careless: str) -> None:
    """A long row of requests is cut for people."""
    lines = cli("test", "client").lines
    entries = list(sandbox.control.pages("/requests"))
    assert lines[0].startswith(f"{len(entries)} requests checked: 0 errors, 1 warning, 1 info; ")
    assert lines[1] == "1. A refund was sent without an Idempotency-Key (refund-without-key)"
    assert lines[2].split() == ["1", "x:", careless]
    assert lines[3].startswith("    fix: Send a new Idempotency-Key")
    assert lines[3].endswith("(Refunds)")
    assert lines[5].endswith(" (beyond-the-specification)")
    assert "secret-exposed" in next(line for line in lines if line.startswith("Followed: "))
    body = {"transaction": sandbox.deposit()["id"], "amount": 100}
    sent = [sandbox.api.request("POST", "/refunds/", json=body).headers["request-id"] for _ in range(SHOWN_IDS + 2)]
    assert cli("test", "client").lines[2].split()[2:] == [*sent[: -SHOWN_IDS - 1 : -1], "and", "3", "more"]


@pytest.mark.usefixtures("careless")
@pytest.mark.parametrize("form", [(), ("--json",)], ids=str)
def test_it_fails_on_findings_that_are_severe_enough(sandbox: Sandbox, cli: Cli, form: tuple[str, ...]) -> None:
    for severity, status in ((), 0), (("error",), 0), (("warning",), 1), (("info",), 1):
        ended = cli("test", "client", *form, *(word for each in severity for word in ("--fail-on", each)))
        assert (ended.status, ended.errors) == (status, ""), severity
        assert "refund-without-key" in ended.output
    if form:
        assert json.loads(ended.output)["broken"] == sandbox.control.get("/audit")["findings"]


def test_of_every_app(server: RunningServer, contracts: tuple[Contract, Contract], sandbox: Sandbox, cli: Cli) -> None:
    """A suite gives each test an App of its own; the Apps of other tests may be open beside them."""
    sandbox.customer()
    with server.world("everyapp", *contracts) as other:
        body = {"transaction": other.deposit()["id"]}
        refund = other.api.request("POST", "/refunds/", json=body).headers["request-id"]
        assert cli("test", "client", "--fail-on", "warning").status == 0
        ended = cli("test", "client", "--every-app", "--fail-on", "warning")
        assert ended.status == 1
        assert f"    App everyapp: 1 x: {refund}" in ended.output.splitlines()
        found = cli("test", "client", "--every-app", "--json").objects[0]["broken"]
    assert [each["requests"] for each in found if each["app"] == "everyapp" and each["severity"] == "warning"] == [
        [refund]
    ]


def test_several_audits_are_one() -> None:
    """A rule was followed if it was broken nowhere, and was not exercised if it was so in no App."""

    def audit(*findings: tuple[str, str], kept: str = "", untried: str = "") -> Any:
        about = {"title": "T", "advice": "A", "section": "S", "count": 0, "requests": [], "object_ids": []}
        return {
            "request_count": 2,
            "findings": [{"rule": rule, "severity": severity, **about} for rule, severity in findings],
            "kept": [{"rule": rule} for rule in kept],
            "untried": [{"rule": rule} for rule in untried],
        }

    whole = report([audit(("a", "info"), kept="bc", untried="d"), audit(("b", "error"), kept="a", untried="cd")])
    assert [each.name for each in whole.findings] == ["b", "a"]
    assert whole.headline == "4 requests checked: 1 error, 0 warnings, 1 info; 1 rule followed, 1 not exercised."
    assert (whole.right, whole.facts["untried"]) == (["c"], [{"rule": "d"}])
