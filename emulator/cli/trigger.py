"""``trigger``: cause an event by real state changes."""

from __future__ import annotations

import json
from typing import Any

import click

from emulator.cli.control_client import ControlClient
from emulator.cli.events import about, event_row
from emulator.cli.options import EVENT_TYPE, ID, Parsed, as_json, no_wait, with_client
from emulator.cli.output import ListView, print_next, print_rows
from emulator.client.api import RACING
from emulator.core.event_types import EVENTS
from emulator.document.paths import fixture


def override(value: str) -> tuple[list[str], Any]:
    """Return the names' path in ``kind.name=value``, and the value: JSON if possible, else text."""
    path, equals, text = value.partition("=")
    names = path.split(".")
    if not equals or not all(names):
        raise ValueError(f"{value!r} is not NAME=VALUE, such as customer.name=Awa")
    try:
        return names, json.loads(text)
    except (ValueError, RecursionError):
        return names, text


@click.command(epilog=f"Events (/docs/events): {', '.join(EVENTS)}")
@click.argument("event", type=EVENT_TYPE)
@click.option(
    "--override",
    "-o",
    "overrides",
    type=Parsed("NAME=VALUE", override),
    multiple=True,
    help="Object to use or field to set; may be repeated.",
)
@no_wait
@as_json
@with_client
def trigger(
    emulator: ControlClient,
    event: str,
    *,
    overrides: tuple[tuple[list[str], Any], ...],
    no_wait: bool,
    as_json: bool,
) -> None:
    """Trigger an EVENT through real state changes.

    \b
    payments-emulator trigger invoice.paid
    payments-emulator trigger subscription.payment_failed \\
        -o subscription=sub_5Nw8xR3tY6uJ
    payments-emulator trigger refund.succeeded -o amount=500 -o customer.name=Awa

    Creates the objects that the event needs; webhooks and emails are sent as usual. An override
    names an existing object to use, or sets a field of a new one. VALUE is JSON if it can be
    parsed, otherwise text. On a frozen clock it returns when the webhooks have their outcome.
    """
    body = {"event": event, "overrides": _with_whole_ids(emulator, nested(overrides))}
    caused = emulator.post("/trigger", body, **(RACING if no_wait else {}))
    print_rows(emulator, [caused], event_row, ListView(1, with_ids=False, as_json=as_json))
    print_next(f"explain {about(caused)}", as_json)


def _with_whole_ids(emulator: ControlClient, overrides: dict[str, Any]) -> dict[str, Any]:
    """Return the overrides with the whole ids of the objects to use, which may be shortened."""
    # Read only where it is needed, since the reader of YAML takes its time to load.
    return {
        name: emulator.whole_id(value) if _is_id(value) and name in fixture("triggers") else value
        for name, value in overrides.items()
    }


def _is_id(value: Any) -> bool:
    try:
        return isinstance(value, str) and bool(ID.parse(value))
    except ValueError:
        return False


def nested(overrides: tuple[tuple[list[str], Any], ...]) -> dict[str, Any]:
    whole: dict[str, Any] = {}
    for names, value in overrides:
        part = whole
        for name in names[:-1]:
            part = part.setdefault(name, {})
            if not isinstance(part, dict):
                raise click.UsageError(
                    f"{'.'.join(names)} is inside {name}, which is itself overridden"
                )
        part[names[-1]] = value
    return whole
