"""``play``: a recording is played again, and every answer is compared with the recorded one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from emulator.cli.options import DEFAULT_KEY, option

if TYPE_CHECKING:
    from emulator.recording.har import HarFile
    from emulator.recording.playback import ByteWorld

APP = "demo"
"""The App in whose world a HAR of others is played."""

SHOWN = 20
"""Differences that are shown."""


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@option("--url", metavar="URL", help="Play against this emulator, whose world is reset, instead of in this process.")
@option("--key", default=DEFAULT_KEY, metavar="KEY", help="Secret key of the App, with --url.")
@option("--control-token", metavar="TOKEN", help="Control token of the emulator, with --url.")
@click.option("--json", "as_json", is_flag=True, help="The differences as JSON, one a line.")
def play(file: Path, url: str | None, key: str, control_token: str | None, *, as_json: bool) -> int:
    """Replay a HAR and compare each response with the recorded one.

    \b
    payments-emulator record --as har --out run.har
    payments-emulator play run.har

    FILE is a HAR that 'record --as har' wrote, or one of a browser or a proxy. The world starts with the recorded seed,
    clock and settings; time between the requests passes in a moment. Ids that differ are mapped. With the same App,
    the same seed gives the same answers, byte for byte.

    Exit status 1 if an answer differs.
    """
    # Imported here: the help of this command needs neither.
    from emulator.engine.redaction import redact
    from emulator.recording.har import read
    from emulator.recording.playback import play_file

    try:
        recorded = read(file.read_bytes())
    except (OSError, ValueError) as error:
        raise click.ClickException(f"{file}: {getattr(error, 'strerror', None) or error}") from None
    with _remote(url, key, control_token, recorded) if url else _fresh(recorded) as world:
        app = key.split("_", 2)[-1] if url else recorded.world.app or APP
        result = play_file(recorded, world, app, redact)
    for difference in result.differences if as_json else result.differences[:SHOWN]:
        click.echo(json.dumps(difference._asdict(), ensure_ascii=False) if as_json else str(difference))
    if not as_json:
        click.echo(
            f"{result.played} requests played, {result.identical} answers equal byte for byte, "
            f"{len(result.differences)} differences"
        )
    return int(bool(result.differences))


def _reset_body(recorded: HarFile) -> dict[str, Any]:
    world = recorded.world
    clock = "frozen" if world.clock is None else f"frozen@{world.clock}"
    seed = {} if world.seed is None else {"seed": world.seed}
    return {"clock": clock, "fixtures": {"settings": world.settings}, **seed}


@contextmanager
def _fresh(recorded: HarFile) -> Iterator[ByteWorld]:
    from emulator.cli.client import error_message
    from emulator.testing.fresh_world import FreshWorld

    with FreshWorld(recorded.world.app or APP, recorded.world.url) as fresh:
        start = fresh.send("POST", "/_emulator/reset", {}, _reset_body(recorded))
        if start.status != 200:
            raise click.ClickException(f"the start of the recorded world: {error_message(start.body)}")
        yield fresh


@contextmanager
def _remote(url: str, key: str, token: str | None, recorded: HarFile) -> Iterator[ByteWorld]:
    from emulator.cli.client import ControlClient

    with ControlClient(url, key, None, token) as emulator:
        emulator.post("/reset", _reset_body(recorded))
        yield emulator
