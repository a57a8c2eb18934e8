"""``emails``: show what customers were sent."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import click

from emulator.cli.options import (
    ID,
    as_json,
    complete_from,
    limit,
    with_client,
)
from emulator.cli.output import Row, print_newest, printable

if TYPE_CHECKING:
    from emulator.cli.client import ControlClient


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
        print_newest(
            emulator,
            "/emails",
            email_row,
            limit,
            as_json,
            nothing="No such emails." if any(filters.values()) else "No emails yet.",
            following=lambda newest: f"emails {newest['id']}",
            filters=filters,
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
