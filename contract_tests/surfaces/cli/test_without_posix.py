"""Every command runs without uvloop and without POSIX's own names in ``os`` and ``signal``."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from contract_tests import ROOT
from contract_tests.surfaces.cli.terminal import Begin, clean, ended, until
from emulator.cli.main import cli

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

ELSEWHERE = {"pay", "record", "compare", "explain", "mcp", "agent"}
"""Commands that are only imported and show their help: the others cover their parts."""

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
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Variables under which Python has no POSIX names; the files are in the present folder."""
    monkeypatch.chdir(tmp_path)
    path = os.pathsep.join([str(Path(__file__).parent / "without_posix"), str(ROOT)])
    return {**clean(), "PYTHONPATH": path, "HOME": str(tmp_path)}


@pytest.fixture
def url(environment: dict[str, str], begin: Begin) -> Iterator[str]:
    """A server without POSIX names, whose worlds are in a file."""
    server = begin(
        "serve",
        "--port",
        "0",
        "--port-file",
        "port",
        "--state",
        "tinydb:served.json",
        **environment,
    )
    until(server.stdout, "Ready.")
    yield f"http://127.0.0.1:{Path('port').read_text().strip()}"
    status, _, errors = ended(server, signal.SIGTERM)
    assert (status, "Traceback" in errors) == (0, False), errors


def test_the_names_are_gone(environment: dict[str, str]) -> None:
    code = (
        "import os, signal; print(hasattr(os, 'fork'), hasattr(signal, 'SIGKILL'), hasattr(os,"
        " 'getpid'))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["False", "False", "True"]
    assert {line.split()[0] for line in LINES} | {
        "serve",
        "exec",
        "listen",
        "demo",
    } | ELSEWHERE == set(cli.commands)


@pytest.mark.long
def test_commands_of_a_running_server(url: str, environment: dict[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CALL, *LINES],
        env={**environment, "PAYMENTS_EMULATOR_URL": url},
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-3000:]
