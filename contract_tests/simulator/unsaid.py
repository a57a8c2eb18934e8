"""What no text about an object may leave unsaid: what it owes, has under way or has planned."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping

from contract_tests.simulator.proofs import LIVE, Object, View, amounts, is_day, sums

SILENT = ("event", "webhook_delivery", "webhook_endpoint", "product")
"""Kinds that no payment belongs to."""


def unsaid(view: View, one: Object, text: str, said: Collection[str]) -> Iterator[str]:
    """Yield what the text about an object does not name; ``said`` has the words of its rows."""
    if one["object"] not in SILENT:
        yield from _under_way(view, one, said)
    yield from _OF_KIND.get(one["object"], _nothing)(view, one, text)


def _nothing(view: View, one: Object, text: str) -> Iterator[str]:
    yield from ()


def _names_day(text: str, instant: str) -> bool:
    return any(is_day(day, instant) for day in re.findall(r"\d+ \w{3} \d{4}", text))


def _under_way(view: View, one: Object, said: Collection[str]) -> Iterator[str]:
    # A row with such a sum has a proof of it: the same amount may stand in the text as a price.
    for name, own in (
        ("payment", view.payments(one)),
        ("arrival", view.arrivals(one)),
        ("refund", view.refunds(one)),
    ):
        if own and f"{name}_sum" not in said:
            yield f"{name} under way of {', '.join(sums(amounts(own)))}"


def _of_subscription(view: View, one: Object, text: str) -> Iterator[str]:
    for invoice in view.invoices(one, "open", "uncollectible"):
        is_named = invoice["invoice_number"] in text
        # A subscription that is past due by invoice names those that are overdue.
        is_overdue = (invoice["due_date"] or "9") < view.now[:10]
        if not is_named and (is_overdue or "overdue" not in text):
            yield f"owed {invoice['invoice_number']}"
    # With several open invoices it may be another one that is tried again.
    for payment in view.payments(one):
        is_only = len(view.payments(one)) == len(view.invoices(one, "open")) == 1
        is_charge = payment.get("subscription") and one["collection_method"] != "send_invoice"
        is_stopped = one["status"] in ("paused", "canceled", "expired")
        if is_only and is_charge and is_stopped and "If it fails" not in text:
            yield "what follows if the payment fails"
    retry, end = view.retry(one), view.end(one)
    if retry and not _names_day(text, retry):
        yield f"retry on {retry}"
    if end and one["status"] in LIVE and not _names_day(text, end):
        yield f"end on {end}"


def _of_invoice(view: View, one: Object, text: str) -> Iterator[str]:
    yield from _owed([one], text)


def _of_customer(view: View, one: Object, text: str) -> Iterator[str]:
    yield from _owed(view.invoices(one), text)
    paid = [
        (deposit["amount"], deposit["currency"])
        for deposit in view.deposits(one)
        if deposit["status"] in ("completed", "disputed", "refunded")
    ]
    for total in sums(paid):
        if total not in text:
            yield f"paid {total}"


def _owed(invoices: list[Object], text: str) -> Iterator[str]:
    for wanted in ("open", "uncollectible"):
        owed = [
            (invoice["amount_remaining"], invoice["currency"])
            for invoice in invoices
            if invoice["status"] == wanted
        ]
        for total in sums(owed):
            if total not in text:
                yield f"{wanted} {total}"


def _of_transaction(view: View, one: Object, text: str) -> Iterator[str]:
    for due in view.due(one["id"]):
        if not _names_day(text, due):
            yield f"planned on {due}"


_OF_KIND: Mapping[str, Callable[[View, Object, str], Iterator[str]]] = {
    "subscription": _of_subscription,
    "invoice": _of_invoice,
    "customer": _of_customer,
    "transaction": _of_transaction,
}
