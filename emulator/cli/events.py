"""``events``: show what happened, or what happens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from emulator.cli.options import (
    EVENT_TYPE,
    as_json,
    limit,
    with_client,
)
from emulator.cli.output import Row, print_newest

if TYPE_CHECKING:
    from emulator.cli.client import ControlClient


@click.command()
@click.option("--follow", "-f", is_flag=True, help="Stream new events until Ctrl-C.")
@click.option("--type", type=EVENT_TYPE, help="Only events of this type.")
@click.option("--object", metavar="ID", help="Only events about this object.")
@limit("newest")
@as_json
@with_client
def events(
    emulator: ControlClient, *, follow: bool, type: str | None, object: str | None, limit: int, as_json: bool
) -> None:
    """Show events; --follow streams new ones.

    \b
    payments-emulator events
    payments-emulator events --follow --type invoice.paid
    payments-emulator events --object sub_6Fd4sA7gH2jK9lQ1wE5rT8yU --json
    """

    def wanted(event: Any) -> bool:
        return type in (None, event["type"]) and object in (None, event["data"]["object"]["id"])

    print_newest(
        emulator,
        "/events",
        event_row,
        limit,
        as_json,
        nothing=f"No event is about {object}." if object else "No events yet.",
        following=lambda event: f"explain {about(event)}",
        stream=("event", wanted) if follow else None,
        filters={"type": type, "object": object},
    )


def event_row(event: Any) -> Row:
    """Return an event, which is about an object."""
    return Row(event["created_at"], ((event["type"].ljust(27), {"bold": True}),), about(event), about(event))


def about(event: Any) -> str:
    """Return the id of the object that the event is about."""
    return str(event["data"]["object"]["id"])
