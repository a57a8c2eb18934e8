"""The second pass: survivors of the first are tried with every test, many mutants in one run of the suite.

Of a line that thousands of tests execute, the nearest are often not enough, and to run all of them for each survivor
would take days. So many survivors are put into one copy of the tree and the suite is run there once. Only a test that
fails there can notice one of them, and these few are then tried on each by itself.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue

import pytest

from contract_tests.quality.mutants.coverage_map import ROOT, TESTS, CoverageMap
from contract_tests.quality.mutants.equivalent import Equivalents, read
from contract_tests.quality.mutants.mutations import Mutant
from contract_tests.quality.mutants.runner import Judged, Worker, copy_tree, run
from contract_tests.quality.mutants.worker import KILLED, SURVIVED

AT_MOST = 110
"""Mutants in one run of the suite: with more of them, more tests fail, which are then tried on each."""

FOLDERS = (*TESTS, "quality/drift", "surfaces/i18n", "contract/document", "surfaces/rendering")
"""The folders of tests that are run, those that are not recorded because they execute nothing among them."""

LIMIT = 150
"""Failed tests that are tried on one mutant."""

A_PROPERTY = "contract_tests/contract/core/test_ids.py"
"""Before a test of a property, all of the emulator is imported."""

SECONDS = 30
"""A test that takes longer hangs; its process ends and another goes on."""


def groups(survivors: Iterable[Mutant]) -> list[list[Mutant]]:
    """Mutants that can be tried together: as many of a module in each group, and no two of one statement."""
    every = sorted(survivors)
    found: list[list[Mutant]] = [[] for _ in range(-(-len(every) // AT_MOST))]
    for mutant in every:
        apart = [group for group in found if not any(_meet(mutant, each) for each in group)]
        if not apart:
            apart = [[]]
            found += apart
        min(apart, key=len).append(mutant)
    return found


def _meet(one: Mutant, other: Mutant) -> bool:
    return one.path == other.path and one.statement == other.statement


@contextmanager
def mutated(group: Iterable[Mutant]) -> Iterator[Path]:
    """A copy of the tree with all of these mutants."""
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        tree = Path(folder, "tree")
        copy_tree(tree)
        for mutant in sorted(group, reverse=True):  # from the end of a module on, where the others still are in place
            file = tree / mutant.path
            file.write_text(mutant.applied(file.read_text("utf-8")), "utf-8")
        yield tree


def broken(group: list[Mutant]) -> list[Mutant]:
    """Those with which no test can run, because the emulator cannot be imported: found by halves."""
    if not group or _can_run(group):
        return []
    half = len(group) // 2
    return group if not half else [*broken(group[:half]), *broken(group[half:])]


def _can_run(group: list[Mutant]) -> bool:
    with mutated(group) as tree:
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", A_PROPERTY]
        status = subprocess.run(command, cwd=tree, capture_output=True, check=False).returncode
    return status in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)


def failures(group: list[Mutant], jobs: int) -> list[str]:
    """The tests that fail with all of these mutants at once. Raises ``RuntimeError`` when the suite cannot run."""
    with mutated(group) as tree:
        hanging = ["-o", f"faulthandler_timeout={SECONDS}", "-o", "faulthandler_exit_on_timeout=true"]
        cache = ["-o", f"cache_dir={tree}-cache"]
        folders = [f"contract_tests/{name}" for name in FOLDERS]
        command = [sys.executable, "-m", "pytest", "-q", "-n", str(jobs), *hanging, *cache, *folders]
        done = subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False)
        if done.returncode not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            raise RuntimeError(f"the suite does not run: {(done.stdout + done.stderr)[-2000:]}")
        failed = Path(f"{tree}-cache/v/cache/lastfailed")
        return list(json.loads(failed.read_text("utf-8"))) if failed.exists() else []


def try_together(
    survivors: Iterable[Mutant], recorded: CoverageMap, idle: SimpleQueue[Worker], jobs: int
) -> Iterator[Judged]:
    """The verdicts on survivors of a first pass, each tried with every test that can notice it."""
    listed, tried = Equivalents(read()), []
    for each in survivors:
        if listed.reason(each, (ROOT / each.path).read_text("utf-8")):
            yield Judged(each, SURVIVED, None, 0, 0)
        else:
            tried.append(each)
    for mixed in groups(tried):
        useless = broken(mixed)
        yield from (Judged(each, KILLED, "import", 0, 0) for each in useless)
        group = [each for each in mixed if each not in useless]
        failed = set(failures(group, jobs))
        print(f"{len(group)} mutants at once: {len(failed)} tests fail", file=sys.stderr, flush=True)

        def tests(mutant: Mutant, failed: set[str] = failed) -> list[str]:
            # First those that execute it. Of a function whose results are kept, other tests may notice it as well.
            nearest = [test for test in recorded.tests(mutant) if test in failed]
            return [*nearest, *sorted(failed - set(nearest))]

        for verdict in run(group, tests, LIMIT, idle, jobs):
            # Where no test failed that executes it, every test has been tried.
            yield verdict if verdict.tests else Judged(verdict.mutant, SURVIVED, None, 0, 0)
