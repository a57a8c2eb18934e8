"""The simulator's long versions: they play for as long as asked; exit status 1 on any fault."""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import click

from contract_tests.simulator import search, telling
from contract_tests.simulator.crashes import rounds
from contract_tests.simulator.durability import run
from contract_tests.simulator.durability.faults import FAULTS
from contract_tests.simulator.hostile import budget
from contract_tests.simulator.model import TRANSITIONS
from contract_tests.simulator.simulation import Outcome, play
from contract_tests.simulator.steps import draw_story
from contract_tests.simulator.walks import Transition, walk
from contract_tests.support import postgres
from emulator.testing import LocalServer

SERVES_WITHIN = 5.0
"""Seconds after which a server that was disturbed serves again, if it has a processor."""


@click.group()
def main() -> None:
    """Play what users, buyers, clocks, disks and machines may do."""


@main.command()
@click.option(
    "--seed", type=int, help="The first seed; with --minutes one of the time of day unless given."
)
@click.option("--steps", default=500, show_default=True, help="Steps of each story.")
@click.option("--runs", default=1, show_default=True, help="How many seeds, one after the other.")
@click.option("--minutes", type=float, help="Play seeds for so long, however many they are.")
@click.option(
    "--replay", type=click.Path(path_type=Path, exists=True), help="Play the story in a file."
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("story.json"),
    help="Where a failure is written.",
)
def stories(
    seed: int | None, steps: int, runs: int, minutes: float | None, replay: Path | None, out: Path
) -> None:
    """Play the stories of many seeds, and shrink the first that breaks an invariant."""
    if replay is not None:
        outcome = play(search.read(replay))
        _say(outcome)
        sys.exit(1 if outcome.violation else 0)
    first = (int(time.time()) if minutes else 1) if seed is None else seed
    began, total, number = time.monotonic(), 0, 0
    while (time.monotonic() - began < 60 * minutes) if minutes else number < runs:
        story = draw_story(first + number, steps)
        outcome = play(story)
        number, total = number + 1, total + outcome.steps
        if outcome.violation is not None:
            click.echo(f"seed {story.seed}: after {outcome.steps} steps")
            story, outcome = search.shrunk(story, outcome)
            _say(outcome)
            search.write(out, story)
            again = f"python -m contract_tests.simulator stories --replay {out}"
            click.echo(f"{out.read_text('utf-8')}Written to {out}; again: {again}")
            sys.exit(1)
        if number % 50 == 0:
            click.echo(f"{number} seeds, {total} steps, {time.monotonic() - began:.0f} s", err=True)
    seconds = time.monotonic() - began
    click.echo(f"{number} seeds from {first}, {total} steps, no broken invariant, {seconds:.0f} s")


def _say(outcome: Outcome) -> None:
    violation = outcome.violation
    result = f"{violation.rule}: {violation.text}" if violation else "no broken invariant"
    click.echo(f"{result}; trace {outcome.trace[:16]}")


@main.command()
@click.option(
    "--walks",
    "most",
    default=2000,
    show_default=True,
    help="How many walks, half of them on SQLite.",
)
@click.option(
    "--steps", default=25, show_default=True, help="Actions and moves of the clock in each."
)
@click.option("--first", default=0, show_default=True, help="The first seed.")
@click.option("--told", default=0, show_default=True, help="Rather walks that check what is said.")
def walks(most: int, steps: int, first: int, told: int) -> None:
    """Walk a subscription beside its model, print the differences; walk every transition.

    With --told so many walks, under random settings, check each sentence and each next step
    instead; every row of both tables has to be reached.
    """
    if told:
        _walk_and_tell(told, steps, first)
    differences = 0
    reached: Counter[Transition] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for number, state in enumerate(["memory", f"sqlite:{Path(folder, 'worlds.db')}"]):
            server = LocalServer(state=state)
            try:
                for seed in range(first + number, first + most, 2):
                    for difference in walk(server, seed, steps, reached):
                        differences += 1
                        click.echo(difference)
            finally:
                server.stop()
    click.echo(f"{most} walks of {steps} steps from {first}: {differences} differences.")
    for before, after in sorted(TRANSITIONS):
        click.echo(f"  {before or 'new'} → {after}: {reached[before, after]} walks")
    sys.exit(1 if differences or TRANSITIONS - reached.keys() else 0)


def _walk_and_tell(most: int, steps: int, first: int) -> None:
    reached: Counter[str] = Counter()
    wrong = 0
    server = LocalServer(state="memory")
    try:
        for seed in range(first, first + most):
            for fault in telling.tell(server, seed, steps, reached):
                wrong += 1
                click.echo(fault)
    finally:
        server.stop()
    rows = telling.rows()
    missed = rows - reached.keys()
    for name in sorted(missed):
        click.echo(f"never reached: {name}")
    click.echo(
        f"{most} walks of {steps} steps from {first}: {wrong} false or unsaid,"
        f" {len(rows) - len(missed)} of {len(rows)} rows of both tables reached."
    )
    sys.exit(1 if wrong or missed else 0)


@main.command()
@click.argument("kind", type=click.Choice(list(rounds.KINDS)), default="kills")
@click.option(
    "--store",
    type=click.Choice(["sqlite", "postgres"]),
    help="postgres is Debian's; proxy always has it.",
)
@click.option("--rounds", "most", default=200, show_default=True, help="How many.")
@click.option("--minutes", type=float, help="Play for so long, however many rounds that takes.")
@click.option("--seed", default=1, show_default=True)
def crashes(kind: str, store: str | None, most: int, minutes: float | None, seed: int) -> None:
    """Kill and disturb servers under load, and look at what is there: a line for each round."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        in_file = store != "postgres" and kind != "proxy"
        place = (
            f"sqlite:{folder / 'worlds.db'}" if in_file else stack.enter_context(postgres.running())
        )
        began = time.monotonic()
        for number, played in enumerate(rounds.play(folder, place, random.Random(seed), kind), 1):
            passed = time.monotonic() - began
            click.echo(f"round {number}: {played}  [{passed:.0f} s]")
            taken, starved = played.taken
            assert taken - starved < SERVES_WITHIN, "a server served too late"
            if passed > minutes * 60 if minutes else number >= most:
                break


@main.command()
@click.option("--store", type=click.Choice(list(FAULTS)), default="sqlite", show_default=True)
@click.option("--seed", type=int, help="The only seed, or the first one.")
@click.option("--seeds", help="The first and the last seed, as in 1-5.")
@click.option("--minutes", type=float, help="Play seeds for so long, however many they are.")
@click.option("--fault", "only", multiple=True, help="Not all faults of the store but this one.")
def durability(
    store: str,
    seed: int | None,
    seeds: str | None,
    minutes: float | None,
    only: tuple[str, ...],
) -> None:
    """Do all that changes something under every fault: what was answered must be there."""
    if differing := run.without_model():
        raise click.ClickException(f"only the model or only the documents have {sorted(differing)}")
    first, last = map(int, seeds.split("-")) if seeds else (seed or 1, seed or 1)
    if minutes and seed is None:
        first = int(time.time())
    if unknown := {*only} - {*FAULTS[store]}:
        raise click.UsageError(f"{store} has no {sorted(unknown)}, but {list(FAULTS[store])}")
    played = only or tuple(FAULTS[store])
    began, tally, number = time.monotonic(), run.Tally(), first
    while (time.monotonic() - began < 60 * minutes) if minutes else number <= last:
        known = len(tally.wrong)
        run.play(store, number, tally, only=played)
        click.echo("".join(f"{line}\n" for line in tally.wrong[known:]), nl=False)
        passed = time.monotonic() - began
        click.echo(f"seed {number}: {tally.summary()}  [{passed:.0f} s]", err=True)
        number += 1
    unreached = tally.unreached(played)
    for name in unreached:
        click.echo(f"never reached: {name}")
    click.echo(f"{store}, seeds {first} to {number - 1}, {time.monotonic() - began:.0f} s")
    click.echo("\n".join(tally.tables(played)))
    click.echo(tally.summary())
    sys.exit(1 if tally.wrong or unreached else 0)


@main.command()
@click.argument("rows", nargs=-1)
def limits(rows: tuple[str, ...]) -> None:
    """Measure each limit of hostile input, or some ROWS, and write the table of the guide."""
    budget.write(budget.measured(rows))


if __name__ == "__main__":
    main()
