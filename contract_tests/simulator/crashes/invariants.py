"""Invariants: what holds in every world that was stored whole, whatever happened to the processes that ran it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any

import httpx

from contract_tests.simulator.crashes.load import HEADERS, at_last
from contract_tests.simulator.crashes.servers import KEY

Rows = dict[str, dict[str, Any]]


class World:
    """A world as its export shows it."""

    def __init__(self, url: str) -> None:
        with httpx.Client(base_url=f"{url}/_emulator", headers=HEADERS, timeout=60, trust_env=False) as control:

            def ask(method: str, path: str, body: Any = None) -> Any:
                answer = at_last(lambda: control.request(method, path, json=body)).raise_for_status()
                return answer.json() if answer.content else None

            # Deliveries under way come to their end first; the clock stays where it is.
            ask("POST", "/clock/advance", {"to": ask("GET", "/clock")["now"]})
            ask("POST", "/snapshots", {"name": "truth"})
            tables = ask("GET", "/snapshots/truth")
            ask("DELETE", "/snapshots/truth")
        (head,) = tables["worlds"].values()
        self.now: str = head["now"]
        self._tables: dict[str, Rows] = {
            name.removeprefix(f"{KEY}/"): {row["id"]: row for row in table.values()}
            for name, table in tables.items()
            if "/" in name
        }

    def all(self, kind: str, **fields: Any) -> list[Any]:
        """Return the records of a kind with these values, oldest first."""
        rows = self._tables.get(kind, {}).values()
        return [row for row in rows if all(row[name] == value for name, value in fields.items())]

    def by(self, kind: str, field: str) -> dict[Any, list[Any]]:
        """Return the records of a kind by the value of a field."""
        found: dict[Any, list[Any]] = defaultdict(list)
        for row in self.all(kind):
            found[row[field]].append(row)
        return found


def broken(world: World) -> list[str]:
    """Return everything that is not as it must be."""
    return [fault for truth in (money, customers, subscriptions, jobs, events) for fault in truth(world)]


def money(world: World) -> Iterable[str]:
    """Return each payment is one intent, one transaction and one receipt, of one amount."""
    deposits, receipts = world.by("transaction", "payment_intent"), world.by("receipt", "transaction")
    for intent in world.all("payment_intent", status="succeeded"):
        if [row["amount"] for row in deposits[intent["id"]]] != [intent["amount"]]:
            yield f"{intent['id']} has transactions {deposits[intent['id']]}"
    for transaction in world.all("transaction", status="completed"):
        if [row["amount"] for row in receipts[transaction["id"]]] != [transaction["amount"]]:
            yield f"{transaction['id']} has receipts {receipts[transaction['id']]}"
    numbers = [invoice["invoice_number"] for invoice in world.all("invoice")]
    if len(set(numbers)) != len(numbers) or numbers != sorted(numbers):
        yield "an invoice number was given twice or out of order"


def customers(world: World) -> Iterable[str]:
    """What a customer has spent is the sum of its transactions; one with a phone has the method made with it."""
    deposits, methods = world.by("transaction", "customer"), world.by("payment_method", "customer")
    for customer in world.all("customer"):
        own = [row["amount"] for row in deposits[customer["id"]] if row["status"] == "completed"]
        if (customer["total_spent"], customer["transactions_count"]) != (sum(own), len(own)):
            yield f"{customer['id']} spent {customer['total_spent']}, transactions say {own}"
        phones = [row["details"]["phone"] for row in methods[customer["id"]] if row["type"] == "mobile_money"]
        if phones != [customer["phone"]]:
            yield f"{customer['id']} has the phones {phones}"


def subscriptions(world: World) -> Iterable[str]:
    """Return each period was invoiced once and is paid, and the next renewal is planned, once."""
    invoices, planned = world.by("invoice", "subscription"), world.by("job", "about")
    for subscription in world.all("subscription"):
        statuses = [invoice["status"] for invoice in invoices[subscription["id"]]]
        if statuses != ["paid"] * subscription["period"]:
            yield f"{subscription['id']} is in period {subscription['period']}, invoices are {statuses}"
        due = [job["due"] for job in planned[subscription["id"]] if job["name"] == "subscription.renew"]
        if due != [subscription["current_period_end"]] or due[0] <= world.now:
            yield f"{subscription['id']} ends a period at {subscription['current_period_end']}, renewals are due {due}"


def jobs(world: World) -> Iterable[str]:
    """None failed, none is overdue."""
    yield from (f"failed: {job}" for job in world.all("failed_job"))
    yield from (f"overdue: {job}" for job in world.all("job") if job["due"] <= world.now)


def events(world: World) -> Iterable[str]:
    """Return each thing that happened is emitted once, and every delivery is made."""
    counts = Counter((event["type"], event["data"]["object"]["id"]) for event in world.all("event"))
    expected = {
        "customer.created": world.all("customer"),
        "subscription.created": world.all("subscription"),
        "transaction.succeeded": world.all("transaction", status="completed"),
    }
    for type, rows in expected.items():
        yield from (
            f"{type} of {row['id']} was emitted {counts[type, row['id']]} times"
            for row in rows
            if counts[type, row["id"]] != 1
        )
    deliveries = world.by("webhook_delivery", "event")
    for event in world.all("event", type="customer.created") if world.all("webhook_endpoint") else ():
        if [row["status"] for row in deliveries[event["id"]]] != ["succeeded"]:
            yield f"{event['id']} has deliveries {deliveries[event['id']]}"
