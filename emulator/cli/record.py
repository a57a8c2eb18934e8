"""``record``: what was done in a world, or what brings one object to its state, as a test."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import click
import msgspec

from emulator.cli.client import ControlClient
from emulator.cli.exec import environment
from emulator.cli.options import ID, Number, with_client, writing
from emulator.control.recording.model import Recording
from emulator.control.recording.renderers import FORMS
from emulator.control.recording.reproduction import Holds, Shrunk, play, reproduce, shrink
from emulator.testing.servers import LocalServer


def _unused(_context: click.Context, _parameter: click.Parameter, out: Path | None) -> Path | None:
    """Return a path that nothing is written to yet, before any work is done: a test is often changed after it was written."""
    if out is not None and out.exists():
        raise click.BadParameter(f"{out} exists; move it away or name another one")
    return out


def _well_formed(_context: click.Context, _parameter: click.Parameter, expected: tuple[str, ...]) -> tuple[str, ...]:
    if any(not re.match(r"[^.=]+(\.[^.=]+)+=", text) for text in expected):
        raise click.BadParameter("must be ID.FIELD=VALUE, such as sub_….status=past_due")
    return expected


class JournalPart(NamedTuple):
    """A part of the journal: what came after the request ``since``, up to the request ``until``; all where None."""

    since: str | None = None
    until: str | None = None


@click.command()
@click.argument("id", type=ID, required=False, metavar="[ID]")
@click.option("--as", "form", type=click.Choice([*FORMS]), help="The form of the test. [default: pytest]")
@click.option("--start", "is_start", is_flag=True, help="Start recording; prints the mark of this moment.")
@click.option("--stop", "is_stop", is_flag=True, help="Write what came since --start, then stop recording.")
@click.option("--since", metavar="MARK", help="Only what came after this, and what that depends on.")
@click.option(
    "--expect",
    "expected",
    multiple=True,
    metavar="ID.FIELD=VALUE",
    callback=_well_formed,
    help="Expect this instead of the events that came. May be repeated.",
)
@click.option("--shrink", "is_shrunk", is_flag=True, help="Leave out all that --expect or --while does not depend on.")
@click.option("--while", "command", metavar="COMMAND", help="With --shrink: as long as COMMAND, run after it, fails.")
@click.option(
    "--seconds",
    type=Number(min=0, min_open=True),
    default=10.0,
    metavar="SECONDS",
    show_default="10",
    help="How long to shrink at most.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="FILE",
    callback=_unused,
    help="Write to this new FILE.",
)
@with_client
def record(
    emulator: ControlClient,
    id: str | None,
    form: str | None,
    *,
    is_start: bool,
    is_stop: bool,
    since: str | None,
    expected: tuple[str, ...],
    is_shrunk: bool,
    command: str | None,
    seconds: float,
    out: Path | None,
) -> int:
    """Write a test of what was done in the world, or of what led to the object ID.

    \b
    payments-emulator record --out test_recorded.py
    payments-emulator record sub_8fKq9ZsT1mVbX7cR2yLdH8wN --as curl
    payments-emulator record --start
    payments-emulator record --stop --as node --out recorded.test.mjs
    payments-emulator record --as pytest --shrink --expect sub_8fKq9ZsT1mVbX7cR2yLdH8wN.status=past_due
    payments-emulator record --as curl --shrink --seconds 300 --while 'npm test'

    Ids become variables. Moves of the clock, outcomes, faults and settings stay; what changes nothing is left out. Card
    numbers and secrets are replaced by test values. With ID only what it depends on stays; played in a fresh world, it is
    equal in every field except ids and document numbers.

    Exit status 1 with ID or --shrink if a fresh world does not end as expected.
    """
    if is_start:
        alone = not (id or is_stop or form or since or expected or is_shrunk or command or out)
        return _start(emulator, is_alone=alone)
    form = form or next(iter(FORMS))
    if id:
        if is_stop or since or expected or is_shrunk or command:
            raise click.UsageError("ID says what is written; leave out --stop, --since, --expect, --shrink and --while")
        return _of_object(emulator, id, form, seconds, out)
    if is_stop and since:
        raise click.UsageError("--stop writes what came since --start; leave out --since")
    _check_options(expected, command, is_shrunk=is_shrunk)
    part = _under_way(emulator) if is_stop else JournalPart(since)
    recording = _chosen(fetched(emulator, part, expected), command, seconds, is_shrunk=is_shrunk)
    if recording is None:
        return 1
    write(FORMS[form](recording), out)
    if is_stop:
        emulator.post("/recording/stop")
    return 0


def _chosen(recording: Recording, command: str | None, seconds: float, *, is_shrunk: bool) -> Recording | None:
    """Return the recording that is written; None, with the reason on standard error, if it does not hold."""
    if not recording.steps:
        raise click.ClickException("there is nothing to record: no request changed anything")
    if not is_shrunk:
        return recording
    return shrunk(recording, seconds) if command is None else shrunk_while(recording, command, seconds)


def _check_options(expected: tuple[str, ...], command: str | None, *, is_shrunk: bool) -> None:
    """Raise a usage error for options that do not go together."""
    if command is not None and (expected or not is_shrunk):
        raise click.UsageError("--while goes with --shrink, without --expect")
    if is_shrunk and not expected and command is None:
        raise click.UsageError("--shrink needs --expect or --while: what is to hold at the end")


def _start(emulator: ControlClient, *, is_alone: bool) -> int:
    if not is_alone:
        raise click.UsageError("--start stands alone; --stop takes the form and what is expected")
    mark = emulator.post("/recording/start")["since_request"]
    if mark is not None:
        click.echo(mark)
    click.echo("Recording. 'payments-emulator record --stop' writes the test.", err=True)
    return 0


def _under_way(emulator: ControlClient) -> JournalPart:
    """Return the part of the journal since the start. The recording is stopped only once its test is written."""
    state = emulator.get("/recording/state")
    if not state["is_recording"]:
        raise click.ClickException("no recording is under way; 'payments-emulator record --start' begins one")
    if state["until_request"] is None:
        raise click.ClickException("nothing is recorded yet: no request came since the start")
    return JournalPart(state["since_request"], state["until_request"])


def fetched(
    emulator: ControlClient, part: JournalPart, expected: tuple[str, ...], about: str | None = None
) -> Recording:
    """Return the steps of a recording. What a fresh world cannot have is reported on standard error."""
    marks = {"since": part.since or None, "until": part.until}
    shown = emulator.get("/recording", **marks, expect=list(expected) or None, about=about)
    recording = msgspec.convert(shown, Recording)
    for id in recording.unknown:
        click.echo(f"{id}: the journal does not say how it was made; a fresh world has no such object", err=True)
    return recording


def shrunk(recording: Recording, seconds: float) -> Recording | None:
    """Return the recording without all that is not needed; None, with the reason on standard error, if it does not hold."""
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
    """Return the recording without all that a command, run after it, does not need in order to fail; None if it does not fail.

    What is left expects nothing: the events of the whole recording are others.
    """
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


def write(text: str, out: Path | None) -> None:
    """Print a text, or write it to ``out``."""
    if out is None:
        click.echo(text, nl=False)
        return
    with writing(out):
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(text, "utf-8")


def _of_object(emulator: ControlClient, id: str, form: str, seconds: float, out: Path | None) -> int:
    """Write the shortest recording at whose end a fresh world has an object equal to this one."""
    from emulator.testing.fresh_world import FreshWorld

    shown = emulator.get(f"/objects/{id}")
    # Every object has the kind; the status is what matters, where there is one.
    field = "status" if "status" in shown else "object"
    expected = (f"{id}.{field}={shown[field]}",)
    # First what the journal knows as its causes; where that is not enough, all that was done.
    for about in (id, None):
        recording = fetched(emulator, JournalPart(), expected, about)
        with FreshWorld(recording.app, recording.url) as world:
            found = reproduce(recording, shown, world, seconds)
        if not isinstance(found, str):
            break
    if isinstance(found, str):
        click.echo(f"In a fresh world it ends in another way: {found}", err=True)
        click.echo(f"'record --as {form} --expect {expected[0]}' writes all that was done instead", err=True)
        return 1
    report(recording, found)
    write(FORMS[form](found.recording), out)
    return 0


@contextmanager
def failing(command: str, app: str) -> Iterator[Holds]:
    """Return a check that plays a recording in a world of a server and says whether the command, run then, still fails.

    The command is a line for the shell. It finds the world by the variables that ``exec`` sets.
    """
    server, key = LocalServer(), f"sk_test_{app}"
    variables = environment(server.url, key)
    try:
        with ControlClient(server.url, key) as emulator:

            def holds(candidate: Recording) -> bool:
                played = play(msgspec.structs.replace(candidate, url=server.url), emulator)
                return played.difference is None and _status(command, variables) != 0

            yield holds
    finally:
        server.stop()


def _status(command: str, variables: Mapping[str, str]) -> int:
    done = subprocess.run(  # noqa: S602  # the line is what the user typed
        command,
        shell=True,
        env={**os.environ, **variables},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    return done.returncode
