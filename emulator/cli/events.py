"""``events``: show events, or follow them as they happen."""

from __future__ import annotations

from typing import Any

import click

from emulator.cli.control_client import ControlClient
from emulator.cli.options import EVENT_TYPE, ID
from emulator.cli.output import Listing, ListView, Row, follow, list_options, print_list


def about(event: Any) -> str:
    return str(event["data"]["object"]["id"])


def event_row(event: Any) -> Row:
    return Row(
        event["created_at"],
        ((event["type"].ljust(27), {"bold": True}),),
        about(event),
        about(event),
    )


EVENTS = Listing(
    "/events",
    "events",
    event_row,
    then=lambda event: f"explain {about(event)}",
    stream="event",
    matches=lambda event, name, wanted: (
        wanted == (event["type"] if name == "type" else about(event))
    ),
)


@click.command()
@follow("events")
@click.option("--type", type=EVENT_TYPE, help="Only events of this type.")
@click.option("--object", type=ID, metavar="ID", help="Only events about this object.")
@list_options("newest")
def events(emulator: ControlClient, view: ListView, *, follow: bool, **filters: Any) -> None:
    """Show events; --follow streams new ones.

    \b
    payments-emulator events
    payments-emulator events --follow --type invoice.paid
    payments-emulator events --object sub_6Fd4sA7gH2jK9lQ1wE5rT8yU --json
    """
    if filters["object"]:
        filters["object"] = emulator.whole_id(filters["object"])
    print_list(emulator, EVENTS, filters, view, follow=follow)
