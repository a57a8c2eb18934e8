"""``play``: a recording is played again, and every answer is compared with the recorded one."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from emulator.cli.options import DEFAULT_KEY, DEFAULT_URL, option
from emulator.cli.parameter_types import ProfileFile

if TYPE_CHECKING:
    from emulator.profile import Profile
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
@option(
    "--profile", type=ProfileFile(), help="Play what proxy recorded in a world that follows a profile of calibrate."
)
@click.option("--json", "as_json", is_flag=True, help="The differences as JSON, one a line.")
def play(
    file: Path, url: str | None, key: str, control_token: str | None, profile: Profile | None, *, as_json: bool
) -> int:
    """Replay a recording and compare each response.

    \b
    payments-emulator record --as har --out run.har
    payments-emulator play run.har
    payments-emulator proxy --upstream https://sandbox.example.com --record run.jsonl
    payments-emulator play run.jsonl

    FILE is a HAR that 'record --as har' wrote, or one of a browser or a proxy. The world starts with the recorded seed,
    clock and settings; time between the requests passes in a moment. Ids that differ are mapped. With the same App,
    the same seed gives the same answers, byte for byte. Or FILE is what proxy recorded, compared as proxy does it.

    Exit status 1 if an answer differs.
    """
    # Imported here: the help of this command needs neither.
    from emulator.engine.redaction import redact
    from emulator.proxy.run_file import is_run
    from emulator.recording.har import read
    from emulator.recording.playback import play_file

    with _explained(file):
        is_of_proxy = is_run(file)
        recorded = None if is_of_proxy else read(file.read_bytes())
    if is_of_proxy:
        return _play_run(file, profile.chosen() if profile else {}, as_json=as_json)
    if profile is not None:
        raise click.UsageError("--profile is for a run of proxy; a HAR has the settings that it was recorded with")
    assert recorded is not None
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


@contextmanager
def _explained(file: Path) -> Iterator[None]:
    """Report a file that cannot be read, or is no recording, on one line."""
    try:
        yield
    except (OSError, ValueError) as error:
        raise click.ClickException(f"{file}: {getattr(error, 'strerror', None) or error}") from None


def _play_run(file: Path, settings: Mapping[str, Any], *, as_json: bool) -> int:
    """Play what ``proxy`` recorded. 1 if an answer differs."""
    from emulator.cli.proxy import show_finding, show_report
    from emulator.engine.reference_data import ReferenceData
    from emulator.proxy.run_file import read_run
    from emulator.proxy.side_by_side import SideBySide
    from emulator.testing.fresh_world import FreshWorld

    cards = {rule.value[-4:]: rule.value for rule in ReferenceData(None).magic["bank_card"]}
    with FreshWorld(APP, DEFAULT_URL) as world, _explained(file):
        side_by_side = SideBySide(world, settings, partial(show_finding, as_json=as_json))
        for passed in read_run(file, cards):
            side_by_side.take(passed)
        side_by_side.finish()
    show_report(side_by_side.findings, as_json=as_json)
    return int(side_by_side.findings.differing > 0)


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
