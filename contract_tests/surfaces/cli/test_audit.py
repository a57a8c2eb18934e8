"""The audit on the command line: a report to read, lines of JSON, and a check that can fail."""

from __future__ import annotations

from typing import Any

import pytest

from contract_tests.support.contract import Contract
from contract_tests.support.sandbox import RunningServer, Sandbox
from contract_tests.surfaces.cli.conftest import Cli
from emulator.cli.test import SHOWN_IDS, merged


@pytest.fixture
def careless(sandbox: Sandbox) -> str:
    """A client that asks for a refund without a key: a warning, and, by the way the test paid, an info; the request."""
    body = {"transaction": sandbox.deposit()["id"]}
    return str(sandbox.api.request("POST", "/refunds/", json=body).headers["request-id"])


def test_an_app_without_requests(cli: Cli) -> None:
    untried, nothing, summary = cli("test", "client").lines
    assert untried.startswith("Not exercised  ignored-retry-after, unsafe-retry, ")
    assert nothing == ""
    assert summary.startswith("0 requests checked: 0 errors, 0 warnings, 0 info; 0 rules passed, ")


def test_a_report_to_read(sandbox: Sandbox, cli: Cli, careless: str) -> None:
    lines = cli("test", "client").lines
    assert lines[0].split(maxsplit=4)[:4] == ["warning", "refund-without-key", "1", "x"]
    assert lines[0].endswith("A refund was asked for without an Idempotency-Key")
    assert "Send a new Idempotency-Key" in lines[1]
    assert lines[1].endswith("(Refunds)")
    assert lines[2].split() == [careless]
    assert lines[4].startswith("info     beyond-the-specification")
    passed = next(line for line in lines if line.startswith("Passed "))
    assert "secret-exposed" in passed
    entries = list(sandbox.control.pages("/requests"))
    assert lines[-1].startswith(f"{len(entries)} requests checked: 0 errors, 1 warning, 1 info; ")


def test_a_long_row_of_requests_is_cut_for_people(sandbox: Sandbox, cli: Cli) -> None:
    body = {"transaction": sandbox.deposit()["id"], "amount": 100}
    sent = [sandbox.api.request("POST", "/refunds/", json=body).headers["request-id"] for _ in range(SHOWN_IDS + 2)]
    assert cli("test", "client").lines[2].split() == [*sent[: -SHOWN_IDS - 1 : -1], "and", "2", "more"]


@pytest.mark.usefixtures("careless")
def test_as_json_each_finding_is_a_line(sandbox: Sandbox, cli: Cli) -> None:
    assert cli("test", "client", "--json").objects == sandbox.control.get("/audit")["findings"]


@pytest.mark.usefixtures("careless")
@pytest.mark.parametrize(("severity", "status"), [(None, 0), ("error", 0), ("warning", 1), ("info", 1)])
@pytest.mark.parametrize("form", [(), ("--json",)], ids=str)
def test_it_fails_on_findings_that_are_severe_enough(
    cli: Cli, severity: str | None, status: int, form: tuple[str, ...]
) -> None:
    ended = cli("test", "client", *form, *(("--fail-on", severity) if severity else ()))
    assert (ended.status, ended.errors) == (status, "")
    assert "refund-without-key" in ended.output


def test_a_client_without_findings_does_not_fail(sandbox: Sandbox, cli: Cli) -> None:
    sandbox.customer()
    assert cli("test", "client", "--fail-on", "info").status == 0
    assert cli("test", "client", "--fail-on", "info", "--json").lines == []


def test_the_error_for_a_mistyped_severity_names_those_there_are(cli: Cli) -> None:
    assert "'error', 'warning', 'info'" in cli("test", "client", "--fail-on", "worry").usage_error


def test_of_every_app(server: RunningServer, contracts: tuple[Contract, Contract], sandbox: Sandbox, cli: Cli) -> None:
    """A suite gives each test an App of its own; the Apps of other tests may be open beside them."""
    sandbox.customer()
    with server.world("everyapp", *contracts) as other:
        body = {"transaction": other.deposit()["id"]}
        refund = other.api.request("POST", "/refunds/", json=body).headers["request-id"]
        assert cli("test", "client", "--fail-on", "warning").status == 0
        ended = cli("test", "client", "--every-app", "--fail-on", "warning")
        assert ended.status == 1
        assert f"         App everyapp: {refund}" in ended.output.splitlines()
        found = cli("test", "client", "--every-app", "--json").objects
    assert [each["requests"] for each in found if each["app"] == "everyapp" and each["severity"] == "warning"] == [
        [refund]
    ]


def test_several_audits_are_one() -> None:
    """A rule passed if it was broken nowhere, and was not exercised if it was so in no App."""

    def report(*findings: tuple[str, str], kept: str = "", untried: str = "") -> Any:
        return {
            "request_count": 2,
            "findings": [{"rule": rule, "severity": severity} for rule, severity in findings],
            "kept": [{"rule": rule} for rule in kept],
            "untried": [{"rule": rule} for rule in untried],
        }

    whole = merged([report(("a", "info"), kept="bc", untried="d"), report(("b", "error"), kept="a", untried="cd")])
    assert whole == report(("b", "error"), ("a", "info"), kept="c", untried="d") | {"request_count": 4}
