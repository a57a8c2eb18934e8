"""``events``: the events of an App's world, past and as they happen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from emulator.cli.options import EVENT_TYPE, as_json, limit, with_client
from emulator.cli.output import print_line, print_lines, when
from emulator.cli.tail import tail

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

    def recent() -> list[Any]:
        return [*emulator.pages("/events", limit, type=type, object=object)][::-1]

    def wanted(event: Any) -> bool:
        return type in (None, event["type"]) and object in (None, event["data"]["object"]["id"])

    if not follow:
        nothing = f"No event is about {object}." if object else "No events yet."
        print_lines(recent(), line, as_json, nothing, lambda event: f"explain {about(event)}")
        return
    for event in filter(wanted, tail(emulator, "event", recent)):
        print_line(event, line, as_json)


def line(event: Any) -> str:
    """An event on one line."""
    return f"{when(event['created_at'])}  {click.style(event['type'].ljust(27), bold=True)}  {about(event)}"


def about(event: Any) -> str:
    """The id of the object that the event is about."""
    return str(event["data"]["object"]["id"])
