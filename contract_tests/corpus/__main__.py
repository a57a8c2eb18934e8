"""``python -m contract_tests.corpus``: how many planted bugs the examinations find and name.

Each bug of corpus.yaml is examined by the one case that concerns it; then each business without
bugs by all the cases that were used, or with ``--whole`` by every case there is. Exit status 1 if
less is found or named than corpus.yaml says, or a business without bugs is accused. A bug that is
found although corpus.yaml says ``known: not found`` is better news: then delete that word there.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from fnmatch import fnmatchcase
from pathlib import Path

from contract_tests.corpus.examine import judged, sound, stop
from contract_tests.corpus.rows import Result, Row, Sound, corpus
from contract_tests.corpus.table import line, page, sound_line, summary


def chosen(rows: Sequence[Row], patterns: Sequence[str]) -> list[Row]:
    """Return rows for ``ferry:no_dedupe``, ``ferry`` or ``no_dedupe``; exits if there are none."""
    matching = [
        row
        for row in rows
        if not patterns
        or any(
            fnmatchcase(name, pattern)
            for pattern in patterns
            for name in (row.name, row.business.name, row.bug)
        )
    ]
    if not matching:
        raise SystemExit(f"no bug is called {', '.join(patterns)}")
    return matching


def examine(rows: Sequence[Row], clock: str, jobs: int) -> list[Result]:
    """Examine the bugs, ``jobs`` at a time, and print each result."""
    results = {}
    with ThreadPoolExecutor(jobs) as pool:
        futures = [pool.submit(judged, row, clock) for row in rows]
        try:
            for future in as_completed(futures):
                result = future.result()
                results[result.row.name] = result
                print(line(result), flush=True)
                if result.is_regression or result.is_news:
                    shown_lines = [result.failure] if result.failure else result.lines
                    print("".join(f"    {shown}\n" for shown in shown_lines), end="")
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            stop()
            raise
    return [results[row.name] for row in rows]


def examine_sound(rows: Sequence[Row], clock: str, jobs: int, *, whole: bool) -> list[Sound]:
    """Examine the businesses of the rows without bugs, and print each result."""
    sounds = []
    for business in dict.fromkeys(row.business for row in rows):
        own = [row for row in rows if row.business == business]
        for examination in ("app", "receiver", "client"):
            used = [row for row in own if row.examination == examination]
            if not used and not whole:
                continue
            only = [] if whole else [*dict.fromkeys(row.only for row in used)]
            sounds.append(sound(business, examination, clock, only, jobs))
            print(sound_line(sounds[-1]), flush=True)
            print("".join(f"    {alarm}\n" for alarm in sounds[-1].alarms), end="")
    return sounds


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="NAME",
        help="a business, a bug, or both as ferry:no_dedupe; * stands for anything; repeatable",
    )
    parser.add_argument(
        "--whole", action="store_true", help="businesses without bugs by every case there is"
    )
    parser.add_argument(
        "--bugs-only", action="store_true", help="leave the businesses without bugs out"
    )
    parser.add_argument("--jobs", type=int, default=2, help="examinations at a time; by default 2")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the table as Markdown")
    options = parser.parse_args()
    # Whoever ends this ends the examinations, too.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    clock, every = corpus()
    rows = chosen(every, options.only)
    results = examine(rows, clock, options.jobs)
    sounds = (
        [] if options.bugs_only else examine_sound(rows, clock, options.jobs, whole=options.whole)
    )
    if options.out:
        options.out.write_text("\n".join([*page(results, sounds), ""]), "utf-8")
    print(summary(results, sounds))
    failed = [sound for sound in sounds if sound.alarms or sound.failure]
    return int(bool(failed) or any(result.is_regression for result in results))


if __name__ == "__main__":
    sys.exit(main())
