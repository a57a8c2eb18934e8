"""``record``: what was done in a world becomes a test that runs by itself."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from emulator.cli.options import Decorator, with_client

if TYPE_CHECKING:
    from emulator.cli.client import ControlClient
    from emulator.recording.model import Recording
    from emulator.recording.shrink import Shrunk

FORMS = ("pytest", "node", "curl", "arazzo", "bruno", "har")


def form_option(forms: Sequence[str], *, required: bool = True) -> Decorator:
    """``--as`` of the commands that write a test."""
    return click.option("--as", "form", type=click.Choice(forms), required=required, help="The form of the test.")


out_option = click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write to FILE (bruno: a folder).",
)
"""``--out`` of the commands that write a test."""


seconds_option = click.option(
    "--seconds",
    type=click.FloatRange(min=0, min_open=True),
    default=10.0,
    show_default=True,
    help="How long to shrink at most.",
)
"""``--seconds`` of the commands that shrink."""


def _well_formed(_context: click.Context, _parameter: click.Parameter, expected: tuple[str, ...]) -> tuple[str, ...]:
    if any(not re.match(r"[^.=]+(\.[^.=]+)+=", text) for text in expected):
        raise click.BadParameter("must be ID.FIELD=VALUE, such as sub_….status=past_due")
    return expected


@click.command()
@form_option(FORMS, required=False)
@click.option("--since", metavar="MARK", help="Only what came after this request, and what that depends on.")
@click.option(
    "--expect",
    "expected",
    multiple=True,
    metavar="ID.FIELD=VALUE",
    callback=_well_formed,
    help="Expect this at the end instead of the events that came; repeatable.",
)
@click.option("--shrink", "is_shrunk", is_flag=True, help="Leave out all that --expect or --while does not depend on.")
@click.option("--while", "command", metavar="COMMAND", help="With --shrink: as long as COMMAND, run after it, fails.")
@seconds_option
@click.option("--start", "is_start", is_flag=True, help="Print the mark of this moment for --since, and end.")
@out_option
@with_client
def record(
    emulator: ControlClient,
    form: str | None,
    *,
    since: str | None,
    expected: tuple[str, ...],
    is_shrunk: bool,
    command: str | None,
    seconds: float,
    is_start: bool,
    out: Path | None,
) -> int:
    """Write a test of what was done in the world.

    \b
    payments-emulator record --as pytest --out test_recorded.py
    payments-emulator record --as node --since req_4fKq9ZsT1mVbX7cR2yLdH8wN
    payments-emulator record --as pytest --shrink --expect sub_8fKq9ZsT1mVbX7cR2yLdH8wN.status=past_due
    payments-emulator record --as curl --shrink --seconds 300 --while 'npm test'

    Ids become variables. Moves of the clock, outcomes, faults and settings stay; what changes nothing is left out. Card
    numbers and secrets are replaced by test values.

    Exit status 1 with --shrink if a fresh world does not end as expected.
    """
    if is_start:
        click.echo("".join(request["id"] for request in emulator.pages("/requests", 1)))
        return 0
    if form is None:
        raise click.UsageError(f"--as: name the form: {', '.join(FORMS)}")
    if command is not None and (expected or not is_shrunk):
        raise click.UsageError("--while goes with --shrink, without --expect")
    if is_shrunk and not expected and command is None:
        raise click.UsageError("--shrink needs --expect or --while: what is to hold at the end")
    if form == "har" and expected:
        raise click.UsageError("a HAR expects nothing; leave out --expect and --shrink")
    if form == "har":
        write({"": json.dumps(fetch(emulator, "har", since), indent=1, ensure_ascii=False) + "\n"}, out)
        return 0
    recording = fetched(emulator, since, expected)
    if is_shrunk:
        shorter = shrunk(recording, seconds) if command is None else shrunk_while(recording, command, seconds)
        if shorter is None:
            return 1
        recording = shorter
    write(rendered(recording, form), out)
    return 0


def fetch(
    emulator: ControlClient,
    form: str,
    since: str | None = None,
    expected: tuple[str, ...] = (),
    about: str | None = None,
) -> Any:
    """A recording of the emulator, as JSON."""
    query = {"as": form, "since": since or None, "expect": list(expected) or None, "about": about}
    return emulator.get("/recording", **query)


def fetched(
    emulator: ControlClient, since: str | None, expected: tuple[str, ...], about: str | None = None
) -> Recording:
    """The steps of a recording. What a fresh world cannot have is reported on standard error."""
    # Imported here: the help of this command needs neither.
    import msgspec

    from emulator.recording.model import Recording

    recording = msgspec.convert(fetch(emulator, "steps", since, expected, about), Recording)
    for id in recording.unknown:
        click.echo(f"{id}: the journal does not say how it was made; a fresh world has no such object", err=True)
    return recording


def shrunk(recording: Recording, seconds: float) -> Recording | None:
    """The recording without all that is not needed; None, with the reason on standard error, if it does not hold."""
    from emulator.recording.player import play
    from emulator.recording.shrink import shrink
    from emulator.testing.fresh_world import FreshWorld

    with FreshWorld(recording.app, recording.url) as world:
        difference = play(recording, world).difference
        if difference is not None:
            click.echo(f"In a fresh world it ends in another way: {difference}", err=True)
            return None
        result = shrink(recording, lambda candidate: play(candidate, world).difference is None, seconds)
    report(recording, result)
    return result.recording


def shrunk_while(recording: Recording, command: str, seconds: float) -> Recording | None:
    """The recording without all that a command, run after it, does not need in order to fail; None if it does not fail.

    What is left expects nothing: the events of the whole recording are others.
    """
    import msgspec

    from emulator.cli.record_while import failing
    from emulator.recording.shrink import shrink

    recording = msgspec.structs.replace(recording, events=None)
    with failing(command, recording.app) as holds:
        if not holds(recording):
            click.echo(f"In a fresh world the recording cannot be played, or '{command}' succeeds after it", err=True)
            return None
        result = shrink(recording, holds, seconds)
    report(recording, result)
    return result.recording


def report(recording: Recording, result: Shrunk) -> None:
    """Say on standard error how far a recording was shrunk."""
    finished = "" if result.finished else "; time was over, --seconds gives it more"
    steps = f"{len(recording.steps)} steps became {len(result.recording.steps)}"
    click.echo(f"{steps} after {result.replays} replays{finished}", err=True)


def rendered(recording: Recording, form: str) -> dict[str, str]:
    """The files of a recording by name; one file has the empty name."""
    from emulator.recording.renderers import FORMS as RENDERERS

    return dict(RENDERERS[form](recording))


def write(files: dict[str, str], out: Path | None) -> None:
    """Print one file, or write it to ``out``; several are written into the folder ``out``."""
    if out is None:
        if "" not in files:
            raise click.UsageError("this form is a folder of files; name it with --out")
        click.echo(files[""], nl=False)
        return
    for name, text in files.items():
        path = out / name if name else out
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
        except OSError as error:
            raise click.ClickException(f"{path}: cannot be written: {error.strerror}") from None
