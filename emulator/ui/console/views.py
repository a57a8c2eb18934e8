"""The pages of the console: for each its template, and the values that the API answers for it."""

from __future__ import annotations

from collections.abc import Mapping

from emulator.ui.console import labels, object_views, request_views, settings_views, world_views
from emulator.ui.console.columns import COLUMNS
from emulator.ui.console.object_views import statuses_of
from emulator.ui.console.request import FEW, SIZE, ConsoleRequest, Reader, TemplateAndValues

BEST = 8
"""The best matches of a search that are shown above the others."""

SEVERITY_TONES = {"error": "bad", "warning": "warn", "info": "info"}
"""The tone of each severity of the audit's findings."""


async def overview(request: ConsoleRequest) -> TemplateAndValues:
    """The clock, the next jobs, and the latest requests, events, deliveries and emails."""
    return "overview.html", {
        "schedule": await request.get("schedule", page_size=FEW + 1),
        "counts": await request.get("counts"),
        "requests": await request.get("requests", page_size=FEW),
        "events": await request.get("events", page_size=FEW),
        "deliveries": await request.get("objects", kind="webhook_delivery", page_size=FEW),
        "emails": await request.get("emails", page_size=FEW),
    }


async def schedule(request: ConsoleRequest) -> TemplateAndValues:
    """The jobs that are planned; with ``until`` everything that would happen until then."""
    filters = {name: request.query.get(name) for name in ("until", "kind")}
    kinds = [(name, request.language.gettext(text)) for name, text in labels.JOBS.items()]
    return "schedule.html", {"list": await request.page("schedule", **filters), "kinds": kinds, **filters}


async def events(request: ConsoleRequest) -> TemplateAndValues:
    """The events."""
    filters = {name: request.query.get(name) for name in ("type", "object")}
    types = [row["type"] for row in (await request.get("catalog"))["event_types"]]
    return "events.html", {"list": await request.page("events", **filters), "filters": filters, "types": types}


async def webhooks(request: ConsoleRequest) -> TemplateAndValues:
    """The endpoints and the deliveries to them."""
    filters = {name: request.query.get(name) for name in ("status", "related", "query")}
    endpoints = await request.get("objects", kind="webhook_endpoint", page_size=SIZE)
    return "webhooks.html", {
        "endpoints": endpoints,
        "endpoint_names": [(each["id"], each["name"] or each["url"]) for each in endpoints["data"]],
        "list": await request.page("objects", kind="webhook_delivery", **filters),
        "filters": filters,
        "statuses": statuses_of("webhook_delivery", request.language),
        "types": [(row["type"], row["type"]) for row in (await request.get("catalog"))["event_types"]],
    }


async def emails(request: ConsoleRequest) -> TemplateAndValues:
    """The emails."""
    filters = {name: request.query.get(name) for name in ("to", "kind")}
    return "emails.html", {"list": await request.page("emails", **filters), "filters": filters}


async def email(request: ConsoleRequest) -> TemplateAndValues:
    """One email."""
    return "email.html", {"email": await request.get(f"emails/{request.id}")}


async def audit(request: ConsoleRequest) -> TemplateAndValues:
    """Which recommendations of the service the client follows."""
    return "audit.html", {"audit": await request.get("audit"), "tones": SEVERITY_TONES}


async def failures(request: ConsoleRequest) -> TemplateAndValues:
    """The outcomes and faults that are arranged, and forms to arrange more."""
    catalog = await request.get("catalog")
    return "failures.html", {
        "outcomes": await request.get("outcomes", page_size=SIZE),
        "faults": await request.get("faults", page_size=SIZE),
        "codes": sorted(row["code"] for row in catalog["error_codes"]),
        "types": [row["type"] for row in catalog["event_types"]],
        "channels": list(catalog["magic_values"]),
    }


async def snapshots(request: ConsoleRequest) -> TemplateAndValues:
    """The snapshots, and the reset of the world."""
    return "snapshots.html", {"list": await request.page("snapshots")}


async def magic(request: ConsoleRequest) -> TemplateAndValues:
    """The magic values."""
    return "magic.html", {"catalog": await request.get("catalog")}


async def search(request: ConsoleRequest) -> TemplateAndValues:
    """What is called so, the best match first; then the first objects of each kind that contain the text.

    With ``names=1`` only the former, for the suggestions under the field.
    """
    text = request.query.get("q", "").strip()[:200]
    best = await request.get("search", query=text, page_size=BEST, language=request.language.code) if text else None
    found = {}
    for kind in COLUMNS if text and "names" not in request.query else ():
        page = await request.get("objects", kind=kind, query=text, page_size=FEW)
        if page["data"]:
            found[kind] = page
    return "search.html", {"text": text, "best": best, "found": found}


PAGES: Mapping[str, Reader] = {
    "schedule": schedule,
    "events": events,
    "webhooks": webhooks,
    "emails": emails,
    "emails/{id}": email,
    "audit": audit,
    "failures": failures,
    "snapshots": snapshots,
    "magic": magic,
    "search": search,
    **object_views.PAGES,
    **request_views.PAGES,
    **settings_views.PAGES,
    **world_views.PAGES,
}
"""By path below ``/_emulator/console/``."""
