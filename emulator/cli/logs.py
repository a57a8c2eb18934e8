"""``logs``: show requests, one of them in detail or as code."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from emulator.cli.options import (
    ID,
    as_json,
    complete_from,
    limit,
    with_client,
)
from emulator.cli.output import Row, print_line, print_newest, print_next, when

if TYPE_CHECKING:
    from emulator.cli.client import ControlClient


CODE_FORMS = ("curl", "httpx", "fetch", "http", "pytest", "node")
METHODS = ("GET", "POST", "PATCH", "PUT", "DELETE")


@click.command()
@click.argument(
    "request", type=ID, required=False, metavar="[REQUEST]", shell_complete=complete_from("/requests", "id")
)
@click.option("--follow", "-f", is_flag=True, help="Stream new requests until Ctrl-C.")
@click.option(
    "--status", type=click.IntRange(100, 599), metavar="STATUS", help="Only requests with this response status."
)
@click.option("--method", type=click.Choice(METHODS, case_sensitive=False), help="Only requests with this method.")
@click.option("--operation", metavar="NAME", help="Only requests of this operation, such as createCustomer.")
@limit("newest")
@click.option("--as", "form", type=click.Choice(CODE_FORMS), help="The REQUEST as code that sends it again.")
@as_json
@with_client
def logs(
    emulator: ControlClient,
    request: str | None,
    *,
    follow: bool,
    limit: int,
    form: str | None,
    as_json: bool,
    **filters: Any,
) -> None:
    """Show recent requests, or one REQUEST in detail.

    \b
    payments-emulator logs
    payments-emulator logs --follow --status 422
    payments-emulator logs req_4fKq9ZsT1mVbX7cR2yLdH8wN
    payments-emulator logs req_4fKq9ZsT1mVbX7cR2yLdH8wN --as curl
    """
    if form and not request:
        raise click.UsageError("--as is about one REQUEST; name it")
    if form:
        click.echo(emulator.send("GET", f"/requests/{request}", query={"as": form}).text, nl=False)
        return
    if request:
        entry = emulator.get(f"/requests/{request}")
        print_line(entry, detail, as_json)
        if entry["changes"]:
            print_next(f"explain {entry['changes'][0]['id']}", as_json)
        return

    def wanted(entry: Any) -> bool:
        return all(value in (None, entry[name]) for name, value in filters.items())

    print_newest(
        emulator,
        "/requests",
        request_row,
        limit,
        as_json,
        nothing="No such requests." if any(filters.values()) else "No requests yet.",
        following=lambda entry: f"logs {entry['id']}",
        stream=("request", wanted) if follow else None,
        filters=filters,
    )


def request_row(entry: Any) -> Row:
    """Return a request: status, method and path, without the id of the object that it is about."""
    path = entry["path"].replace(entry["about"] or "\0", "…")
    status = (str(entry["status"]), {"fg": "green" if entry["status"] < 400 else "red"})
    return Row(entry["created_at"], (status, f"{entry['method']} {path}"), entry["about"], entry["id"])


def detail(entry: Any) -> str:
    """Return a request with its headers, bodies, changes and events."""
    parts = [
        f"{when(entry['created_at'])}  {entry['status']}  {entry['method']} {entry['path']}  {entry['id']}",
        f"{entry['duration_ms']:.0f} ms, {entry['seconds_ago']:.0f} s ago",
    ]
    parts += [f"> {name}: {value}" for name, value in entry["request_headers"].items()]
    parts += quoted(">", entry["request_body"]) + quoted("<", entry["response_body"])
    parts += [row for each in entry["changes"] for row in change(each)]
    parts += [f"event {id}" for id in entry["event_ids"]]
    return "\n".join(parts)


def change(each: Any) -> list[str]:
    """Return a change in a line, and of an update a line for each field."""
    lines = [f"{each['change']} {each['kind']} {each['id']}"]
    if each["change"] == "updated":
        values = each["fields"].items()
        lines += [f"  {name}: {json.dumps(was['before'])} → {json.dumps(was['after'])}" for name, was in values]
    return lines


def quoted(mark: str, body: Any) -> list[str]:
    """Return a body as indented JSON, with a mark before each line."""
    if body is None:
        return []
    text = body if isinstance(body, str) else json.dumps(body, indent=2, ensure_ascii=False)
    return [f"{mark} {row}" for row in text.splitlines()]
