"""``clock`` and ``schedule``: the time in an App's world, and what is due."""

from __future__ import annotations

import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from emulator.cli.groups import FOUND, INTERRUPTED, LazyGroup
from emulator.cli.options import DURATION, EVENT_TYPE, INSTANT, Number, as_json, limit, with_client
from emulator.cli.output import Row, advance_lines, counted, print_line, print_next, print_rows, when

if TYPE_CHECKING:
    from emulator.cli.client import ControlClient


AT_FIRST, AT_MOST = 0.02, 0.25
"""Seconds (real time) between two polls of an advance: the first pause and the longest."""

PROGRESS_AFTER = 0.5
"""Seconds (real time) after which the progress of an advance is shown."""


@click.group(cls=LazyGroup, default="show")
def clock() -> None:
    """Show and move the clock of the App's world.

    \b
    payments-emulator clock
    payments-emulator clock advance 31d
    payments-emulator clock freeze
    """


@clock.command()
@as_json
@with_client
def show(emulator: ControlClient, as_json: bool) -> None:
    """Show the time in the world and the next job.

    \b
    payments-emulator clock show
    payments-emulator clock show --json
    """
    print_line(emulator.get("/clock"), clock_line, as_json)


@clock.command()
@click.argument("by", type=DURATION, required=False, metavar="[DURATION]")
@click.option("--to", type=INSTANT, help="Stop at this instant or day.")
@click.option("--until-event", type=EVENT_TYPE, help="Stop when this event happens, after DURATION (1 year) at most.")
@as_json
@with_client
def advance(emulator: ControlClient, by: str | None, to: str | None, until_event: str | None, as_json: bool) -> int:
    """Move the clock forward and run every job that becomes due.

    \b
    payments-emulator clock advance 31d
    payments-emulator clock advance P1M
    payments-emulator clock advance --to 2026-03-01
    payments-emulator clock advance --until-event subscription.payment_failed

    Webhooks and emails are sent at their times. Ctrl-C stops the clock where it is. Exit status 1 if a job failed.
    """
    given = {"by": by, "to": to, "until_event": until_event}
    body = {name: value for name, value in given.items() if value}
    if body.keys() not in ({"by"}, {"to"}, {"until_event"}, {"by", "until_event"}):
        raise click.UsageError("how far? Give a DURATION such as 31d, --to INSTANT or --until-event EVENT")
    return advanced(emulator, body, as_json)


@clock.command("next")
@as_json
@with_client
def next_job(emulator: ControlClient, as_json: bool) -> int:
    """Move the clock to the next planned job and run it.

    \b
    payments-emulator clock next
    """
    return advanced(emulator, {"until": "next"}, as_json)


@clock.command()
@click.option("--at", type=INSTANT, help="Move forward to this instant or day first.")
@as_json
@with_client
def freeze(emulator: ControlClient, at: str | None, as_json: bool) -> None:
    """Stop the clock.

    \b
    payments-emulator clock freeze
    payments-emulator clock freeze --at 2026-03-01
    """
    print_line(emulator.post("/clock/freeze", {"at": at} if at else {}), clock_line, as_json)


@clock.command()
@click.option("--rate", type=Number(), default=1, show_default=True, help="Speed; 60 means a minute per second.")
@as_json
@with_client
def run(emulator: ControlClient, rate: float, as_json: bool) -> None:
    """Let the clock run.

    \b
    payments-emulator clock run
    payments-emulator clock run --rate 3600
    """
    print_line(emulator.post("/clock/run", {"rate": rate}), clock_line, as_json)


def clock_line(clock: Any) -> str:
    speed = "" if clock["mode"] == "frozen" or clock["rate"] == 1 else f" ({clock['rate']:g} times as fast)"
    behind = f" ({clock['lag']:.0f} s behind)" if clock["lag"] else ""
    due = clock["next_due_at"]
    planned = f"{counted(clock['pending'], 'job')} planned, the next at {when(due)}" if due else "nothing is planned"
    return f"{when(clock['now'])}  {clock['mode']}{speed}{behind}; {planned}"


def advanced(emulator: ControlClient, body: dict[str, Any], as_json: bool) -> int:
    """Run an advance to its end, print its result and return the exit status."""
    with interruption() as interrupted:
        result = run_advance(emulator, body, interrupted)
    print_line(result, advance_lines, as_json)
    for failure in result["failures"]:
        click.echo(f"failed: {failure['kind']} of {failure['object']}: {failure['error']}", err=True)
    if result["error"]:
        click.echo(f"failed: {result['error']}", err=True)
    print_next("events" if result["events"] else "schedule", as_json)
    if result["status"] == "stopped" and interrupted.is_set():
        return INTERRUPTED
    return FOUND if result["failures"] or result["status"] != "completed" else 0


def run_advance(emulator: ControlClient, body: dict[str, Any], interrupted: threading.Event) -> Any:
    """Start an advance and poll it until it ends; an interruption stops it early."""
    state = emulator.post("/clock/advance", body, Prefer="respond-async")
    path, pause = f"/clock/advances/{state['id']}", AT_FIRST
    with progress() as report:
        while state["status"] == "running":
            report(state)
            method = "DELETE" if interrupted.wait(pause) else "GET"
            state, pause = emulator.call(method, path), min(2 * pause, AT_MOST)
    return state


@contextmanager
def interruption() -> Iterator[threading.Event]:
    """Yield an event that Ctrl-C sets; a second Ctrl-C ends the command."""
    interrupted = threading.Event()

    def interrupt(*_: Any) -> None:
        signal.signal(signal.SIGINT, before)
        interrupted.set()

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield interrupted
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def progress() -> Iterator[Callable[[Any], None]]:
    """Show a progress bar on the terminal for an advance that takes long, and erase it at the end."""
    started = time.monotonic()
    bars: list[ProgressBar] = []

    def report(state: Any) -> None:
        if not bars and time.monotonic() - started >= PROGRESS_AFTER:
            bars.append(ProgressBar())
        for bar in bars:
            bar.show(state)

    try:
        yield report
    finally:
        for bar in bars:
            bar.close()


class ProgressBar:
    """The progress of an advance on one line of the terminal: share, instant and jobs.

    It writes nothing if the error output is not a terminal.
    """

    def __init__(self) -> None:
        # The last column stays free: writing to it starts a new line on some terminals.
        self._width = shutil.get_terminal_size().columns - 1 if sys.stderr.isatty() else 0

    def show(self, state: Any) -> None:
        """Draw the current state."""
        text = f" {state['progress']:4.0%}  {when(state['now'])}  {counted(state['jobs'], 'job')}"
        room = max(0, self._width - len(text))
        done = int(room * state["progress"])
        self._write("#" * done + "-" * (room - done) + text)

    def close(self) -> None:
        self._write(" " * self._width)

    def _write(self, line: str) -> None:
        if self._width:
            click.echo(f"\r{line[: self._width]}\r", err=True, nl=False)


@click.command()
@click.option("--until", metavar="DURATION|INSTANT", help="Run a copy of the world up to there.")
@limit("soonest")
@as_json
@with_client
def schedule(emulator: ControlClient, until: str | None, limit: int, as_json: bool) -> None:
    """Show upcoming jobs, soonest first.

    \b
    payments-emulator schedule
    payments-emulator schedule --until P1Y
    payments-emulator schedule --until 2026-03-01T00:00:00Z --json

    Without --until, shows the jobs planned now. With --until, also shows the jobs that these will plan, such as every
    renewal of a year. The world itself does not change.
    """
    jobs = [*emulator.pages("/schedule", limit, until=until)]
    print_rows(emulator, jobs, job_row, as_json, nothing="Nothing is scheduled.", following=lambda _: "clock next")


def job_row(entry: Any) -> Row:
    """Return a planned job, with the events it will cause if they are known."""
    events = (", ".join(entry["event_types"]),) if entry.get("event_types") else ()
    return Row(entry["due_at"], ((entry["kind"].ljust(25), {"bold": True}), *events), entry["object"], entry["object"])
