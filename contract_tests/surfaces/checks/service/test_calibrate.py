"""``compare service`` names what a service does otherwise, and nothing else, whatever the network does."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from contract_tests.support.client import http_client
from contract_tests.support.sandbox import RunningServer
from contract_tests.surfaces.checks.service.second import (
    KEY,
    KNOWN,
    MOST,
    NOTHING,
    Calibration,
    VirtualTime,
    drawn,
    serving,
    switched,
)
from contract_tests.surfaces.checks.service.tls import behind_tls
from emulator.checks.service.verdicts import CalibrationReport, Verdict
from emulator.cli.main import cli


@pytest.fixture(scope="module")
def itself() -> Iterator[RunningServer]:
    """An emulator without any difference."""
    with serving(NOTHING) as server:
        yield server


REMOVED = ("/customers/", "/webhooks/", "/security-profiles/", "/payment-links/", "/products/?active=true")
"""Lists of what is deleted, or archived, after a calibration."""


def names(report: CalibrationReport, kind: Any) -> set[str]:
    return {verdict.probe for verdict in report.of(kind)}


def control(server: RunningServer, path: str, **body: Any) -> Any:
    with http_client(base_url=f"{server.url}/_emulator", headers={"Authorization": f"Bearer {KEY}"}) as http:
        answer = http.post(path, json=body)
        assert answer.is_success, answer.text
        return answer.json()


def test_against_itself_nothing_differs(itself: RunningServer) -> None:
    report = Calibration(itself.url, VirtualTime()).run()
    assert names(report, "differs") | names(report, "not_answered") == set()
    assert names(report, "not_asked") == {
        name for name, probe in KNOWN.probes.items() if {*probe.needs} & {"buyer", "time"}
    }
    assert report.requests <= MOST


def test_again_in_another_order_nothing_differs_and_nothing_is_left(itself: RunningServer) -> None:
    order = random.Random(5).sample([*KNOWN.probes], len(KNOWN.probes))
    report = Calibration(itself.url, VirtualTime()).run(order)
    assert names(report, "differs") | names(report, "not_answered") == set()
    assert left(itself) == dict.fromkeys(REMOVED, 0)


def left(server: RunningServer) -> dict[str, int]:
    with http_client(base_url=f"{server.url}/v1", headers={"Authorization": f"Bearer {KEY}"}) as http:
        return {path: http.get(path).json()["pagination"]["count"] for path in REMOVED}


def test_each_probe_can_be_asked_alone(itself: RunningServer) -> None:
    alone = [name for name, probe in KNOWN.probes.items() if not {*probe.needs} & {"buyer", "time"}]
    for name in alone[::11]:
        report = Calibration(itself.url, VirtualTime()).run([name])
        assert names(report, "confirmed") == {name}, report.verdicts


@pytest.mark.breaks_the_document
def test_it_names_what_was_switched_and_what_deviates_and_nothing_else() -> None:
    """Behind TLS and a front that lets two requests a second through and fails every twentieth."""
    draw, time = drawn(1), VirtualTime()
    with serving(draw, time, seed=1) as server, behind_tls(server.url) as tls:
        report = Calibration(tls.url, time, trusting=tls.trusting).run()
    differing = report.of("differs")
    assert switched([each for each in differing if each.followed]) == draw.switched
    assert {each.probe for each in differing if not each.followed} == draw.noticed_by
    assert report.requests <= MOST
    assert all(each.evidence for each in differing)


def test_an_interrupted_run_leaves_nothing(itself: RunningServer) -> None:
    def interrupt(verdict: Verdict) -> None:
        if verdict.probe == chosen[40]:
            raise KeyboardInterrupt

    chosen = [name for name, probe in KNOWN.probes.items() if not probe.needs]
    with pytest.raises(KeyboardInterrupt):
        Calibration(itself.url, VirtualTime()).run(chosen, after=interrupt)
    assert left(itself) == dict.fromkeys(REMOVED, 0)


@pytest.mark.parametrize("value", ["made", "none"])
def test_a_probe_waits_for_the_buyer(value: str) -> None:
    with serving(NOTHING._replace(switched={"assumptions.anonymous_customer": value})) as server:

        def pay(text: str) -> None:
            session = text.partition("/checkout/")[2].split(" ")[0]
            method = {"type": "mobile_money", "phone": "+24177123456"}
            control(server, f"/checkout-sessions/{session}/pay", method=method)

        report = Calibration(server.url, VirtualTime()).run(["anonymous-customer"], buyer=pay)
    assert report.verdicts[0].assumptions == {"anonymous_customer": value}


def test_requests_end_where_they_are_limited(itself: RunningServer) -> None:
    report = Calibration(itself.url, VirtualTime(), most=20).run()
    assert report.requests == 20
    assert names(report, "not_answered")
    assert names(report, "differs") == set()


def run(*arguments: str) -> Any:
    return CliRunner().invoke(cli, ["compare", "service", *arguments], standalone_mode=False)


def test_the_command_prints_its_budget_and_writes_a_profile(itself: RunningServer, tmp_path: Path) -> None:
    profile = tmp_path / "profile.yaml"
    ended = run(itself.url, "--key", KEY, "--rate", "1000", "--only", "B-13", "--only", "B-16", "--out", str(profile))
    assert ended.exit_code == 0, ended.output
    assert "2 of 2 probes, at most" in ended.output
    assert "2 confirmed, 0 differs" in ended.output
    assert "unknown_fields: reject" in profile.read_text("utf-8")


def test_the_report_is_json_without_secrets(itself: RunningServer) -> None:
    """Days pass by the clock that the server offers, so that only the probes that need a buyer are not asked."""
    ended = CliRunner().invoke(
        cli,
        [
            "compare",
            "service",
            itself.url,
            "--key",
            KEY,
            "--rate",
            "1000",
            "--json",
            "--receiver",
            "local",
            "--max-requests",
            "300",
        ],
        standalone_mode=False,
    )
    report = json.loads(ended.stdout)
    assert report["differs"] == report["not_answered"] == []
    assert {row["probe"] for row in report["not_asked"]} == {
        name for name, probe in KNOWN.probes.items() if "buyer" in probe.needs
    }
    row = next(each for each in report["confirmed"] if each["assumption"] == "unknown_fields")
    assert (row["number"], row["value"]) == ("B-13", "reject")
    assert row["evidence"][0]["request_id"].startswith("req_")
    for secret in (KEY, "whsec_", "4000000000000077"):
        assert secret not in ended.stdout.replace("whsec_****", "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["http://127.0.0.1:1", "--key", "sk_prod_x"], "test App"),
        (["http://127.0.0.1:1", "--key", " sk_prod_x"], "test App"),
        (["http://SK_PROD_x@127.0.0.1:1", "--key", "sk_test_x"], "test App"),
        (["127.0.0.1:1", "--key", "sk_test_x"], "is not an http:// or https:// URL"),
        (["http://127.0.0.1:1", "--key", "sk_test_x", "--only", "B-07"], "would erase the data"),
        (["http://127.0.0.1:1", "--key", "sk_test_x", "--only", "B-00"], "is not an assumption"),
        (["http://127.0.0.1:1", "--key", "sk_test_x"], "http://127.0.0.1:1 cannot be reached: "),
    ],
)
def test_wrong_usage_is_explained(arguments: list[str], message: str) -> None:
    ended = run(*arguments)
    assert message in str(ended.exception)
