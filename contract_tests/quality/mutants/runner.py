"""Tries mutants in several workers at a time, each with a copy of the tree of its own."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack, contextmanager
from pathlib import Path
from queue import SimpleQueue

import msgspec

from contract_tests.quality.mutants.coverage_map import ROOT
from contract_tests.quality.mutants.mutations import Mutant
from contract_tests.quality.mutants.worker import SURVIVED, Trial, Verdict

NOT_COVERED = "not covered"

FIRST = 6
"""So many tests are run by themselves at first: most mutants need no more, and their modules are loaded quickly."""

Tests = Callable[[Mutant], list[str]]
"""Chooses the tests of a mutant, the first to run first."""


class Judged(msgspec.Struct):
    """A mutant and what became of it; ``tests`` is how many could be run."""

    mutant: Mutant
    outcome: str
    test: str | None
    tests: int
    seconds: float


class Worker:
    """A worker process: one trial at a time."""

    def __init__(self, tree: Path) -> None:
        command, pipe = [sys.executable, "-m", "contract_tests.quality.mutants.worker"], subprocess.PIPE
        # In a session of its own: Ctrl-C is for the run, which lets its workers end.
        self._process = subprocess.Popen(command, cwd=tree, stdin=pipe, stdout=pipe, start_new_session=True)

    def judge(self, trial: Trial) -> Verdict:
        """Raises ``RuntimeError`` when the worker has ended, as it does on Ctrl-C."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(msgspec.json.encode(trial) + b"\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("the worker has ended")
        return msgspec.json.decode(line, type=Verdict)

    def close(self) -> None:
        """Let it end after the trial under way."""
        self._process.communicate()


@contextmanager
def workers(number: int) -> Iterator[SimpleQueue[Worker]]:
    """Idle workers: take one, and put it back after the trial."""
    idle: SimpleQueue[Worker] = SimpleQueue()
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder, ExitStack() as cleanup:
        for index in range(number):
            tree = Path(folder, str(index))
            copy_tree(tree)
            worker = Worker(tree)
            cleanup.callback(worker.close)
            idle.put(worker)
        yield idle


def copy_tree(target: Path) -> None:
    """Copy what git knows or would add, modification times included."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    for name in filter(None, names):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)


def run(mutants: Iterable[Mutant], tests: Tests, limit: int, idle: SimpleQueue[Worker], jobs: int) -> Iterator[Judged]:
    """Judge each mutant, by at most ``limit`` tests, in the order in which they end."""

    def judge(mutant: Mutant) -> Judged:
        chosen = tests(mutant)
        if not chosen:
            return Judged(mutant, NOT_COVERED, None, 0, 0)
        worker = idle.get()
        try:
            verdict = worker.judge(trial(mutant, chosen[:FIRST]))
            if verdict.outcome == SURVIVED and len(chosen) > FIRST:
                verdict = worker.judge(trial(mutant, chosen[FIRST:limit]))
        finally:
            idle.put(worker)
        return Judged(mutant, verdict.outcome, verdict.test, len(chosen), verdict.seconds)

    with ThreadPoolExecutor(jobs) as pool:
        under_way = [pool.submit(judge, mutant) for mutant in mutants]
        try:
            for future in as_completed(under_way):
                yield future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def trial(mutant: Mutant, tests: list[str]) -> Trial:
    """Processor time is the limit for endless loops, since it does not depend on what else the machine does."""
    source = (ROOT / mutant.path).read_text("utf-8")
    return Trial(mutant.path, mutant.applied(source), tests, cpu=30 + len(tests), wall=300)
