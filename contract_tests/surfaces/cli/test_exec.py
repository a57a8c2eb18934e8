"""``exec``: a command with a sandbox of its own; its status is passed on, and both end together."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import httpx
import pytest

from contract_tests.support.servers import CLIENT
from contract_tests.support.shops import EXAMPLES
from contract_tests.surfaces.cli.conftest import OnScreen
from contract_tests.surfaces.cli.terminal import Begin, ended, run
from contract_tests.surfaces.testing.test_plugin import PLUGIN
from emulator.engine.reference_data import named_assumptions

PYTHON = ("--", sys.executable, "-c")

CALL = """
import json, os, sys, urllib.request
URL, KEY = os.environ["PAYMENTS_EMULATOR_URL"], os.environ["PAYMENTS_EMULATOR_KEY"]

def call(method, path, body=None):
    headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(URL + path, data, headers, method=method)
    return json.load(urllib.request.urlopen(request))
"""
"""How a program of somebody who uses the service begins."""

SHOP = f"""{CALL}
print(URL, os.environ["NO_PROXY"], os.environ["no_proxy"], sep="\\n")
awa = call("POST", "/v1/customers/", {{"email": "awa@example.com", "name": "Awa Diop"}})
print(awa["created_at"])
sys.exit(7)
"""

WAITS = """
import os, signal, sys, time
signal.signal(signal.SIGINT, lambda *_: sys.exit(8))
signal.signal(signal.SIGTERM, lambda *_: sys.exit(9))
print(os.environ["PAYMENTS_EMULATOR_URL"], os.getpid(), flush=True)
while True:
    time.sleep(0.05)
"""
"""Ends by a signal and prints it. From Python 3.14 on ``signal.pause`` may miss an earlier one."""

START = ("--clock", "frozen@2026-01-01T00:00:00Z")


def first_line(process: subprocess.Popen[str]) -> list[str]:
    assert process.stdout
    return process.stdout.readline().split()


def gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_a_script_finds_its_sandbox(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Its output is its own, its status is passed on, and what it did is left though it failed.

    A variable of ``serve`` is about another server; a proxy, as in CI, cannot reach this machine's
    loopback. Commands that it runs find the sandbox too, also one that demands a token.
    """
    state = ("--state", f"tinydb:{tmp_path}/world.json", "--key", "sk_test_shop")
    nowhere, file = "http://127.0.0.1:9", tmp_path / "port"
    variables = {"PAYMENTS_EMULATOR_PORT": "1", "PAYMENTS_EMULATOR_PORT_FILE": str(file)}
    variables |= {"http_proxy": nowhere, "HTTP_PROXY": nowhere, "no_proxy": "example.com"}
    with monkeypatch.context() as patch:
        for name, value in variables.items():
            patch.setenv(name, value)
        assert run("exec", *state, "--seed", "7", *START, *PYTHON, SHOP) == (7, "", "")
    output, errors = capfd.readouterr()
    assert errors == ""
    url, *values = output.splitlines()
    assert re.fullmatch(r"http://127\.0\.0\.1:\d{4,5}", url)
    assert values == [*["example.com,127.0.0.1"] * 2, "2026-01-01T00:00:00.000Z"]
    assert not file.exists()
    list_customers = f"{sys.executable} -m emulator.cli.main events --json | wc -l"
    ended = run("exec", *state, "--control-token", "s3cret", "sh", "-c", list_customers)
    assert ended == (0, "", "")
    assert capfd.readouterr() == ("1\n", "")


@pytest.mark.parametrize(
    ("by", "expected"),
    [(signal.SIGINT, 8), pytest.param(signal.SIGHUP, 128 + signal.SIGHUP, marks=pytest.mark.long)],
)
def test_a_signal_ends_both(begin: Begin, by: signal.Signals, expected: int) -> None:
    """The command gets the signal, may clean up, and its status is passed on; the port closes."""
    process = begin("exec", *PYTHON, WAITS)
    url, pid = first_line(process)
    assert ended(process, by) == (expected, "", "")
    assert gone(int(pid))
    with pytest.raises(httpx.ConnectError):
        CLIENT.get(url)


STUBBORN = WAITS.replace("lambda *_: sys.exit(9)", "signal.SIG_IGN")


@pytest.mark.parametrize(
    ("command", "by"),
    [
        pytest.param(
            ["sh", "-c", f"{sys.executable} -c '{WAITS}'; true"],
            signal.SIGTERM,
            id="what it started",
        ),
        pytest.param(
            [sys.executable, "-c", STUBBORN],
            signal.SIGKILL,
            id="what ignores it",
            marks=pytest.mark.long,
        ),
    ],
)
def test_no_orphan_is_left(begin: Begin, command: list[str], by: signal.Signals) -> None:
    """The command's children get the signal, too; a stubborn one is ended after a few seconds."""
    process = begin("exec", "--", *command)
    _, pid = first_line(process)
    assert ended(process, signal.SIGTERM) == (128 + by, "", "")
    assert gone(int(pid))


def test_on_a_terminal_ctrl_c_reaches_the_command_once(screen: OnScreen) -> None:
    """There the command reads what is typed, and the terminal itself sends it Ctrl-C."""
    script = (
        "import signal, sys\nprint('name?', flush=True); name ="
        " input()\nsignal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT]); print('ready', name,"
        " flush=True)\nsignal.sigwait([signal.SIGINT])\nagain ="
        " signal.sigtimedwait([signal.SIGINT], 0.5); sys.exit(6 if again else 5)\n"
    )
    terminal = screen("exec", *PYTHON, script)
    terminal.until("name?")
    terminal.type("Awa\n")
    terminal.until("ready Awa")
    terminal.type("\x03")
    assert terminal.status() == 5, "6 would be that it came twice"


@pytest.mark.parametrize("first", [[], ["--assumptions", "all"]])
def test_a_command_that_cannot_be_run_has_the_status_of_shells(first: list[str]) -> None:
    for program, status, message in (
        ("no-such-command", 127, "no-such-command: cannot be run: No such file or directory"),
        ("/etc/passwd", 126, "/etc/passwd: cannot be run: Permission denied"),
    ):
        assert run("exec", *first, "--", program) == (status, "", f"payments-emulator: {message}\n")


def test_a_server_that_cannot_start_ends_the_command(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    fixtures = tmp_path / "shop.yaml"
    fixtures.write_text("settings: [")
    status, output, errors = run("exec", "--fixtures", str(fixtures), *PYTHON, WAITS)
    assert (status, output, errors.count("\n")) == (2, "", 1)
    assert errors.startswith(f"payments-emulator: {fixtures}: is not YAML")
    printed = capfd.readouterr().out
    assert printed.count("\n") <= 1
    assert not printed or gone(int(printed.split()[1]))


# -- ``--assume`` and ``--assumptions all``: a command under other assumptions

OTHERS = sum(len(assumption.values) - 1 for assumption in named_assumptions().values())
"""How many values there are that are no defaults."""

SEARCH = """
assert call("GET", "/v1/customers/?search=nobody")["data"] == []
"""

TRUSTS_2XX = """
call("PUT", "/_emulator/inbox/shop/response", {"status": 204})
shop = {"name": "Shop", "url": f"{URL}/_emulator/inbox/shop", "events": ["*"]}
endpoint = call("POST", "/v1/webhooks/", shop)["id"]
call("POST", "/v1/customers/", {"email": "awa@example.com", "name": "Awa Diop"})
call("POST", "/_emulator/clock/advance", {"by": "0s"})
deliveries = call("GET", f"/v1/webhooks/{endpoint}/deliveries/")["data"]
assert [each["status"] for each in deliveries] == ["succeeded"]
"""


def findings(output: str) -> list[str]:
    return [line.partition(". ")[2] for line in output.splitlines() if ". Your tests" in line]


@pytest.mark.long
def test_a_suite_that_relies_on_an_empty_search_depends_on_that_assumption_alone(
    tmp_path: Path,
) -> None:
    report, suite = tmp_path / "report.xml", (*PYTHON, CALL + SEARCH)
    assert run("exec", *suite).status == 0
    assert run("exec", "--assume", "search_nothing_found=error", *suite).status == 1
    done = run("exec", "--assumptions", "all", "--junit", str(report), *suite)
    assert done.status == 1
    assert findings(done.output) == ["Your tests fail when search_nothing_found is error."]
    assert f"depends on 1 of {OTHERS} other values" in done.output
    cases = ElementTree.parse(report).getroot()
    assert len(cases) == OTHERS + 1
    failed = [case for case in cases if case.find("failure") is not None]
    assert [case.get("name") for case in failed] == ["when search_nothing_found is error"]
    assert "HTTP Error 404" in str(failed[0].findtext("failure"))


@pytest.mark.long
def test_a_suite_that_trusts_2xx_learns_which_assumption_it_expects(tmp_path: Path) -> None:
    """Its own fixture file may choose that one: then the default is among the other values."""
    done = run("exec", "--assumptions", "all", "--json", *PYTHON, CALL + TRUSTS_2XX)
    assert done.status == 1
    first, *others = json.loads(done.output)["runs"]
    assert first == {"assumption": None, "value": None, "status": 1, "depends": False}
    assert len(others) == OTHERS
    assert [row for row in others if row["depends"]] == [
        {"assumption": "webhook_success", "value": "2xx", "status": 0, "depends": True}
    ]
    fixtures = tmp_path / "fixtures.yaml"
    fixtures.write_text("settings: {assumptions: {webhook_success: 2xx}}\n")
    done = run(
        "exec", "--fixtures", str(fixtures), "--assumptions", "all", *PYTHON, CALL + TRUSTS_2XX
    )
    assert findings(done.output) == ["Your tests fail when webhook_success is 200."]


@pytest.mark.long
def test_tests_that_fail_anyway_depend_on_nothing() -> None:
    """Whatever their exit status."""
    search = 'call("GET", "/v1/customers/?search=nobody")'
    fails = f"try:\n    {search}\nexcept OSError:\n    raise SystemExit(3)\nraise SystemExit(2)\n"
    done = run("exec", "--assumptions", "all", *PYTHON, CALL + fails)
    assert f"depends on none of {OTHERS} other values" in done.output


@pytest.mark.long
def test_the_example_shop_depends_on_no_assumption(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(EXAMPLES / "python-shop")
    pytest_of_shop = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *PLUGIN)
    done = run("exec", "--assumptions", "all", "--", *pytest_of_shop)
    assert (done.status, findings(done.output)) == (0, []), done.output
    assert f"depends on none of {OTHERS} other values" in done.output
