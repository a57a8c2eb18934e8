"""Proofs: what must be so in the API's objects where a sentence says it, row by row (B-102).

They import nothing of the emulator: a sentence is read as text, and its row's proof compares what
the text says with the objects, the schedule and the clock.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from contract_tests import ROOT

Object = Mapping[str, Any]
Words = Mapping[str, str]
Proof = Callable[["View", Object, Words], bool]

FIXTURES = Path(ROOT, "fixtures")
WAITING = ("requires_action", "processing", "requires_capture")
LIVE = ("active", "trialing", "past_due", "unpaid", "paused")

# -- the world as the API shows it


class View(NamedTuple):
    """All objects by id, the planned jobs, the clock's instant, the sessions closed by request."""

    objects: Mapping[str, Object]
    jobs: list[Object]
    now: str
    closed: Collection[str] = ()

    def of(self, kind: str, **fields: Any) -> list[Object]:
        return [
            one
            for one in self.objects.values()
            if one["object"] == kind
            and all(one.get(name) == value for name, value in fields.items())
        ]

    def due(self, id: str, *kinds: str) -> list[str]:
        """Return the instants of the planned jobs about an object, the soonest first."""
        return sorted(
            job["due_at"]
            for job in self.jobs
            if job["object"] == id and (not kinds or job["kind"] in kinds)
        )

    # -- what belongs to an object

    def invoices(self, one: Object, *statuses: str) -> list[Object]:
        own = self.of("invoice", **{one["object"]: one["id"]})
        return [invoice for invoice in own if not statuses or invoice["status"] in statuses]

    def intents(self, one: Object) -> list[Object]:
        kind = one["object"]
        if kind == "payment_intent":
            return [one]
        if kind == "transaction":
            is_deposit = one["type"] == "deposit"
            return self.of("payment_intent", id=one["payment_intent"]) if is_deposit else []
        if kind == "subscription":
            ids = {invoice["id"] for invoice in self.invoices(one)}
            return [own for own in self.of("payment_intent") if own["invoice"] in ids]
        return self.of("payment_intent", **{kind: one["id"]})

    def payments(self, one: Object) -> list[Object]:
        return [intent for intent in self.intents(one) if intent["status"] in WAITING]

    def deposits(self, one: Object) -> list[Object]:
        if one["object"] == "transaction":
            return [one] if one["type"] == "deposit" else []
        ids = {intent["transaction"] for intent in self.intents(one)}
        return [
            deposit
            for deposit in self.of("transaction", type="deposit")
            if deposit["id"] in ids
            or (one["object"] == "customer" and deposit["customer"] == one["id"])
        ]

    def arrivals(self, one: Object) -> list[Object]:
        busy = {intent["id"] for intent in self.of("payment_intent") if intent["status"] in WAITING}
        return [
            deposit
            for deposit in self.deposits(one)
            if deposit["status"] in ("pending", "approved")
            and deposit["payment_intent"] not in busy
        ]

    def refunds(self, one: Object) -> list[Object]:
        ids = {one["id"], *(deposit["id"] for deposit in self.deposits(one))}
        return [
            refund
            for refund in self.of("refund")
            if ids & {refund["id"], refund["transaction"]}
            and refund["status"] in ("pending", "processing")
        ]

    def failures(self, one: Object) -> list[Object]:
        return [intent for intent in self.intents(one) if intent["last_error"]]

    def answer_due(self, intent: Object) -> list[str]:
        return self.due(intent["id"], "payment_intent.answer", "payment_intent.unconfirmed")

    def end(self, subscription: Object) -> str | None:
        later = subscription["current_period_end"] if subscription["cancel_at_period_end"] else None
        ends = [instant for instant in (subscription["ends_at"], later) if instant]
        return min(ends, default=None)

    def is_charged_after(self, one: Object, number: str) -> bool:
        """Return whether another invoice of its subscription has this number and is owed."""
        subscription = self.objects[one["subscription"]]
        others = self.invoices(subscription, "open", "uncollectible")
        is_owed = number in {own["invoice_number"] for own in others if own["id"] != one["id"]}
        return is_owed and subscription["collection_method"] == "charge_automatically"

    def retry(self, subscription: Object) -> str | None:
        [due] = self.due(subscription["id"], "subscription.retry")[:1] or [None]
        end = self.end(subscription)
        # A payment that succeeded and is not settled yet is going to pay the invoice (B-61).
        open_ones = {invoice["id"] for invoice in self.invoices(subscription, "open")}
        succeeded = self.of("payment_intent", status="succeeded")
        if any(intent["invoice"] in open_ones for intent in succeeded):
            return None
        # One that is due while a payment is under way charges nothing: it waits for the answer.
        for payment in self.payments(subscription):
            if due and due <= next(iter(self.answer_due(payment)), due):
                return None
        return due if due and (end is None or due < end) else None


# -- how texts are written


def money(amount: int, currency: str) -> str:
    places = 0 if currency in ("XAF", "XOF") else 2
    return f"{amount / 10**places:,.{places}f} {currency}"


def sums(amounts: Iterable[tuple[int, str]]) -> set[str]:
    totals: Counter[str] = Counter()
    for amount, currency in amounts:
        totals[currency] += amount
    return {money(total, currency) for currency, total in totals.items() if total}


MONEY = r"[\d,]+(?:\.\d+)? [A-Z]{3}"
NUMBER = r"INV-\d{4}-\d{6}"
DAY = r"\d{1,2} [A-Z][a-z]{2} \d{4,}(?:, \d\d:\d\d UTC)?"
PLAIN_DAY = r"\d{1,2} [A-Z][a-z]{2} \d{4,}"


def listed(part: str) -> str:
    return f"{part}(?:, {part})*(?:,? and {part})?"


def are(text: str, *wanted: tuple[int, str]) -> bool:
    """Return whether a text names just these sums by currency."""
    return set(re.findall(MONEY, text)) == sums(wanted)


def is_day(text: str, instant: str | None) -> bool:
    if instant is None:
        return False
    at = datetime.fromisoformat(instant)
    return text.startswith(f"{at.day} {at:%b} {at.year}")


def failed_with(payment: Object, text: str) -> bool:
    """Return whether a text names a failed payment's code, and says if it was canceled (B-45)."""
    error = payment["last_error"]
    is_canceled = "was canceled" in error["message"]
    return text.startswith(error["code"]) and ("was canceled" in text) == is_canceled


def is_transfer(view: View, one: Object) -> bool:
    """Return whether the one payment under way is a bank transfer, which waits for funds."""
    [payment] = view.payments(one)
    return bool(payment["payment_method_type"] == "bank_transfer")


def amounts(payments: Iterable[Object]) -> list[tuple[int, str]]:
    return [(one.get("amount_capturable") or one["amount"], one["currency"]) for one in payments]


# -- the rows of the table of sentences


class Row(NamedTuple):
    """One row of the table: what a proof is found by, and the pattern of its texts."""

    name: str
    pattern: str


SPECIAL = {
    "count": r"\d+",
    "owing_numbers": listed(NUMBER),
    "uncollectible": NUMBER,
    "charged_after": NUMBER,
    "payment_retry_days": listed(PLAIN_DAY),
    "paid": listed(MONEY),
    "refunded": listed(MONEY),
    "rest": MONEY,
}


def _placeholder(name: str) -> str:
    if name in SPECIAL:
        return SPECIAL[name]
    if name.endswith("_several"):
        return r"\d+"
    if name.endswith("_day") or name == "day":
        return DAY
    if name.endswith("_sum"):
        return f"{listed(MONEY)}(?: for {NUMBER})?"
    if name.startswith("amount") or name.endswith("amount"):
        return MONEY
    return ".+?"


def _pattern(text: str, number: str) -> str:
    parts = re.split(r"\{(\w+)\}", " ".join(text.split()))
    return "".join(
        re.escape(part) if index % 2 == 0 else f"(?P<{part}_{number}>{_placeholder(part)})"
        for index, part in enumerate(parts)
    )


@cache
def table() -> dict[str, tuple[str, dict[str, Row]]]:
    """Return by kind the pattern of a whole text, and its rows by the names of their groups."""
    rows = yaml.safe_load((FIXTURES / "status-sentences.yaml").read_text("utf-8"))
    jobs = yaml.safe_load((FIXTURES / "jobs.yaml").read_text("utf-8"))
    # A row that several kinds share is one: an alias is the same object.
    names: dict[int, str] = {}
    result = {}
    for kind, sentences in rows.items():
        groups: dict[str, Row] = {}
        whole = "".join(
            f"(?:{_group(kind, sentence, jobs, names, groups)} ?)?" for sentence in _flat(sentences)
        )
        result[kind] = (whole, groups)
    return result


def _flat(rows: Iterable[Any]) -> Iterator[dict[str, Any]]:
    for row in rows:
        yield from _flat(row) if isinstance(row, list) else [row]


def _group(
    kind: str, row: dict[str, Any], jobs: Any, names: dict[int, str], groups: dict[str, Row]
) -> str:
    if "first" in row:
        own = "|".join(_group(kind, one, jobs, names, groups) for one in row["first"])
        return f"(?:{own})"
    group = f"row{len(groups)}"
    if "job" in row:
        is_next = row["job"] == "next"
        texts = [
            text["next"]
            for job, text in jobs.items()
            if "next" in text
            and (row["job"] == job or (row["job"] == "next" and job.startswith(kind)))
        ]
        texts += ["Nothing more is planned."] if is_next else []
        own = f"job {row['job']}"
    else:
        texts = [row[name] for name in ("say", "one", "many") if name in row]
        own = " ".join(texts[0].split())
    name = names.setdefault(id(row), f"{kind}: {own}")
    pattern = "|".join(
        _pattern(text, f"{len(groups)}x{number}") for number, text in enumerate(texts)
    )
    groups[group] = Row(name, pattern)
    return f"(?P<{group}>{pattern})"


def rows() -> set[str]:
    return {row.name for _, groups in table().values() for row in groups.values()}


def read(kind: str, text: str) -> list[tuple[str, str, Words]] | None:
    """Return the rows that make up a text, each with what it says; None for another text."""
    whole, groups = table().get(kind, ("", {}))
    match = re.fullmatch(whole, text)
    if match is None:
        return None
    found = match.groupdict()
    result = []
    for group, row in groups.items():
        if found[group] is None:
            continue
        number = group.removeprefix("row")
        words = {
            re.sub(r"_\d+x\d+$", "", name): value
            for name, value in found.items()
            if value is not None and re.search(rf"_{number}x\d+$", name)
        }
        result.append((row.name, found[group], words))
    return result
