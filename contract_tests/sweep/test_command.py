"""``payments-emulator sweep``: what it finds in two clients that differ in one header."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

CLIENT = (sys.executable, str(Path(__file__).with_name("client.py")))


COUNT_REFUNDS = """
import json, os
from urllib.request import Request, urlopen
url = os.environ["PAYMENTS_EMULATOR_URL"] + "/_emulator/requests?operation=createRefund"
request = Request(url, headers={"Authorization": "Bearer " + os.environ["PAYMENTS_EMULATOR_KEY"]})
print(json.load(urlopen(request))["pagination"]["count"])
"""


def sweep(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "emulator.cli.main", "sweep", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


def found(*arguments: str) -> dict[str, dict[str, Any]]:
    """The findings by case."""
    ended = sweep("--json", *arguments)
    assert ended.returncode == 1, ended.stderr
    report = json.loads(ended.stdout)
    return {finding["case"]: finding for finding in report["findings"]}


def test_a_client_that_repeats_with_its_idempotency_key_ends_the_same_after_every_fault() -> None:
    ended = sweep("--", *CLIENT)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert ended.stdout == "5 requests, 0 deliveries, 20 runs: the story ends the same after every fault.\n"


def test_each_write_that_a_careless_client_repeats_is_found_with_what_it_did() -> None:
    findings = found("--", *CLIENT, "careless")
    assert set(findings) == {f"{place}:{fault}" for place in (2, 3, 5) for fault in ("drop-after", "garbled")}
    refund = findings["5:drop-after"]
    assert refund["sentence"] == "request 5, POST /v1/refunds/: answer lost after it was executed"
    assert "2 refunds succeeded (2,000 XAF) instead of 1 (1,000 XAF)" in refund["differences"]
    assert refund["advice"].startswith("POST /v1/refunds/ was sent again without an Idempotency-Key")
    assert "2 subscriptions active instead of 1" in findings["3:drop-after"]["differences"]


def test_one_case_is_run_again_alone(tmp_path: Path) -> None:
    report = tmp_path / "sweep.xml"
    ended = sweep("--only", "5:drop-after", "--junit", report, "--", *CLIENT, "careless")
    assert ended.returncode == 1
    assert ended.stdout.splitlines()[0] == "request 5, POST /v1/refunds/: answer lost after it was executed"
    assert "    again: --only 5:drop-after" in ended.stdout
    assert "5 requests, 0 deliveries, 3 runs" in ended.stdout
    suite = ElementTree.parse(report).getroot()
    assert [failure.get("message") for failure in suite.iter("failure")] == [
        "2 refunds succeeded (2,000 XAF) instead of 1 (1,000 XAF)"
    ]


def test_a_case_that_the_story_does_not_have_is_a_usage_error() -> None:
    ended = sweep("--only", "99:lost", "--", *CLIENT)
    assert (ended.returncode, "99:lost is no case of this story" in ended.stderr) == (2, True)


def test_a_command_that_fails_by_itself_is_not_swept() -> None:
    ended = sweep("--", sys.executable, "-c", "raise SystemExit('no shop here')")
    assert ended.returncode == 1
    assert "fails without any fault, so nothing else was tried: exit status 1, no shop here" in ended.stdout


def test_a_command_that_sends_nothing_gets_a_hint_how_to_find_the_sandbox() -> None:
    ended = sweep("--", sys.executable, "-c", "")
    assert ended.returncode == 2
    assert "No request of COMMAND reached the sandbox" in ended.stderr


def test_a_check_of_the_application_is_compared_as_well(tmp_path: Path) -> None:
    """What it prints may not depend on the fault. This one counts the refunds in the service's own journal."""
    check = tmp_path / "check.py"
    check.write_text(COUNT_REFUNDS)
    findings = found("--check", f"{sys.executable} {check}", "--only", "5:garbled", "--", *CLIENT)
    assert findings["5:garbled"]["differences"] == ["the story's check returns '2' instead of '1'"]


def test_the_budget_ends_the_search() -> None:
    ended = sweep("--budget", "0", "--", *CLIENT)
    assert ended.returncode == 0
    assert "5 requests, 0 deliveries, 2 runs" in ended.stdout
    assert "The budget ended before 18 runs." in ended.stdout
