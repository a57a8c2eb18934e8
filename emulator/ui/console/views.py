"""The pages of the console: for each its template, and its values, which the API has."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from datetime import date, timedelta
from itertools import chain, groupby
from typing import Any
from urllib.parse import quote

from emulator.document import bundles
from emulator.engine.reference_data import named_assumptions, numbered_assumptions
from emulator.insight.coverage import needed
from emulator.insight.explain.explanation_text import episodes
from emulator.presentation.languages.language import Language
from emulator.presentation.languages.wording import PAYMENT_METHOD_TYPES, status_name
from emulator.resources.registry import STATE_MACHINES
from emulator.ui.base import plots
from emulator.ui.base.pages import url
from emulator.ui.base.plots import collect
from emulator.ui.console import actions, journal, labels
from emulator.ui.console.actions import METHODS
from emulator.ui.console.labels import KIND_NAMES, LABELS
from emulator.ui.console.render import COLUMNS, ID, REFERENCES
from emulator.ui.console.request import (
    FEW,
    SIZE,
    ConsoleRequest,
    Reader,
    TemplateAndValues,
)
from emulator.web.routing import documented_api

# -- settings and assumptions


async def settings(request: ConsoleRequest) -> TemplateAndValues:
    schemas = documented_api("control").document["components"]["schemas"]
    # An assumption that is a setting as well has its one field on the page of assumptions.
    fields = {
        name: field
        for name, field in schemas["Settings"]["properties"].items()
        if name not in ("assumptions", *named_assumptions())
    }
    return "settings.html", {"app": await request.get("app"), "fields": fields}


async def assumptions(request: ConsoleRequest) -> TemplateAndValues:
    """Return the page with the form of switchable assumptions, and all by number and area."""
    known = named_assumptions()
    listed = (await request.get("assumptions", page_size=len(known)))["data"]
    areas = groupby(numbered_assumptions().items(), key=lambda assumption: assumption[1].area)
    return "assumptions.html", {
        "assumptions": [
            assumption | {"meanings": known[assumption["name"]].values} for assumption in listed
        ],
        "areas": {area: list(own) for area, own in areas},
        "page": url("/docs/assumptions", request.world_query),
    }


# -- a world as a whole: its time, coverage, ledger and inboxes; all worlds; reports of runs


PAGES_READ, LANES = 3, 12
"""How many pages of newest events and postings, subscriptions, and endpoints are plotted."""


async def charts(request: ConsoleRequest) -> TemplateAndValues:
    """Return plots of the merchant's money, subscriptions' states, events, deliveries over time."""
    return "charts.html", {
        "world": await collect(request.get, request.language, pages=PAGES_READ, lanes=LANES)
    }


async def ledger(request: ConsoleRequest) -> TemplateAndValues:
    filters = request.filters("object", "currency")
    listed = await request.page("ledger", grouped=True, **filters)
    totals: dict[str, dict[str, int]] = {}
    for total in listed["totals"]:
        totals.setdefault(total["account"], {})[total["currency"]] = total["amount"]
    currencies = list(dict.fromkeys(total["currency"] for total in listed["totals"]))

    def cause(entry: dict[str, Any]) -> tuple[str, str]:
        return entry["at"], entry["cause"]["id"] or ""

    return "ledger.html", {
        "ledger": listed,
        "list": listed["entries"],
        "matrix": {"currencies": currencies, "rows": totals} if totals else None,
        "groups": [
            _movement(request.language, [*own])
            for _, own in groupby(listed["entries"]["data"], key=cause)
        ],
        "filters": filters,
        "currencies": [
            (code, code) for code in (await request.get("app"))["settings"]["currencies"]
        ],
    }


def _movement(language: Language, entries: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a listed movement: its first object, and an account's highest gain in a currency."""
    gained: dict[str, int] = {}
    for entry in entries:
        gained[entry["currency"]] = max(entry["amount"], gained.get(entry["currency"], 0))
    # What a customer spent is posted first, and says nothing of the payment.
    first = next(
        (entry for entry in reversed(entries) if not entry["account"].startswith("spending")),
        entries[-1],
    )
    return {
        "at": first["at"],
        "object": first["object"],
        "cause": first["cause"],
        "amounts": [language.money(amount, currency) for currency, amount in gained.items()],
        "entries": entries,
    }


async def inbox(request: ConsoleRequest) -> TemplateAndValues:
    every = (await request.get("inboxes", page_size=100))["data"]
    response = next(
        (listed for listed in every if listed["name"] == request.id), {"status": 200, "delay_ms": 0}
    )
    return "inbox.html", {
        "name": request.id,
        "response": response,
        "list": await request.page(f"inbox/{request.id}"),
    }


# -- objects: those of one kind, and one with its history and what explains it


NAVIGATION = {"event": "events", "webhook_endpoint": "webhooks", "webhook_delivery": "webhooks"}
"""The page of the menu for kinds that are not on the page of objects."""

STATUSES: Mapping[str, tuple[str, ...]] = {
    machine.kind.kind: tuple(dict.fromkeys(row.target for row in machine.rows))
    for machine in STATE_MACHINES
}
"""The statuses that a kind of object can have, in the order of its life cycle."""


def statuses_of(kind: str, language: Language) -> list[tuple[str, str]]:
    return [(status, status_name(language, kind, status)) for status in STATUSES.get(kind, ())]


async def objects(request: ConsoleRequest) -> TemplateAndValues:
    kind = request.query.get("kind", "customer")
    if kind not in COLUMNS:
        raise request.not_found()
    filters = request.filters("related", "query", "status")
    page = await request.page("objects", kind=kind, **filters)
    return "objects.html", {
        "kind": kind,
        "list": page,
        "under_way": await request.under_way([row["id"] for row in page["data"]]),
        "counts": await request.get("counts", related=filters["related"]),
        "related": filters["related"],
        "text": filters["query"],
        "chosen": filters["status"],
        "statuses": statuses_of(kind, request.language),
    }


async def object_page(request: ConsoleRequest) -> TemplateAndValues:
    """Return an object with its history, its relations and the causes that explain it."""
    id = request.id
    object = await request.get(f"objects/{id}")
    kind = object["object"]
    values = {
        "object": object,
        "kind": kind,
        "events": await request.get("events", object=id, page_size=FEW),
        "requests": await request.get("requests", object=id, page_size=FEW),
        "refers": {
            KIND_NAMES[REFERENCES[field]]: object[field]
            for field in REFERENCES
            # An endpoint's security profile is the name of a signing method.
            if isinstance(object.get(field), str) and ID.fullmatch(object[field])
        },
        "related": await request.get("counts", related=id),
        "why": (why := await request.get(f"explain/{id}", language=request.language.code)),
        "episodes": episodes(why.pop("chain"), id),
        "emails": 0,
        "failed": 0,
        "attempts": await _attempts(request, object, why) if kind == "subscription" else None,
        "nav": NAVIGATION.get(kind, "objects"),
        "deliveries": None,
        "payload": None,
    }
    if kind in ("event", "webhook_endpoint"):
        values["deliveries"] = await request.page("objects", kind="webhook_delivery", related=id)
    if kind == "webhook_endpoint":
        values["failed"] = await _count(
            request, "objects", kind="webhook_delivery", related=id, status="failed"
        )
    if kind == "customer" and object["email"]:
        values["emails"] = await _count(request, "emails", to=object["email"])
    if kind == "webhook_delivery":
        values["payload"] = await request.get(f"objects/{object['event']}")
    return "object.html", values


async def _attempts(
    request: ConsoleRequest, subscription: Any, why: Any
) -> tuple[plots.Axis, plots.Lane] | None:
    """Return a failing subscription's charges and planned retries, as a plot over their time."""
    intents = await request.get(
        "objects", kind="payment_intent", related=subscription["id"], page_size=SIZE
    )
    planned = [
        step["body"]["to"]
        for step in why["next_steps"]
        if step["name"] in ("advance_retry", "advance_retries")
    ]
    after = [
        retry
        for waiting in why["under_way"]
        for retry in waiting["retries"]
        if waiting["after_failure"] == "charge"
    ]
    lane = plots.attempts_lane(why["name"], subscription, intents["data"], [*planned, *after])
    return (plots.axis_of([lane], lane.marks[-1].at), lane) if lane else None


# -- all pages


BEST = 8
"""The best matches of a search that are shown above the others."""

SEVERITY_TONES = {"error": "bad", "warning": "warn", "info": "info"}
"""The tone of each severity of the audit's findings."""


WAITING = 100
"""The most payments and refunds under way that are listed, those first that end first."""


async def overview(request: ConsoleRequest) -> TemplateAndValues:
    """Show the urgent things, clock, what waits, next jobs, latest requests, events and so on."""
    waiting = await request.get("under-way", language=request.language.code)
    return "overview.html", {
        "attention": await _attention(request),
        "waiting": list(chain(*waiting.values()))[:WAITING],
        "waiting_count": len(waiting),
        "upcoming": (await request.get("schedule", grouped=True, page_size=FEW))["data"],
        "counts": await request.get("counts"),
        "requests": await request.get("requests", api="service", page_size=FEW),
        "events": await request.get("events", page_size=FEW),
        "deliveries": await request.get("objects", kind="webhook_delivery", page_size=FEW),
        "emails": await request.get("emails", page_size=FEW),
    }


async def _attention(request: ConsoleRequest) -> list[tuple[str, str, int, str]]:
    """Return problems and arranged failures: a tone, a text, how many, and where they are."""
    problems: list[tuple[str, str, int, str]] = []

    async def note(tone: str, text: str, path: str, page: str = "", **filters: str) -> None:
        if count := await _count(request, path, **filters):
            problems.append((tone, text, count, request.link(page or path, **filters)))

    gettext = request.language.gettext
    await note(
        "bad", gettext("Unpaid subscriptions"), "objects", kind="subscription", status="unpaid"
    )
    await note(
        "warn", gettext("Past due subscriptions"), "objects", kind="subscription", status="past_due"
    )
    await note(
        "bad",
        gettext("Failed checkout payments"),
        "objects",
        kind="checkout_session",
        status="payment_failed",
    )
    for endpoint in (await request.get("objects", kind="webhook_endpoint", page_size=SIZE))["data"]:
        text = gettext(
            "Failed deliveries to {endpoint}", endpoint=endpoint["name"] or endpoint["url"]
        )
        await note(
            "bad",
            text,
            "objects",
            "webhooks",
            kind="webhook_delivery",
            related=endpoint["id"],
            status="failed",
        )
    await note("info", gettext("Payment outcomes arranged"), "outcomes", "failures")
    await note("info", gettext("Faults arranged"), "faults", "failures")
    return problems


async def _count(request: ConsoleRequest, path: str, **filters: str) -> int:
    return int((await request.get(path, page_size=1, **filters))["pagination"]["count"])


async def schedule(request: ConsoleRequest) -> TemplateAndValues:
    """Return the jobs that are planned; with ``until`` everything that would happen until then."""
    filters = request.filters("until", "kind")
    return "schedule.html", {
        "list": await request.page("schedule", grouped=True, **filters),
        "month": [] if filters["until"] else await _month(request, filters["kind"]),
        "kinds": [(name, request.language.gettext(text)) for name, text in LABELS["jobs"].items()],
        **filters,
    }


MONTH = 31
"""The days that are drawn above the schedule."""


async def _month(request: ConsoleRequest, kind: str | None) -> list[tuple[str, int]]:
    """Return the next days with their numbers of due jobs, as far as one schedule page goes."""
    groups = await request.get("schedule", grouped=True, kind=kind, page_size=100)
    due: Counter[str] = Counter()
    for group in groups["data"]:
        due[group["due_at"][:10]] += group["times"]
    today = date.fromisoformat((await request.get("clock"))["now"][:10])
    days = [(today + timedelta(days=number)).isoformat() for number in range(MONTH)]
    last = max(due) if groups["pagination"]["next"] else days[-1]
    return [(day, due[day]) for day in days if day <= last]


async def events(request: ConsoleRequest) -> TemplateAndValues:
    filters = request.filters("type", "object")
    types = [row["type"] for row in (await request.get("catalog"))["event_types"]]
    return "events.html", {
        "list": await request.page("events", **filters),
        "filters": filters,
        "types": types,
    }


async def webhooks(request: ConsoleRequest) -> TemplateAndValues:
    filters = request.filters("status", "related", "query")
    endpoints = await request.get("objects", kind="webhook_endpoint", page_size=SIZE)
    return "webhooks.html", {
        "endpoints": endpoints,
        "health": {
            endpoint["id"]: await _health(request, endpoint["id"]) for endpoint in endpoints["data"]
        },
        "endpoint_names": [
            (endpoint["id"], endpoint["name"] or endpoint["url"]) for endpoint in endpoints["data"]
        ],
        "list": await request.page("objects", kind="webhook_delivery", **filters),
        "filters": filters,
        "statuses": statuses_of("webhook_delivery", request.language),
        "types": [
            (row["type"], row["type"]) for row in (await request.get("catalog"))["event_types"]
        ],
    }


async def _health(request: ConsoleRequest, endpoint: str) -> dict[str, Any]:
    """Return an endpoint's counts of deliveries and failures, and its last ones as a strip."""
    last = await request.get("objects", kind="webhook_delivery", related=endpoint, page_size=50)
    failed = await _count(
        request, "objects", kind="webhook_delivery", related=endpoint, status="failed"
    )
    strip = [{"status": delivery["status"]} for delivery in last["data"]]
    return {"count": last["pagination"]["count"], "failed": failed, "last": strip}


async def emails(request: ConsoleRequest) -> TemplateAndValues:
    filters = request.filters("to", "kind")
    return "emails.html", {"list": await request.page("emails", **filters), "filters": filters}


ABOUT = ("payments", "requests", "webhooks")
"""The parts of the page of failures, the first for those who have not chosen."""


async def failures(request: ConsoleRequest) -> TemplateAndValues:
    """Show arranged failures, each with its removal, and the form of one part to arrange more."""
    catalog, language = await request.get("catalog"), request.language
    kinds = [(await request.get(kind, page_size=100))["data"] for kind in ("outcomes", "faults")]
    arranged = [
        {
            **failure,
            "sentence": labels.sentence(language, failure),
            "parts": labels.conditions(language, failure),
        }
        for failure in sorted(
            chain(*kinds), key=lambda failure: failure["created_at"], reverse=True
        )
    ]
    about = request.query.get("about", "")
    endpoints = (await request.get("objects", kind="webhook_endpoint", page_size=100))["data"]
    effects, delivery_effects = (
        [(json.dumps(then), labels.effect(language, then)) for then in LABELS["offered"][part]]
        for part in ABOUT[1:]
    )
    return "failures.html", {
        "about": about if about in ABOUT else ABOUT[0],
        "arranged": arranged,
        "outcomes": [(name, language.gettext(text)) for name, text in LABELS["operations"].items()],
        "currencies": [
            (code, code) for code in (await request.get("app"))["settings"]["currencies"]
        ],
        "codes": [(code, code) for code in sorted(row["code"] for row in catalog["error_codes"])],
        "types": [(row["type"], row["type"]) for row in catalog["event_types"]],
        "channels": [
            (name, language.gettext(PAYMENT_METHOD_TYPES[name])) for name in catalog["magic_values"]
        ],
        "methods": [(method, method) for method in METHODS],
        "paths": [(path, path) for path in documented_api("service").document["paths"]],
        "operations": [(name, name) for name in sorted(bundles.operation_specs())],
        "effects": effects,
        "delivery_effects": delivery_effects,
        "customers": (await request.get("objects", kind="customer", page_size=100))["data"],
        "endpoints": [
            (endpoint["id"], endpoint["name"] or endpoint["url"]) for endpoint in endpoints
        ],
    }


async def compare(request: ConsoleRequest) -> TemplateAndValues:
    """Return an object beside another (by id), or beside itself after a change (by number)."""
    object = await request.get(f"objects/{request.id}")
    changes = (await plots.newest(request.get, f"objects/{object['id']}/changes")).rows
    others = (await request.get("objects", kind=object["object"], page_size=50))["data"]
    names = await request.names([other["id"] for other in others])
    versions = {str(number): change for number, change in enumerate(changes)}
    choices = [
        *(
            (number, _change(request.language, change))
            for number, change in reversed(versions.items())
        ),
        *(
            (other["id"], names.get(other["id"], other["id"]))
            for other in others
            if other["id"] != object["id"]
        ),
    ]
    chosen = [request.query.get("left", "0" if changes else ""), request.query.get("right", "")]
    known = {"": object} | {number: change["then"] for number, change in versions.items()}
    pair = [known.get(id) or await request.get(f"objects/{quote(id, safe='')}") for id in chosen]
    rows = [
        {
            "name": name,
            "pair": [side.get(name) for side in pair],
            "differs": pair[0].get(name) != pair[1].get(name),
        }
        for name in dict.fromkeys(chain(*pair))
    ]
    titles = {"": request.language.gettext("now"), **dict(choices)}
    return "compare.html", {
        "object": object,
        "rows": sorted(rows, key=lambda row: not row["differs"]),
        "choices": choices,
        "left": chosen[0],
        "right": chosen[1],
        "titles": [titles.get(id, id) for id in chosen],
    }


def _change(language: Language, change: Any) -> str:
    """Return when a change was, and what changed: the status, or else the names of a few fields."""
    fields, kind = change["fields"], change["kind"]
    text = language.gettext(LABELS["changes"][change["change"]])
    if change["change"] == "updated":
        names = [name.replace("_", " ") for name in fields if name != "updated_at"]
        text = ", ".join(names[:3]) + ("…" if len(names) > 3 else "")
        if status := fields.get("status"):
            text = status_name(language, kind, f"{status['before']} → {status['after']}")
    return (
        f"{language.instant(change['at'], 'd MMM y, HH:mm:ss')} · {text}" if change["at"] else text
    )


async def search(request: ConsoleRequest) -> TemplateAndValues:
    """Show a search's matches, the best first, and each kind's number of objects with the text.

    With ``names=1`` only the best, for the suggestions under the field.
    """
    text, suggests = request.query.get("q", "")[:200], "names" in request.query
    counts = {}
    for kind in COLUMNS if text and not suggests else ():
        page = await request.get("objects", kind=kind, query=text, page_size=1)
        if page["pagination"]["count"]:
            counts[kind] = page["pagination"]["count"]
    best = None
    if text:
        size, page = (BEST, 1) if suggests else (SIZE, request.query.get("page"))
        best = await request.get(
            "search", query=text, page=page, page_size=size, language=request.language.code
        )
    return "search.html", {"text": text, "best": best, "counts": counts}


def showing(name: str, path: str, **values: Any) -> Reader:
    """Return a page's reader of one control API response by a name; ``{id}`` is the page's."""

    async def read(request: ConsoleRequest) -> TemplateAndValues:
        where = path.replace("{id}", request.id) if "{id}" in path else path
        return f"{name}.html", {name: await request.get(where), **values}

    return read


def listing(template: str, path: str) -> Reader:
    async def read(request: ConsoleRequest) -> TemplateAndValues:
        return template, {"list": await request.page(path)}

    return read


async def reports(_: ConsoleRequest) -> TemplateAndValues:
    return "reports.html", {"report": None, "error": None}


PAGES: Mapping[str, Reader] = {
    "settings": settings,
    "assumptions": assumptions,
    "charts": charts,
    "coverage": showing("coverage", "coverage", needed=needed),
    "ledger": ledger,
    "worlds": listing("worlds.html", "apps"),
    "inbox": listing("inboxes.html", "inboxes"),
    "inbox/{id}": inbox,
    "reports": reports,
    **journal.PAGES,
    **actions.PAGES,
    "objects": objects,
    "objects/{id}": object_page,
    "objects/{id}/compare": compare,
    "schedule": schedule,
    "events": events,
    "webhooks": webhooks,
    "emails": emails,
    "emails/{id}": showing("email", "emails/{id}"),
    "audit": showing("audit", "audit", tones=SEVERITY_TONES),
    "failures": failures,
    "snapshots": listing("snapshots.html", "snapshots"),
    "magic": showing("magic", "catalog"),
    "search": search,
}
"""By path below ``/_emulator/console/``."""
