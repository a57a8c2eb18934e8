"""``logs``: show requests, one of them in detail or as code."""

from __future__ import annotations

import json
import re
from typing import Any

import click

from emulator.cli.control_client import ControlClient
from emulator.cli.options import ID, matching
from emulator.cli.output import (
    Listing,
    ListView,
    Row,
    follow,
    list_options,
    print_line,
    print_list,
    print_next,
    when,
)

CODE_FORMS = ("curl", "httpx", "fetch", "http", "pytest", "node")
METHODS = ("GET", "POST", "PATCH", "PUT", "DELETE")


def request_row(entry: Any) -> Row:
    path = entry["path"].replace(entry["about"] or "\0", "…")
    status = (str(entry["status"]), {"fg": "green" if entry["status"] < 400 else "red"})
    return Row(
        entry["created_at"], (status, f"{entry['method']} {path}"), entry["about"], entry["id"]
    )


def matches(entry: Any, name: str, wanted: str) -> bool:
    if name == "status":
        return re.fullmatch(wanted.replace("x", "."), str(entry["status"])) is not None
    return bool(entry[name] == wanted)


STATUS = matching("STATUS", "[1-5](xx|[0-9]{2})", "a status such as 404 or 4xx")

REQUESTS = Listing(
    "/requests",
    "requests",
    request_row,
    then=lambda entry: f"logs {entry['id']}",
    stream="request",
    matches=matches,
)


@click.command()
@click.argument("request", type=ID, required=False, metavar="[REQUEST]")
@follow("requests")
@click.option(
    "--status",
    type=STATUS,
    metavar="STATUS",
    help="Only requests with this response status, such as 422 or 4xx.",
)
@click.option(
    "--method",
    type=click.Choice(METHODS, case_sensitive=False),
    help="Only requests with this method.",
)
@click.option(
    "--operation", metavar="NAME", help="Only requests of this operation, such as createCustomer."
)
@click.option(
    "--as", "form", type=click.Choice(CODE_FORMS), help="The REQUEST as code that sends it again."
)
@list_options("newest")
def logs(
    emulator: ControlClient,
    view: ListView,
    request: str | None,
    *,
    follow: bool,
    form: str | None,
    **filters: Any,
) -> None:
    """Show recent requests, or one REQUEST in detail.

    \b
    payments-emulator logs
    payments-emulator logs --follow --status 4xx
    payments-emulator logs req_4fKq9ZsT1mVbX7cR2yLdH8wN
    payments-emulator logs req_4fKq9ZsT1mVbX7cR2yLdH8wN --as curl
    """
    if form and not request:
        raise click.UsageError("--as is about one REQUEST; name it")
    if request is None:
        print_list(emulator, REQUESTS, filters, view, follow=follow)
        return
    path = f"/requests/{emulator.whole_id(request)}"
    if form:
        click.echo(emulator.send("GET", path, query={"as": form}).text, nl=False)
        return
    entry = emulator.get(path)
    print_line(entry, detail, view.as_json)
    if entry["changes"]:
        print_next(f"explain {entry['changes'][0]['id']}", view.as_json)


def detail(entry: Any) -> str:
    parts = [
        (
            f"{when(entry['created_at'])}  {entry['status']}  {entry['method']} {entry['path']} "
            f" {entry['id']}"
        ),
        f"{entry['duration_ms']:.0f} ms, {entry['seconds_ago']:.0f} s ago",
    ]
    parts += [f"> {name}: {value}" for name, value in entry["request_headers"].items()]
    parts += quoted(">", entry["request_body"]) + quoted("<", entry["response_body"])
    parts += [row for changed in entry["changes"] for row in change(changed)]
    parts += [f"event {id}" for id in entry["event_ids"]]
    return "\n".join(parts)


def change(changed: Any) -> list[str]:
    lines = [f"{changed['change']} {changed['kind']} {changed['id']}"]
    if changed["change"] == "updated":
        values = changed["fields"].items()
        lines += [
            f"  {name}: {json.dumps(was['before'])} → {json.dumps(was['after'])}"
            for name, was in values
        ]
    return lines


def quoted(mark: str, body: Any) -> list[str]:
    if body is None:
        return []
    text = body if isinstance(body, str) else json.dumps(body, indent=2, ensure_ascii=False)
    return [f"{mark} {row}" for row in text.splitlines()]
