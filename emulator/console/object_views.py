"""The pages of objects: those of one kind, and one object with its history and what explains it."""

from __future__ import annotations

from collections.abc import Mapping

from emulator.console import object_actions
from emulator.console.columns import COLUMNS
from emulator.console.request import FEW, SIZE, ConsoleRequest, Reader, TemplateAndValues
from emulator.resources.registry import STATE_MACHINES

NAVIGATION = {"event": "events", "webhook_endpoint": "webhooks", "webhook_delivery": "webhooks"}
"""The page of the menu for kinds that are not on the page of objects."""

STATUSES: Mapping[str, tuple[str, ...]] = {
    machine.kind.kind: tuple(dict.fromkeys(row.target for row in machine.rows)) for machine in STATE_MACHINES
}
"""The statuses that a kind of object can have, in the order of its life cycle."""


def statuses_of(kind: str) -> list[tuple[str, str]]:
    """The statuses of a kind, each with how it is written."""
    return [(status, status.replace("_", " ")) for status in STATUSES.get(kind, ())]


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
        "statuses": statuses_of(kind),
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
        values["deliveries"] = await request.page("objects", kind="webhook_delivery", related=id)
    if kind == "webhook_delivery":
        values["payload"] = await request.get(f"objects/{object['event']}")
    return "object.html", values


PAGES: Mapping[str, Reader] = {"objects": objects, "objects/{id}": object_page}
"""By path below ``/_emulator/console/``."""
