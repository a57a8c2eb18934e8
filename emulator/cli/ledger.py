"""``ledger``: show where the money is, and whether it adds up."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby, islice
from typing import Any

import click

from emulator.cli.control_client import ControlClient
from emulator.cli.options import ID
from emulator.cli.output import ListView, Row, list_options, print_line, print_rows, when
from emulator.client.api import PAGE
from emulator.presentation.languages.language import plain_money

NO_MOVEMENTS = (
    "No such movement is in the journal, which starts over with the server and with each snapshot"
    " that is loaded."
)


@click.command()
@click.option("--object", "object_id", type=ID, metavar="ID", help="Only movements of this object.")
@click.option("--currency", metavar="CODE", help="Only this currency, such as XAF.")
@list_options("newest movements of money (with --json entries, at most 100)")
def ledger(
    emulator: ControlClient, view: ListView, object_id: str | None, currency: str | None
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
    overview = emulator.get("/ledger", **filters, page_size=min(view.limit, PAGE))
    if view.as_json:
        click.echo(json.dumps(overview))
    else:
        for line in books(overview["totals"]):
            click.echo(line)
        by_cause = groupby(
            emulator.newest("/ledger", **filters, grouped=True),
            lambda entry: (entry["at"], entry["cause"]["id"]),
        )
        movements = [list(own) for _, own in islice(by_cause, view.limit)]
        print_rows(emulator, movements[::-1], movement_row, view)
        if overview["totals"] and not movements:
            click.echo(NO_MOVEMENTS, err=True)
        print_line(overview, balance, as_json=False)
    return 0 if overview["balanced"] else 1


def books(totals: list[Any]) -> Iterator[str]:
    currencies = list(dict.fromkeys(total["currency"] for total in totals))
    amounts = {
        (total["account"], total["currency"]): plain_money(total["amount"], total["currency"])
        for total in totals
    }
    widths = {
        currency: max(len(text) for (_, other), text in amounts.items() if other == currency)
        for currency in currencies
    }
    from emulator.resources.ledger import BOOKS

    for account in dict.fromkeys(total["account"] for total in totals):
        texts = (
            amounts.get((account, currency), "–").rjust(widths[currency]) for currency in currencies
        )
        yield "  ".join([click.style(BOOKS[account].ljust(13), bold=True), *texts])
    if totals:
        yield ""


def movement_row(entries: Sequence[Any]) -> Row:
    """Return a movement of money: who gave, who got, and the object that it began with.

    Accounts that only compare two kinds of record, such as deposits and spending, are left out. An
    account that got and gave, as one whose payment is refunded by the same request, is on both
    sides.
    """
    from emulator.resources.ledger import BOOKS

    def side(sign: int, currency: str) -> str:
        amounts = Counter[str]()
        for entry in entries:
            if entry["currency"] == currency and sign * entry["amount"] > 0:
                amounts[entry["account"]] += abs(entry["amount"])
        return ", ".join(
            f"{BOOKS[book]} {plain_money(amounts[book], currency)[:-4]}"
            for book in BOOKS
            if book in amounts
        )

    currencies = dict.fromkeys(entry["currency"] for entry in entries)
    moved = [f"{side(-1, currency)} → {side(1, currency)} {currency}" for currency in currencies]
    # What a customer spent may be posted first, and says nothing of the payment.
    first = next(
        (entry for entry in reversed(entries) if not entry["account"].startswith("spending")),
        entries[-1],
    )
    return Row(first["at"], (" · ".join(moved),), first["object"], first["object"])


def balance(overview: Any) -> str:
    is_balanced = (
        click.style("Balanced.", fg="green")
        if overview["balanced"]
        else click.style("Not balanced.", fg="red")
    )
    above = [""] if overview["entries"]["data"] else []
    broken = (f"{when(cause['at'])}  {cause['summary']}" for cause in overview["broken_by"])
    return "\n".join([*above, *broken, is_balanced])
