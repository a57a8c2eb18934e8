"""``pay``: pay as a buyer does."""

from __future__ import annotations

from typing import Any

import click

from emulator.cli.control_client import ControlClient
from emulator.cli.options import ID, Integer, no_wait
from emulator.cli.output import printed, when
from emulator.presentation.languages.language import plain_money


def payment_line(intent: Any) -> str:
    error = intent["last_error"]
    why = f"  {error['code']}" if error else ""
    paid = plain_money(intent["amount"], intent["currency"])
    return (
        f"{when(intent['created_at'])}  {intent['id']}  {paid} "
        f" {click.style(intent['status'], bold=True)}{why}"
    )


@click.command()
@click.argument("target", type=ID, metavar="ID")
@click.option("--phone", metavar="NUMBER", help="Pay by mobile money from this phone.")
@click.option("--card", metavar="NUMBER", help="Pay by the card of this number.")
@click.option("--iban", metavar="IBAN", help="Pay by bank transfer from this account.")
@click.option("--email", metavar="ADDRESS", help="Pay by the PayPal account of this address.")
@click.option(
    "--amount",
    type=Integer(1),
    metavar="N",
    help="Amount in minor units, where the buyer chooses.",
)
@click.option("--quantity", type=Integer(1), metavar="N", help="Quantity, where the buyer chooses.")
@no_wait
@printed(
    payment_line,
    then=lambda intent: f"explain {intent['id']}",
    status=lambda intent: int(intent["last_error"] is not None and intent["status"] != "succeeded"),
)
def pay(emulator: ControlClient, target: str, *, no_wait: bool, **chosen: Any) -> Any:
    """Pay a checkout session, a payment link or an invoice.

    \b
    payments-emulator pay sess_4fKq9ZsT1mVbX7cR2yLdH8wN
    payments-emulator pay inv_5Nw8xR3tY6uJ1mB4vC7zK2Lq --phone +24177000001

    Without a phone, card, account or address it pays by something that works. On a frozen clock it
    returns when the webhooks of the payment have their outcome. Exit status 1 if the payment
    failed.
    """
    from emulator.client.api import RACING, method, pay_path

    fields = {name: chosen.pop(name) for name in ("amount", "quantity")}
    try:
        path, body = pay_path(emulator.whole_id(target)), method(**chosen)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    body |= {name: value for name, value in fields.items() if value is not None}
    return emulator.post(path.removeprefix("/_emulator"), body, **(RACING if no_wait else {}))
