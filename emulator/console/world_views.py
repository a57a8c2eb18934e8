"""The pages about a world as a whole: over its time, its coverage, ledger and inboxes, all worlds, reports of runs."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from emulator.console.request import ConsoleRequest, Reader, TemplateAndValues
from emulator.html.plots import Axis, Lane
from emulator.html.world_plots import endpoint_lane, event_lanes, instant, merchant_curves, subscription_lane

NEWEST = 300
"""The newest events and postings that are plotted, in pages of 100."""

LANES = 12
"""The newest subscriptions, endpoints and types of event that are plotted."""


async def over_time(request: ConsoleRequest) -> TemplateAndValues:
    """The merchant's money, the states of subscriptions, events and deliveries, as plots over the world's time."""
    now = instant((await request.get("clock"))["now"])
    events, entries = await _newest(request, "events"), await _entries(request)
    subscriptions, endpoints = await _kind(request, "subscription"), await _kind(request, "webhook_endpoint")
    names = await request.names([each["id"] for each in subscriptions])
    chains = await asyncio.gather(*(request.get(f"explain/{each['id']}") for each in subscriptions))
    states = [
        subscription_lane(names.get(each["id"], each["id"]), each, explained["chain"], events, now)
        for each, explained in zip(subscriptions, chains, strict=True)
    ]
    attempts = await asyncio.gather(*(_attempts(request, each) for each in endpoints))
    times = [instant(each["created_at"]) for each in events] + [instant(each["at"]) for each in entries]
    times += [each.start for lane in states for each in lane.stretches]
    return "over_time.html", {
        "axis": Axis(min([*times, now]), now),
        "money": merchant_curves(entries),
        "states": states,
        "events": event_lanes(events)[-LANES:],
        "attempts": attempts,
        "is_cut": len(events) == NEWEST or len(entries) == NEWEST or len(subscriptions) == LANES,
    }


async def _newest(request: ConsoleRequest, path: str) -> list[Any]:
    """The newest objects of a list, oldest first."""
    found: list[Any] = []
    for page in range(1, NEWEST // 100 + 1):
        answer = await request.get(path, page=page, page_size=100)
        found += answer["data"]
        if answer["pagination"]["next"] is None:
            break
    return found[::-1]


async def _entries(request: ConsoleRequest) -> list[Any]:
    """The newest postings of the ledger whose instant is known, oldest first."""
    pages = [await request.get("ledger", page=page, page_size=100) for page in range(1, NEWEST // 100 + 1)]
    return [each for page in pages for each in page["entries"]["data"] if each["at"]][::-1]


async def _kind(request: ConsoleRequest, kind: str) -> list[Any]:
    """The newest objects of a kind, oldest first."""
    found: list[Any] = (await request.get("objects", kind=kind, page_size=LANES))["data"]
    return found[::-1]


async def _attempts(request: ConsoleRequest, endpoint: Any) -> Lane:
    found = await request.get("objects", kind="webhook_delivery", related=endpoint["id"], page_size=100)
    return endpoint_lane(endpoint["name"] or endpoint["url"], found["data"])


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
    manner = next((each for each in every if each["name"] == request.id), {"status": 200, "delay_ms": 0})
    return "inbox.html", {"name": request.id, "manner": manner, "list": await request.page(f"inbox/{request.id}")}


async def reports(request: ConsoleRequest) -> TemplateAndValues:
    """A form that opens the JSON of a sweep or a grade."""
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
