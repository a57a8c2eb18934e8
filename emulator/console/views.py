"""The pages of the console: for each its template, and the values that the API answers for it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from emulator.console import labels, object_actions
from emulator.console.api_client import ApiRequestError
from emulator.console.columns import COLUMNS
from emulator.console.request import ConsoleRequest
from emulator.document import bundles
from emulator.engine.readings import readings
from emulator.html.request import url
from emulator.i18n.language import Language
from emulator.resources.registry import STATE_MACHINES

TemplateAndValues = tuple[str, dict[str, Any]]
Reader = Callable[[ConsoleRequest], Awaitable[TemplateAndValues]]

SIZE = 25
"""Rows of a page."""

FEW = 6
"""Rows of a list beside others."""

NAVIGATION = {"event": "events", "webhook_endpoint": "webhooks", "webhook_delivery": "webhooks"}
"""The page of the menu for kinds that are not on the page of objects."""

CODE = ("curl", "httpx", "fetch", "http", "pytest", "node")
"""The forms in which a request is shown as code, the first for those who have not chosen."""

SEVERITY_TONES = {"error": "bad", "warning": "warn", "info": "info"}
"""The tone of each severity of the audit's findings."""


STATUSES: Mapping[str, tuple[str, ...]] = {
    machine.kind.kind: tuple(dict.fromkeys(row.target for row in machine.rows)) for machine in STATE_MACHINES
}
"""The statuses that a kind of object can have, in the order of its life cycle."""


def _statuses(kind: str) -> list[tuple[str, str]]:
    """The statuses of a kind, each with how it is written."""
    return [(status, status.replace("_", " ")) for status in STATUSES.get(kind, ())]


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
    return "schedule.html", {"list": await _list(request, "schedule", **filters), "kinds": kinds, **filters}


async def objects(request: ConsoleRequest) -> TemplateAndValues:
    """The objects of one kind, with a search."""
    kind = request.query.get("kind", "customer")
    if kind not in COLUMNS:
        raise request.not_found()
    filters = {name: request.query.get(name) for name in ("related", "query", "status")}
    return "objects.html", {
        "kind": kind,
        "list": await _list(request, "objects", kind=kind, **filters),
        "counts": await request.get("counts", related=filters["related"]),
        "related": filters["related"],
        "text": filters["query"],
        "chosen": filters["status"],
        "statuses": _statuses(kind),
    }


async def object_page(request: ConsoleRequest) -> TemplateAndValues:
    """One object with its history, its relations and the chain of causes that explains it."""
    id = request.id
    object = await request.get(f"objects/{id}")
    kind = object["object"]
    values = {
        "object": object,
        "kind": kind,
        "events": await request.get("events", object=id, page_size=FEW),
        "requests": await request.get("requests", object=id, page_size=FEW),
        "related": await request.get("counts", related=id),
        "why": await request.get(f"explain/{id}", language=request.language.code),
        "few": SIZE,
        "nav": NAVIGATION.get(kind, "objects"),
        "offered": object_actions.offered(object),
        "deliveries": None,
        "payload": None,
    }
    if kind in ("event", "webhook_endpoint"):
        values["deliveries"] = await _list(request, "objects", kind="webhook_delivery", related=id)
    if kind == "webhook_delivery":
        values["payload"] = await request.get(f"objects/{object['event']}")
    return "object.html", values


async def requests(request: ConsoleRequest) -> TemplateAndValues:
    """The journal."""
    filters = {name: request.query.get(name) for name in ("method", "status", "api", "changed", "operation", "object")}
    return "requests.html", {"list": await _list(request, "requests", **filters), "filters": filters}


async def journal_entry(request: ConsoleRequest) -> TemplateAndValues:
    """One request of the journal with the changes and events it caused."""
    entry = await request.get(f"requests/{request.id}")
    events = await asyncio.gather(*(_event(request, id) for id in entry["event_ids"][:SIZE]))
    changes = net_changes(entry["changes"])
    form = request.query.get("as", CODE[0])
    code = await request.response("GET", f"/_emulator/requests/{request.id}", {"as": form})
    return "request.html", {
        "entry": entry,
        "events": events,
        "changes": changes,
        "answer": journal_answer(request.language, entry, changes),
        "as_code": code.text,
        "form": form,
        "forms": CODE,
    }


def journal_answer(language: Language, entry: Mapping[str, Any], changes: list[dict[str, Any]]) -> str:
    """What a request did, or why it was rejected, in one sentence."""
    if entry["status"] >= 400:
        body = entry["response_body"] if isinstance(entry["response_body"], dict) else {}
        error = body.get("error", body)
        return language.gettext("Rejected with {code}: {message}", code=error.get("code"), message=error.get("message"))
    if not changes:
        return language.gettext("It changed nothing.")
    if not entry["event_ids"]:
        return language.ngettext("It changed {count} object.", "It changed {count} objects.", len(changes))
    return language.gettext(
        "It changed {objects} and caused {events}.",
        objects=language.ngettext("{count} object", "{count} objects", len(changes)),
        events=language.ngettext("{count} event", "{count} events", len(entry["event_ids"])),
    )


def net_changes(changes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One change for each object: what all its changes amount to."""
    found: dict[str, dict[str, Any]] = {}
    for change in changes:
        known = found.setdefault(change["id"], {**change, "fields": {}})
        if change["change"] == "deleted":
            known["change"] = "deleted"
        for name, field in change["fields"].items():
            known["fields"][name] = {
                "before": field["before"],
                **known["fields"].get(name, {}),
                "after": field["after"],
            }
    return list(found.values())


async def _event(request: ConsoleRequest, id: str) -> Any:
    """An event; only its id where it no longer exists."""
    try:
        return await request.get(f"objects/{id}")
    except ApiRequestError:
        return {"id": id, "type": None, "created_at": None}


async def events(request: ConsoleRequest) -> TemplateAndValues:
    """The events."""
    filters = {name: request.query.get(name) for name in ("type", "object")}
    types = [row["type"] for row in (await request.get("catalog"))["event_types"]]
    return "events.html", {"list": await _list(request, "events", **filters), "filters": filters, "types": types}


async def webhooks(request: ConsoleRequest) -> TemplateAndValues:
    """The endpoints and the deliveries to them."""
    filters = {name: request.query.get(name) for name in ("status", "related", "query")}
    endpoints = await request.get("objects", kind="webhook_endpoint", page_size=SIZE)
    return "webhooks.html", {
        "endpoints": endpoints,
        "endpoint_names": [(each["id"], each["name"] or each["url"]) for each in endpoints["data"]],
        "list": await _list(request, "objects", kind="webhook_delivery", **filters),
        "filters": filters,
        "statuses": _statuses("webhook_delivery"),
        "types": [(row["type"], row["type"]) for row in (await request.get("catalog"))["event_types"]],
    }


async def emails(request: ConsoleRequest) -> TemplateAndValues:
    """The emails."""
    filters = {name: request.query.get(name) for name in ("to", "kind")}
    return "emails.html", {"list": await _list(request, "emails", **filters), "filters": filters}


async def email(request: ConsoleRequest) -> TemplateAndValues:
    """One email."""
    return "email.html", {"email": await request.get(f"emails/{request.id}")}


async def audit(request: ConsoleRequest) -> TemplateAndValues:
    """Which recommendations of the service the client follows."""
    return "audit.html", {"audit": await request.get("audit"), "tones": SEVERITY_TONES}


async def ledger(request: ConsoleRequest) -> TemplateAndValues:
    """Where the money is, the newest entries, and what broke the balance."""
    filters = {name: request.query.get(name) or None for name in ("object", "currency")}
    found = await _list(request, "ledger", **filters)
    return "ledger.html", {"ledger": found, "list": found["entries"], "filters": filters}


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
    return "snapshots.html", {"list": await _list(request, "snapshots")}


async def settings(request: ConsoleRequest) -> TemplateAndValues:
    """The settings of the App, as a form made from their schema."""
    properties = bundles.load("control")["components"]["schemas"]["Settings"]["properties"]
    known = readings()
    # A reading that is a setting as well has its one field among the readings.
    fields = {name: field for name, field in properties.items() if name not in ("readings", *known)}
    listed = (await request.get("readings", page_size=len(known)))["data"]
    rows = [each | {"meanings": known[each["name"]].values} for each in listed]
    decisions = url("/docs/decisions", request.world_query)
    return "settings.html", {
        "app": await request.get("app"),
        "fields": fields,
        "readings": rows,
        "decisions": decisions,
    }


async def magic(request: ConsoleRequest) -> TemplateAndValues:
    """The magic values."""
    return "magic.html", {"catalog": await request.get("catalog")}


async def search(request: ConsoleRequest) -> TemplateAndValues:
    """The first objects of each kind that contain a text."""
    text = request.query.get("q", "").strip()[:200]
    found = {}
    for kind in COLUMNS if text else ():
        page = await request.get("objects", kind=kind, query=text, page_size=FEW)
        if page["data"]:
            found[kind] = page
    return "search.html", {"text": text, "found": found}


async def _list(request: ConsoleRequest, path: str, **filters: Any) -> Any:
    """The page of a list that the query asks for."""
    return await request.get(path, page=request.query.get("page"), page_size=SIZE, **filters)


PAGES: Mapping[str, Reader] = {
    "schedule": schedule,
    "objects": objects,
    "objects/{id}": object_page,
    "requests": requests,
    "requests/{id}": journal_entry,
    "events": events,
    "webhooks": webhooks,
    "emails": emails,
    "emails/{id}": email,
    "audit": audit,
    "ledger": ledger,
    "failures": failures,
    "snapshots": snapshots,
    "settings": settings,
    "magic": magic,
    "search": search,
}
"""By path below ``/_emulator/console/``."""
