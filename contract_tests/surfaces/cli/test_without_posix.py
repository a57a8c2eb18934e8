"""Every command runs without the names of ``os`` and ``signal`` that only POSIX systems have, and without uvloop."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from emulator.cli.main import cli

HERE = Path(__file__).parent
MAIN = (sys.executable, "-m", "emulator.cli.main")

LINES = """
clock show
clock freeze
clock advance 1d
clock next
clock run
schedule
trigger customer.created
trigger invoice.paid
events
logs
emails
ledger
test client
world save before
world list
world export before --out before.json
world import before.json
world load before
world delete before
world rewind
world reset
health
spec validate
completion bash
state check tinydb:before.json
state compact tinydb:before.json
state convert tinydb:before.json tinydb:others.json
""".strip().splitlines()
"""What is called one after the other in one process, beside a server that is as poor."""

ALONE = {"serve", "exec", "listen", "demo"}
"""Commands with a test of their own below."""

ELSEWHERE = {"pay", "record", "compare", "explain", "mcp", "agent"}
"""Commands that are only imported and show their help: what they do is made of the parts of the others."""

CALL = """
import shlex, sys
from emulator.cli.main import cli, run
for name in cli.commands:
    run([name, "--help"])
for line in sys.argv[1:]:
    print("$", line, flush=True)
    status = run(shlex.split(line))
    assert status in (None, 0), (line, status)
"""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Variables under which Python has no POSIX names."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("PAYMENTS_EMULATOR_")}
    root = str(HERE.parents[2])
    return {**own, "PYTHONPATH": os.pathsep.join([str(HERE / "without_posix"), root]), "HOME": str(tmp_path)}


@contextmanager
def started(*line: str, environment: dict[str, str], until: str, folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A command in a process of its own, once it has said this; it is ended if it has not ended by itself."""
    command = subprocess.Popen(
        [*MAIN, *line], env=environment, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        said = []
        for each in command.stdout or ():
            said.append(each)
            if until in each:
                break
        assert until in said[-1], "".join(said)
        yield command
    finally:
        if command.poll() is None:
            command.kill()
        command.communicate()


@pytest.fixture
def url(environment: dict[str, str], tmp_path: Path) -> Iterator[str]:
    """A server without POSIX names, whose worlds are in a file."""
    line = ("serve", "--port", "0", "--port-file", "port", "--state", "tinydb:served.json")
    with started(*line, environment=environment, until="Ready.", folder=tmp_path) as server:
        yield f"http://127.0.0.1:{(tmp_path / 'port').read_text().strip()}"
        server.terminate()
        output, _ = server.communicate(timeout=60)
        assert (server.returncode, "Traceback" in output) == (0, False), output


def test_the_names_are_gone(environment: dict[str, str]) -> None:
    code = "import os, signal; print(hasattr(os, 'fork'), hasattr(signal, 'SIGKILL'), hasattr(os, 'getpid'))"
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False", "True"]


def test_every_command_is_tried() -> None:
    assert {line.split()[0] for line in LINES} | ALONE | ELSEWHERE == set(cli.commands)


@pytest.mark.long
def test_commands_of_a_running_server(url: str, environment: dict[str, str], tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CALL, *LINES],
        env={**environment, "PAYMENTS_EMULATOR_URL": url},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-3000:]


def test_exec_passes_on_the_exit_status(environment: dict[str, str], tmp_path: Path) -> None:
    code = "import os, sys; sys.exit(7 if os.environ['PAYMENTS_EMULATOR_URL'] else 1)"
    line = [*MAIN, "exec", "--", sys.executable, "-c", code]
    done = subprocess.run(line, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stderr) == (7, "")


def test_exec_leaves_ctrl_c_to_the_command(environment: dict[str, str], tmp_path: Path) -> None:
    """The console sends it to both; the command ends by it, and exec with the command's status."""
    code = (
        "import signal, sys; signal.signal(2, lambda *_: sys.exit(5)); print('started', flush=True); sys.stdin.read()"
    )
    command = subprocess.Popen(
        [*MAIN, "exec", "--", sys.executable, "-c", code],
        env=environment,
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    assert command.stdout
    assert "started" in command.stdout.readline()
    os.killpg(command.pid, signal.SIGINT)  # this process has the name
    command.wait(60)
    output, _ = command.communicate()
    assert (command.returncode, "Traceback" in output) == (5, False), output


def test_listen_and_the_demo_end_on_a_signal(url: str, environment: dict[str, str], tmp_path: Path) -> None:
    target = ("listen", "--forward-to", f"{url}/_emulator/inbox/x", "--url", url)
    for line, until in ((target, "http"), (("demo", "--port", "0"), "")):
        with started(*line, environment=environment, until=until, folder=tmp_path) as command:
            command.terminate()
            output, _ = command.communicate(timeout=60)
            assert "Traceback" not in output, output
