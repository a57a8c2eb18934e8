"""``exec --import`` and ``--export-on-exit``: the world of the command's App from and to a file."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from emulator.cli import world_report
from emulator.cli.client import ControlClient
from emulator.cli.json_file import read_json
from emulator.cli.output_files import explained

NAME = "exec"
"""The name of the snapshot at the server."""


class AppWorld(NamedTuple):
    """The App of the command, as a client of the server finds it."""

    url: str
    key: str
    token: str | None


def load(world: AppWorld, file: Path) -> None:
    """Start from a file. Raises ``ClickException`` if it is no snapshot."""
    exported = read_json(file.read_bytes(), str(file))
    with ControlClient(world.url, world.key, token=world.token) as emulator:
        emulator.send("PUT", f"/snapshots/{NAME}", body=exported)
        emulator.post(f"/snapshots/{NAME}/restore")


def save(world: AppWorld, file: Path) -> None:
    """Write the present world to a file. Raises ``ClickException`` if that cannot be done."""
    with ControlClient(world.url, world.key, token=world.token) as emulator:
        emulator.post("/snapshots", {"name": NAME})
        exported = emulator.send("GET", f"/snapshots/{NAME}").content
    with explained(file):
        file.write_bytes(exported + b"\n")


def draw(world: AppWorld, file: Path) -> None:
    """Write the report of the present world. Raises ``ClickException`` if that cannot be done."""
    with ControlClient(world.url, world.key, token=world.token) as emulator:
        world_report.write(emulator, file)
