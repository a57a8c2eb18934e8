"""``python -m contract_tests.quality.mutants --sample 1000 --seed 1``: changes of the emulator's code, tried one by one.

Each mutant differs from ``emulator/core``, ``resources``, ``web`` or ``engine`` in one comparison, constant, condition,
result, assignment or call. The tests that execute the changed line are run until one fails. A mutant that survives
shows a line that no test looks at, or is equivalent: it behaves as the original, and ``equivalent.yaml`` says why.

``--build`` first records which tests execute which line: that takes about twice as long as the tests alone. POSIX only.

Why not an existing tool: cosmic-ray 8 runs one command for every mutant and cannot choose tests by coverage. mutmut 3
chooses them by function, but changes only the bodies of functions without a decorator: no table, life cycle, field or
setting, which are data at the top of a module here, and no property. It cannot draw a sample by a seed either.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import BinaryIO

import msgspec

from contract_tests.quality.mutants import coverage_map, equivalent
from contract_tests.quality.mutants.coverage_map import FOLDER, ROOT, CoverageMap
from contract_tests.quality.mutants.mutations import Mutant, mutants
from contract_tests.quality.mutants.report import Report
from contract_tests.quality.mutants.runner import Judged, run, workers
from contract_tests.quality.mutants.together import try_together
from contract_tests.quality.mutants.worker import KILLED, TIMED_OUT

VERDICTS = FOLDER / "verdicts.jsonl"


def population(only: list[str]) -> list[Mutant]:
    """Every mutant of the four packages, or of ``PATH`` and ``PATH:LINE`` where some are named."""
    files = coverage_map.sources()
    every = [mutant for file in files for mutant in mutants(str(file.relative_to(ROOT)), file.read_text("utf-8"))]
    return [each for each in every if not only or {each.path, f"{each.path}:{each.line}"} & set(only)]


def sample(every: list[Mutant], number: int, seed: int) -> list[Mutant]:
    """A number of mutants: the same ones for a seed, as long as the code is the same."""
    shuffled = random.Random(seed).sample(every, len(every))
    sources = {mutant.path: (ROOT / mutant.path).read_text("utf-8") for mutant in every}
    return list(islice((each for each in shuffled if each.compiles(sources[each.path])), number))


def judge(chosen: list[Mutant], options: argparse.Namespace) -> Iterator[Judged]:
    """The verdicts as they come; each is also appended to ``build/mutants/verdicts.jsonl``.

    With ``--resume`` and ``--together`` the mutants that were killed according to that file are not tried again.
    """
    recorded = CoverageMap()
    if recorded.changed:
        print(f"not run, changed since --build: {' '.join(sorted(recorded.changed))}", file=sys.stderr)

    def tests(mutant: Mutant) -> list[str]:
        return [*options.tests, *recorded.tests(mutant)]

    goes_on = options.resume or options.together
    with VERDICTS.open("a+b" if goes_on else "wb") as log:
        known = earlier(log) if goes_on else {}
        yield from (known[each] for each in chosen if each in known)
        left = [each for each in chosen if each not in known]
        with workers(options.jobs) as idle:
            if options.together:
                verdicts = try_together(left, recorded, idle, options.jobs)
            else:
                verdicts = run(left, tests, options.limit, idle, options.jobs)
            for number, each in enumerate(verdicts, 1):
                log.write(msgspec.json.encode(each) + b"\n")
                log.flush()
                _progress(number, len(left))
                yield each


def earlier(log: BinaryIO) -> dict[Mutant, Judged]:
    """The mutants that earlier runs found killed."""
    log.seek(0)
    judged = [msgspec.json.decode(line, type=Judged) for line in log]
    return {each.mutant: each for each in judged if each.outcome in (KILLED, TIMED_OUT)}


def _progress(number: int, total: int) -> None:
    if sys.stderr.isatty():
        print(f"\r{number} of {total}", end="" if number < total else "\n", file=sys.stderr, flush=True)


@contextmanager
def interruptible() -> Iterator[None]:
    """Ctrl-C ends the run; what was found is reported."""
    try:
        yield
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)


def report(verdicts: Iterable[Judged]) -> int:
    """Print the report; the exit status is 1 when a mutant survived that is not in the list."""
    found: list[Judged] = []
    with interruptible():
        found.extend(verdicts)
    result = Report(found, equivalent.Equivalents(equivalent.read()))
    print("\n".join(result.lines()))
    return 1 if result.survivors else 0


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser(
        prog="python -m contract_tests.quality.mutants", description=(__doc__ or "").split("\n\n")[1]
    )
    made.add_argument("--sample", type=int, default=100, metavar="N", help="how many mutants are tried (100)")
    made.add_argument("--seed", type=int, default=1, metavar="S", help="which ones (1)")
    made.add_argument("--jobs", type=int, default=2, metavar="J", help="mutants at a time (2)")
    made.add_argument("--limit", type=int, default=80, metavar="N", help="at most so many tests for a mutant (80)")
    made.add_argument(
        "--only", action="append", default=[], metavar="PATH[:LINE]", help="mutants of this module or line"
    )
    made.add_argument(
        "--tests", action="append", default=[], metavar="TEST", help="run this test first, for each mutant"
    )
    made.add_argument("--resume", action="store_true", help="do not try again what the last runs found killed")
    made.add_argument(
        "--together", action="store_true", help="try what the last runs did not find killed again, with every test"
    )
    made.add_argument("--build", nargs="*", metavar="FOLDER", help="record what the tests of folders execute (of all)")
    return made


def main() -> int:
    """Build the map, or try a sample."""
    options = parser().parse_args()
    if options.build is not None:
        coverage_map.build(options.build or coverage_map.TESTS)
        return 0
    return report(judge(sample(population(options.only), options.sample, options.seed), options))


if __name__ == "__main__":
    sys.exit(main())
