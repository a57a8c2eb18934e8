"""``python -m contract_tests.quality.guards``: whether each promise has a test that holds it.

A guard (``contract_tests/guards.yaml``) is a small slip in the product and the test that must fail
for it. In a copy of the tree all named tests run once as it is and must pass. Then each slip is
made, its test runs alone and must fail, and the file is restored. Each run is a process that was
forked after everything of other packages was loaded. Exit status 1 if a guard does not hold.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import importlib
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import count
from pathlib import Path
from shutil import copy2
from typing import Any, NamedTuple

import yaml

from contract_tests import ROOT

ROWS = ROOT / "contract_tests" / "guards.yaml"

OWN = ("emulator", "contract_tests")
"""The packages of the tree: each process imports them from the copy, with the slip."""

PATIENCE = 600
"""Seconds that one test may take, on a busy machine."""

QUIET = ("-q", "-x", "-p", "no:cacheprovider", "--long")

SECONDS = count(int(time.time()) + 2)
"""The times at which slips are made, as their files have it."""

FAILED, PASSED = 1, 0
"""Exit statuses of pytest: others mean that nothing was tested, as after a slip of syntax."""


class Guard(NamedTuple):
    """``keeps`` is a B-number or a place of the specification. ``text`` of ``file`` becomes
    ``slip``, for which ``test`` must fail (a node id of pytest).
    """

    area: str
    keeps: str
    file: str
    text: str
    slip: str
    test: str

    def __str__(self) -> str:
        return f"{self.keeps} ({self.area}): {self.file}: {self.text!r} as {self.slip!r}"


def guards(path: Path = ROWS) -> list[Guard]:
    areas = yaml.load(path.read_text("utf-8"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return [guard_of(area, **row) for area, rows in areas.items() for row in rows]


def guard_of(area: str, *, keeps: str, file: str, text: str, slip: str, **test: str) -> Guard:
    """Return the guard of a row, whose test is a name (``fails``) and its module (``in``)."""
    return Guard(area, keeps, file, text, slip, f"contract_tests/{test['in']}::{test['fails']}")


def problem_of(guard: Guard, tree: Path = ROOT) -> str | None:
    """Return why a guard cannot be tried, or None: its place or its test is gone."""
    file = tree / guard.file
    times = file.read_text("utf-8").count(guard.text) if file.is_file() else 0
    if times != 1:
        return f"its place is gone: the text stands there {times} times"
    if guard.text == guard.slip:
        return "its slip is the text itself"
    module, _, function = guard.test.partition("::")
    if function.partition("[")[0] not in _functions(tree / module):
        return f"its test is gone: {guard.test}"
    return None


@cache
def _functions(module: Path) -> frozenset[str]:
    if not module.is_file():
        return frozenset()
    nodes = ast.walk(ast.parse(module.read_text("utf-8")))
    return frozenset(
        node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )


# -- the copy of the tree, and processes that test it


def copied_tree(to: Path) -> Path:
    """Return a copy of what git has or would take: files as they are now."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            copy2(ROOT / name, to / name)
    return to


@contextlib.contextmanager
def slipped(tree: Path, guard: Guard) -> Iterator[None]:
    """Have the slip in the tree's file meanwhile."""
    file = tree / guard.file
    whole, times = file.read_bytes(), file.stat()
    file.write_text(file.read_text("utf-8").replace(guard.text, guard.slip), "utf-8")
    # Compiled modules are recognized by second and size, so each slip has a second of its own.
    os.utime(file, (times.st_atime, next(SECONDS)))
    try:
        yield
    finally:
        file.write_bytes(whole)
        os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))


def enter(tree: Path) -> None:
    """Make a tree the one whose packages this process and those that it starts import."""
    os.chdir(tree)
    os.environ["PYTHONPATH"] = str(tree)
    sys.pycache_prefix = os.environ["PYTHONPYCACHEPREFIX"] = str(tree / ".bytecode")
    sys.path[:] = [str(tree), *(path for path in sys.path if path not in ("", str(ROOT)))]
    forget()


def forget() -> None:
    """Forget the packages of the tree, so that they are imported again."""
    for name in [name for name in sys.modules if name.partition(".")[0] in OWN]:
        del sys.modules[name]
    importlib.invalidate_caches()


def load_others(tests: Sequence[str]) -> None:
    """Load the other packages that these tests need, by collecting them."""
    modules = sorted({test.partition("::")[0] for test in tests})
    with _silence():
        _pytest([*QUIET, "--collect-only", *modules])
    forget()


def in_process(run: Callable[[], int], output: Path) -> int | None:
    """Return the exit status of a function that runs in a process of its own; None if it does not
    end in time. What it prints goes to a file.
    """
    process = multiprocessing.get_context("fork").Process(target=_run, args=(run, output))
    process.start()
    process.join(PATIENCE)
    if process.exitcode is None:
        process.kill()
        process.join()
        return None
    return process.exitcode


def _run(run: Callable[[], int], output: Path) -> None:
    with output.open("wb") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    status = run()
    sys.stdout.flush()
    # Threads of a server that a slip has hung would keep the process.
    os._exit(status)


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    with (
        Path(os.devnull).open("w") as nowhere,
        contextlib.redirect_stdout(nowhere),
        contextlib.redirect_stderr(nowhere),
    ):
        yield


def _pytest(arguments: Sequence[str], *plugins: Any) -> int:
    import pytest  # here, so that the checks of the rows need no other run of it

    return int(pytest.main([*arguments], plugins=[*plugins]))


class _Passed:
    """A plugin of pytest that writes the names of tests that passed to a file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._failed = set[str]()

    def pytest_runtest_logreport(self, report: Any) -> None:
        if not report.passed:
            self._failed.add(report.nodeid)
        elif report.when == "teardown" and report.nodeid not in self._failed:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(f"{report.nodeid}\n")


def passing(tests: Sequence[str], folder: Path) -> set[str]:
    """Return those of the tests that pass in the tree as it is."""
    path = folder / "passed"
    path.touch()
    in_process(
        lambda: _pytest([*(part for part in QUIET if part != "-x"), *tests], _Passed(path)),
        folder / "output",
    )
    passed = set(path.read_text("utf-8").splitlines())
    # A test without its case stands for all of its cases.
    return passed | {name.partition("[")[0] for name in passed}


def verdict(guard: Guard, tree: Path, output: Path) -> str | None:
    """Return why a guard does not hold, or None: its test fails for its slip."""
    with slipped(tree, guard):
        status = in_process(lambda: _pytest([*QUIET, guard.test]), output)
    if status == FAILED:
        return None
    if status == PASSED:
        return f"survives {guard.test}"
    if status is None:
        return f"{guard.test} does not end within {PATIENCE} s"
    return f"{guard.test} cannot run with it: pytest ended with {status}"


# -- the command


def chosen(every: Sequence[Guard], arguments: argparse.Namespace) -> list[Guard]:
    """Return the guards of the areas and numbers asked for, and of files changed since a commit."""
    kept = [guard for guard in every if arguments.area in (None, guard.area)]
    if arguments.numbers:
        numbers = {number.upper() for number in arguments.numbers}
        kept = [guard for guard in kept if guard.keeps.upper() in numbers]
    if arguments.since is not None:
        command = ["git", "diff", "--name-only", arguments.since, "--"]
        ended = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
        changed = set(ended.stdout.splitlines())
        kept = [guard for guard in kept if {guard.file, guard.test.partition("::")[0]} & changed]
    if arguments.most is not None and len(kept) > arguments.most:
        print(f"{arguments.most} of {len(kept)} guards; a long run tries all", flush=True)
        kept = [kept[place * len(kept) // arguments.most] for place in range(arguments.most)]
    return kept


def try_all(tried: Sequence[Guard]) -> int:
    """Try guards in a copy of the tree, print those that do not hold, and return their number."""
    began = time.monotonic()
    failures = Counter[str]()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        tree = copied_tree(folder / "tree")
        enter(tree)
        problems = {guard: problem_of(guard, tree) for guard in tried}
        tests = sorted({guard.test for guard in tried if problems[guard] is None})
        load_others(tests)
        passed = passing(tests, folder)
        for guard, found in problems.items():
            fails_anyway = None if guard.test in passed else f"{guard.test} fails without it"
            if problem := found or fails_anyway or verdict(guard, tree, folder / "output"):
                print(f"{guard}\n  {problem}", flush=True)
                failures[guard.area] += 1
        os.chdir(ROOT)
    for area, number in Counter(guard.area for guard in tried).items():
        print(f"{area}: {number} guards, {failures[area]} do not hold")
    print(
        f"{failures.total()} of {len(tried)} guards do not hold; {time.monotonic() - began:.0f} s"
    )
    return failures.total()


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m contract_tests.quality.guards",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "numbers", nargs="*", metavar="NUMBER", help="of an assumption; all without one"
    )
    parser.add_argument("--area", help="those under one heading of the file")
    parser.add_argument("--since", metavar="REV", help="those of files changed since a commit")
    parser.add_argument("--most", type=int, metavar="N", help="at most so many, evenly chosen")
    options = parser.parse_args(arguments)
    tried = chosen(guards(), options)
    if not tried:
        print("No guard is of these." if options.since is None else "No changed file has a guard.")
        return 0 if options.since is not None else 1
    return int(try_all(tried) > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
