"""``python -m contract_tests.surfaces.checks.app``: the example shops in every language, swept by the command.

Each of the ten mistakes must be named in Python and in Node, and the sound shops must end the same after every fault,
with every kind of fault, in ``--repeat N`` full sweeps each; those with a file also wherever they are killed. ``--language go``
tries one. Needs Node 20, Go and PHP.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from contract_tests.support.shops import SHOPS
from contract_tests.surfaces.checks.app.broken import NODE_SHOPS, PYTHON_SHOPS, BrokenShop, write


def sweep(folder: Path, story: tuple[str, ...], *options: str) -> str:
    """Return the report on the story of a shop in a folder."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("PAYMENTS_EMULATOR_")}
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    command = ["payments-emulator", "test", "app", *options, "--", *story]
    ended = subprocess.run(command, cwd=folder, env={**own, "PATH": path}, capture_output=True, text=True, check=False)
    return ended.stdout + ended.stderr


def mistakes(language: str) -> Iterator[tuple[str, bool]]:
    """Yield each mistake, and whether its sentences are in the report; the report is printed if they are not."""
    for shop in (*PYTHON_SHOPS, *NODE_SHOPS):
        if shop.language == language:
            yield f"{language}: {shop.mistake}", is_named(shop)


def is_named(shop: BrokenShop) -> bool:
    """Return whether a sweep names the mistake."""
    with tempfile.TemporaryDirectory() as folder:
        write(shop, Path(folder, "shop"))
        report = sweep(Path(folder, "shop"), SHOPS[shop.language].story, *(f"--only={case}" for case in shop.cases))
    missing = [sentence for sentence in shop.sentences if sentence not in report]
    if missing:
        print(f"{report}\nmissing: {missing}")
    return not missing


def sound(language: str, times: int) -> Iterator[tuple[str, bool]]:
    """Full sweeps of a sound shop, and whether nothing was found."""
    shop = SHOPS[language]
    for number in range(1, times + 1):
        started = time.monotonic()
        reports = [sweep(shop.path, shop.command(shop.story), "--clock=frozen@2026-01-01T00:00:00Z", "--only=*")]
        if shop.day:
            reports.append(sweep(shop.path, shop.day, "--only=killed"))
        report = "\n".join(reports)
        advised = report.count(" of the audit") - report.count(" info of the audit")
        ended_the_same = all(each.startswith("No problem") for each in reports) and not advised
        cases = ", ".join(each.partition(".")[0] for each in reports)
        yield f"{language}: sound, {number} of {times}, {time.monotonic() - started:.0f} s, {cases}", ended_the_same
        if not ended_the_same:
            print(report)


def main() -> int:
    """Try everything; the exit status is the number of failures, at most 100."""
    parser = argparse.ArgumentParser(prog="python -m contract_tests.surfaces.checks.app", description=__doc__)
    parser.add_argument("--repeat", type=int, default=1, metavar="N")
    parser.add_argument("--language", choices=SHOPS)
    chosen = parser.parse_args()
    failures = 0
    for language in [chosen.language] if chosen.language else SHOPS:
        for tries in (mistakes(language), sound(language, chosen.repeat)):
            for name, passed in tries:
                print(f"{'ok    ' if passed else 'FAILED'} {name}", flush=True)
                failures += not passed
    return min(failures, 100)


if __name__ == "__main__":
    sys.exit(main())
