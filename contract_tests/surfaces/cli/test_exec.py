"""``exec``: a command with a sandbox of its own; its status is passed on, and both end together."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from contract_tests.surfaces.cli.conftest import OnScreen
from contract_tests.surfaces.cli.terminal import processes, run

SHOP = """
import json, os, sys, urllib.request
url, key = os.environ["PAYMENTS_EMULATOR_URL"], os.environ["PAYMENTS_EMULATOR_KEY"]
body = json.dumps({"email": "awa@example.com", "name": "Awa Diop"}).encode()
headers = {"Authorization": "Bearer " + key, "Content-Type": "application/json"}
request = urllib.request.Request(url + "/v1/customers/", body, headers)
print(json.load(urllib.request.urlopen(request))["created_at"])
sys.exit(7)
"""
"""A program of somebody who uses the service."""

WAITS = """
import os, signal, sys, time
signal.signal(signal.SIGINT, lambda *_: sys.exit(8))
signal.signal(signal.SIGTERM, lambda *_: sys.exit(9))
print(os.environ["PAYMENTS_EMULATOR_URL"], os.getpid(), flush=True)
while True:
    time.sleep(0.05)
"""
"""A program that ends by a signal, and prints which. From Python 3.14 on ``signal.pause`` may wait for one that came before."""

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts ``exec`` without a terminal, as in CI."""
    with processes() as begin:
        yield lambda *arguments, **variables: begin("exec", *arguments, **variables)


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Exit status and both outputs."""
    output, errors = process.communicate(timeout=60)
    return process.returncode, output, errors


def first_line(process: subprocess.Popen[str]) -> list[str]:
    assert process.stdout
    return process.stdout.readline().split()


def gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_a_python_script_finds_its_sandbox_and_its_status_is_passed_on(start: Start) -> None:
    """Its output is its own: the server says nothing in it."""
    clock = "frozen@2026-01-01T00:00:00Z"
    process = start("--clock", clock, "--seed", "7", "--", sys.executable, "-c", SHOP)
    assert ended(process) == (7, "2026-01-01T00:00:00.000Z\n", "")


def test_commands_that_it_runs_find_the_sandbox_too(start: Start) -> None:
    """Also one that demands a token; options of the command are the command's."""
    script = f"{sys.executable} -m emulator.cli.main clock advance 31d --json && exit 3"
    clock = "frozen@2026-01-01T00:00:00Z"
    status, output, errors = ended(
        start("--clock", clock, "--control-token", "s3cret", "--key", "sk_test_shop", "sh", "-c", script)
    )
    assert (status, errors) == (3, "")
    assert '"now": "2026-02-01T00:00:00.000Z"' in output


def test_the_port_is_free_whatever_the_environment_says_about_servers(start: Start, tmp_path: Path) -> None:
    """A variable of ``serve`` that names a port or a file is about another server."""
    file = tmp_path / "port"
    script = "import os; print(os.environ['PAYMENTS_EMULATOR_URL'])"
    process = start(
        "--", sys.executable, "-c", script, PAYMENTS_EMULATOR_PORT="1", PAYMENTS_EMULATOR_PORT_FILE=str(file)
    )
    status, output, errors = ended(process)
    assert (status, errors) == (0, "")
    assert re.fullmatch(r"http://127\.0\.0\.1:\d{4,5}\n", output)
    assert not file.exists()


@pytest.mark.parametrize(
    ("by", "expected"), [(signal.SIGINT, 8), (signal.SIGTERM, 9), (signal.SIGHUP, 128 + signal.SIGHUP)]
)
def test_a_signal_ends_both(start: Start, by: signal.Signals, expected: int) -> None:
    """The command receives the signal, may clean up, and its status is passed on; then the port is closed."""
    process = start("--", sys.executable, "-c", WAITS)
    url, pid = first_line(process)
    process.send_signal(by)
    assert ended(process) == (expected, "", "")
    assert gone(int(pid))
    with pytest.raises(httpx.ConnectError):
        httpx.get(url, trust_env=False, timeout=60)


def test_no_orphan_is_left(start: Start) -> None:
    """What the command started hears the signal too."""
    process = start("--", "sh", "-c", f"{sys.executable} -c '{WAITS}'; true")
    _, pid = first_line(process)
    process.send_signal(signal.SIGTERM)
    assert ended(process) == (128 + signal.SIGTERM, "", "")
    assert gone(int(pid))


@pytest.mark.long
def test_a_command_that_will_not_end_is_ended(start: Start) -> None:
    """It has a few seconds."""
    stubborn = WAITS.replace("lambda *_: sys.exit(9)", "signal.SIG_IGN")
    process = start("--", sys.executable, "-c", stubborn)
    _, pid = first_line(process)
    process.send_signal(signal.SIGTERM)
    assert ended(process) == (128 + signal.SIGKILL, "", "")
    assert gone(int(pid))


def test_on_a_terminal_ctrl_c_reaches_the_command_once(screen: OnScreen) -> None:
    """There the command reads what is typed, and the terminal itself sends it Ctrl-C."""
    script = (
        "import signal, sys\n"
        "print('name?', flush=True); name = input()\n"
        "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT]); print('ready', name, flush=True)\n"
        "signal.sigwait([signal.SIGINT])\n"
        "again = signal.sigtimedwait([signal.SIGINT], 0.5); sys.exit(6 if again else 5)\n"
    )
    terminal = screen("exec", "--", sys.executable, "-c", script)
    terminal.until("name?")
    terminal.type("Awa\n")
    terminal.until("ready Awa")
    terminal.type("\x03")
    assert terminal.status() == 5, "6 would be that it came twice"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--export-on-exit", "x.json", "--assumptions", "all", "--", "true"], "--assumptions makes many"),
        (["--seed", "x", "--", "true"], "--seed"),
        (["--prot", "1", "--", "true"], "did you mean `--port`?"),
        (["--fixtures", "/nowhere.yaml", "true"], "/nowhere.yaml: cannot be read"),
        (["--import", "wrong.json", "--", "true"], "wrong.json: is not JSON"),
        (["--assume", "search=error", "--", "true"], "search_nothing_found"),
    ],
)
def test_what_cannot_be_run_is_reported_in_one_line(
    arguments: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "wrong.json").write_text("[")
    assert said in run("exec", *arguments).usage_error


@pytest.mark.parametrize("first", [[], ["--assumptions", "all"]])
def test_a_command_that_cannot_be_run_has_the_status_of_shells(first: list[str]) -> None:
    for program, status, said in (
        ("no-such-command", 127, "no-such-command: cannot be run: No such file or directory"),
        ("/etc/passwd", 126, "/etc/passwd: cannot be run: Permission denied"),
    ):
        assert run("exec", *first, "--", program) == (status, "", f"payments-emulator: {said}\n")


ASKS = """
import os, urllib.error, urllib.request
request = urllib.request.Request(os.environ["PAYMENTS_EMULATOR_URL"] + "/v1/customers/")
try:
    urllib.request.urlopen(request)
except urllib.error.HTTPError as error:
    print(error.code, os.environ["NO_PROXY"], os.environ["no_proxy"])
"""


def test_the_command_uses_no_proxy_for_its_sandbox(start: Start) -> None:
    """A proxy that is set for the machine, as in CI, cannot reach this machine's loopback."""
    nowhere = "http://127.0.0.1:9"
    process = start("--", sys.executable, "-c", ASKS, http_proxy=nowhere, HTTP_PROXY=nowhere, no_proxy="example.com")
    assert ended(process) == (0, "401 example.com,127.0.0.1 example.com,127.0.0.1\n", "")


def test_a_snapshot_is_taken_in_and_another_is_left(start: Start, tmp_path: Path) -> None:
    """Also by a command that fails."""
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    made = start(
        "--export-on-exit", str(first), "--clock", "frozen@2026-01-01T00:00:00Z", "--", sys.executable, "-c", SHOP
    )
    assert ended(made) == (7, "2026-01-01T00:00:00.000Z\n", "")
    list_customers = "payments-emulator events --json | wc -l".replace(
        "payments-emulator", f"{sys.executable} -m emulator.cli.main"
    )
    again = start("--import", str(first), "--export-on-exit", str(second), "--", "sh", "-c", list_customers)
    status, output, errors = ended(again)
    assert (status, output.strip(), errors) == (0, "1", "")
    assert second.stat().st_size > 1000


@pytest.mark.skipif(sys.platform == "win32", reason="has no named pipes in folders")
def test_the_command_does_not_wait_for_its_server(start: Start, tmp_path: Path) -> None:
    """Here the server waits for the command, which writes what it reads; requests wait until it answers."""
    fixtures = tmp_path / "shop.yaml"
    os.mkfifo(fixtures)
    script = f"echo 'settings: {{}}' > {fixtures}; {sys.executable} -m emulator.cli.main health"
    status, output, errors = ended(start("--fixtures", str(fixtures), "--", "sh", "-c", script))
    assert (status, errors) == (0, "")
    assert output.startswith("ok: ")


def test_a_server_that_cannot_start_ends_the_command(start: Start, tmp_path: Path) -> None:
    fixtures = tmp_path / "shop.yaml"
    fixtures.write_text("settings: [")
    status, output, errors = ended(start("--fixtures", str(fixtures), "--", sys.executable, "-c", WAITS))
    assert (status, output.count("\n") <= 1, errors.count("\n")) == (2, True, 1)
    assert errors.startswith(f"payments-emulator: {fixtures}: is not YAML")
    if output:
        assert gone(int(output.split()[1]))
