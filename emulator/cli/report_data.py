"""What a report shows of a world: money, states of subscriptions, renewals and webhooks, over its time."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple

from emulator.cli.client import ControlClient
from emulator.html.plots import Curve, Lane, Mark, Stretch

MOST = 1000
"""The newest events, postings and deliveries that are shown of each kind."""

LANES = 40
"""The newest subscriptions and webhook endpoints that are shown."""

RENEWALS = {
    "invoice.paid": "succeeded",
    "subscription.payment_failed": "failed",
    "subscription.canceled": "ended",
    "subscription.trial_will_end": "announced",
}
"""The events of subscriptions that a report marks, and what each means for a renewal."""

TRANSITION = re.compile(r"created as (?P<first>\w+) by|\w+ -> (?P<next>\w+) by")
"""How an explanation words the move of an object to another state."""


class WorldReport(NamedTuple):
    """One App's world up to now. ``money`` is what the merchant has received; ``is_cut``: there was more."""

    app: str
    now: datetime
    began: datetime
    balanced: bool
    money: list[Curve]
    subscriptions: list[Lane]
    webhooks: list[Lane]
    is_cut: bool


def collect(emulator: ControlClient) -> WorldReport:
    """Read everything from a running emulator."""
    now = instant(emulator.get("/clock")["now"])
    events = [*emulator.pages("/events", MOST)][::-1]
    ledger = emulator.get("/ledger", page_size=1)
    entries = [*_entries(emulator)][::-1]
    subscriptions = [_subscription(emulator, each, events, now) for each in _listed(emulator, "/v1/subscriptions/")]
    webhooks = [_endpoint(emulator, each) for each in _listed(emulator, "/v1/webhooks/")]
    times = [instant(each["at"]) for each in entries]
    times += [instant(each["created_at"]) for each in events]
    times += [each.start for lane in subscriptions for each in lane.stretches]
    return WorldReport(
        app=emulator.get("/app")["name"],
        now=now,
        began=min([*times, now]),
        balanced=ledger["balanced"],
        money=_curves(entries),
        subscriptions=subscriptions,
        webhooks=webhooks,
        is_cut=len(events) == MOST or len(entries) == MOST or len(subscriptions) == LANES,
    )


def instant(text: str) -> datetime:
    """A timestamp of the API."""
    return datetime.fromisoformat(text)


def _entries(emulator: ControlClient) -> Iterator[Any]:
    """The newest postings of the ledger, newest first."""
    for page in range(1, MOST // 100 + 1):
        found = emulator.get("/ledger", page=page, page_size=100)["entries"]
        yield from (each for each in found["data"] if each["at"])
        if page >= found["pagination"]["total_pages"]:
            return


def _curves(entries: list[Any]) -> list[Curve]:
    """The merchant's account over time, by currency."""
    points: dict[str, list[tuple[datetime, int]]] = defaultdict(list)
    for each in entries:
        if each["account"] == "merchant":
            so_far = points[each["currency"]][-1][1] if points[each["currency"]] else 0
            points[each["currency"]].append((instant(each["at"]), so_far + each["amount"]))
    return [Curve(currency, points[currency]) for currency in sorted(points)]


def _listed(emulator: ControlClient, path: str) -> list[Any]:
    """The newest objects of a list of the service, oldest first."""
    return emulator.send("GET", path, query={"page_size": LANES}).json()["data"][::-1]  # type: ignore[no-any-return]  # JSON


def _subscription(emulator: ControlClient, subscription: Any, events: list[Any], now: datetime) -> Lane:
    """The states of a subscription, and the events that concern its renewals."""
    chain = emulator.get(f"/explain/{subscription['id']}")["chain"]
    moves = [(instant(each["at"]), _state(each)) for each in chain if _state(each)]
    ends = [*(at for at, _ in moves[1:]), now]
    stretches = [Stretch(at, end, state) for (at, state), end in zip(moves, ends, strict=True)]
    marks = [
        Mark(instant(event["created_at"]), RENEWALS[event["type"]], event["type"])
        for event in events
        if event["type"] in RENEWALS and subscription["id"] in _concerned(event["data"]["object"])
    ]
    return Lane(subscription["id"], stretches or [Stretch(now, now, subscription["status"])], marks)


def _concerned(about: Any) -> tuple[Any, Any]:
    return about["id"], about.get("subscription")


def _state(link: Any) -> str:
    """The state that a link of an explanation leads to; empty for other links."""
    found = TRANSITION.match(link["summary"]) if link["kind"] == "transition" else None
    return (found["first"] or found["next"]) if found else ""


def _endpoint(emulator: ControlClient, endpoint: Any) -> Lane:
    """The attempts of the deliveries to a webhook endpoint."""
    path = f"/v1/webhooks/{endpoint['id']}/deliveries/"
    found = emulator.send("GET", path, query={"page_size": 100}).json()["data"]
    marks = [
        Mark(instant(attempt["at"]), _outcome(attempt), f"{each['event_type']}: {_reason(attempt)}")
        for each in found
        for attempt in each["attempts"]
    ]
    return Lane(endpoint["name"], [], sorted(marks))


def _outcome(attempt: Any) -> str:
    status = attempt["status_code"]
    return "succeeded" if status is not None and 200 <= status < 300 else "failed"


def _reason(attempt: Any) -> str:
    return str(attempt["status_code"] or attempt["error"])
