"""``payments-emulator test app``: what it says of two clients that differ in one header, and of commands that are none."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit
from xml.etree import ElementTree

import pytest

from contract_tests.surfaces.cli.terminal import COMMAND, Ended, clean, run
from emulator.cli import app

CLIENT = (sys.executable, str(Path(__file__).with_name("client.py")))
CARELESS = ("--", *CLIENT, "careless")

UNSEEN = (
    "Only the state of the service was compared, not your own: add --check or --check-sqlite, or return a function."
)


def sweep(*arguments: str | Path) -> Ended:
    return run("test", "app", *map(str, arguments))


@pytest.mark.long
def test_a_client_that_repeats_with_its_idempotency_key_ends_the_same_after_every_fault() -> None:
    ended = sweep("--", *CLIENT)
    assert ended.status == 0, ended
    assert ended.output == f"No problem in 37 cases.\n{UNSEEN}\n5 requests, 0 deliveries, 39 runs.\n"


def test_one_cause_is_one_paragraph_with_its_places_the_worst_first(tmp_path: Path) -> None:
    """And with how to run it again, and how to repair it."""
    report = tmp_path / "report.xml"
    tried = [f"--only={case}" for case in ("3:drop-after", "5:drop-before", "5:drop-after", "5:garbled")]
    ended = sweep(*tried, "--then=3d", "--junit", report, *CARELESS)
    assert ended.status == 1
    lines = ended.output.splitlines()
    assert lines[:3] == [
        "1 problem in 4 cases; worst: a double payment",
        UNSEEN,
        "1. A request is sent again without an Idempotency-Key: a double payment",
    ]
    assert [line.strip() for line in lines if line.startswith("    request ")] == [
        "request 3, POST /v1/subscriptions/: executed, but its response was lost",
        "request 5, POST /v1/refunds/: executed, but its response was lost",
        "request 5, POST /v1/refunds/: executed, but its response was unreadable",
    ]
    assert "        2 refunds succeeded (2,000 XAF) instead of 1 (1,000 XAF)" in lines
    command = shlex.join([*CLIENT, "careless"])
    assert f"    again: payments-emulator test app --only 3:drop-after --then=3d -- {command}" in lines
    [link] = [line.removeprefix("    fix: ") for line in lines if line.startswith("    fix: ")]
    assert link.endswith("#send-a-request-again")
    assert Path(urlsplit(link).path).is_file()
    assert "5 requests, 0 deliveries, 6 runs.\n" in ended.output
    assert "Without any fault, warning of the audit: A refund was sent without" in ended.output
    suite = ElementTree.parse(report).getroot()
    assert [failure.get("message") for failure in suite.iter("failure")] == [lines[2].removeprefix("1. ")]


def test_what_a_rule_finds_can_be_ignored() -> None:
    """The careless refund breaks ``refund-without-key`` in the baseline already; here what only the fault shows."""
    chosen = ("--only", "3:error-after", "--only", "5:error-after", "--json", "--ignore", "unsafe-retry")
    cases = json.loads(sweep(*chosen, *CARELESS).output)["cases"]
    assert [each["case"] for each in cases] == ["3:error-after", "5:error-after"]
    assert "2 subscriptions active instead of 1" in cases[0]["differences"]
    assert [each["rules"] for each in cases if "unsafe-retry" in each["rules"]] == []


REQUEST = """
import json, os, time
from pathlib import Path
from urllib.request import Request, urlopen

def post(path, body, key=os.environ["PAYMENTS_EMULATOR_KEY"]):
    headers = {"Authorization": "Bearer " + key, "Content-Type": "application/json"}
    with urlopen(Request(os.environ["PAYMENTS_EMULATOR_URL"] + path, json.dumps(body).encode(), headers)) as response:
        return json.load(response)

AWA = {"email": "awa@example.com", "name": "Awa Diop"}
made = Path(os.environ["PAYMENTS_EMULATOR_FOLDER"], "made")
def make():
    if not made.exists():
        post("/v1/customers/", AWA)
        made.touch()
"""
"""How a scenario makes one customer, once in its folder."""


def scenario(code: str) -> tuple[str, ...]:
    return ("--", sys.executable, "-c", REQUEST + code)


@pytest.mark.parametrize(
    ("option", "case", "message"),
    [
        ("--ignore", "unsafe-retri", "did you mean `unsafe-retry`"),
        ("--only", "*:thrice", "*:thrice is no case; kinds of fault are killed, drop-before, drop-after"),
        ("--only", "twice", "the scenario has no case of twice"),
        ("--only", "99:lost", "its places are 1 to 1"),
        ("--only", "1:lost", "at 1 it has 1:drop-after, 1:drop-before, 1:error-after, 1:garbled, 1:hung, "),
    ],
)
def test_a_case_that_there_is_not_is_a_usage_error(option: str, case: str, message: str) -> None:
    """Nothing was tried, so nothing passed."""
    ended = sweep(option, case, *scenario("make()"))
    assert (ended.status, message in ended.errors) == (2, True), ended


# -- how a command ends


@pytest.mark.long
def test_a_run_without_end_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "PATIENCE", 5.0)
    ended = sweep("--only", "1:drop-after", *scenario("try:\n    make()\nexcept OSError:\n    time.sleep(3600)"))
    assert "the scenario fails: it does not end: after " in ended.output, ended


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("no shop here", "no shop here\n"),
        ("TypeError [CODE]: no shop here\n\nNode.js v20", "TypeError [CODE]: no shop here\n"),  # Node's last line
        ("FAILED test_shop.py::test_refund - assert 1\n1 failed in 3.79s", "FAILED test_shop.py::test_refund - "),
        ("no shop here" + 5000 * ".", "no shop here..."),
        # An assertion of Node says in the next lines what it compared.
        (
            "AssertionError [ERR]: to be equal:\n\n0 !== 1\n\n    at play (story.js:9)",
            "AssertionError [ERR]: to be equal: 0 !== 1\n",
        ),
    ],
    ids=len,
)
def test_a_command_that_fails_by_itself_is_not_examined(said: str, shown: str) -> None:
    """The line that names the error is shown, of a long one its beginning."""
    ended = sweep("--", sys.executable, "-c", f"raise SystemExit({said!r})")
    assert ended.status == 1
    assert f"fails without any fault, so nothing else was tried: exit status 1, {shown}" in ended.output
    assert max(map(len, ended.output.splitlines())) < 500


def test_a_command_that_does_not_use_its_sandbox_is_said_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pytest suite has a key for each test; after a reset no fault would ever strike, and every command would pass."""
    silent = sweep(*scenario(""))
    assert (silent.status, "No request of COMMAND reached the sandbox" in silent.errors) == (2, True)
    others = sweep(*scenario("post('/v1/customers/', AWA, 'sk_test_of-a-test')"))
    assert others.status == 2
    for sentence in ("COMMAND uses worlds of other keys (of-a-test)", "call payments.test_app(scenario) in a test"):
        assert sentence in others.errors
    resets = sweep(*scenario("post('/_emulator/reset', {})\nmake()"))
    assert resets.status == 1
    assert "it resets its world, and with it the fault that is to strike" in resets.output
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    ended = sweep("--budget", "0", *scenario("make()"))
    assert ended.status == 3, "it uses no proxy for its sandbox"
    assert ended.output.startswith("No problem in 0 of 9 cases.\n1 request, 0 deliveries, 2 runs.\n")
    assert "The budget ended after 0 of 9 cases." in ended.output


@pytest.mark.long
@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals")
def test_ctrl_c_reports_what_was_found_and_ends_the_commands(tmp_path: Path) -> None:
    """The fourth run, of the second case, hangs until it is ended."""
    runs, pid = tmp_path / "runs", tmp_path / "pid"
    runs.write_text("")
    story = f"""
runs, pid = Path({str(runs)!r}), {str(pid)!r}
done = len(runs.read_text())
runs.write_text("x" * (done + 1))
if done == 3:
    Path(pid + ".part").write_text(str(os.getpid()))
    os.rename(pid + ".part", pid)
    time.sleep(600)
try:
    make()
except OSError:
    pass
"""
    command = [*COMMAND, "test", "app", "--jobs", "1", *scenario(story)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=clean()) as process:
        while not pid.exists():
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=60)
    assert process.returncode == 130, output
    assert "0 customers active instead of 1" in output
    assert "Interrupted after 1 of 9 cases." in output
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


# -- the state of the application


COUNT_REFUNDS = """
import json, os
from urllib.request import Request, urlopen
url = os.environ["PAYMENTS_EMULATOR_URL"] + "/_emulator/requests?operation=createRefund"
request = Request(url, headers={"Authorization": "Bearer " + os.environ["PAYMENTS_EMULATOR_KEY"]})
print(json.load(urlopen(request))["pagination"]["count"])
"""


def test_what_a_check_prints_is_compared_as_well(tmp_path: Path) -> None:
    """It may not depend on the fault. This one counts the refunds in the service's own journal."""
    check = tmp_path / "check.py"
    check.write_text(COUNT_REFUNDS)
    ended = sweep("--check", f"{sys.executable} {check}", "--only", "5:garbled", "--", *CLIENT)
    assert "        the check returns '2' instead of '1'\n" in ended.output
    assert UNSEEN not in ended.output


KEEPS = """
import sqlite3
data = sqlite3.connect(Path(os.environ["PAYMENTS_EMULATOR_FOLDER"], "shop.db"))
data.execute("CREATE TABLE seen (event TEXT PRIMARY KEY)")
data.execute("CREATE TABLE sold (id INTEGER PRIMARY KEY, basket TEXT, at TEXT, run INTEGER)")
data.execute("INSERT INTO seen VALUES ('evt_0123456789abcdef')")
try:
    post("/v1/customers/", AWA)
except OSError:
    data.execute("INSERT INTO seen VALUES ('evt_fedcba9876543210')")
    data.execute("INSERT INTO sold (basket) VALUES ('twice')") if BROKEN else None
at = time.strftime("%Y-%m-%dT%H:%M:%SZ")
data.execute("INSERT INTO sold (basket, at, run) VALUES ('once', ?, ?)", (at, os.getpid()))
data.commit()
"""


@pytest.mark.parametrize("is_broken", [False, True])
def test_the_rows_of_a_sqlite_file_are_compared(is_broken: bool) -> None:
    """But for keys, times, ids of events, and what differs without any fault, which is said."""
    ended = sweep("--check-sqlite", "shop.db", "--only", "1:drop-after", *scenario(f"BROKEN = {is_broken}" + KEEPS))
    assert "Left out, as logs of events or different without any fault: seen, sold.run." in ended.output
    if is_broken:
        assert "the check returns other lines: + \"sold: basket='twice'\"" in ended.output, ended
    else:
        assert ended.output.startswith("No problem in 1 case.\n"), ended


def test_a_file_that_the_runs_share_is_not_compared(tmp_path: Path) -> None:
    file = tmp_path / "shop.db"
    file.touch()
    ended = sweep("--check-sqlite", file, *scenario("make()"))
    assert f"{file} is not in the folder of PAYMENTS_EMULATOR_FOLDER" in ended.output
