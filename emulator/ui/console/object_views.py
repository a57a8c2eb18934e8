"""The pages of objects: those of one kind, and one object with its history and what explains it."""

from __future__ import annotations

from collections.abc import Mapping

from emulator.control.explain.chains import episodes
from emulator.presentation.languages.language import Language
from emulator.presentation.languages.statuses import status_name
from emulator.resources.registry import STATE_MACHINES
from emulator.ui.console import object_actions
from emulator.ui.console.api_client import CONTROL
from emulator.ui.console.columns import COLUMNS
from emulator.ui.console.next_steps import next_steps
from emulator.ui.console.request import FEW, ConsoleRequest, Reader, TemplateAndValues

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


PAGES: Mapping[str, Reader] = {
    "objects": objects,
    "objects/{id}": object_page,
    "objects/{id}/test": object_test,
}
"""By path below ``/_emulator/console/``."""
