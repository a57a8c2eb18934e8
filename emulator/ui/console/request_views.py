"""The pages of the journal: the requests, and one request with what it changed and caused."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from emulator.presentation.languages.language import Language
from emulator.ui.console import recorder
from emulator.ui.console.api_client import ApiRequestError
from emulator.ui.console.request import SIZE, ConsoleRequest, Reader, TemplateAndValues
from emulator.ui.console.resend import METHODS

CODE = ("curl", "httpx", "fetch", "http", "pytest", "node")
"""The forms in which a request is shown as code, the first for those who have not chosen."""


async def requests(request: ConsoleRequest) -> TemplateAndValues:
    """The journal."""
    filters = {name: request.query.get(name) for name in ("method", "status", "api", "changed", "operation", "object")}
    return "requests.html", {
        "list": await request.page("requests", **filters),
        "filters": filters,
        "recorder": await request.get("recording/state"),
        "forms": recorder.FILES,
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


PAGES: Mapping[str, Reader] = {"requests": requests, "requests/{id}": journal_entry, **recorder.PAGES}
"""By path below ``/_emulator/console/``."""
