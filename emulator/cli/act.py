"""Commands that make something happen: ``pay`` as a buyer does, ``trigger`` an event by real state changes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from emulator.cli.look import about, event_row
from emulator.cli.options import EVENT_TYPE, ID, Parsed, as_json, no_wait, racing, with_client
from emulator.cli.output import print_line, print_next, print_rows, when
from emulator.core.event_types import EVENTS
from emulator.presentation.languages.language import plain_money

if TYPE_CHECKING:
    from emulator.cli.client import ControlClient


@click.command()
@click.argument("target", type=ID, metavar="ID")
@click.option("--phone", metavar="NUMBER", help="Pay by mobile money from this phone.")
@click.option("--card", metavar="NUMBER", help="Pay by the card of this number.")
@click.option("--iban", metavar="IBAN", help="Pay by bank transfer from this account.")
@click.option("--email", metavar="ADDRESS", help="Pay by the PayPal account of this address.")
@click.option("--amount", type=click.IntRange(1), metavar="N", help="Amount in minor units, where the buyer chooses.")
@click.option("--quantity", type=click.IntRange(1), metavar="N", help="Quantity, where the buyer chooses.")
@no_wait
@as_json
@with_client
def pay(emulator: ControlClient, target: str, *, no_wait: bool, as_json: bool, **given: Any) -> int:
    """Pay a checkout session, a payment link or an invoice.

    \b
    payments-emulator pay sess_4fKq9ZsT1mVbX7cR2yLdH8wN
    payments-emulator pay inv_5Nw8xR3tY6uJ1mB4vC7zK2Lq --phone +24177000001

    Without a phone, card, account or address it pays by something that works. On a frozen clock it returns when the
    webhooks and emails of the payment have their outcome. Exit status 1 if the payment failed.
    """
    from emulator.client.api import method, pay_path

    fields = {name: given.pop(name) for name in ("amount", "quantity")}
    try:
        path, body = pay_path(target), method(**given)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    body |= {name: value for name, value in fields.items() if value is not None}
    intent = emulator.post(path.removeprefix("/_emulator"), body, **racing(no_wait))
    print_line(intent, payment_line, as_json)
    print_next(f"explain {intent['id']}", as_json)
    return int(intent["last_error"] is not None and intent["status"] != "succeeded")


def payment_line(intent: Any) -> str:
    error = intent["last_error"]
    why = f"  {error['code']}" if error else ""
    paid = plain_money(intent["amount"], intent["currency"])
    return f"{when(intent['created_at'])}  {intent['id']}  {paid}  {click.style(intent['status'], bold=True)}{why}"


def override(value: str) -> tuple[list[str], Any]:
    """Return the path of names in ``kind.name=value``, and the value: JSON if it can be parsed, otherwise text."""
    path, equals, text = value.partition("=")
    names = path.split(".")
    if not equals or not all(names):
        raise ValueError(f"{value!r}: NAME=VALUE, such as amount=7500 or customer.name=Awa")
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
    payments-emulator trigger subscription.payment_failed -o subscription=sub_5Nw8xR3tY6uJ1mB4vC7zK2Lq
    payments-emulator trigger payment_intent.succeeded -o amount=7500 -o customer.name=Awa

    Creates the objects that the event needs; webhooks and emails are sent as usual. An override names an existing
    object to use, or sets a field of a new one. VALUE is JSON if it can be parsed, otherwise text.
    On a frozen clock it returns when the webhooks and emails have their outcome.
    """
    body = {"event": event, "overrides": nested(overrides)}
    caused = emulator.post("/trigger", body, **racing(no_wait))
    print_rows(emulator, [caused], event_row, as_json)
    print_next(f"explain {about(caused)}", as_json)


def nested(overrides: tuple[tuple[list[str], Any], ...]) -> dict[str, Any]:
    """Return the overrides as one object."""
    whole: dict[str, Any] = {}
    for names, value in overrides:
        part = whole
        for name in names[:-1]:
            part = part.setdefault(name, {})
            if not isinstance(part, dict):
                raise click.UsageError(f"{'.'.join(names)} is inside {name}, which is itself overridden")
        part[names[-1]] = value
    return whole
