"""``world``: save, restore, export, rewind and reset whole worlds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, BinaryIO

import click

from emulator.checks.runs import counted
from emulator.cli.control_client import ControlClient
from emulator.cli.groups import LazyGroup
from emulator.cli.options import (
    CLOCK_START,
    ID,
    INPUT_FILE,
    SEED,
    Integer,
    as_json,
    matching,
    read_snapshot,
    with_client,
)
from emulator.cli.output import limit, print_line, printed, when

NAME = matching("NAME", r"(?!\.\.?$)[A-Za-z0-9._-]{1,64}", "a name of 1 to 64 of A-Z a-z 0-9 . _ -")
"""The name of a snapshot, which is part of a URL."""

existing = click.argument("name", type=NAME)
"""The name of an existing snapshot."""


@click.group(cls=LazyGroup)
def world() -> None:
    """Save, restore, rewind and reset the App's world.

    \b
    payments-emulator world save before-renewal
    payments-emulator clock advance 31d
    payments-emulator world load before-renewal
    """


# -- snapshots


def snapshot_line(snapshot: Any) -> str:
    name = click.style(snapshot["name"].ljust(20), bold=True)
    return f"{name}  {when(snapshot['now'])}  {counted(snapshot['objects'], 'object')}"


@world.command()
@click.argument("name", type=NAME)
@printed(snapshot_line)
def save(emulator: ControlClient, name: str) -> Any:
    """Save the world; replaces a snapshot of the same name.

    \b
    payments-emulator world save before-renewal
    """
    return emulator.post("/snapshots", {"name": name})


@world.command()
@existing
@printed(snapshot_line)
def load(emulator: ControlClient, name: str) -> Any:
    """Restore a snapshot, including the clock.

    \b
    payments-emulator world load before-renewal
    """
    return emulator.post(f"/snapshots/{name}/restore")


@world.command("list")
@limit("newest")
@as_json
@with_client
def list_snapshots(emulator: ControlClient, limit: int, as_json: bool) -> None:
    """List snapshots, newest first.

    \b
    payments-emulator world list
    """
    snapshots = [*emulator.pages("/snapshots", limit)]
    for snapshot in snapshots:
        print_line(snapshot, snapshot_line, as_json)
    if not snapshots and not as_json:
        click.echo("No snapshots yet; create one with 'world save NAME'.", err=True)


@world.command()
@existing
@click.option(
    "--out",
    "-o",
    "output",
    type=click.File("wb", lazy=True),
    default="-",
    help="File to write, else printed.",
)
@click.option(
    "--share",
    is_flag=True,
    help="Invent secrets, names, emails, phones and addresses, to send it to others.",
)
@with_client
def export(emulator: ControlClient, name: str, output: BinaryIO, share: bool) -> None:
    """Export a snapshot as JSON.

    \b
    payments-emulator world export before-renewal > before-renewal.json
    payments-emulator world export before-renewal --share -o to-send.json
    """
    exported = emulator.send(
        "GET", f"/snapshots/{name}", query={"share": "true" if share else None}
    )
    output.write(exported.content + b"\n")


@world.command("import")
@click.argument("file", type=INPUT_FILE)
@click.option("--name", type=NAME, help="Name of the snapshot. [default: the file's name]")
@printed(snapshot_line)
def import_snapshot(emulator: ControlClient, file: BinaryIO, name: str | None) -> Any:
    """Import an exported snapshot (use 'world load' to restore it).

    \b
    payments-emulator world import before-renewal.json
    payments-emulator world import --name shop - < before-renewal.json
    """
    try:
        chosen = NAME.parse(name or Path(file.name).stem)
    except ValueError:
        raise click.UsageError(
            f"{file.name} is not a valid name for a snapshot; give one with --name"
        ) from None
    return emulator.call("PUT", f"/snapshots/{chosen}", json=read_snapshot(file))


@world.command()
@existing
@with_client
def delete(emulator: ControlClient, name: str) -> None:
    """Delete a snapshot (the current world is unaffected).

    \b
    payments-emulator world delete before-renewal
    """
    emulator.delete(f"/snapshots/{name}")


# -- back in time, and from the start


def rewound_line(result: Any) -> str:
    return (
        f"Before {result['to']}: {when(result['now'])},"
        f" {counted(result['turns'], 'unit of work', 'units of work')} undone"
    )


@world.command()
@click.argument("request", type=ID, required=False, metavar="[REQUEST]")
@click.option(
    "--steps", type=Integer(1), metavar="N", help="Undo the last N requests. [default: 1]"
)
@printed(rewound_line)
def rewind(emulator: ControlClient, request: str | None, steps: int | None) -> Any:
    """Return the world to its state before a REQUEST.

    \b
    payments-emulator world rewind
    payments-emulator world rewind --steps 3
    payments-emulator world rewind req_4fKq9ZsT1mVbX7cR2yLdH8wN

    'payments-emulator logs' shows the ids of requests. The clock goes back too. Webhooks already
    sent are not recalled.
    """
    if request and steps:
        raise click.UsageError("REQUEST and --steps both say how far to go back; give only one")
    return emulator.post(
        "/rewind", {"to": emulator.whole_id(request)} if request else {"steps": steps or 1}
    )


@world.command()
@click.option(
    "--fixtures", type=INPUT_FILE, metavar="FILE", help="Initial settings (YAML or JSON)."
)
@click.option("--seed", type=SEED, help="Seed for reproducible output (with a frozen clock).")
@click.option(
    "--clock", type=CLOCK_START, metavar=CLOCK_START.name, help="Initial state of the clock."
)
@printed(lambda world: f"New world: {when(world['now'])}, {world['mode']}")
def reset(
    emulator: ControlClient,
    fixtures: BinaryIO | None,
    seed: int | None,
    clock: tuple[str, str | None] | None,
) -> Any:
    """Reset the App's world.

    \b
    payments-emulator world reset
    payments-emulator world reset --clock frozen@2026-01-01T00:00:00Z --seed 7
    payments-emulator world reset --app shop --fixtures shop.yaml

    Omitted options use the server's start-up values. Snapshots are not deleted.
    """
    start = "@".join(filter(None, clock)) if clock else None
    choices = {"fixtures": fixtures and fixtures_in(fixtures), "seed": seed, "clock": start}
    return emulator.post(
        "/reset", {name: value for name, value in choices.items() if value is not None}
    )


def fixtures_in(file: BinaryIO) -> Any:
    """Return a fixture file's object. Raises ``ClickException`` if no YAML, or not fit for JSON."""
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
