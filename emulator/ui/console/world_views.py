"""The pages about a world as a whole: over its time, its coverage, ledger and inboxes, all worlds, reports of runs."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from emulator.core.translatable import N_
from emulator.ui.base.world_plots import Newest, endpoint_lane, event_lanes, instant, merchant_curves, subscription_lane
from emulator.ui.console.request import ConsoleRequest, Reader, TemplateAndValues

PAGES_READ = 3
"""How many pages of the newest events and postings are plotted, each of 100."""

LANES = 12
"""The newest subscriptions and endpoints that are plotted."""

LISTS: Mapping[str, str] = {
    "events": N_("The last {shown} of {count} events."),
    "entries": N_("The last {shown} of {count} ledger entries."),
    "subscription": N_("The newest {shown} of {count} subscriptions."),
    "webhook_endpoint": N_("The newest {shown} of {count} webhook endpoints."),
    "webhook_delivery": N_("{shown} of {count} deliveries, the newest of each endpoint."),
}
"""What is said of a list that is not plotted whole."""


async def over_time(request: ConsoleRequest) -> TemplateAndValues:
    """The merchant's money, the states of subscriptions, events and deliveries, as plots over the world's time."""
    now = instant((await request.get("clock"))["now"])
    ledger = await request.get("ledger", page_size=1)
    events, entries = await _newest(request, "events"), await _newest(request, "entries")
    subscriptions, endpoints = await _kind(request, "subscription"), await _kind(request, "webhook_endpoint")
    names = await request.names([each["id"] for each in subscriptions.rows])
    chains = await asyncio.gather(*(request.get(f"explain/{each['id']}") for each in subscriptions.rows))
    states = [
        subscription_lane(names.get(each["id"], each["id"]), each, explained["chain"], events.rows, now)
        for each, explained in zip(subscriptions.rows, chains, strict=True)
    ]
    sent = await asyncio.gather(*(_kind(request, "webhook_delivery", 100, each["id"]) for each in endpoints.rows))
    attempts = [
        endpoint_lane(each["name"] or each["url"], deliveries.rows)
        for each, deliveries in zip(endpoints.rows, sent, strict=True)
    ]
    all_sent = Newest(
        [each for one in sent for each in one.rows], sum(one.total for one in sent), LISTS["webhook_delivery"]
    )
    return "over_time.html", {
        "now": now,
        "plotted": {
            "money": (merchant_curves(ledger, entries.rows, now), [entries]),
            "states": (states, [subscriptions, events]),
            "events": (event_lanes(events.rows), [events]),
            "attempts": (attempts, [endpoints, all_sent]),
        },
    }


async def _newest(request: ConsoleRequest, name: str) -> Newest:
    """The newest events, or entries of the ledger."""
    found: list[Any] = []
    for page in range(1, PAGES_READ + 1):
        answer = await request.get("events" if name == "events" else "ledger", page=page, page_size=100)
        listed = answer if name == "events" else answer["entries"]
        found += listed["data"]
        if listed["pagination"]["next"] is None:
            break
    return Newest(found[::-1], listed["pagination"]["count"], LISTS[name])


async def _kind(request: ConsoleRequest, kind: str, most: int = LANES, related: str | None = None) -> Newest:
    """The newest objects of a kind, of all or related to one."""
    found = await request.get("objects", kind=kind, page_size=most, related=related)
    return Newest(found["data"][::-1], found["pagination"]["count"], LISTS[kind])


async def coverage(request: ConsoleRequest) -> TemplateAndValues:
    """Which parts of the service's document were exercised in this world, and which were not."""
    return "coverage.html", {"coverage": await request.get("coverage")}


async def ledger(request: ConsoleRequest) -> TemplateAndValues:
    """Where the money is, the newest entries, and what broke the balance."""
    filters = {name: request.query.get(name) or None for name in ("object", "currency")}
    found = await request.page("ledger", **filters)
    return "ledger.html", {"ledger": found, "list": found["entries"], "filters": filters}


async def worlds(request: ConsoleRequest) -> TemplateAndValues:
    """All open worlds: what they hold, and how long ago they were used."""
    return "worlds.html", {"list": await request.page("apps")}


async def inboxes(request: ConsoleRequest) -> TemplateAndValues:
    """The built-in webhook receivers."""
    return "inboxes.html", {"list": await request.page("inboxes")}


async def inbox(request: ConsoleRequest) -> TemplateAndValues:
    """What one inbox received, and how it answers."""
    every = (await request.get("inboxes", page_size=100))["data"]
    response = next((each for each in every if each["name"] == request.id), {"status": 200, "delay_ms": 0})
    return "inbox.html", {"name": request.id, "response": response, "list": await request.page(f"inbox/{request.id}")}


async def reports(request: ConsoleRequest) -> TemplateAndValues:
    """A form that opens the JSON of test app or test all."""
    return "reports.html", {"report": None, "error": None}


PAGES: Mapping[str, Reader] = {
    "over-time": over_time,
    "coverage": coverage,
    "ledger": ledger,
    "worlds": worlds,
    "inbox": inboxes,
    "inbox/{id}": inbox,
    "reports": reports,
}
"""By path below ``/_emulator/console/``."""
