"""``pay``: pay as a buyer does."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import click

from emulator.cli.control_client import ControlClient
from emulator.cli.options import ID, Integer, Parsed, no_wait
from emulator.cli.output import printed, when
from emulator.presentation.languages.catalogs import SOURCE
from emulator.presentation.languages.language import language_of, plain_money


class Amount(NamedTuple):
    """Minor units, or with a currency an amount as people write it."""

    text: str
    currency: str | None

    def minor_units(self, currency: str) -> int:
        """Return minor units; ``ValueError`` for another currency, or an amount not of this one."""
        if self.currency is None:
            return int(self.text)
        if self.currency != currency:
            raise ValueError(f"--amount is in {self.currency}, but this is paid in {currency}")
        if (amount := language_of(SOURCE).parse_amount(self.text, currency)) is None:
            raise ValueError(f"{self.text!r} is not an amount in {currency}")
        return amount


def _amount(value: str) -> Amount:
    parts = re.fullmatch(r"(\d[\d.,]*)\s*([A-Za-z]{3})|(\d{1,15})", value.strip(), re.ASCII)
    if parts is None:
        raise ValueError(
            f"{value!r} is not an amount: write it with its currency, such as '15.50 EUR', or in"
            " minor units, such as 1550"
        )
    figure, currency, units = parts.groups()
    return Amount(figure or units, currency and currency.upper())


def payment_line(paid: Any) -> str:
    """Return the line of a payment intent, or of the session where nothing is charged."""
    error = paid.get("last_error")
    cells = [when(paid["created_at"]), paid["id"]]
    if paid["object"] == "payment_intent":
        cells.append(plain_money(paid["amount"], paid["currency"]))
    cells.append(click.style(paid["status"], bold=True))
    return "  ".join([*cells, error["code"]] if error else cells)


def _exit_status(paid: Any) -> int:
    if paid["object"] == "payment_intent":
        return int(paid["last_error"] is not None and paid["status"] != "succeeded")
    return int(paid["status"] == "payment_failed")


def _asks_who_pays(payable: Any) -> bool:
    """Return whether the page asks its buyer for name and email, and knows none."""
    if payable["object"] == "payment_link":
        return bool(payable["collect_customer_info"])
    is_kept = payable["object"] == "checkout_session" and payable["mode"] != "payment"
    return is_kept and not (payable["customer"] or payable["customer_email"])


def _target(value: str) -> str:
    from emulator.client.api import page_id

    return str(ID.parse(page_id(value)))


@click.command()
@click.argument("target", type=Parsed("ID", _target), metavar="ID")
@click.option("--phone", metavar="NUMBER", help="Pay by mobile money from this phone.")
@click.option("--card", metavar="NUMBER", help="Pay by the card of this number.")
@click.option("--iban", metavar="IBAN", help="Pay by bank transfer from this account.")
@click.option("--email", metavar="ADDRESS", help="Pay by the PayPal account of this address.")
@click.option(
    "--amount",
    type=Parsed("AMOUNT", _amount),
    metavar="AMOUNT",
    help="Where the buyer chooses it: '15.50 EUR', or minor units such as 1550.",
)
@click.option(
    "--product", type=ID, metavar="ID", help="Product to buy, where a link sells several."
)
@click.option("--quantity", type=Integer(1), metavar="N", help="Quantity, where the buyer chooses.")
@no_wait
@printed(
    payment_line,
    then=lambda paid: f"explain {paid['id']}",
    status=_exit_status,
)
def pay(
    emulator: ControlClient, target: str, *, product: str | None, no_wait: bool, **chosen: Any
) -> Any:
    """Pay a checkout session, a payment link or an invoice.

    \b
    payments-emulator pay sess_4fKq9ZsT1mVbX7cR2yLdH8wN
    payments-emulator pay inv_5Nw8xR3tY6uJ1mB4vC7zK2Lq --phone +24177000001
    payments-emulator pay link_3Hj6kL9pQ2rS5tU8vW1xY4zA --amount '15.50 EUR'
    payments-emulator pay http://127.0.0.1:4747/pay/link_3Hj6kL9pQ2rS5tU8vW1xY4zA

    The URL of the page does as well as the id. Without a phone, card, account or address it pays
    by something that works. On a frozen clock it returns when the webhooks of the payment have
    their outcome. Exit status 1 if the payment failed.
    """
    from emulator.client.api import RACING, method, pay_path

    amount, quantity = chosen.pop("amount"), chosen.pop("quantity")
    try:
        id = emulator.whole_id(target)
        path, body = pay_path(id), method(**chosen)
        payable = emulator.get(f"/objects/{id}")
        if amount is not None:
            body["amount"] = amount.minor_units(payable["currency"])
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    if _asks_who_pays(payable):
        body["customer"] = {"name": "New Buyer", "email": f"{id.lower()}@example.com"}
    if product is not None:
        body["product"] = emulator.whole_id(product)
    if quantity is not None:
        body["quantity"] = quantity
    return emulator.post(path.removeprefix("/_emulator"), body, **(RACING if no_wait else {}))
