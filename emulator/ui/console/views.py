"""The pages of the console: for each its template, and the values that the API answers for it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from itertools import groupby
from typing import Any

from emulator.control.explain.explanation_text import episodes
from emulator.core.records import N_
from emulator.document import bundles
from emulator.engine.reference_data import named_assumptions, numbered_assumptions
from emulator.presentation.languages.language import Language
from emulator.presentation.languages.wording import status_name
from emulator.resources.registry import STATE_MACHINES
from emulator.ui.base.pages import url
from emulator.ui.base.plots import Newest, endpoint_lane, event_lanes, instant, merchant_curves, subscription_lane
from emulator.ui.console import actions, labels, object_actions
from emulator.ui.console.actions import METHODS
from emulator.ui.console.api_client import CONTROL, ApiRequestError
from emulator.ui.console.object_actions import next_steps
from emulator.ui.console.render import COLUMNS
from emulator.ui.console.request import FEW, SIZE, ConsoleRequest, Reader, TemplateAndValues

# -- settings and assumptions


async def settings(request: ConsoleRequest) -> TemplateAndValues:
    """The settings of the App, as a form made from their schema."""
    properties = bundles.load("control")["components"]["schemas"]["Settings"]["properties"]
    # An assumption that is a setting as well has its one field on the page of assumptions.
    fields = {name: field for name, field in properties.items() if name not in ("assumptions", *named_assumptions())}
    return "settings.html", {"app": await request.get("app"), "fields": fields}


async def assumptions(request: ConsoleRequest) -> TemplateAndValues:
    """What each named assumption does and is set to, as a form; and every assumption by its number and area."""
    known = named_assumptions()
    listed = (await request.get("assumptions", page_size=len(known)))["data"]
    areas = groupby(numbered_assumptions().items(), key=lambda each: each[1].area)
    return "assumptions.html", {
        "assumptions": [each | {"meanings": known[each["name"]].values} for each in listed],
        "areas": {area: list(own) for area, own in areas},
        "page": url("/docs/assumptions", request.world_query),
    }


# -- a world as a whole: over its time, its coverage, ledger and inboxes, all worlds, reports of runs


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


# -- the journal: requests, and one with what it changed and caused


CODE = ("curl", "httpx", "fetch", "http", "pytest", "node")
"""The forms in which a request is shown as code, the first for those who have not chosen."""


async def requests(request: ConsoleRequest) -> TemplateAndValues:
    """The journal."""
    filters = {name: request.query.get(name) for name in ("method", "status", "api", "changed", "operation", "object")}
    return "requests.html", {
        "list": await request.page("requests", **filters),
        "filters": filters,
        "recorder": await request.get("recording/state"),
        "forms": actions.FILES,
    }


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
        "methods": METHODS,
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


# -- objects: those of one kind, and one with its history and what explains it


NAVIGATION = {"event": "events", "webhook_endpoint": "webhooks", "webhook_delivery": "webhooks"}
"""The page of the menu for kinds that are not on the page of objects."""

FORMS = ("pytest", "node", "curl")
"""The forms of a test, the first for those who have not chosen."""

STATUSES: Mapping[str, tuple[str, ...]] = {
    machine.kind.kind: tuple(dict.fromkeys(row.target for row in machine.rows)) for machine in STATE_MACHINES
}
"""The statuses that a kind of object can have, in the order of its life cycle."""


def statuses_of(kind: str, language: Language) -> list[tuple[str, str]]:
    """The statuses of a kind, each with its name."""
    return [(status, status_name(language, status)) for status in STATUSES.get(kind, ())]


async def objects(request: ConsoleRequest) -> TemplateAndValues:
    """The objects of one kind, with a search."""
    kind = request.query.get("kind", "customer")
    if kind not in COLUMNS:
        raise request.not_found()
    filters = {name: request.query.get(name) for name in ("related", "query", "status")}
    return "objects.html", {
        "kind": kind,
        "list": await request.page("objects", kind=kind, **filters),
        "counts": await request.get("counts", related=filters["related"]),
        "related": filters["related"],
        "text": filters["query"],
        "chosen": filters["status"],
        "statuses": statuses_of(kind, request.language),
    }


async def object_test(request: ConsoleRequest) -> TemplateAndValues:
    """A test that ends with the object as it is now."""
    object = await request.get(f"objects/{request.id}")
    field = "status" if "status" in object else "object"
    form = request.query.get("as", FORMS[0])
    expected = f"{object['id']}.{field}={object[field]}"
    code = await request.response("GET", f"{CONTROL}/recording", {"as": form, "expect": expected})
    return "object_test.html", {"object": object, "as_code": code.text, "form": form, "forms": FORMS}


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
        "episodes": [],
        "steps": next_steps(object),
        "nav": NAVIGATION.get(kind, "objects"),
        "offered": object_actions.offered(object),
        "deliveries": None,
        "payload": None,
    }
    values["episodes"] = episodes(values["why"].pop("chain"), id)
    if kind in ("event", "webhook_endpoint"):
        values["deliveries"] = await request.page("objects", kind="webhook_delivery", related=id)
    if kind == "webhook_delivery":
        values["payload"] = await request.get(f"objects/{object['event']}")
        endpoint = (await request.get("objects", kind="webhook_endpoint", query=object["webhook"], page_size=1))["data"]
        values["steps"] = next_steps(object, endpoint[0]["url"] if endpoint else "")
    return "object.html", values


# -- all pages


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
    "settings": settings,
    "assumptions": assumptions,
    "over-time": over_time,
    "coverage": coverage,
    "ledger": ledger,
    "worlds": worlds,
    "inbox": inboxes,
    "inbox/{id}": inbox,
    "reports": reports,
    "requests": requests,
    "requests/{id}": journal_entry,
    **actions.PAGES,
    "objects": objects,
    "objects/{id}": object_page,
    "objects/{id}/test": object_test,
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
}
"""By path below ``/_emulator/console/``."""
