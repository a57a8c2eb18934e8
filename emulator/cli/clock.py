"""``clock``: the time in an App's world, shown, moved on, stopped and set running."""

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

from emulator.cli.lazy_groups import LazyGroup
from emulator.cli.options import DURATION, EVENT_TYPE, Instant, as_json, speaking
from emulator.cli.output import counted, print_line, when

if TYPE_CHECKING:
    from emulator.cli.client import ControlClient

AT_FIRST, AT_MOST = 0.02, 0.25
"""Seconds (real time) between two looks at an advance: the first, and the longest."""

SOON = 0.5
"""Seconds (real time) an advance may take before its progress is shown."""


@click.group(cls=LazyGroup, default="show")
def clock() -> None:
    """Show and move the time in the App's world.

    \b
    payments-emulator clock
    payments-emulator clock advance 31d
    payments-emulator clock freeze
    """


@clock.command()
@as_json
@speaking
def show(emulator: ControlClient, as_json: bool) -> None:
    """Show what time it is, and what comes next.

    \b
    payments-emulator clock show
    payments-emulator clock show --json
    """
    print_line(emulator.get("/clock"), reading, as_json)


@clock.command()
@click.argument("by", type=DURATION, required=False, metavar="[DURATION]")
@click.option("--to", type=Instant(), help="Go to this instant or day.")
@click.option("--until-event", type=EVENT_TYPE, help="Go on until this happens; DURATION (1 year) at most.")
@as_json
@speaking
def advance(emulator: ControlClient, by: str | None, to: str | None, until_event: str | None, as_json: bool) -> int:
    """Move the clock on, doing all that falls due.

    \b
    payments-emulator clock advance 31d
    payments-emulator clock advance P1M
    payments-emulator clock advance --to 2026-03-01
    payments-emulator clock advance --until-event subscription.payment_failed

    Webhooks and emails are sent as their time comes. Ctrl-C stops the clock where it is. Exit status 1 if a job failed.
    """
    given = {"by": by, "to": to, "until_event": until_event}
    body = {name: value for name, value in given.items() if value}
    if body.keys() not in ({"by"}, {"to"}, {"until_event"}, {"by", "until_event"}):
        raise click.UsageError("say how far: DURATION such as 31d, --to INSTANT or --until-event EVENT")
    return advanced(emulator, body, as_json)


@clock.command("next")
@as_json
@speaking
def next_job(emulator: ControlClient, as_json: bool) -> int:
    """Move the clock to the next job that is due, and run it.

    \b
    payments-emulator clock next
    """
    return advanced(emulator, {"until": "next"}, as_json)


@clock.command()
@click.option("--at", type=Instant(), help="Move on to this instant or day first.")
@as_json
@speaking
def freeze(emulator: ControlClient, at: str | None, as_json: bool) -> None:
    """Make the clock stand still.

    \b
    payments-emulator clock freeze
    payments-emulator clock freeze --at 2026-03-01
    """
    print_line(emulator.post("/clock/freeze", {"at": at} if at else {}), reading, as_json)


@clock.command()
@click.option("--rate", type=float, default=1, show_default=True, help="How fast; 60 is a minute each second.")
@as_json
@speaking
def run(emulator: ControlClient, rate: float, as_json: bool) -> None:
    """Let the clock run on.

    \b
    payments-emulator clock run
    payments-emulator clock run --rate 3600
    """
    print_line(emulator.post("/clock/run", {"rate": rate}), reading, as_json)


def reading(clock: Any) -> str:
    """The clock in a line."""
    pace = "" if clock["mode"] == "frozen" or clock["rate"] == 1 else f" ({clock['rate']:g} times as fast)"
    due = clock["next_due_at"]
    coming = f"{counted(clock['pending'], 'job')} planned, the next at {when(due)}" if due else "nothing is planned"
    return f"{when(clock['now'])}  {clock['mode']}{pace}; {coming}"


def advanced(emulator: ControlClient, body: dict[str, Any], as_json: bool) -> int:
    """The exit status of an advance that was played to its end and told."""
    with interruption() as interrupted:
        result = followed(emulator, body, interrupted)
    print_line(result, course, as_json)
    for failure in result["failures"]:
        click.echo(f"failed: {failure['kind']} of {failure['object']}: {failure['error']}", err=True)
    if result["error"]:
        click.echo(f"failed: {result['error']}", err=True)
    if result["status"] == "stopped" and interrupted.is_set():
        return 130
    return 1 if result["failures"] or result["status"] != "completed" else 0


def followed(emulator: ControlClient, body: dict[str, Any], interrupted: threading.Event) -> Any:
    """An advance from its start to its end, which comes early if it is interrupted."""
    state = emulator.post("/clock/advance", body, Prefer="respond-async")
    path, pause = f"/clock/advances/{state['id']}", AT_FIRST
    with progress() as report:
        while state["status"] == "running":
            report(state)
            method = "DELETE" if interrupted.wait(pause) else "GET"
            state, pause = emulator.send(method, path).json(), min(2 * pause, AT_MOST)
    return state


def course(result: Any) -> str:
    """What an advance did: a line, and one for each type of event."""
    delivered, failed = result["deliveries"]["succeeded"], result["deliveries"]["failed"]
    done = [
        counted(result["jobs"], "job"),
        counted(sum(result["events"].values()), "event"),
        counted(delivered + failed, "delivery") + (f" ({failed} failed)" if failed else ""),
    ]
    stopped = "Stopped. " if result["status"] == "stopped" else ""
    head = f"{stopped}It is {when(result['now'])}. Since {when(result['from'])}: {', '.join(done)}"
    return "\n".join([head, *(f"{number:6}  {type}" for type, number in result["events"].items())])


@contextmanager
def interruption() -> Iterator[threading.Event]:
    """An event that Ctrl-C sets; a second Ctrl-C ends the command as usual."""
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
    """A bar on the terminal for an advance that takes its time; it is gone afterwards."""
    started = time.monotonic()
    bars: list[Bar] = []

    def report(state: Any) -> None:
        if not bars and time.monotonic() - started >= SOON:
            bars.append(Bar())
        for bar in bars:
            bar.show(state)

    try:
        yield report
    finally:
        for bar in bars:
            bar.close()


class Bar:
    """How far an advance is: its share, its instant, its jobs, on a line of the terminal that the next one covers.

    Nothing where the error output is no terminal.
    """

    def __init__(self) -> None:
        # The last column stays free: what is written there may begin another line.
        self._width = shutil.get_terminal_size().columns - 1 if sys.stderr.isatty() else 0

    def show(self, state: Any) -> None:
        """Where it is now."""
        told = f" {state['progress']:4.0%}  {when(state['now'])}  {counted(state['jobs'], 'job')}"
        room = max(0, self._width - len(told))
        done = int(room * state["progress"])
        self._write("#" * done + "-" * (room - done) + told)

    def close(self) -> None:
        """Take it off the terminal."""
        self._write(" " * self._width)

    def _write(self, line: str) -> None:
        if self._width:
            click.echo(f"\r{line[: self._width]}\r", err=True, nl=False)
