"""The pages that are read: for each its template and what the API answers for it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from emulator.console.api_client import ApiRefusal
from emulator.console.columns import COLUMNS
from emulator.console.request import ConsoleRequest
from emulator.document import bundles

Shown = tuple[str, dict[str, Any]]
Reader = Callable[[ConsoleRequest], Awaitable[Shown]]

SIZE = 25
"""Rows of a page."""

FEW = 6
"""Rows of a list beside others."""

NAVIGATION = {"event": "events", "webhook_endpoint": "webhooks", "webhook_delivery": "webhooks"}
"""Kinds whose objects belong to a page of their own."""

GRAVE = {"error": "bad", "warning": "warn", "info": "info"}
"""How the severity of a finding sounds."""

HORIZONS = ("P1W", "P1M", "P3M", "P1Y")
"""How far the future can be played."""


async def overview(visit: ConsoleRequest) -> Shown:
    """The clock, what comes next, and the latest of everything."""
    return "overview.html", {
        "schedule": await visit.get("schedule", page_size=FEW + 1),
        "counts": await visit.get("counts"),
        "requests": await visit.get("requests", page_size=FEW),
        "events": await visit.get("events", page_size=FEW),
        "deliveries": await visit.get("objects", kind="webhook_delivery", page_size=FEW),
        "emails": await visit.get("emails", page_size=FEW),
    }


async def schedule(visit: ConsoleRequest) -> Shown:
    """What is planned; with ``until`` what will come of it."""
    until = visit.query.get("until")
    return "schedule.html", {"list": await _list(visit, "schedule", until=until), "horizons": HORIZONS, "until": until}


async def kinds(visit: ConsoleRequest) -> Shown:
    """The objects of one kind, to be searched."""
    kind = visit.query.get("kind", "customer")
    if kind not in COLUMNS:
        raise ApiRefusal(404, visit.t("no_such_page"))
    related, text = visit.query.get("related"), visit.query.get("query")
    return "objects.html", {
        "kind": kind,
        "list": await _list(visit, "objects", kind=kind, related=related, query=text),
        "counts": await visit.get("counts", related=related),
        "related": related,
        "text": text,
    }


async def thing(visit: ConsoleRequest) -> Shown:
    """One object with its history and its relations."""
    id = visit.id
    shown = await visit.get(f"objects/{id}")
    kind = shown["object"]
    parts = {
        "object": shown,
        "kind": kind,
        "events": await visit.get("events", object=id, page_size=FEW),
        "requests": await visit.get("requests", object=id, page_size=FEW),
        "related": await visit.get("counts", related=id),
        "why": await visit.get(f"explain/{id}"),
        "few": SIZE,
        "nav": NAVIGATION.get(kind, "objects"),
        "deliveries": None,
        "payload": None,
    }
    if kind in ("event", "webhook_endpoint"):
        parts["deliveries"] = await _list(visit, "objects", kind="webhook_delivery", related=id)
    if kind == "webhook_delivery":
        parts["payload"] = await visit.get(f"objects/{shown['event']}")
    return "object.html", parts


async def requests(visit: ConsoleRequest) -> Shown:
    """The journal."""
    filters = {name: visit.query.get(name) for name in ("method", "status", "operation", "object")}
    return "requests.html", {"list": await _list(visit, "requests", **filters), "filters": filters}


async def request(visit: ConsoleRequest) -> Shown:
    """One request with all that came of it."""
    shown = await visit.get(f"requests/{visit.id}")
    events = await asyncio.gather(*(_event(visit, id) for id in shown["event_ids"][:SIZE]))
    return "request.html", {"request": shown, "events": events, "changes": outcome_of(shown["changes"])}


def outcome_of(changes: list[dict[str, str]]) -> list[dict[str, str]]:
    """What became of each object, all its changes taken together."""
    first = {change["id"]: change for change in reversed(changes)}
    last = {change["id"]: change["change"] for change in changes}
    return [{**first[id], "change": "deleted" if last[id] == "deleted" else first[id]["change"]} for id in last]


async def _event(visit: ConsoleRequest, id: str) -> Any:
    """An event, or no more than its id where it is gone by now."""
    try:
        return await visit.get(f"objects/{id}")
    except ApiRefusal:
        return {"id": id, "type": None, "created_at": None}


async def events(visit: ConsoleRequest) -> Shown:
    """What happened."""
    filters = {name: visit.query.get(name) for name in ("type", "object")}
    types = [row["type"] for row in (await visit.get("catalog"))["event_types"]]
    return "events.html", {"list": await _list(visit, "events", **filters), "filters": filters, "types": types}


async def webhooks(visit: ConsoleRequest) -> Shown:
    """The endpoints, and what was delivered to them."""
    return "webhooks.html", {
        "endpoints": await visit.get("objects", kind="webhook_endpoint", page_size=SIZE),
        "list": await _list(visit, "objects", kind="webhook_delivery"),
    }


async def emails(visit: ConsoleRequest) -> Shown:
    """The outbox."""
    filters = {name: visit.query.get(name) for name in ("to", "kind")}
    return "emails.html", {"list": await _list(visit, "emails", **filters), "filters": filters}


async def email(visit: ConsoleRequest) -> Shown:
    """One email."""
    return "email.html", {"email": await visit.get(f"emails/{visit.id}")}


async def audit(visit: ConsoleRequest) -> Shown:
    """How well the client follows the guidance."""
    return "audit.html", {"audit": await visit.get("audit"), "grave": GRAVE}


async def failures(visit: ConsoleRequest) -> Shown:
    """What is arranged to go wrong, and forms to arrange more."""
    catalog = await visit.get("catalog")
    return "failures.html", {
        "outcomes": await visit.get("outcomes", page_size=SIZE),
        "faults": await visit.get("faults", page_size=SIZE),
        "codes": sorted(row["code"] for row in catalog["error_codes"]),
        "types": [row["type"] for row in catalog["event_types"]],
        "channels": list(catalog["magic_values"]),
    }


async def snapshots(visit: ConsoleRequest) -> Shown:
    """Worlds that are kept, and starting afresh."""
    return "snapshots.html", {"list": await _list(visit, "snapshots")}


async def settings(visit: ConsoleRequest) -> Shown:
    """The settings of the App, as a form made from what the document says of each."""
    fields = bundles.load("control")["components"]["schemas"]["Settings"]["properties"]
    return "settings.html", {"face": await visit.get("app"), "fields": fields}


async def magic(visit: ConsoleRequest) -> Shown:
    """What a buyer gives to make something special happen."""
    return "magic.html", {"catalog": await visit.get("catalog")}


async def search(visit: ConsoleRequest) -> Shown:
    """Whatever has a text in it, some of each kind."""
    text = visit.query.get("q", "").strip()[:200]
    found = {}
    for kind in COLUMNS if text else ():
        page = await visit.get("objects", kind=kind, query=text, page_size=FEW)
        if page["data"]:
            found[kind] = page
    return "search.html", {"text": text, "found": found}


async def _list(visit: ConsoleRequest, path: str, **filters: Any) -> Any:
    """The page of a list that the address names."""
    return await visit.get(path, page=visit.query.get("page"), page_size=SIZE, **filters)


PAGES: Mapping[str, Reader] = {
    "schedule": schedule,
    "objects": kinds,
    "objects/{id}": thing,
    "requests": requests,
    "requests/{id}": request,
    "events": events,
    "webhooks": webhooks,
    "emails": emails,
    "emails/{id}": email,
    "audit": audit,
    "failures": failures,
    "snapshots": snapshots,
    "settings": settings,
    "magic": magic,
    "search": search,
}
"""By address below ``/_emulator/console/``."""
