"""Ctrl-C while a command makes many runs: on a terminal, where it shows how many there are."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from contract_tests.surfaces.cli.conftest import OnScreen

SUITE = Path(__file__).parents[1] / "checks/suite/suite.py"

COMMANDS = {
    "suite": ("1 of 2 runs", ["no test fails when", "Interrupted before 1 of them."]),
    "all": ("suite: 1 of 6 runs", ["Interrupted before all was tried, so there is no report."]),
}
"""By command: what it shows after the first run with a mutant, and what it reports after Ctrl-C."""

CHOSEN = {"suite": ["--only", "refund-short", "--only", "payment-short"], "all": []}
"""Two runs."""


@pytest.fixture
def hanging(tmp_path: Path) -> list[str]:
    """A test suite that does not end the third time."""
    return third_time(tmp_path, "time.sleep(600)")


def third_time(tmp_path: Path, does: str) -> list[str]:
    script = tmp_path / "hanging.py"
    lines = [
        "import os, runpy, signal, time; from pathlib import Path",
        "runs = Path(__file__).with_name('runs.txt'); before = runs.read_text() if runs.exists() else ''",
        "runs.write_text(before + 'x')",
        f"if len(before) > 1: {does}",
        f"runpy.run_path({str(SUITE)!r})",
    ]
    script.write_text("\n".join(lines))
    return [sys.executable, str(script)]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such terminals")
@pytest.mark.parametrize("command", COMMANDS)
def test_ctrl_c_ends_the_runs_and_reports(screen: OnScreen, hanging: list[str], command: str) -> None:
    shown, reported = COMMANDS[command]
    terminal = screen("test", command, "--jobs", "1", *CHOSEN[command], "--", *hanging)
    terminal.until(shown)
    terminal.type("\x03")
    assert terminal.status() == 130, terminal.text
    assert all(part in terminal.text for part in reported), terminal.text


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
def test_ctrl_c_that_reaches_the_command_alone_ends_the_runs_as_well(screen: OnScreen, tmp_path: Path) -> None:
    """A run that has just begun is still in the group of processes that a terminal interrupts."""
    ended_by_it = "signal.signal(signal.SIGINT, signal.SIG_DFL); os.kill(os.getpid(), signal.SIGINT)"
    terminal = screen("test", "suite", "--jobs", "1", *CHOSEN["suite"], "--", *third_time(tmp_path, ended_by_it))
    assert terminal.status() == 130, terminal.text
    assert "Interrupted before 1 of them." in terminal.text
