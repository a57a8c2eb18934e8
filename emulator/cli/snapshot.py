"""``snapshot``: save, restore, export and import whole worlds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from emulator.cli.json_file import read_json
from emulator.cli.lazy_groups import LazyGroup
from emulator.cli.options import Text, as_json, complete_from, limit, with_client
from emulator.cli.output import counted, print_line, print_lines, when

if TYPE_CHECKING:
    from emulator.cli.client import ControlClient

NAME = Text("NAME", r"(?!\.\.?$)[A-Za-z0-9._-]{1,64}", "a name has 1 to 64 of A-Z a-z 0-9 . _ -")
"""The name of a snapshot, which is part of a URL."""

existing = click.argument("name", type=NAME, shell_complete=complete_from("/snapshots", "name"))
"""The name of an existing snapshot, which shells complete."""


@click.group(cls=LazyGroup, default="list")
def snapshot() -> None:
    """Save and restore the App's world.

    \b
    payments-emulator snapshot save before-renewal
    payments-emulator clock advance 31d
    payments-emulator snapshot load before-renewal
    """


@snapshot.command()
@click.argument("name", type=NAME)
@as_json
@with_client
def save(emulator: ControlClient, name: str, as_json: bool) -> None:
    """Save the world; replaces a snapshot of the same name.

    \b
    payments-emulator snapshot save before-renewal
    """
    print_line(emulator.post("/snapshots", {"name": name}), line, as_json)


@snapshot.command()
@existing
@as_json
@with_client
def load(emulator: ControlClient, name: str, as_json: bool) -> None:
    """Restore a snapshot, including the clock.

    \b
    payments-emulator snapshot load before-renewal
    """
    print_line(emulator.post(f"/snapshots/{name}/restore"), line, as_json)


@snapshot.command("list")
@limit("newest")
@as_json
@with_client
def list_snapshots(emulator: ControlClient, limit: int, as_json: bool) -> None:
    """List snapshots, newest first.

    \b
    payments-emulator snapshot list
    """
    print_lines(
        emulator.pages("/snapshots", limit), line, as_json, "No snapshots yet; create one with 'snapshot save NAME'."
    )


@snapshot.command()
@existing
@click.option(
    "--output", "-o", type=click.File("wb", lazy=True), default="-", help="File to write. [default: standard output]"
)
@click.option(
    "--share", is_flag=True, help="Invent secrets, names, emails, phones and addresses, to send it to others."
)
@with_client
def export(emulator: ControlClient, name: str, output: BinaryIO, share: bool) -> None:
    """Export a snapshot as JSON.

    \b
    payments-emulator snapshot export before-renewal > before-renewal.json
    payments-emulator snapshot export before-renewal --share -o to-send.json
    """
    exported = emulator.send("GET", f"/snapshots/{name}", query={"share": "true"} if share else None)
    output.write(exported.content + b"\n")


@snapshot.command("import")
@click.argument("file", type=click.File("rb"))
@click.option("--name", type=NAME, help="Name of the snapshot. [default: the file's name]")
@as_json
@with_client
def import_snapshot(emulator: ControlClient, file: BinaryIO, name: str | None, as_json: bool) -> None:
    """Import an exported snapshot (use 'snapshot load' to restore it).

    \b
    payments-emulator snapshot import before-renewal.json
    payments-emulator snapshot import --name shop - < before-renewal.json
    """
    chosen = name or Path(file.name).stem
    if not NAME.matches(chosen):
        raise click.UsageError(f"{file.name} is not a valid name for a snapshot; give one with --name")
    exported = read_json(file.read(), file.name)
    print_line(emulator.send("PUT", f"/snapshots/{chosen}", body=exported).json(), line, as_json)


@snapshot.command()
@existing
@with_client
def delete(emulator: ControlClient, name: str) -> None:
    """Delete a snapshot (the current world is unaffected).

    \b
    payments-emulator snapshot delete before-renewal
    """
    emulator.send("DELETE", f"/snapshots/{name}")


def line(snapshot: Any) -> str:
    """A snapshot on one line."""
    name = click.style(snapshot["name"].ljust(20), bold=True)
    return f"{name}  {when(snapshot['now'])}  {counted(snapshot['objects'], 'object')}"
