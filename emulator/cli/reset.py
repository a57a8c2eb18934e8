"""``reset``: start the App's world over."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from emulator.cli.options import as_json, with_client
from emulator.cli.output import print_line, when
from emulator.cli.parameter_types import ClockStart

if TYPE_CHECKING:
    from emulator.cli.client import ControlClient


@click.command()
@click.option("--fixtures", type=click.File("rb"), metavar="FILE", help="Initial settings (YAML or JSON).")
@click.option("--seed", type=int, help="Seed for reproducible output (with a frozen clock).")
@click.option("--clock", type=ClockStart(), metavar=ClockStart.name, help="Initial state of the clock.")
@as_json
@with_client
def reset(
    emulator: ControlClient,
    fixtures: BinaryIO | None,
    seed: int | None,
    clock: tuple[str, str | None] | None,
    as_json: bool,
) -> None:
    """Reset the App's world.

    \b
    payments-emulator reset
    payments-emulator reset --clock frozen@2026-01-01T00:00:00Z --seed 7
    payments-emulator reset --app shop --fixtures shop.yaml

    Omitted options use the server's start-up values. Snapshots are not deleted.
    """
    start = "@".join(filter(None, clock)) if clock else None
    given = {"fixtures": fixtures and content(fixtures), "seed": seed, "clock": start}
    body = {name: value for name, value in given.items() if value is not None}
    print_line(emulator.post("/reset", body), line, as_json)


def content(file: BinaryIO) -> Any:
    """The object in a fixture file. Raises ``ClickException`` for what is no YAML, or cannot be sent as JSON."""
    # Imported here: few commands read YAML.
    import yaml

    from emulator.engine.reference_data import parse_yaml

    try:
        loaded = parse_yaml(file.read().decode())
        json.dumps(loaded)
    except (yaml.YAMLError, ValueError) as error:
        raise click.ClickException(f"{file.name}: is not YAML: {error}") from None
    except TypeError as error:  # of a date, or of bytes
        raise click.ClickException(f"{file.name}: {error}") from None
    return {} if loaded is None else loaded


def line(result: Any) -> str:
    """The new world on one line."""
    return f"New world: {when(result['now'])}, {result['mode']}"
