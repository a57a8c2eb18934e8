"""``reset``: the App's world made anew."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, BinaryIO

import click

from emulator.cli.options import as_json, speaking
from emulator.cli.output import print_line, when
from emulator.cli.serve import ClockStart

if TYPE_CHECKING:
    from emulator.cli.client import ControlClient


@click.command()
@click.option("--fixtures", type=click.File("rb"), metavar="FILE", help="Settings to start with (YAML or JSON).")
@click.option("--seed", type=int, help="Same seed, frozen clock, same requests: same bytes.")
@click.option("--clock", type=ClockStart(), metavar=ClockStart.name, help="How the clock starts.")
@as_json
@speaking
def reset(
    emulator: ControlClient,
    fixtures: BinaryIO | None,
    seed: int | None,
    clock: tuple[str, str | None] | None,
    as_json: bool,
) -> None:
    """Make the App's world anew.

    \b
    payments-emulator reset
    payments-emulator reset --clock frozen@2026-01-01T00:00:00Z --seed 7
    payments-emulator reset --app shop --fixtures shop.yaml

    What is not said is as the server was told when it started. Snapshots stay.
    """
    start = "@".join(filter(None, clock)) if clock else None
    given = {"fixtures": fixtures and content(fixtures), "seed": seed, "clock": start}
    body = {name: value for name, value in given.items() if value is not None}
    print_line(emulator.post("/reset", body), anew, as_json)


def content(file: BinaryIO) -> Any:
    """The object in a fixture file."""
    # Imported here: few commands read YAML.
    import yaml

    try:
        loaded = yaml.safe_load(file)
    except (yaml.YAMLError, UnicodeDecodeError) as fault:
        raise click.ClickException(f"{file.name}: is not YAML: {fault}") from None
    return {} if loaded is None else loaded


def anew(result: Any) -> str:
    """What the world is like, in a line."""
    return f"A fresh world: {when(result['now'])}, {result['mode']}"
