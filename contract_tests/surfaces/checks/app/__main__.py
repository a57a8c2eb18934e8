"""``python -m contract_tests.surfaces.checks.app``: the example shops in every language, tried by ``test app``.

They must end the same after every fault, with every kind of fault, in ``--repeat N`` full runs each; those with a file
also wherever they are killed. ``--language go`` tries one. Needs Node 20, Go and PHP.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

from contract_tests.support.shops import SHOPS
from contract_tests.surfaces.cli.terminal import COMMAND, clean


def main() -> int:
    """Try everything; the exit status is the number of failures, at most 100."""
    parser = argparse.ArgumentParser(prog="python -m contract_tests.surfaces.checks.app", description=__doc__)
    parser.add_argument("--repeat", type=int, default=1, metavar="N")
    parser.add_argument("--language", choices=SHOPS)
    chosen = parser.parse_args()
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    failures = 0
    for shop in [SHOPS[chosen.language]] if chosen.language else SHOPS.values():
        every = ("--clock=frozen@2026-01-01T00:00:00Z", "--only=*", "--", *shop.command(shop.story))
        for options in [every, *([("--only=killed", "--", *shop.day)] if shop.day else [])] * chosen.repeat:
            started = time.monotonic()
            command = [*COMMAND, "test", "app", *options]
            ended = subprocess.run(
                command, cwd=shop.path, env=clean(PATH=path), capture_output=True, text=True, check=False
            )
            report = ended.stdout + ended.stderr
            passed = report.startswith("No problem") and "of the audit" not in report.replace(" info of the audit", "")
            headline = report.partition(".")[0] if passed else report
            print(f"{'ok    ' if passed else 'FAILED'} {shop.language}, {time.monotonic() - started:.0f} s: {headline}")
            failures += not passed
    return min(failures, 100)


if __name__ == "__main__":
    sys.exit(main())
