"""``python -m contract_tests.simulator``: plays the stories of many seeds; exit status 1 if one breaks an invariant.

``--minutes 5`` plays seeds that no one has played before, for five minutes; it is the long version for continuous
integration. ``--replay FILE`` plays a story that was written by ``--out``.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import click

from contract_tests.simulator import search
from contract_tests.simulator.simulation import Outcome


@click.command()
@click.option("--seed", type=int, help="The first seed; with --minutes one of the time of day unless given.")
@click.option("--steps", default=500, show_default=True, help="Steps of each story.")
@click.option("--runs", default=1, show_default=True, help="How many seeds, one after the other.")
@click.option("--minutes", type=float, help="Play seeds for so long, however many they are.")
@click.option("--replay", type=click.Path(path_type=Path, exists=True), help="Play the story in a file.")
@click.option("--out", type=click.Path(path_type=Path), default=Path("story.json"), help="Where a failure is written.")
def main(seed: int | None, steps: int, runs: int, minutes: float | None, replay: Path | None, out: Path) -> None:
    """Play stories, and shrink the first that breaks an invariant."""
    if replay is not None:
        outcome = search.played(search.read(replay))
        _say(outcome)
        sys.exit(1 if outcome.violation else 0)
    first = (int(time.time()) if minutes else 1) if seed is None else seed
    began, number, total = time.monotonic(), 0, 0
    for number, (played, outcome, failure) in enumerate(search.search(_seeds(first, runs, minutes), steps), 1):
        total += outcome.steps
        if failure is not None:
            click.echo(f"seed {played}: after {outcome.steps} steps")
            _say(failure.outcome)
            search.write(out, failure.story)
            click.echo(
                f"{out.read_text('utf-8')}Written to {out}; again: python -m contract_tests.simulator --replay {out}"
            )
            break
        if number % 50 == 0:
            click.echo(f"{number} seeds, {total} steps, {time.monotonic() - began:.0f} s", err=True)
    else:
        seconds = time.monotonic() - began
        click.echo(f"{number} seeds from {first}, {total} steps, no broken invariant, {seconds:.0f} s")
        return
    sys.exit(1)


def _seeds(first: int, runs: int, minutes: float | None) -> Iterator[int]:
    until = None if minutes is None else time.monotonic() + 60 * minutes
    for seed in count(first):
        if (time.monotonic() >= until) if until is not None else (seed >= first + runs):
            return
        yield seed


def _say(outcome: Outcome) -> None:
    violation = outcome.violation
    click.echo(
        f"{violation.rule}: {violation.text}" if violation else f"no broken invariant; trace {outcome.trace[:16]}"
    )


if __name__ == "__main__":
    main()
