"""Independent sums: what the objects of a world say of its money, added up from the lists of the API alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from emulator.testing import Emulator

ARRIVED = ("completed", "refunded", "disputed")
"""The statuses of a deposit whose money has arrived."""


def flags(emulator: Emulator, assumptions: dict[str, str]) -> Iterator[str]:
    """Yield every sum that is not what it should be, as a sentence."""
    lists = {name: emulator.api.oldest(f"/v1/{name}/") for name in LISTS}
    transactions = {each["id"]: each for each in lists["transactions"]}
    yield from _deposits(lists, transactions)
    yield from _customers(lists)
    yield from _invoices(lists, transactions, assumptions)
    yield from _sessions(lists)
    yield from _subscriptions(lists)
    yield from _books(emulator, lists)


LISTS = ("customers", "invoices", "transactions", "refunds", "payment-intents", "checkout-sessions", "subscriptions")


def per_cent(amount: int, rate: float) -> int:
    """Return a rate of an amount in minor units, half up."""
    return int((amount * Decimal(str(rate)) / 100).quantize(Decimal(1), ROUND_HALF_UP))


def _deposits(lists: dict[str, Any], transactions: dict[str, Any]) -> Iterator[str]:
    returned: dict[str, int] = defaultdict(int)
    for refund in lists["refunds"]:
        if refund["status"] == "succeeded":
            returned[refund["transaction"]] += refund["amount"]
    for each in transactions.values():
        if each["type"] != "deposit":
            continue
        id, amount = each["id"], each["amount"]
        if each["fee"] != per_cent(amount, each["fee_rate"]):
            yield f"{id}: fee {each['fee']} of {amount}"
        if each["net_amount"] != amount - each["fee"] - each["commission"]:
            yield f"{id}: net amount {each['net_amount']} of {amount}"
        if each["amount_refunded"] != returned[id]:
            yield f"{id}: refunded {each['amount_refunded']}, and the refunds are {returned[id]}"
        if (each["status"] == "refunded") != (returned[id] == amount):
            yield f"{id}: {each['status']} with {returned[id]} of {amount} refunded"


def _customers(lists: dict[str, Any]) -> Iterator[str]:
    spent: dict[tuple[str, str], int] = defaultdict(int)
    count: dict[str, int] = defaultdict(int)
    for each in lists["transactions"]:
        if each["type"] == "deposit" and each["status"] in ARRIVED:
            spent[each["customer"], each["currency"]] += each["amount"] - each["amount_refunded"]
            count[each["customer"]] += 1
    for customer in lists["customers"]:
        expected = (spent[customer["id"], customer["currency"]], count[customer["id"]])
        if (customer["total_spent"], customer["transactions_count"]) != expected:
            yield f"{customer['id']}: spent {customer['total_spent']}, and its transactions are {expected}"


def _invoices(lists: dict[str, Any], transactions: dict[str, Any], assumptions: dict[str, str]) -> Iterator[str]:
    received: dict[str, int] = defaultdict(int)
    times: dict[str, int] = defaultdict(int)
    payments: dict[str, Any] = {}
    for intent in lists["payment-intents"]:
        if intent["status"] == "succeeded" and intent["invoice"]:
            times[intent["invoice"]] += 1
            payments[intent["invoice"]] = (intent["id"], intent["transaction"])
            settled = transactions[intent["transaction"]]["status"] in ARRIVED
            if assumptions.get("payment_received") != "transaction" or settled:
                received[intent["invoice"]] += intent["amount_received"]
    for each in lists["invoices"]:
        id, subtotal = each["id"], sum(line["amount"] for line in each["line_items"])
        if times[id] > 1:
            yield f"{id}: paid {times[id]} times"
        if each["subtotal"] != subtotal or each["total"] != subtotal - each["discount_amount"] + each["tax_amount"]:
            yield f"{id}: total {each['total']} of lines of {subtotal}"
        if each["amount_paid"] + each["amount_remaining"] != each["total"]:
            yield f"{id}: {each['amount_paid']} paid and {each['amount_remaining']} remaining of {each['total']}"
        # Without a payment it may have been paid manually.
        if received[id] and (each["status"] != "paid" or received[id] != each["amount_paid"]):
            yield f"{id}: {each['status']} with {each['amount_paid']} paid, and {received[id]} was received"
        shown = (each.get("payment_intent"), each.get("transaction"))
        if "transaction" in each and received[id] and shown != payments[id]:
            yield f"{id}: paid by {shown}, and its payment is {payments[id]}"


def _sessions(lists: dict[str, Any]) -> Iterator[str]:
    times: dict[str, int] = defaultdict(int)
    for intent in lists["payment-intents"]:
        times[intent["checkout_session"]] += intent["status"] == "succeeded"
    for session in lists["checkout-sessions"]:
        if times[session["id"]] > 1:
            yield f"{session['id']}: paid {times[session['id']]} times"
        if session["status"] == "complete" and session["amount_total"] and not times[session["id"]]:
            yield f"{session['id']}: complete without a payment"


def _subscriptions(lists: dict[str, Any]) -> Iterator[str]:
    owing = {each.get("subscription") for each in lists["invoices"] if each["status"] == "open"}
    known = any("subscription" in each for each in lists["invoices"])
    for each in lists["subscriptions"]:
        if known and each["status"] == "past_due" and each["id"] not in owing:
            yield f"{each['id']}: past due, and nothing is owed"


def _books(emulator: Emulator, lists: dict[str, Any]) -> Iterator[str]:
    """Yield the ledger says what the transactions say."""
    if not emulator.ledger.balanced:
        yield f"the ledger is not balanced: {emulator.api.get('/_emulator/ledger')['broken_by']}"
    merchant: dict[str, int] = defaultdict(int)
    for each in lists["transactions"]:
        if each["type"] == "refund":
            merchant[each["currency"]] -= each["amount"]
        elif each["status"] in ARRIVED:
            merchant[each["currency"]] += each["net_amount"]
    for currency, books in emulator.ledger.totals.items():
        if sum(books.values()) or "set_directly" in books:
            yield f"the books of {currency} do not add up: {books}"
        if books.get("merchant", 0) != merchant[currency]:
            yield f"the merchant has {books.get('merchant', 0)} {currency}, not {merchant[currency]}"
