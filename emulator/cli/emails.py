"""``emails``: show the emails sent to customers."""

from __future__ import annotations

import json
import sys
from typing import Any

import click

from emulator.cli.control_client import ControlClient
from emulator.cli.options import ID
from emulator.cli.output import Amount, Listing, ListView, Row, list_options, print_list, printable

EMAIL_KINDS = (
    "invoice",
    "receipt",
    "renewal_failed",
    "trial_ending",
    "subscription_canceled",
    "refund",
)


def email_row(email: Any) -> Row:
    return Row(
        email["created_at"],
        ((email["subject"], {"bold": True}), email["to"]),
        email["customer"],
        email["id"],
        amount=amount_of(email),
    )


def amount_of(email: Any) -> Amount | None:
    if about := email["receipt"] or email["invoice"]:
        return Amount(about, is_last=True)
    return Amount(email["refund"], is_last=False) if email["refund"] else None


EMAILS = Listing("/emails", "emails", email_row, then=lambda email: f"emails {email['id']}")


@click.command()
@click.argument("email", type=ID, required=False, metavar="[EMAIL]")
@click.option("--html", "form", flag_value="html", help="Print the HTML of EMAIL.")
@click.option("--raw", "form", flag_value="raw", help="Print EMAIL as MIME, attachments included.")
@click.option("--to", metavar="ADDRESS", help="Only emails to this address.")
@click.option(
    "--kind",
    type=click.Choice(EMAIL_KINDS),
    metavar="KIND",
    help=f"Only emails of this kind: {', '.join(EMAIL_KINDS)}.",
)
@list_options("newest")
def emails(
    emulator: ControlClient, view: ListView, *, email: str | None, form: str | None, **filters: Any
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
        print_list(emulator, EMAILS, filters, view)
        return
    path = f"/emails/{emulator.whole_id(email)}"
    if form:
        sys.stdout.flush()
        sys.stdout.buffer.write(emulator.send("GET", f"{path}/{form}").content)
        sys.stdout.buffer.flush()
    elif view.as_json:
        click.echo(json.dumps(emulator.get(path)))
    else:
        click.echo(readable(emulator.send("GET", f"{path}/raw").content))


def readable(raw: bytes) -> str:
    # Imported here: a list of emails needs no MIME parser.
    from email import message_from_bytes, policy

    message = message_from_bytes(raw, policy=policy.default)
    head = [
        f"{name}: {message[name]}" for name in ("From", "To", "Subject", "Date") if message[name]
    ]
    files = [f"Attached: {part.get_filename()}" for part in message.iter_attachments()]
    body = message.get_body(("plain",))
    text = body.get_content().splitlines() if body else []
    return "\n".join(map(printable, [*head, *files, "", *text]))
