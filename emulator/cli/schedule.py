"""``schedule``: show what is due."""

from __future__ import annotations

from typing import Any

import click

from emulator.cli.control_client import ControlClient
from emulator.cli.output import Listing, ListView, Row, list_options, print_list


def job_row(group: Any) -> Row:
    from emulator.document.paths import fixture

    job = fixture("jobs")[group["kind"]]
    times = f" × {group['times']}" if group["times"] > 1 else ""
    events = (", ".join(group["event_types"]),) if group.get("event_types") else ()
    return Row(
        group["due_at"],
        ((f"{job.get('label', job['summary'])}{times}".ljust(28), {"bold": True}), *events),
        group["object"],
        group["object"],
        others=max(0, group["times"] - 1) if group["object"] else 0,
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
    plan, such as every renewal of a year. The world itself does not change. Jobs of one kind and
    one instant share a line; with --json each has its own.
    """
    filters = {"until": until}
    grouped = {} if view.as_json else {"grouped": True}
    print_list(emulator, SCHEDULE, filters, view, **grouped)
