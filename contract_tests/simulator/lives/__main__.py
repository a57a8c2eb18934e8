"""``python -m contract_tests.simulator.lives``: many walks in memory and on SQLite; exit status 1 on any difference."""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from pathlib import Path

import click

from contract_tests.simulator.lives.model import TRANSITIONS
from contract_tests.simulator.lives.walks import Transition, walk
from emulator.testing import LocalServer


@click.command()
@click.option("--walks", default=2000, show_default=True, help="How many walks, half of them on SQLite.")
@click.option("--steps", default=25, show_default=True, help="Actions and moves of the clock in each.")
@click.option("--first", default=0, show_default=True, help="The first seed.")
def main(walks: int, steps: int, first: int) -> None:
    """Walk, and print each difference between the emulator and the model."""
    differences = 0
    reached: Counter[Transition] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for number, state in enumerate(["memory", f"sqlite:{Path(folder, 'worlds.db')}"]):
            server = LocalServer(state=state)
            try:
                for seed in range(first + number, first + walks, 2):
                    for difference in walk(server, seed, steps, reached):
                        differences += 1
                        click.echo(difference)
            finally:
                server.stop()
    click.echo(f"{walks} walks of {steps} steps: {differences} differences.")
    for before, after in sorted(TRANSITIONS):
        click.echo(f"  {before or 'new'} → {after}: {reached[before, after]} walks")
    sys.exit(1 if differences or TRANSITIONS - reached.keys() else 0)


if __name__ == "__main__":
    main()
