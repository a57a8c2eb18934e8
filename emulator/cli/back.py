"""``reset`` and ``rewind``: the App's world made anew, or as it was before a request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, BinaryIO

import click

from emulator.cli.options import ID, as_json, remembered, speaking
from emulator.cli.serve import ClockStart
from emulator.cli.show import counted, tell, when

if TYPE_CHECKING:
    from emulator.cli.client import Emulator


@click.command()
@click.option("--fixtures", type=click.File("rb"), metavar="FILE", help="Settings to start with (YAML or JSON).")
@click.option("--seed", type=int, help="Same seed, frozen clock, same requests: same bytes.")
@click.option("--clock", type=ClockStart(), metavar=ClockStart.name, help="How the clock starts.")
@as_json
@speaking
def reset(
    emulator: Emulator, fixtures: BinaryIO | None, seed: int | None, clock: tuple[str, str | None] | None, as_json: bool
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
    tell(emulator.post("/reset", body), anew, as_json)


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


@click.command()
@click.argument("request", type=ID, required=False, metavar="[REQUEST]", shell_complete=remembered("/requests", "id"))
@click.option("--steps", type=click.IntRange(1), metavar="N", help="Take back the last N requests. [default: 1]")
@as_json
@speaking
def rewind(emulator: Emulator, request: str | None, steps: int | None, as_json: bool) -> None:
    """Make the world what it was before a REQUEST.

    \b
    payments-emulator rewind
    payments-emulator rewind --steps 3
    payments-emulator rewind req_4fKq9ZsT1mVbX7cR2yLdH8wN

    Ids of requests are in 'payments-emulator logs'. The clock goes back too; webhooks that went out stay out.
    """
    if request and steps:
        raise click.UsageError("REQUEST and --steps both say how far back; give one of them")
    tell(emulator.post("/rewind", {"to": request} if request else {"steps": steps or 1}), rewound, as_json)


def rewound(result: Any) -> str:
    """Where the world is, in a line."""
    return f"As before {result['to']}: {when(result['now'])}, {counted(result['turns'], 'turn')} taken back"
