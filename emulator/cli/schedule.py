"""``schedule``: what will happen in an App's world."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from emulator.cli.options import as_json, limit, speaking
from emulator.cli.output import print_lines, when

if TYPE_CHECKING:
    from emulator.cli.client import ControlClient


@click.command()
@click.option("--until", metavar="DURATION|INSTANT", help="Play the future up to there, on a copy of the world.")
@limit("soonest")
@as_json
@speaking
def schedule(emulator: ControlClient, until: str | None, limit: int, as_json: bool) -> None:
    """Show what will happen, the soonest first.

    \b
    payments-emulator schedule
    payments-emulator schedule --until P1Y
    payments-emulator schedule --until 2026-03-01T00:00:00Z --json

    Without --until that is what is planned now; with it, also what will come of that, such as every renewal of a year.
    The world itself notices nothing.
    """
    print_lines(emulator.pages("/schedule", limit, until=until), line, as_json, "Nothing is planned.")


def line(entry: Any) -> str:
    """A planned job in a line, with the events it will bring about where they are known."""
    events = f"  {', '.join(entry['event_types'])}" if entry.get("event_types") else ""
    return (
        f"{when(entry['due_at'])}  {click.style(entry['kind'].ljust(25), bold=True)}  {entry['object'] or ''}{events}"
    )
