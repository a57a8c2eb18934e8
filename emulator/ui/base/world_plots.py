"""What is plotted of a world: curves and rows made of what the control API answers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from emulator.ui.base.plots import Curve, Lane, Mark, Stretch

RENEWALS = {
    "invoice.paid": "succeeded",
    "subscription.payment_failed": "failed",
    "subscription.canceled": "ended",
    "subscription.trial_will_end": "announced",
}
"""The events of subscriptions that are marked, and what each means for a renewal."""

OUTCOMES = {
    "failed": "failed",
    "disputed": "failed",
    "overdue": "failed",
    "canceled": "ended",
    "deleted": "ended",
    "expired": "ended",
    "voided": "ended",
    "end": "announced",
    "created": "announced",
}
"""What an event means, by the last word of its type; the others report a success."""


def instant(text: str) -> datetime:
    """A timestamp of the API."""
    return datetime.fromisoformat(text)


class Newest(NamedTuple):
    """The newest objects of a list, oldest first, of ``total``; ``said`` is the message if there are more."""

    rows: list[Any]
    total: int
    said: str

    @property
    def is_cut(self) -> bool:
        """Whether there are more."""
        return len(self.rows) < self.total


def merchant_curves(ledger: Any, entries: Iterable[Any], now: datetime) -> list[Curve]:
    """The merchant's account over time, by currency: the newest entries of the ledger lead to its totals."""
    curves = []
    for total in ledger["totals"]:
        if total["account"] != "merchant":
            continue
        own = [each for each in entries if (each["account"], each["currency"]) == ("merchant", total["currency"])]
        so_far = start = total["amount"] - sum(each["amount"] for each in own)
        points = [(instant(each["at"]), so_far := so_far + each["amount"]) for each in own]
        if points or start:
            curves.append(Curve(total["currency"], points or [(now, start)], start))
    return curves


def subscription_lane(name: str, subscription: Any, chain: Sequence[Any], events: Sequence[Any], now: datetime) -> Lane:
    """The states of a subscription, from its explanation, and the events that concern its renewals."""
    moves = [(instant(step["at"]), state) for step in chain if (state := _state(step))]
    ends = [*(at for at, _ in moves[1:]), now]
    # Nothing is known of moves before a world was restored or imported, so there may be none to end now.
    stretches = [Stretch(at, end, state) for (at, state), end in zip(moves, ends, strict=False)]
    marks = [
        Mark(instant(event["created_at"]), RENEWALS[event["type"]], event["type"])
        for event in events
        if event["type"] in RENEWALS and subscription["id"] in _concerned(event["data"]["object"])
    ]
    return Lane(name, stretches or [Stretch(now, now, subscription["status"])], marks)


def _concerned(about: Any) -> tuple[Any, Any]:
    return about["id"], about.get("subscription")


def _state(step: Any) -> str:
    """The state that a step of an explanation leads to; empty for other steps."""
    return str(step["subject"].partition("→ ")[2]) if step["kind"] == "transition" else ""


def endpoint_lane(name: str, deliveries: Iterable[Any]) -> Lane:
    """The attempts of the deliveries to a webhook endpoint."""
    marks = [
        Mark(instant(attempt["at"]), _outcome(attempt), f"{each['event_type']}: {_reason(attempt)}")
        for each in deliveries
        for attempt in each["attempts"]
    ]
    return Lane(name, [], sorted(marks))


def _outcome(attempt: Any) -> str:
    status = attempt["status_code"]
    return "succeeded" if status is not None and 200 <= status < 300 else "failed"


def _reason(attempt: Any) -> str:
    return str(attempt["status_code"] or attempt["error"])


def event_lanes(events: Sequence[Any]) -> list[Lane]:
    """A row for each type of event, in the order of their first."""
    marks: dict[str, list[Mark]] = defaultdict(list)
    for event in events:
        outcome = OUTCOMES.get(event["type"].split(".")[-1].split("_")[-1], "succeeded")
        marks[event["type"]].append(Mark(instant(event["created_at"]), outcome, event["data"]["object"]["id"]))
    return [Lane(type, [], own) for type, own in marks.items()]
