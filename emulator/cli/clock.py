"""``clock``: the time in an App's world."""

from __future__ import annotations

import signal
import threading
import time
from typing import Any

import click

from emulator.checks.runs import counted
from emulator.cli.control_client import ControlClient
from emulator.cli.groups import FOUND, INTERRUPTED, LazyGroup
from emulator.cli.options import DURATION, EVENT_TYPE, INSTANT, Number
from emulator.cli.output import TerminalLine, advance_lines, printed, when


@click.group(cls=LazyGroup, default="show")
def clock() -> None:
    """Show and move the clock of the App's world.

    \b
    payments-emulator clock
    payments-emulator clock advance 31d
    payments-emulator clock freeze
    """


def clock_line(clock: Any) -> str:
    speed = (
        ""
        if clock["mode"] == "frozen" or clock["rate"] == 1
        else f" ({clock['rate']:g} times as fast)"
    )
    behind = f" ({clock['lag']:.0f} s behind)" if clock["lag"] else ""
    due = clock["next_due_at"]
    planned = (
        f"{counted(clock['pending'], 'job')} planned, the next at {when(due)}"
        if due
        else "nothing is planned"
    )
    return f"{when(clock['now'])}  {clock['mode']}{speed}{behind}; {planned}"


@clock.command()
@printed(clock_line)
def show(emulator: ControlClient) -> Any:
    """Show the time in the world and the next job.

    \b
    payments-emulator clock show
    payments-emulator clock show --json
    """
    return emulator.get("/clock")


def advance_status(result: Any) -> int:
    for failure in result["failures"]:
        click.echo(
            f"failed: {failure['kind']} of {failure['object']}: {failure['error']}", err=True
        )
    if result["error"]:
        click.echo(f"failed: {result['error']}", err=True)
    if result["status"] == "stopped":
        return INTERRUPTED
    return FOUND if result["failures"] or result["status"] != "completed" else 0


prints_advance = printed(
    advance_lines,
    then=lambda result: "events" if result["events"] else "schedule",
    status=advance_status,
)


@clock.command()
@click.argument("by", type=DURATION, required=False, metavar="[DURATION]")
@click.option("--to", type=INSTANT, help="Stop at this instant or day.")
@click.option(
    "--until-event",
    type=EVENT_TYPE,
    help="Stop when this event happens, after DURATION (1 year) at most.",
)
@prints_advance
def advance(
    emulator: ControlClient, by: str | None, to: str | None, until_event: str | None
) -> Any:
    """Move the clock forward and run every job that becomes due.

    \b
    payments-emulator clock advance 31d
    payments-emulator clock advance P1M
    payments-emulator clock advance --to 2026-03-01
    payments-emulator clock advance --until-event subscription.payment_failed

    Webhooks and emails are sent at their times. Ctrl-C stops the clock where it is. Exit status 1
    if a job failed.
    """
    if to and (by or until_event):
        raise click.UsageError("--to says how far; leave out DURATION and --until-event")
    choices = {"by": by, "to": to, "until_event": until_event}
    body = {name: value for name, value in choices.items() if value}
    if not body:
        raise click.UsageError(
            "how far? Give a DURATION such as 31d, --to INSTANT or --until-event EVENT"
        )
    return arrived(emulator, body)


@clock.command("next")
@prints_advance
def next_job(emulator: ControlClient) -> Any:
    """Move the clock to the next planned job and run it.

    \b
    payments-emulator clock next
    """
    return arrived(emulator, {"until": "next"})


@clock.command()
@click.option("--at", type=INSTANT, help="Move forward to this instant or day first.")
@printed(clock_line)
def freeze(emulator: ControlClient, at: str | None) -> Any:
    """Stop the clock.

    \b
    payments-emulator clock freeze
    payments-emulator clock freeze --at 2026-03-01
    """
    return emulator.post("/clock/freeze", {"at": at} if at else {})


@clock.command()
@click.option(
    "--rate",
    type=Number(0, min_open=True),
    default=1,
    show_default=True,
    help="Speed; 60 means a minute per second.",
)
@printed(clock_line)
def run(emulator: ControlClient, rate: float) -> Any:
    """Let the clock run.

    \b
    payments-emulator clock run
    payments-emulator clock run --rate 3600
    """
    return emulator.post("/clock/run", {"rate": rate})


# -- an advance: started, looked at until it arrives, stopped by Ctrl-C


def arrived(emulator: ControlClient, body: dict[str, Any]) -> Any:
    """Return an advance's state after its end. Ctrl-C stops the advance, again the command."""
    interrupted = threading.Event()

    def interrupt(*_: Any) -> None:
        signal.signal(signal.SIGINT, before)
        interrupted.set()

    before = signal.signal(signal.SIGINT, interrupt)
    started, pause, line = time.monotonic(), 0.02, TerminalLine()
    try:
        state = emulator.post("/clock/advance", body, Prefer="respond-async")
        path = f"/clock/advances/{state['id']}"
        while state["status"] == "running":
            if time.monotonic() - started >= 0.5:
                jobs = counted(state["jobs"], "job")
                line.show(f"{state['progress']:.0%}  {when(state['now'])}  {jobs}")
            method = "DELETE" if interrupted.wait(pause) else "GET"
            state, pause = emulator.call(method, path), min(2 * pause, 0.25)
        return state
    finally:
        line.end()
        signal.signal(signal.SIGINT, before)
