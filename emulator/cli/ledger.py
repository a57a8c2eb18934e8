"""``ledger``: where the money of an App's world is, as a report or as a check that it adds up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from emulator.cli.options import ID, as_json, limit, with_client
from emulator.cli.output import print_line, when
from emulator.presentation.languages.language import plain_money

if TYPE_CHECKING:
    from emulator.cli.client import ControlClient


@click.command()
@click.option("--object", "object_id", type=ID, metavar="ID", help="Only entries of this object.")
@click.option("--currency", metavar="CODE", help="Only this currency, such as XAF.")
@limit("newest entries")
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
    print_line(found, report, as_json)
    return 0 if found["balanced"] else 1


def report(found: Any) -> str:
    """The totals, the newest entries with the oldest of them first, what broke the balance, and the verdict."""
    parts = [
        "\n".join(total(each) for each in found["totals"]),
        "\n".join(entry(each) for each in reversed(found["entries"]["data"])),
        "\n".join(broken(each) for each in found["broken_by"]),
        verdict(found["balanced"]),
    ]
    return "\n\n".join(part for part in parts if part)


def total(each: Any) -> str:
    """What stands on one of the books."""
    return f"{click.style(each['account'].ljust(13), bold=True)}  {plain_money(each['amount'], each['currency']):>18}"


def entry(each: Any) -> str:
    """A posting with its cause."""
    amount = "+" * (each["amount"] > 0) + plain_money(each["amount"], each["currency"])
    return f"{when(each['at'])}  {amount:>16}  {each['account']}  {each['cause']['summary']}"


def broken(each: Any) -> str:
    """What broke the balance, and what touched the account before."""
    earlier = f"; before it {each['earlier']['summary']}" if each["earlier"] else ""
    cause = f"{each['cause']['summary']} ({each['cause']['id']}){earlier}"
    off = f"{each['account']} is off by {plain_money(each['amount'], each['currency'])}"
    return f"{when(each['at'])}  {off}: {cause}"


def verdict(balanced: bool) -> str:
    """Whether it adds up."""
    return click.style("Balanced.", fg="green") if balanced else click.style("Not balanced.", fg="red")
