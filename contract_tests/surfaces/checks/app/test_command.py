"""``payments-emulator test app``: what it finds in two clients that differ in one header."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit
from xml.etree import ElementTree

import pytest

from emulator.cli import app
from emulator.cli.main import main

EXECUTED = ("drop-after", "error-after", "garbled", "timeout")
"""The faults after which a careless client has done a thing twice."""

CLIENT = (sys.executable, str(Path(__file__).with_name("client.py")))


COUNT_REFUNDS = """
import json, os
from urllib.request import Request, urlopen
url = os.environ["PAYMENTS_EMULATOR_URL"] + "/_emulator/requests?operation=createRefund"
request = Request(url, headers={"Authorization": "Bearer " + os.environ["PAYMENTS_EMULATOR_KEY"]})
print(json.load(urlopen(request))["pagination"]["count"])
"""


UNSEEN = (
    "Only the state of the service was compared, not your own: add --check or --check-sqlite, or return a function."
)


class Ended(NamedTuple):
    """How a command line ended."""

    returncode: int
    stdout: str
    stderr: str


def sweep(*arguments: str | Path) -> Ended:
    """Run the command line in this process, which has loaded everything."""
    with redirect_stdout(StringIO()) as output, redirect_stderr(StringIO()) as errors, pytest.raises(SystemExit) as end:
        main(["test", "app", *map(str, arguments)])
    return Ended(int(end.value.code or 0), output.getvalue(), errors.getvalue())


def found(*arguments: str) -> dict[str, dict[str, Any]]:
    """Return the findings by case."""
    ended = sweep("--json", *arguments)
    assert ended.returncode == 1, ended.stderr
    report = json.loads(ended.stdout)
    return {finding["case"]: finding for finding in report["cases"]}


@pytest.mark.long
def test_a_client_that_repeats_with_its_idempotency_key_ends_the_same_after_every_fault() -> None:
    ended = sweep("--", *CLIENT)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert ended.stdout == f"No problem in 37 cases.\n{UNSEEN}\n5 requests, 0 deliveries, 39 runs.\n"


def test_each_write_that_a_careless_client_repeats_is_found_with_what_it_did() -> None:
    tried = [f"{place}:{fault}" for place in (3, 5) for fault in ("drop-before", *EXECUTED)]
    findings = found(*(f"--only={case}" for case in tried), "--", *CLIENT, "careless")
    assert set(findings) == {f"{place}:{fault}" for place in (3, 5) for fault in EXECUTED}
    refund = findings["5:drop-after"]
    assert refund["sentence"] == "request 5, POST /v1/refunds/: executed, but its response was lost"
    assert "2 refunds succeeded (2,000 XAF) instead of 1 (1,000 XAF)" in refund["differences"]
    assert refund["problem"] == "A request is sent again without an Idempotency-Key"
    assert "2 subscriptions active instead of 1" in findings["3:drop-after"]["differences"]


def test_one_case_is_run_again_alone(tmp_path: Path) -> None:
    """Also by the line that the report gives."""
    report = tmp_path / "sweep.xml"
    ended = sweep("--only", "5:drop-after", "--then=3d", "--junit", report, "--", *CLIENT, "careless")
    assert ended.returncode == 1
    lines = ended.stdout.splitlines()
    assert lines[:4] == [
        "1 problem in 1 case; worst: a double refund",
        UNSEEN,
        "1. A request is sent again without an Idempotency-Key: a double refund",
        "    request 5, POST /v1/refunds/: executed, but its response was lost",
    ]
    command = shlex.join([*CLIENT, "careless"])
    assert f"    again: payments-emulator test app --only 5:drop-after --then=3d -- {command}" in lines
    assert "5 requests, 0 deliveries, 3 runs.\n" in ended.stdout
    assert "Without any fault, warning of the audit: A refund was sent without" in ended.stdout
    suite = ElementTree.parse(report).getroot()
    assert [failure.get("message") for failure in suite.iter("failure")] == [
        "A request is sent again without an Idempotency-Key: a double refund"
    ]


def test_one_cause_is_one_paragraph_with_its_places_the_worst_first() -> None:
    tried = (f"--only={case}" for case in ("3:drop-after", "5:drop-after", "5:garbled"))
    verdict, _, *paragraph = sweep(*tried, "--", *CLIENT, "careless").stdout.split("\n\n")[0].splitlines()
    assert verdict == "1 problem in 3 cases; worst: a double payment"
    assert paragraph[0] == "1. A request is sent again without an Idempotency-Key: a double payment"
    places = [line.strip() for line in paragraph if line.startswith("    request ")]
    assert places == [
        "request 3, POST /v1/subscriptions/: executed, but its response was lost",
        "request 5, POST /v1/refunds/: executed, but its response was lost",
        "request 5, POST /v1/refunds/: executed, but its response was unreadable",
    ]
    assert "        2 refunds succeeded (2,000 XAF) instead of 1 (1,000 XAF)" in paragraph
    link = paragraph[-1].removeprefix("    fix: ")
    assert link.endswith("#send-a-request-again")
    assert Path(urlsplit(link).path).is_file()


def test_what_a_rule_finds_can_be_ignored() -> None:
    """The careless refund breaks ``refund-without-key`` in the baseline already; here what only the fault shows."""
    case = ("--only", "3:error-after", "--json")
    rules = {
        rule for each in json.loads(sweep(*case, "--", *CLIENT, "careless").stdout)["cases"] for rule in each["rules"]
    }
    assert "unsafe-retry" in rules
    ignored = json.loads(sweep(*case, "--ignore", "unsafe-retry", "--", *CLIENT, "careless").stdout)
    assert [each["rules"] for each in ignored["cases"]] == [sorted(rules - {"unsafe-retry"})]
    assert "did you mean `unsafe-retry`" in sweep("--ignore", "unsafe-retri", "--", *CLIENT).stderr


@pytest.mark.parametrize(
    ("case", "instead"),
    [
        ("99:lost", "its places are 1 to 5"),
        (
            "1:lost",
            "at 1 it has 1:drop-after, 1:drop-before, 1:error-after, 1:garbled, 1:hung, 1:outage, 1:sent-together, 1:slow, 1:th"
            "rottled, 1:timeout",
        ),
    ],
)
def test_a_case_that_the_scenario_does_not_have_is_a_usage_error(case: str, instead: str) -> None:
    ended = sweep("--only", case, "--", *CLIENT)
    assert (ended.returncode, instead in ended.stderr) == (2, True), ended.stderr


REQUEST = """
import json, os, time
from pathlib import Path
from urllib.request import Request, urlopen

def post(path, body):
    headers = {"Authorization": "Bearer " + os.environ["PAYMENTS_EMULATOR_KEY"], "Content-Type": "application/json"}
    with urlopen(Request(os.environ["PAYMENTS_EMULATOR_URL"] + path, json.dumps(body).encode(), headers)) as response:
        return json.load(response)

made = Path(os.environ["PAYMENTS_EMULATOR_FOLDER"], "made")
def make():
    if not made.exists():
        post("/v1/customers/", {"email": "awa@example.com", "name": "Awa Diop"})
        made.touch()
"""
"""How a scenario makes one customer, once in its folder."""


def scenario(code: str) -> tuple[str, ...]:
    return ("--", sys.executable, "-c", REQUEST + code)


def test_a_kind_that_there_is_not_is_an_error_before_anything_runs() -> None:
    ended = sweep("--only", "*:thrice", "--", sys.executable, "-c", "raise SystemExit('it was run')")
    assert (ended.returncode, "it was run" in ended.stdout) == (2, False)
    assert "*:thrice is no case; kinds of fault are killed, drop-before, drop-after" in ended.stderr


def test_a_kind_that_the_scenario_has_no_case_of_is_a_usage_error() -> None:
    """Nothing was tried, so nothing passed."""
    ended = sweep("--only", "twice", *scenario("make()"))
    assert (ended.returncode, "the scenario has no case of twice" in ended.stderr) == (2, True)


def test_it_is_killed_before_it_does_anything_more(tmp_path: Path) -> None:
    """A world that had moved on by then would be blamed on the kill."""
    log = tmp_path / "log"
    moves_on = f"""
make()
now = post("/_emulator/clock/advance", {{"by": "2d"}})["now"]
with open({str(log)!r}, "a") as log:
    log.write(now[:10] + " ")
"""
    ended = sweep("--only", "1:killed-answered", "--clock", "frozen@2026-01-01T00:00:00Z", *scenario(moves_on))
    assert ended.stdout.startswith("No problem in 1 case."), ended.stdout
    assert "Not reached" not in ended.stdout
    assert log.read_text() == "2026-01-03 " * 3, "two baselines, and the application that was started again"


def test_a_command_that_has_ended_is_not_reached() -> None:
    """It ends without the interpreter's own work, which takes longer than the killer waits where the cores are busy."""
    ended = sweep("--only", "1:killed-answered", *scenario("make()\nos._exit(0)"))
    assert "Not reached by the scenario: 1:killed-answered." in ended.stdout, ended.stdout


@pytest.mark.long
def test_a_run_without_end_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "PATIENCE", 5.0)
    waits = """
try:
    make()
except OSError:
    time.sleep(3600)
"""
    ended = sweep("--only", "1:drop-after", *scenario(waits))
    assert "the scenario fails: it does not end: after " in ended.stdout, ended.stdout


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
def test_a_command_that_fails_by_itself_is_not_swept(said: str, shown: str) -> None:
    """The line that names the error is shown, of a long one its beginning."""
    ended = sweep("--", sys.executable, "-c", f"raise SystemExit({said!r})")
    assert ended.returncode == 1
    assert f"fails without any fault, so nothing else was tried: exit status 1, {shown}" in ended.stdout
    assert max(map(len, ended.stdout.splitlines())) < 500


def posting(path: str, key: str = "os.environ['PAYMENTS_EMULATOR_KEY']", then: str = "") -> tuple[str, ...]:
    """Return a command that posts a customer after a request to another path."""
    lines = [
        "import os",
        "from urllib.request import Request, urlopen",
        "def post(path, body):",
        f"    headers = {{'Authorization': 'Bearer ' + {key}, 'Content-Type': 'application/json'}}",
        "    return urlopen(Request(os.environ['PAYMENTS_EMULATOR_URL'] + path, body, headers))",
        f"post('{path}', b'{{}}')" if path else "",
        """post('/v1/customers/', b'{"email": "awa@example.com", "name": "Awa Diop"}')""",
        then,
    ]
    return (sys.executable, "-c", "\n".join(lines))


def test_a_command_that_does_not_use_its_sandbox_is_said_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pytest suite has a key for each test; after a reset no fault would ever strike, and every command would pass."""
    silent = sweep("--", sys.executable, "-c", "")
    assert (silent.returncode, "No request of COMMAND reached the sandbox" in silent.stderr) == (2, True)
    others = sweep("--", *posting("", key="'sk_test_of-a-test'"))
    assert others.returncode == 2
    for sentence in ("COMMAND uses worlds of other keys (of-a-test)", "call payments.test_app(scenario) in a test"):
        assert sentence in others.stderr
    resets = sweep("--", *posting("/_emulator/reset"))
    assert resets.returncode == 1
    assert "it resets its world, and with it the fault that is to strike" in resets.stdout
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    assert sweep("--budget", "0", "--", *posting("")).returncode == 3, "it uses no proxy for its sandbox"


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals")
def test_ctrl_c_reports_what_was_found_and_ends_the_commands(tmp_path: Path) -> None:
    """The fourth run, of the second case, hangs until it is ended."""
    runs, pid = tmp_path / "runs", tmp_path / "pid"
    runs.write_text("")
    story = [
        "import sys, time; from pathlib import Path; import os",
        f"runs = Path({str(runs)!r}); done = len(runs.read_text()); runs.write_text('x' * (done + 1))",
        f"if done == 3: Path({str(pid)!r} + '.part').write_text(str(os.getpid()))",
        f"if done == 3: os.rename({str(pid)!r} + '.part', {str(pid)!r})",
        "if done == 3: time.sleep(600)",
        "try:",
        *("    " + line for line in posting("")[2].splitlines()),
        "except OSError: pass",
    ]
    command = [sys.executable, "-m", "emulator.cli.main", "test", "app", "--jobs", "1", "--", sys.executable, "-c"]
    with subprocess.Popen([*command, "\n".join(story)], stdout=subprocess.PIPE, text=True) as process:
        while not pid.exists():
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=60)
    assert process.returncode == 130, output
    assert "0 customers active instead of 1" in output
    assert "Interrupted after 1 of 9 cases." in output
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


def test_a_check_of_the_application_is_compared_as_well(tmp_path: Path) -> None:
    """What it prints may not depend on the fault. This one counts the refunds in the service's own journal."""
    check = tmp_path / "check.py"
    check.write_text(COUNT_REFUNDS)
    findings = found("--check", f"{sys.executable} {check}", "--only", "5:garbled", "--", *CLIENT)
    assert findings["5:garbled"]["differences"] == ["the check returns '2' instead of '1'"]


KEEPS = """
import sqlite3
data = sqlite3.connect(Path(os.environ["PAYMENTS_EMULATOR_FOLDER"], "shop.db"))
data.execute("CREATE TABLE seen (event TEXT PRIMARY KEY)")
data.execute("CREATE TABLE sold (id INTEGER PRIMARY KEY, basket TEXT, at TEXT, run INTEGER)")
data.execute("INSERT INTO seen VALUES ('evt_0123456789abcdef')")
try:
    post("/v1/customers/", {"email": "awa@example.com", "name": "Awa Diop"})
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
    assert "Left out, as logs of events or different without any fault: seen, sold.run." in ended.stdout
    if is_broken:
        assert "the check returns other lines: + \"sold: basket='twice'\"" in ended.stdout, ended.stdout
    else:
        assert ended.stdout.startswith("No problem in 1 case.\n"), ended.stdout


def test_a_file_that_the_runs_share_is_not_compared(tmp_path: Path) -> None:
    file = tmp_path / "shop.db"
    file.touch()
    ended = sweep("--check-sqlite", file, *scenario("make()"))
    assert f"{file} is not in the folder of PAYMENTS_EMULATOR_FOLDER" in ended.stdout


def test_a_state_that_nobody_looked_at_is_said_below_the_headline() -> None:
    assert sweep("--only", "1:slow", *scenario("make()")).stdout.splitlines()[1] == UNSEEN
    assert UNSEEN not in sweep("--only", "1:slow", "--check", "echo 1", *scenario("make()")).stdout


def test_the_budget_ends_the_search() -> None:
    ended = sweep("--budget", "0", "--", *CLIENT)
    assert ended.returncode == 3
    assert ended.stdout.startswith("No problem in 0 of 37 cases.\n5 requests, 0 deliveries, 2 runs.\n")
    assert "The budget ended after 0 of 37 cases." in ended.stdout


def test_the_command_needs_nothing_of_the_helpers_for_tests() -> None:
    """The scenario is played and read by ``checks/app`` alone; a run of a case loads no plugin and no in-process server."""
    code = "import sys, emulator.cli.app, emulator.checks.app.scenario, emulator.checks.app.driver; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert [name for name in done.stdout.split() if name.startswith("emulator.testing")] == []
