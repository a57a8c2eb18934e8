"""``python -m contract_tests.quality.mutants``: a seeded sample of mutants of kernel and rules, which the tests must notice.

cosmic-ray (``pip install cosmic-ray``) makes them in a clone of the last commit and runs what ``mutants.toml`` names. A mutant
that survives is a hole in the tests, or it behaves as the original does. Exit status 1 if there are survivors, or nothing was
tried.
"""

from __future__ import annotations

import argparse
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from contract_tests import ROOT

CONFIG = Path(__file__).with_suffix(".toml")

ANNOTATIONS = "core/ReplaceBinaryOperator_BitOr"
"""Changes of ``|``, which stands in annotations: nothing evaluates them."""


class Tried(NamedTuple):
    """A mutant that was tried: its difference, and whether a test noticed it."""

    diff: str
    is_killed: bool


def main() -> int:
    """Try the sample; print what survived, with its difference."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, default=300, help="how many mutants are tried (300)")
    parser.add_argument("--seed", type=int, default=1, help="which ones (1)")
    parser.add_argument("--revision", default="HEAD", help="the commit (HEAD)")
    parser.add_argument("--session", type=Path, help="where results are kept; a session that is there goes on")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        clone = Path(temporary, "clone")
        subprocess.run(["git", "clone", "--quiet", "--shared", str(ROOT), str(clone)], check=True)
        subprocess.run(["git", "checkout", "--quiet", chosen.revision], cwd=clone, check=True)
        session = (chosen.session or Path(temporary, "session.sqlite")).absolute()
        if not session.exists():
            # Tests that fail anyhow would catch every mutant.
            _cosmic_ray("baseline", str(CONFIG), cwd=clone)
            # A session is there once it is whole: one that was interrupted before would have nothing left to try.
            begun = Path(temporary, "begun.sqlite")
            _cosmic_ray("init", str(CONFIG), str(begun), cwd=clone)
            _leave_out(begun, chosen.sample, chosen.seed)
            shutil.move(begun, session)
        _cosmic_ray("exec", str(CONFIG), str(session), cwd=clone)
        return report(list(_tried(session)))


def report(tried: Sequence[Tried]) -> int:
    """Print the difference of each mutant that survived, and how many did; the exit status."""
    survivors = [mutant for mutant in tried if not mutant.is_killed]
    print(*(mutant.diff for mutant in survivors), f"{len(survivors)} of {len(tried)} mutants survived", sep="\n")
    if not tried:
        print("Nothing was tried: the session holds no mutants. Remove it, and a new one begins.")
    return int(bool(survivors) or not tried)


def _cosmic_ray(*arguments: str, cwd: Path) -> None:
    subprocess.run([sys.executable, "-m", "cosmic_ray.cli", *arguments], cwd=cwd, check=True)


def _leave_out(session: Path, sample: int, seed: int) -> None:
    """Mark all mutants of a session as skipped but for a sample."""
    from cosmic_ray.work_db import use_db  # not among the requirements of the tests
    from cosmic_ray.work_item import WorkerOutcome, WorkResult

    with use_db(session) as database:
        # Ids of jobs are random; places and operators are the same each time.
        jobs = {
            (str(each.module_path), each.start_pos, each.operator_name, each.occurrence): item.job_id
            for item in database.pending_work_items
            for each in item.mutations
            if not each.operator_name.startswith(ANNOTATIONS)
        }
        kept = {jobs[place] for place in random.Random(seed).sample(sorted(jobs), min(sample, len(jobs)))}
        left_out = [item.job_id for item in database.work_items if item.job_id not in kept]
        database.set_multiple_results(left_out, WorkResult(WorkerOutcome.SKIPPED))


def _tried(session: Path) -> Iterable[Tried]:
    from cosmic_ray.work_db import use_db  # not among the requirements of the tests
    from cosmic_ray.work_item import WorkerOutcome

    with use_db(session) as database:
        for _, result in database.completed_work_items:
            if result.worker_outcome is not WorkerOutcome.SKIPPED:
                yield Tried(str(result.diff), result.is_killed)


if __name__ == "__main__":
    sys.exit(main())
