"""``python -m contract_tests.robustness.walk``: random walks under every variant of settings; exit status 1 on any flag."""

from __future__ import annotations

import sys

import click

from contract_tests.robustness.walk.walker import VARIANTS, walk
from emulator.testing import LocalServer


@click.command()
@click.option("--seeds", default=21, show_default=True, help="How many walks.")
@click.option("--steps", default=400, show_default=True, help="Requests and moves of the clock in each.")
@click.option("--first", default=0, show_default=True, help="The first seed.")
def main(seeds: int, steps: int, first: int) -> None:
    """Walk, and print each flag: a sum that is not what it should be, or a failure inside the emulator."""
    server = LocalServer(strict=True)
    flags = 0
    try:
        for seed in range(first, first + seeds):
            for flag in walk(server, seed, steps):
                flags += 1
                click.echo(flag)
    finally:
        server.stop()
    click.echo(f"{seeds} walks of {steps} steps, {len(VARIANTS)} variants of settings: {flags} flags.")
    sys.exit(1 if flags else 0)


if __name__ == "__main__":
    main()
