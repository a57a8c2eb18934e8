"""The pages of the journal: its requests, and one with its changes and its events."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import msgspec

from emulator.document import bundles
from emulator.presentation.languages.language import Language
from emulator.ui.console import actions
from emulator.ui.console.actions import METHODS
from emulator.ui.console.request import (
    CONTROL,
    SIZE,
    ApiRequestError,
    ConsoleRequest,
    Reader,
    TemplateAndValues,
)

CODE = ("curl", "httpx", "fetch", "http", "pytest", "node")
"""The forms in which a request is shown as code, the first for those who have not chosen."""

MOST_CHANGED = 200  # objects whose changes are shown; a reset changes every object of a world


async def requests(request: ConsoleRequest) -> TemplateAndValues:
    """Return the journal; of the service alone, unless the control API or ``all`` is chosen."""
    filters = request.filters("method", "status", "api", "changed", "operation", "object")
    api = None if filters["api"] == "all" else filters["api"] or "service"
    return "requests.html", {
        "list": await request.page("requests", **{**filters, "api": api}),
        "filters": filters,
        "methods": [(method, method) for method in METHODS],
        "operations": [(name, name) for name in sorted(bundles.operation_specs())],
        "recorder": await request.get("recording/state"),
        "forms": actions.FILES,
    }


async def journal_entry(request: ConsoleRequest) -> TemplateAndValues:
    path = f"{CONTROL}/requests/{request.id}"
    parts = msgspec.json.decode(
        (await request.response("GET", path)).content, type=dict[str, msgspec.Raw]
    )
    every = msgspec.json.decode(parts.pop("changes"), type=list[dict[str, msgspec.Raw]])
    entry = _decoded(parts)
    events = await asyncio.gather(*(_event(request, id) for id in entry["event_ids"][:SIZE]))
    kinds = {bytes(change["id"]): bytes(change["kind"]) for change in every}
    first = {
        *sorted(kinds, key=lambda changed: kinds[changed] == b'"webhook_delivery"')[:MOST_CHANGED]
    }
    changes = net_changes([_decoded(change) for change in every if bytes(change["id"]) in first])
    form = request.query.get("as", CODE[0])
    code = await request.response("GET", path, {"as": form})
    return "request.html", {
        "entry": entry,
        "events": events,
        "changes": changes,
        "changed": len(kinds),
        "outcome": journal_response(request.language, entry, len(kinds)),
        "as_code": code.text,
        "form": form,
        "forms": CODE,
        "methods": METHODS,
    }


def _decoded(parts: Mapping[str, msgspec.Raw]) -> dict[str, Any]:
    return {name: msgspec.json.decode(part) for name, part in parts.items()}


def journal_response(language: Language, entry: Mapping[str, Any], changed: int) -> str:
    if entry["status"] >= 400:
        body = entry["response_body"] if isinstance(entry["response_body"], dict) else {}
        error = body.get("error", body)
        return language.gettext(
            "Rejected with {code}: {message}", code=error.get("code"), message=error.get("message")
        )
    body = entry["response_body"]
    if isinstance(body, dict) and {"from", "now", "jobs"} <= body.keys():
        start, end = (language.instant(body[name], "d MMM y, HH:mm") for name in ("from", "now"))
        jobs = language.ngettext("{count} job done", "{count} jobs done", body["jobs"])
        objects = language.ngettext("{count} object changed", "{count} objects changed", changed)
        return language.gettext(
            "The clock moved from {start} to {end}: {jobs}, {objects}.",
            start=start,
            end=end,
            jobs=jobs,
            objects=objects,
        )
    if not changed:
        return language.gettext("It changed nothing.")
    if not entry["event_ids"]:
        return language.ngettext(
            "It changed {count} object.", "It changed {count} objects.", changed
        )
    return language.gettext(
        "It changed {objects} and caused {events}.",
        objects=language.ngettext("{count} object", "{count} objects", changed),
        events=language.ngettext("{count} event", "{count} events", len(entry["event_ids"])),
    )


def net_changes(changes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return one change for each object, the sum of its changes. The many deliveries come last."""
    by_id: dict[str, dict[str, Any]] = {}
    for change in changes:
        known = by_id.setdefault(change["id"], {**change, "fields": {}})
        if change["change"] == "deleted":
            known["change"] = "deleted"
        for name, field in change["fields"].items():
            known["fields"][name] = {
                "before": field["before"],
                **known["fields"].get(name, {}),
                "after": field["after"],
            }
    return sorted(by_id.values(), key=lambda change: change["kind"] == "webhook_delivery")


async def _event(request: ConsoleRequest, id: str) -> Any:
    """Return an event; only its id where it no longer exists."""
    try:
        return await request.get(f"objects/{id}")
    except ApiRequestError:
        return {"id": id, "type": None, "created_at": None}


PAGES: Mapping[str, Reader] = {"requests": requests, "requests/{id}": journal_entry}
"""By path below ``/_emulator/console/``."""
