"""``python -m contract_tests.quality.mutants``: seeded mutants of kernel and rules for the tests.

cosmic-ray makes them in a clone of the last commit (``pip install cosmic-ray pytest-cov``). Of the
tests that ``mutants.toml`` names, each mutant meets those that execute its function; one that is in
none meets them all. One that survives is a hole in the tests, or it behaves as the original does.
Exit status 1 if there are survivors, or nothing was tried.
"""

from __future__ import annotations

import argparse
import ast
import random
import shlex
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable
from contextlib import chdir
from pathlib import Path

from contract_tests import ROOT

CONFIG = Path(__file__).with_suffix(".toml")

ANNOTATIONS = "core/ReplaceBinaryOperator_BitOr"
"""Changes of ``|``, which stands in annotations: nothing evaluates them."""

MANY = 300
"""Tests run by their names; more run by their modules: each name given to pytest takes time."""

TestsOf = Callable[[Path, int], list[list[str]]]
"""The tests that meet a mutant of a module's line, by pytest's names: one list after another."""


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sample", type=int, default=300, help="how many mutants are tried (300)")
    parser.add_argument("--seed", type=int, default=1, help="which ones (1)")
    parser.add_argument(
        "--session", type=Path, help="where results are kept; a session that is there goes on"
    )
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        clone = Path(temporary, "clone")
        subprocess.run(["git", "clone", "--quiet", "--shared", str(ROOT), str(clone)], check=True)
        session = (chosen.session or Path(temporary, "session.sqlite")).absolute()
        tests_of = _run_tests(clone)
        if not session.exists():
            # A session is there once it is whole: one that was interrupted before would have
            # nothing left to try.
            begun = Path(temporary, "begun.sqlite")
            command = [sys.executable, "-m", "cosmic_ray.cli", "init", str(CONFIG), str(begun)]
            subprocess.run(command, cwd=clone, check=True)
            _leave_out(begun, chosen.sample, chosen.seed)
            shutil.move(begun, session)
        with chdir(clone):  # modules are named from there
            _try_rest(session, tests_of)
        return _report(session)


def _report(session: Path) -> int:
    from cosmic_ray.work_db import use_db  # not among the requirements of the tests
    from cosmic_ray.work_item import WorkerOutcome

    with use_db(session) as database:
        results = [result for _, result in database.completed_work_items]
    tried = [result for result in results if result.worker_outcome is not WorkerOutcome.SKIPPED]
    survivors = [str(result.diff) for result in tried if not result.is_killed]
    print(*survivors, f"{len(survivors)} of {len(tried)} mutants survived", sep="\n")
    return int(bool(survivors) or not tried)


def _run_tests(clone: Path) -> TestsOf:
    """Run all tests once: failing ones would catch any mutant. Return each line's tests.

    Where they are many, a part comes first, and then the modules of all.
    """
    from coverage import CoverageData  # not among the requirements of the tests

    config = tomllib.loads(CONFIG.read_text())["cosmic-ray"]
    measured = [f"--cov={module}" for module in config["module-path"]]
    options = ["-n", "logical", *measured, "--cov-context=test", "--cov-report="]
    command = [*shlex.split(config["test-command"]), *options]
    subprocess.run(command, cwd=clone, check=True)
    data = CoverageData(str(clone / ".coverage"))
    data.read()

    def of(module: Path, line: int) -> list[list[str]]:
        path = clone / module
        body = _body_around(line, path.read_text())
        first, last = body or (0, sys.maxsize)
        contexts = data.contexts_by_lineno(str(path))
        executing = (
            context
            for place, names in contexts.items()
            if first <= place <= last
            for context in names
        )
        tests = sorted({name for context in executing if (name := context.rpartition("|")[0])})
        if body is not None and len(tests) <= MANY:
            return [tests]
        # What a module defines is executed once, before any test.
        every = [word for word in command if word.startswith("contract_tests/")]
        rest = every if body is None else sorted({name.partition("::")[0] for name in tests})
        return [tests[:: len(tests) // MANY + 1], rest]

    return of


def _body_around(line: int, source: str) -> tuple[int, int] | None:
    """Return the body's first and last line of the innermost function around a line, if any."""
    functions = (
        function
        for function in ast.walk(ast.parse(source))
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    bodies = ((function.body[0].lineno, function.end_lineno or line) for function in functions)
    return max(((first, last) for first, last in bodies if first <= line <= last), default=None)


def _try_rest(session: Path, tests_of: TestsOf) -> None:
    """Try the mutants of a session that have no result yet."""
    from cosmic_ray.mutating import mutate_and_test  # not among the requirements of the tests
    from cosmic_ray.work_db import use_db

    config = tomllib.loads(CONFIG.read_text())["cosmic-ray"]
    arguments = session.with_suffix(".tests")
    with use_db(session) as database:
        for item in list(database.pending_work_items):
            [mutation] = item.mutations
            for tests in tests_of(mutation.module_path, mutation.start_pos[0]):
                arguments.write_text("\n".join(tests))
                # Without a test to run, pytest would run all there are; a mutant that none executes
                # survives.
                options = "-x -q -p no:cacheprovider -m 'not long' -o faulthandler_timeout=60"
                command = f"{sys.executable} -m pytest {options} @{arguments}"
                result = mutate_and_test(
                    item.mutations, command if tests else "true", config["timeout"]
                )
                if result.is_killed:
                    break
            database.set_result(item.job_id, result)


def _leave_out(session: Path, sample: int, seed: int) -> None:
    from cosmic_ray.work_db import use_db  # as above
    from cosmic_ray.work_item import WorkerOutcome, WorkResult

    with use_db(session) as database:
        # Ids of jobs are random; places and operators are the same each time.
        jobs = {
            (
                str(mutation.module_path),
                mutation.start_pos,
                mutation.operator_name,
                mutation.occurrence,
            ): item.job_id
            for item in database.pending_work_items
            for mutation in item.mutations
            if not mutation.operator_name.startswith(ANNOTATIONS)
        }
        kept = {
            jobs[place]
            for place in random.Random(seed).sample(sorted(jobs), min(sample, len(jobs)))
        }
        left_out = [item.job_id for item in database.work_items if item.job_id not in kept]
        database.set_multiple_results(left_out, WorkResult(WorkerOutcome.SKIPPED))


if __name__ == "__main__":
    sys.exit(main())
