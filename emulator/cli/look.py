"""Commands that show what happened in an App's world: events, requests, emails, causes and money."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from emulator.cli.options import EVENT_TYPE, ID, as_json, complete_from, limit, with_client
from emulator.cli.output import Row, print_line, print_next, print_rows, printable, tail, when
from emulator.presentation.languages.language import plain_money

if TYPE_CHECKING:
    from emulator.cli.client import ControlClient
    from emulator.insight.explain.explanation_text import Entry, Episode


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
        print_rows(
            emulator, recent(), event_row, as_json, nothing=nothing, following=lambda event: f"explain {about(event)}"
        )
        return
    print_rows(emulator, filter(wanted, tail(emulator, "event", recent)), event_row, as_json)


def event_row(event: Any) -> Row:
    """Return an event, which is about an object."""
    return Row(event["created_at"], ((event["type"].ljust(27), {"bold": True}),), about(event), about(event))


def about(event: Any) -> str:
    """Return the id of the object that the event is about."""
    return str(event["data"]["object"]["id"])


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

    def recent() -> list[Any]:
        return [*emulator.pages("/requests", limit, **filters)][::-1]

    def wanted(entry: Any) -> bool:
        return all(value in (None, entry[name]) for name, value in filters.items())

    if not follow:
        print_rows(
            emulator,
            recent(),
            request_row,
            as_json,
            nothing="No such requests." if any(filters.values()) else "No requests yet.",
            following=lambda entry: f"logs {entry['id']}",
        )
        return
    print_rows(emulator, filter(wanted, tail(emulator, "request", recent)), request_row, as_json)


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


EMAIL_KINDS = ("invoice", "receipt", "renewal_failed", "trial_ending", "subscription_canceled", "refund")


@click.command()
@click.argument("email", type=ID, required=False, metavar="[EMAIL]", shell_complete=complete_from("/emails", "id"))
@click.option("--html", "form", flag_value="html", help="Print the HTML of EMAIL.")
@click.option("--raw", "form", flag_value="raw", help="Print EMAIL as MIME, attachments included.")
@click.option("--to", metavar="ADDRESS", help="Only emails to this address.")
@click.option("--kind", type=click.Choice(EMAIL_KINDS), help="Only emails of this kind.")
@limit("newest")
@as_json
@with_client
def emails(
    emulator: ControlClient, *, email: str | None, form: str | None, limit: int, as_json: bool, **filters: Any
) -> None:
    """Show the emails sent to customers, or one EMAIL.

    \b
    payments-emulator emails
    payments-emulator emails --to awa@example.com
    payments-emulator emails mail_5Gd7hK2mQ9sV4xZ1bN6cF8jL
    payments-emulator emails mail_5Gd7hK2mQ9sV4xZ1bN6cF8jL --raw > invoice.eml
    """
    if email is None and form:
        raise click.UsageError(f"--{form} shows one email; give its id")
    if email is None:
        newest = [*emulator.pages("/emails", limit, **filters)]
        print_rows(
            emulator,
            newest[::-1],
            email_row,
            as_json,
            nothing="No such emails." if any(filters.values()) else "No emails yet.",
            following=lambda newest: f"emails {newest['id']}",
        )
    elif form:
        write_bytes(emulator.send("GET", f"/emails/{email}/{form}").content)
    elif as_json:
        click.echo(json.dumps(emulator.get(f"/emails/{email}")))
    else:
        click.echo(readable(emulator.send("GET", f"/emails/{email}/raw").content))


def email_row(email: Any) -> Row:
    """Return an email: to whom, and its subject."""
    return Row(email["created_at"], (email["to"], (email["subject"], {"bold": True})), None, email["id"])


def readable(raw: bytes) -> str:
    """Return the headers, attachments and text of an email."""
    # Imported here: a list of emails needs no MIME parser.
    from email import message_from_bytes, policy

    message = message_from_bytes(raw, policy=policy.default)
    head = [f"{name}: {message[name]}" for name in ("From", "To", "Subject", "Date") if message[name]]
    files = [f"Attached: {part.get_filename()}" for part in message.iter_attachments()]
    body = message.get_body(("plain",))
    text = body.get_content().splitlines() if body else []
    return "\n".join(map(printable, [*head, *files, "", *text]))


def write_bytes(content: bytes) -> None:
    """Write bytes to the output unchanged."""
    sys.stdout.flush()
    sys.stdout.buffer.write(content)
    sys.stdout.buffer.flush()


LATEST = 8
"""The episodes that are shown without ``--all``."""

NARROWEST = 40
"""The least columns that lines are fitted into."""


@click.command()
@click.argument("id", type=ID, metavar="ID")
@click.option("--all", "every", is_flag=True, help="Show everything that led to it, not only the latest.")
@as_json
@with_client
def explain(emulator: ControlClient, id: str, *, every: bool, as_json: bool) -> None:
    """Explain why an object is as it is.

    \b
    payments-emulator explain sub_6Fd4sA7gH2jK9lQ1wE5rT8yU
    payments-emulator explain inv_3Hj6kL9pQ2rS5tU8vW1xY4zA --all
    payments-emulator explain whd_2Lp7wQ9xR4tY6uN1mB3vC8zK --json | jq -r .summary

    Print the current state and the next step, then every request and job that led to it, with what each
    caused in columns: clock, money, webhooks, emails. Repeats are counted.
    """

    def text(found: Any) -> str:
        # With ordinary spaces, once its lines are wrapped: amounts have others, and a terminal is searched.
        return "\n".join(story(found, every)).replace("\N{NO-BREAK SPACE}", " ")

    print_line(emulator.get(f"/explain/{id}"), text, as_json)


def story(found: Any, every: bool) -> Iterator[str]:
    """Yield the name, the sentence, and the episodes, the oldest first."""
    from emulator.insight.explain.explanation_text import episodes

    width = max(NARROWEST, shutil.get_terminal_size().columns)
    status = f", {found['status'].replace('_', ' ')}" if found["status"] else ""
    yield click.style(found["name"] or found["id"], bold=True)
    yield f"{found['kind'].replace('_', ' ')} {found['id']}{status}"
    if found["summary"]:
        yield ""
        yield click.wrap_text(found["summary"], min(width, 100))
    steps = episodes(found["chain"], found["id"])
    shown = steps if every else steps[-LATEST:]
    yield ""
    if len(shown) < len(steps):
        yield f"({len(steps) - len(shown)} earlier; --all shows them)"
    for episode in shown:
        yield from _episode(episode, width)
    if not found["complete"]:
        yield "The log no longer covers the start; this is reconstructed from what remains."


def _episode(episode: Episode, width: int) -> Iterator[str]:
    until = f" to {when(episode.last)}" if episode.last != episode.first and episode.times > 1 else ""
    repeats = click.style(f"  × {episode.times}", bold=True) if episode.times > 1 else ""
    yield f"{when(episode.first)}{until}{repeats}"
    delivered = {entry.step["subject"] for entry in episode.entries if entry.step["kind"] == "delivery"}
    yield from (_entry(entry, width) for entry in episode.entries if not _is_said(entry.step, delivered))


def _is_said(step: Any, delivered: set[str]) -> bool:
    """Return whether another line says it: an event that was delivered, a transition that leaves all as it was."""
    before, _, after = step["subject"].partition(" → ")
    stayed = step["kind"] == "transition" and before == after and " (" not in step["summary"]
    return stayed or (step["kind"] == "event" and step["subject"] in delivered)


def _entry(entry: Entry, width: int) -> str:
    step, lane = entry.step, click.style(entry.lane.ljust(8), dim=True)
    repeats = f" × {entry.times}" if entry.times > 1 else ""
    room = width - len("  requests  ") - len(repeats)
    return f"  {lane}  {_fitted(step, room)}{repeats}"


def _fitted(step: Any, room: int) -> str:
    """Return the summary of a step, or as much as fits of its subject and outcome."""
    summary = str(step["summary"]).replace(" -> ", " → ")
    if len(summary) <= room:
        return summary
    text = f"{step['subject']}: {step['outcome']}" if step["outcome"] else step["subject"]
    return text if len(text) <= room else f"{text[: room - 1]}…"


@click.command()
@click.option("--object", "object_id", type=ID, metavar="ID", help="Only entries of this object.")
@click.option("--currency", metavar="CODE", help="Only this currency, such as XAF.")
@limit("newest entries, at most 100")
@as_json
@with_client
def ledger(emulator: ControlClient, object_id: str | None, currency: str | None, limit: int, as_json: bool) -> int:
    """Show where the money is, and whether it adds up.

    \b
    payments-emulator ledger
    payments-emulator ledger --object inv_3Hj6kL9pQ2rS5tU8vW1xY4zA
    payments-emulator ledger --currency XAF --json | jq .balanced

    The ledger is kept by double entry over payments, refunds and invoices. What was set directly, past the rules, has
    an account of its own. With --json it is one object, amounts in minor units. Exit status 1 if it does not add up.
    """
    found = emulator.get("/ledger", object=object_id, currency=currency, page_size=min(limit, 100))
    if as_json:
        click.echo(json.dumps(found))
    else:
        for line in books(found["totals"]):
            click.echo(line)
        print_rows(emulator, found["entries"]["data"][::-1], posting_row, as_json)
        print_line(found, balance, as_json)
    return 0 if found["balanced"] else 1


def books(totals: list[Any]) -> Iterator[str]:
    """Yield the books: a row for each account, a column for each currency, and an empty line below."""
    currencies = list(dict.fromkeys(each["currency"] for each in totals))
    shown = {(each["account"], each["currency"]): plain_money(each["amount"], each["currency"]) for each in totals}
    widths = {each: max(len(text) for (_, currency), text in shown.items() if currency == each) for each in currencies}
    for account in dict.fromkeys(each["account"] for each in totals):
        amounts = (shown.get((account, each), "–").rjust(widths[each]) for each in currencies)
        yield "  ".join([click.style(account.ljust(13), bold=True), *amounts])
    if totals:
        yield ""


def posting_row(each: Any) -> Row:
    """Return a posting: whose account it is on, or else of which object it is a part, and its cause."""
    amount = "+" * (each["amount"] > 0) + plain_money(each["amount"], each["currency"])
    account, _, owner = each["account"].partition(" of ")
    about = owner or each["object"]
    return Row(each["at"], (amount.rjust(12), account.ljust(11)), about, f"{each['cause']['summary']}  {about}")


def broken(each: Any) -> str:
    """Return what broke the balance, and what touched the account before."""
    earlier = f"; before it {each['earlier']['summary']}" if each["earlier"] else ""
    cause = f"{each['cause']['summary']} ({each['cause']['id']}){earlier}"
    off = f"{each['account']} is off by {plain_money(each['amount'], each['currency'])}"
    return f"{when(each['at'])}  {off}: {cause}"


def balance(found: Any) -> str:
    """Return what broke the balance, and whether it adds up."""
    is_balanced = click.style("Balanced.", fg="green") if found["balanced"] else click.style("Not balanced.", fg="red")
    above = [""] if found["entries"]["data"] else []
    return "\n".join([*above, *map(broken, found["broken_by"]), is_balanced])
