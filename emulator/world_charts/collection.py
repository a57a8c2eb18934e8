"""What a report shows of a world: money, states of subscriptions, renewals and webhooks, over its time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any, NamedTuple

from emulator.html.plots import Curve, Lane
from emulator.html.world_plots import endpoint_lane, instant, merchant_curves, subscription_lane

Get = Callable[..., Any]
"""The JSON at a complete path of an emulator: ``get("/_emulator/events", page=2)``."""

PAGE = 100
"""The most objects on one page of a list."""

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


def collect(get: Get) -> WorldReport:
    """Read everything from a running emulator."""
    now = instant(get("/_emulator/clock")["now"])
    events = [*_events(get)][::-1]
    ledger = get("/_emulator/ledger", page_size=1)
    entries = [*_entries(get)][::-1]
    subscriptions = [_subscription(get, each, events, now) for each in _listed(get, "/v1/subscriptions/")]
    webhooks = [_endpoint(get, each) for each in _listed(get, "/v1/webhooks/")]
    times = [instant(each["at"]) for each in entries]
    times += [instant(each["created_at"]) for each in events]
    times += [each.start for lane in subscriptions for each in lane.stretches]
    return WorldReport(
        app=get("/_emulator/app")["name"],
        now=now,
        began=min([*times, now]),
        balanced=ledger["balanced"],
        money=merchant_curves(entries),
        subscriptions=subscriptions,
        webhooks=webhooks,
        is_cut=len(events) == MOST or len(entries) == MOST or len(subscriptions) == LANES,
    )


def _events(get: Get) -> Iterator[Any]:
    """The newest events, newest first."""
    return _newest(lambda page: get("/_emulator/events", page=page, page_size=PAGE))


def _entries(get: Get) -> Iterator[Any]:
    """The newest postings of the ledger, newest first."""
    found = _newest(lambda page: get("/_emulator/ledger", page=page, page_size=PAGE)["entries"])
    return (each for each in found if each["at"])


def _newest(page_of: Callable[[int], Any]) -> Iterator[Any]:
    """The first ``MOST`` objects of a list, read page by page."""
    for page in range(1, MOST // PAGE + 1):
        found = page_of(page)
        yield from found["data"]
        if page >= found["pagination"]["total_pages"]:
            return


def _listed(get: Get, path: str) -> list[Any]:
    """The newest objects of a list of the service, oldest first."""
    return list(get(path, page_size=LANES)["data"][::-1])


def _subscription(get: Get, subscription: Any, events: list[Any], now: datetime) -> Lane:
    chain = get(f"/_emulator/explain/{subscription['id']}")["chain"]
    return subscription_lane(subscription["id"], subscription, chain, events, now)


def _endpoint(get: Get, endpoint: Any) -> Lane:
    path = f"/v1/webhooks/{endpoint['id']}/deliveries/"
    return endpoint_lane(endpoint["name"], get(path, page_size=PAGE)["data"])
