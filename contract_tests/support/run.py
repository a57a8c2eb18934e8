"""The suite's run: parallel by itself, without long tests unless named, ended on a signal.

``pytest`` alone is everything that is not marked ``long``, on every core. A run that names files,
folders or a marker has all that it names, in one process unless it has ``-n``. Tests that need a
program or a package which this machine does not have are left out of each run. At its end a run
says what it has left out.
"""

from __future__ import annotations

import gc
import os
import shutil
import signal
import sys
import threading
from collections import Counter
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

FORCED_END_SECONDS = 1.5
"""Seconds from Ctrl-C or SIGTERM until a run that has not ended by itself is ended by force."""

LINT = {"django", "mkdocs", "mypy", "ruff", "vulture"}
"""Packages of the extra ``lint`` that long tests use."""

LONG = "that are long: 'pytest --long' runs them as well"

LEFT_OUT = pytest.StashKey[dict[str, int]]()
"""How many tests by why they were left out."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="Run the tests marked long as well.")


def whole(config: pytest.Config) -> bool:
    """Return whether the run names neither files nor markers."""
    return config.args_source is not pytest.Config.ArgsSource.ARGS and not config.option.markexpr


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Have pytest-xdist, where it is installed, use every core for a run that names nothing."""
    options = config.option
    worker = hasattr(config, "workerinput")
    if (
        getattr(options, "numprocesses", ...) is None
        and whole(config)
        and not (worker or options.usepdb or options.collectonly)
    ):
        # One more than there are cores: a fifth of the time a test waits for a clock or for another
        # process.
        options.numprocesses = 1 + (
            len(os.sched_getaffinity(0))
            if hasattr(os, "sched_getaffinity")
            else os.cpu_count() or 1
        )
    if getattr(options, "numprocesses", None) and options.dist == "no":
        # Neighbors in a module share its fixtures, and the last tests do not wait for one process.
        options.dist = "worksteal"


def pytest_configure(config: pytest.Config) -> None:
    """End on SIGTERM as on Ctrl-C: a plain SIGTERM would leave servers and browsers behind."""
    gc.set_threshold(20_000)  # a tenth of an import is else the search for garbage
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.default_int_handler)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out ``long`` tests unless asked for, and those that need a missing program."""
    with_long = config.option.long or not whole(config)
    reasons = {item: _why_left_out(item, with_long) for item in items}
    items[:] = [item for item, reason in reasons.items() if not reason]
    config.hook.pytest_deselected(items=[item for item, reason in reasons.items() if reason])
    config.stash[LEFT_OUT] = dict(Counter(filter(None, reasons.values())))


def _why_left_out(item: pytest.Item, with_long: bool) -> str:
    if item.get_closest_marker("long") and not with_long:
        return LONG
    needed = {program for marker in item.iter_markers("needs") for program in marker.args}
    missing = sorted(program for program in needed if not is_here(program))
    return f"for want of {' and '.join(missing)}" if missing else ""


@cache
def is_here(program: str) -> bool:
    # Its client of PostgreSQL is for processes that run tests, not for the one that starts them.
    from contract_tests.support import postgres

    if program == "postgresql":
        return postgres.programs() is not None
    if program in LINT:
        return find_spec(program) is not None
    return bool(postgres.NGINX if program == "nginx" else shutil.which(program))


def pytest_collection_finish() -> None:
    """Have the garbage collector leave modules and collected tests alone."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure() -> None:
    """Look through everything for warnings once: pytest does it five times, for PyPy."""
    gc.collect()
    gc.freeze()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Report how many were left out to the process that gave a worker its tests."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["left_out"] = session.config.stash.get(LEFT_OUT, {})


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    node.config.stash[LEFT_OUT] = getattr(node, "workeroutput", {}).get("left_out", {})


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    for reason, number in sorted(config.stash.get(LEFT_OUT, {}).items()):
        terminalreporter.write_line(f"left out: {number} tests {reason}")


def pytest_keyboard_interrupt() -> None:
    """End the workers with this process, and by force what does not end by itself."""
    for worker in _children():
        _send(worker, signal.SIGTERM)
    timer = threading.Timer(FORCED_END_SECONDS, _end)
    timer.daemon = True
    timer.start()


def _end() -> None:
    sys.stderr.write("the run did not end by itself\n")
    for process in _children(every=True):
        _send(process, signal.SIGKILL)
    os._exit(int(pytest.ExitCode.INTERRUPTED))


def _send(process: int, number: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(process, number)


def _children(process: int | str = "self", *, every: bool = False) -> list[int]:
    """Return this process's children (``every``: and theirs); none except on Linux."""
    started = [
        int(id)
        for thread in Path("/proc", str(process), "task").glob("*/children")
        for id in thread.read_text("ascii").split()
    ]
    return [
        *started,
        *(below for child in started if every for below in _children(child, every=True)),
    ]
