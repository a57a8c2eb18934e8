"""``snapshot``: whole worlds under a name, to come back to and to carry elsewhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from emulator.cli.lazy_groups import LazyGroup
from emulator.cli.options import Text, as_json, limit, remembered, speaking
from emulator.cli.output import counted, print_line, print_lines, when

if TYPE_CHECKING:
    from emulator.cli.client import ControlClient

NAME = Text("NAME", r"(?!\.\.?$)[A-Za-z0-9._-]{1,64}", "a name has 1 to 64 of A-Z a-z 0-9 . _ -")
"""What a snapshot can be called; it is a part of an address."""

known = click.argument("name", type=NAME, shell_complete=remembered("/snapshots", "name"))
"""The name of a snapshot that is there; it completes in the shell."""


@click.group(cls=LazyGroup, default="list")
def snapshot() -> None:
    """Keep the App's world under a name, and come back to it.

    \b
    payments-emulator snapshot save before-renewal
    payments-emulator clock advance 31d
    payments-emulator snapshot load before-renewal
    """


@snapshot.command()
@click.argument("name", type=NAME)
@as_json
@speaking
def save(emulator: ControlClient, name: str, as_json: bool) -> None:
    """Keep the world as it is; one of the same name is replaced.

    \b
    payments-emulator snapshot save before-renewal
    """
    print_line(emulator.post("/snapshots", {"name": name}), line, as_json)


@snapshot.command()
@known
@as_json
@speaking
def load(emulator: ControlClient, name: str, as_json: bool) -> None:
    """Make the world what it was, its clock included.

    \b
    payments-emulator snapshot load before-renewal
    """
    print_line(emulator.post(f"/snapshots/{name}/restore"), line, as_json)


@snapshot.command("list")
@limit("newest")
@as_json
@speaking
def list_snapshots(emulator: ControlClient, limit: int, as_json: bool) -> None:
    """Show which there are, the newest first.

    \b
    payments-emulator snapshot list
    """
    print_lines(emulator.pages("/snapshots", limit), line, as_json, "No snapshot yet; 'snapshot save NAME' makes one.")


@snapshot.command()
@known
@click.option("--output", "-o", type=click.File("wb", lazy=True), default="-", help="Where to. [default: the output]")
@speaking
def export(emulator: ControlClient, name: str, output: BinaryIO) -> None:
    """Write one as JSON, to be kept or carried elsewhere.

    \b
    payments-emulator snapshot export before-renewal > before-renewal.json
    payments-emulator snapshot export before-renewal -o before-renewal.json
    """
    output.write(emulator.send("GET", f"/snapshots/{name}").content + b"\n")


@snapshot.command("import")
@click.argument("file", type=click.File("rb"))
@click.option("--name", type=NAME, help="What to call it. [default: the file's name]")
@as_json
@speaking
def import_snapshot(emulator: ControlClient, file: BinaryIO, name: str | None, as_json: bool) -> None:
    """Bring in what was exported; 'snapshot load' then makes it the world.

    \b
    payments-emulator snapshot import before-renewal.json
    payments-emulator snapshot import --name shop - < before-renewal.json
    """
    chosen = name or Path(file.name).stem
    if not NAME.fits(chosen):
        raise click.UsageError(f"{file.name} makes no name for a snapshot; give one with --name")
    try:
        exported = json.load(file)
    except ValueError as fault:
        raise click.ClickException(f"{file.name}: is not JSON: {fault}") from None
    print_line(emulator.send("PUT", f"/snapshots/{chosen}", body=exported).json(), line, as_json)


@snapshot.command()
@known
@speaking
def delete(emulator: ControlClient, name: str) -> None:
    """Forget one; the world stays as it is.

    \b
    payments-emulator snapshot delete before-renewal
    """
    emulator.send("DELETE", f"/snapshots/{name}")


def line(snapshot: Any) -> str:
    """A snapshot in a line."""
    name = click.style(snapshot["name"].ljust(20), bold=True)
    return f"{name}  {when(snapshot['now'])}  {counted(snapshot['objects'], 'object')}"
