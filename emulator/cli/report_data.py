"""What a report shows of a world: money, states of subscriptions, renewals and webhooks, over its time."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple

from emulator.cli.client import ControlClient
from emulator.html.plots import Curve, Lane
from emulator.html.world_plots import endpoint_lane, instant, merchant_curves, subscription_lane

MOST = 1000
"""The newest events, postings and deliveries that are shown of each kind."""

LANES = 40
"""The newest subscriptions and webhook endpoints that are shown."""


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
        money=merchant_curves(entries),
        subscriptions=subscriptions,
        webhooks=webhooks,
        is_cut=len(events) == MOST or len(entries) == MOST or len(subscriptions) == LANES,
    )


def _entries(emulator: ControlClient) -> Iterator[Any]:
    """The newest postings of the ledger, newest first."""
    for page in range(1, MOST // 100 + 1):
        found = emulator.get("/ledger", page=page, page_size=100)["entries"]
        yield from (each for each in found["data"] if each["at"])
        if page >= found["pagination"]["total_pages"]:
            return


def _listed(emulator: ControlClient, path: str) -> list[Any]:
    """The newest objects of a list of the service, oldest first."""
    return emulator.send("GET", path, query={"page_size": LANES}).json()["data"][::-1]  # type: ignore[no-any-return]  # JSON


def _subscription(emulator: ControlClient, subscription: Any, events: list[Any], now: datetime) -> Lane:
    chain = emulator.get(f"/explain/{subscription['id']}")["chain"]
    return subscription_lane(subscription["id"], subscription, chain, events, now)


def _endpoint(emulator: ControlClient, endpoint: Any) -> Lane:
    path = f"/v1/webhooks/{endpoint['id']}/deliveries/"
    return endpoint_lane(endpoint["name"], emulator.send("GET", path, query={"page_size": 100}).json()["data"])
