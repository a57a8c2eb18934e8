"""A process that tries mutants in a copy of the tree: libraries are loaded once, and each mutant runs in a fork.

Processes that a test starts run the copy too, and tables, which are read when their module is imported, can be changed.
Each line of standard input is a :class:`Trial`, and each line of output its :class:`Verdict`.
"""

from __future__ import annotations

import gc
import importlib
import os
import resource
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import msgspec
import pytest

KILLED, SURVIVED, TIMED_OUT = "killed", "survived", "timed out"

OPTIONS = ("-q", "-p", "no:cacheprovider", "--assert=plain", "-W", "ignore::pytest.PytestConfigWarning")
"""Assertions are not rewritten, and libraries that are loaded already cannot be."""

SHARED = (
    "import sys, contract_tests.support.fixtures; "
    "print(*[name for name in sys.modules if name.split('.')[0] not in ('emulator', 'contract_tests', '__main__')])"
)
"""Prints the libraries that every test run loads."""


class Trial(msgspec.Struct):
    """A changed module, the tests to run in order, and the seconds of processor and of waiting that they may take."""

    path: str
    source: str
    tests: list[str]
    cpu: int
    wall: int


class Verdict(msgspec.Struct):
    """How a trial ended, and the first test that failed."""

    outcome: str
    test: str | None
    seconds: float


class FirstFailure:
    """Ends the process at the first failure, without tearing anything down: a broken server may not stop."""

    def __init__(self, report: Path) -> None:
        self._report = report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._report.write_text(report.nodeid, "utf-8")
            os._exit(1)


def load_libraries() -> None:
    """Import what a test run needs besides the project's own modules, so that a fork finds it loaded."""
    found = subprocess.run([sys.executable, "-c", SHARED], capture_output=True, text=True, check=True)
    for name in found.stdout.split():
        importlib.import_module(name)
    gc.collect()
    gc.freeze()


EDITIONS = count(1)


@contextmanager
def written(path: Path, source: str) -> Iterator[None]:
    """The file with another content, for a while.

    Bytecode is recognised by the size of its source and the second of its last change, so each mutant gets a second
    of its own.
    """
    before, times = path.read_bytes(), path.stat()
    path.write_text(source, "utf-8")
    edition = next(EDITIONS)
    os.utime(path, (edition, edition))
    try:
        yield
    finally:
        path.write_bytes(before)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def judge(trial: Trial) -> Verdict:
    """Run the tests of a trial in a fork and in a process group of its own."""
    started, report = time.monotonic(), Path("first-failure.txt")
    report.unlink(missing_ok=True)
    with written(Path(trial.path), trial.source):
        child = os.fork()
        if child == 0:
            _run(trial, report)
        status = _wait(child, trial.wall)
    test = report.read_text("utf-8") if report.exists() else None
    return Verdict(_outcome(status), test, round(time.monotonic() - started, 2))


def _outcome(status: int | None) -> str:
    if status is None or -status in (signal.SIGXCPU, signal.SIGKILL):
        return TIMED_OUT
    if status == pytest.ExitCode.NO_TESTS_COLLECTED:
        raise RuntimeError("no test was run")
    return KILLED if status else SURVIVED


def _run(trial: Trial, report: Path) -> None:
    """What the fork does; it never returns."""
    os.setsid()
    resource.setrlimit(resource.RLIMIT_CPU, (trial.cpu, trial.cpu + 5))
    output = os.open("output.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(output, 1)
    os.dup2(output, 2)
    status: int = pytest.ExitCode.INTERNAL_ERROR
    try:
        status = pytest.main([*OPTIONS, "--basetemp=tests-tmp", *trial.tests], [FirstFailure(report)])
    finally:
        os._exit(status)


def _wait(child: int, seconds: int) -> int | None:
    """The exit status, the negative number of the signal that ended it, or None when its time was up."""
    waited = os.pidfd_open(child)
    try:
        ended = select.select([waited], [], [], seconds)[0]
    finally:
        os.close(waited)
    _end_group(child)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return status if ended else None


def _end_group(child: int) -> None:
    """End a fork, if it still runs, and every process that its tests started."""
    try:
        os.killpg(child, signal.SIGKILL)
    except ProcessLookupError:
        return  # it ended before it had a group


def main() -> None:
    """Answer trials until standard input ends; the copy is the working directory."""
    sys.path.insert(0, os.getcwd())
    os.environ["PYTHONPATH"] = os.getcwd()
    load_libraries()
    for line in sys.stdin.buffer:
        verdict = judge(msgspec.json.decode(line, type=Trial))
        sys.stdout.buffer.write(msgspec.json.encode(verdict) + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
