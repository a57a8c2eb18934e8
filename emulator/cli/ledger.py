"""``ledger``: show where the money is, and whether it adds up."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, islice
from typing import Any

import click

from emulator.cli.control_client import ControlClient
from emulator.cli.options import ID
from emulator.cli.output import Row, Shown, list_options, print_line, print_rows, when
from emulator.client.api import PAGE
from emulator.presentation.languages.language import plain_money


@click.command()
@click.option("--object", "object_id", type=ID, metavar="ID", help="Only entries of this object.")
@click.option("--currency", metavar="CODE", help="Only this currency, such as XAF.")
@list_options("newest movements of money (with --json entries, at most 100)")
def ledger(
    emulator: ControlClient, shown: Shown, object_id: str | None, currency: str | None
) -> int:
    """Show where the money is, and whether it adds up.

    \b
    payments-emulator ledger
    payments-emulator ledger --object inv_3Hj6kL9pQ2rS5tU8vW1xY4zA
    payments-emulator ledger --currency XAF --json | jq .balanced

    The ledger is kept by double entry over payments, refunds and invoices. What was set directly,
    past the rules, has an account of its own. With --json it is one object, amounts in minor units.
    Exit status 1 if it does not add up.
    """
    filters: dict[str, Any] = {
        "object": object_id and emulator.whole_id(object_id),
        "currency": currency,
    }
    found = emulator.get("/ledger", **filters, page_size=min(shown.limit, PAGE))
    if shown.as_json:
        click.echo(json.dumps(found))
    else:
        for line in books(found["totals"]):
            click.echo(line)
        by_cause = groupby(
            emulator.newest("/ledger", **filters),
            lambda each: (each["at"], each["cause"]["summary"]),
        )
        movements = [list(own) for _, own in islice(by_cause, shown.limit)]
        print_rows(emulator, movements[::-1], movement_row, shown)
        print_line(found, balance, as_json=False)
    return 0 if found["balanced"] else 1


def books(totals: list[Any]) -> Iterator[str]:
    currencies = list(dict.fromkeys(each["currency"] for each in totals))
    shown = {
        (each["account"], each["currency"]): plain_money(each["amount"], each["currency"])
        for each in totals
    }
    widths = {
        each: max(len(text) for (_, currency), text in shown.items() if currency == each)
        for each in currencies
    }
    from emulator.resources.ledger import BOOKS

    for account in dict.fromkeys(each["account"] for each in totals):
        amounts = (shown.get((account, each), "–").rjust(widths[each]) for each in currencies)
        yield "  ".join([click.style(BOOKS[account].ljust(13), bold=True), *amounts])
    if totals:
        yield ""


def movement_row(entries: Sequence[Any]) -> Row:
    """Return a movement of money: who gave, who got, and the object that it began with.

    Accounts that only compare two kinds of record, such as deposits and spending, are left out.
    """
    from emulator.resources.ledger import BOOKS

    def side(amounts: Mapping[str, int], sign: int, currency: str) -> str:
        wanted = (book for book in BOOKS if sign * amounts.get(book, 0) > 0)
        return ", ".join(
            f"{BOOKS[book]} {plain_money(abs(amounts[book]), currency)[:-4]}" for book in wanted
        )

    first, moved = entries[-1], []
    for currency in dict.fromkeys(each["currency"] for each in entries):
        amounts = {
            each["account"]: each["amount"] for each in entries if each["currency"] == currency
        }
        moved.append(f"{side(amounts, -1, currency)} → {side(amounts, 1, currency)} {currency}")
    return Row(first["at"], (" · ".join(moved),), first["object"], first["object"])


def balance(found: Any) -> str:
    is_balanced = (
        click.style("Balanced.", fg="green")
        if found["balanced"]
        else click.style("Not balanced.", fg="red")
    )
    above = [""] if found["entries"]["data"] else []
    broken = (f"{when(each['at'])}  {each['summary']}" for each in found["broken_by"])
    return "\n".join([*above, *broken, is_balanced])
