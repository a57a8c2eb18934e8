"""``ledger``: show where the money is, and whether it adds up."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from emulator.cli.options import (
    ID,
    as_json,
    limit,
    with_client,
)
from emulator.cli.output import Row, print_line, print_rows, when
from emulator.presentation.languages.language import plain_money

if TYPE_CHECKING:
    from emulator.cli.client import ControlClient


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
