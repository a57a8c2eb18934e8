"""``schedule``: the upcoming jobs of an App's world."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from emulator.cli.options import as_json, limit, with_client
from emulator.cli.output import print_lines, when

if TYPE_CHECKING:
    from emulator.cli.client import ControlClient


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
    jobs = emulator.pages("/schedule", limit, until=until)
    print_lines(jobs, line, as_json, "Nothing is planned.", lambda _: "clock next")


def line(entry: Any) -> str:
    """A planned job on one line, with the events it will cause if they are known."""
    events = f"  {', '.join(entry['event_types'])}" if entry.get("event_types") else ""
    return (
        f"{when(entry['due_at'])}  {click.style(entry['kind'].ljust(25), bold=True)}  {entry['object'] or ''}{events}"
    )
