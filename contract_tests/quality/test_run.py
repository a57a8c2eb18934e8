"""A run of the suite: in parallel by itself, without long tests unless they are asked for, ended on a signal."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

import pytest

from contract_tests import ROOT
from contract_tests.quality.pythons import WITHOUT_UVLOOP

SETTINGS = "[pytest]\ntestpaths = tests\nmarkers =\n    long\n    needs\n"

LONG = "import pytest\n\n@pytest.mark.long\ndef test_long(): pass\n\ndef test_short(): pass\n"

NEEDS = """
import pytest

@pytest.mark.needs("walrus", "sh")
@pytest.mark.needs("dolphin")
@pytest.mark.parametrize("number", [1, 2])
def test_of_animals(number): pass

@pytest.mark.needs("sh")
def test_of_a_shell(): pass
"""

HANGS = """
import os, subprocess, sys

SLEEPS = [sys.executable, "-c", "import time; time.sleep(600)"]

def test_it():
    written = os.open("written", os.O_WRONLY)
    with subprocess.Popen(SLEEPS, pass_fds=[written]) as process:
        os.write(written, f"{process.pid} ".encode())

def test_as_well():
    try:
        test_it()
    except KeyboardInterrupt:
        test_it()
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    (tmp_path / "pytest.ini").write_text(SETTINGS, "utf-8")
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/conftest.py").write_text('pytest_plugins = ["contract_tests.support.run"]', "utf-8")
    return tmp_path


def command(*options: str) -> list[str]:
    return [sys.executable, "-m", "pytest", "-p", "xdist.plugin", *options]


def environment() -> dict[str, str]:
    """Return that of a run with two cores, without the plugins that happen to be installed."""
    own = {"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_XDIST_AUTO_NUM_WORKERS": "2"}
    return {**os.environ, **own}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), ("created: 2/2 workers", "left out: 1 tests that are long: 'pytest --long'", "1 passed")),
        (("-n", "0", "--long"), ("2 passed",)),
        (("tests",), ("2 passed",)),
        (("-m", "long"), ("1 passed, 1 deselected",)),
        (("-n", "0"), ("left out: 1 tests that are long", "1 passed, 1 deselected")),
    ],
)
@pytest.mark.long
def test_long_tests_are_left_out_where_nothing_is_named(
    suite: Path, options: Sequence[str], said: Sequence[str]
) -> None:
    (suite / "tests/test_it.py").write_text(LONG, "utf-8")
    ran = subprocess.run(command(*options), cwd=suite, env=environment(), capture_output=True, text=True, check=True)
    assert [each for each in said if each not in ran.stdout] == [], ran.stdout
    assert ("left out" in ran.stdout) == ("left out" in "".join(said))


@pytest.mark.long
def test_a_test_that_hangs_is_ended_and_fails_and_the_others_go_on(suite: Path) -> None:
    """With the options of our own suite, but for the number of seconds."""
    limits = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["pytest"]["ini_options"]
    assert limits["faulthandler_timeout"] <= 600
    exits = f"faulthandler_exit_on_timeout={limits['faulthandler_exit_on_timeout']}"
    waits = "import threading\n\ndef test_waits(): threading.Event().wait()\n\ndef test_short(): pass\n"
    (suite / "tests/test_it.py").write_text(waits, "utf-8")
    run = command("-n", "1", "-o", "faulthandler_timeout=1", "-o", exits)
    ran = subprocess.run(run, cwd=suite, env=environment(), capture_output=True, text=True, check=False, timeout=120)
    assert "crashed while running 'tests/test_it.py::test_waits'" in ran.stdout
    assert "1 failed, 1 passed" in ran.stdout


@pytest.mark.long
def test_what_needs_a_program_that_is_missing_is_left_out(suite: Path) -> None:
    (suite / "tests/test_it.py").write_text(NEEDS, "utf-8")
    ran = subprocess.run(command(), cwd=suite, env=environment(), capture_output=True, text=True, check=True)
    assert "left out: 2 tests for want of dolphin and walrus" in ran.stdout
    assert "1 passed" in ran.stdout


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="the processes of a process are found on Linux only")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.long
def test_a_signal_ends_a_run_with_all_it_started(suite: Path, number: int) -> None:
    """Also tests that do not give up: they are two, each on a worker of its own."""
    (suite / "tests/test_it.py").write_text(HANGS, "utf-8")
    os.mkfifo(suite / "written")
    running = subprocess.Popen(command(), cwd=suite, env=environment())
    with (suite / "written").open("rb", buffering=0) as written:
        processes = b""
        while processes.count(b" ") < 2:
            processes += written.read(100)
        running.send_signal(number)
        written.read()  # to its end: until the last process that can write has ended
    assert running.wait(60) == pytest.ExitCode.INTERRUPTED


def test_what_runs_without_uvloop_as_well_is_there() -> None:
    assert [each for each in WITHOUT_UVLOOP if not (ROOT / each).is_dir()] == []
