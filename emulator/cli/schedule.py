"""``schedule``: show what is due."""

from __future__ import annotations

from typing import Any

import click

from emulator.cli.control_client import ControlClient
from emulator.cli.output import Listing, ListView, Row, list_options, print_list


def job_row(entry: Any) -> Row:
    events = (", ".join(entry["event_types"]),) if entry.get("event_types") else ()
    return Row(
        entry["due_at"],
        ((entry["kind"].ljust(25), {"bold": True}), *events),
        entry["object"],
        entry["object"],
    )


SCHEDULE = Listing(
    "/schedule", "planned jobs", job_row, then=lambda _: "clock next", is_newest_first=False
)


@click.command()
@click.option("--until", metavar="DURATION|INSTANT", help="Run a copy of the world up to there.")
@list_options("soonest")
def schedule(emulator: ControlClient, view: ListView, until: str | None) -> None:
    """Show upcoming jobs, soonest first.

    \b
    payments-emulator schedule
    payments-emulator schedule --until P1Y
    payments-emulator schedule --until 2026-03-01T00:00:00Z --json

    Without --until, shows the jobs planned now. With --until, also shows the jobs that these will
    plan, such as every renewal of a year. The world itself does not change.
    """
    print_list(emulator, SCHEDULE, {"until": until}, view)
