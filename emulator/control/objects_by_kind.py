"""Objects by kind: listed, searched by text, found by what they belong to, and counted."""

from __future__ import annotations

import re
from typing import Any

from emulator.control import objects
from emulator.core.handlers import Page, Query, paginate
from emulator.core.records import Record
from emulator.core.tables import Table
from emulator.core.world import World, encode
from emulator.engine.engine import Engine
from emulator.engine.runtime import Runtime

IDS = re.compile(r"[a-z]{2,8}_[a-z0-9]{24}", re.ASCII)
"""Ids, in small letters."""

FIELD_NAMES = {"subscription_plan": "plan", "webhook_endpoint": "webhook"}
"""Kinds for which other objects have a field that is not named like the kind."""


async def index(engine: Engine, runtime: Runtime, query: Query) -> Page[Any]:
    """GET /objects: those of one kind, newest first; with ``query``, ``related`` or ``status`` those that match."""
    await runtime.catch_up()
    table = tables(runtime.world)[query["kind"]]
    filters: dict[str, Any] = {"page": query["page"], "page_size": query["page_size"], "text": query.get("query")}
    if "status" in query:
        if "status" not in table.kind.__struct_fields__:
            return Page([], 0, query["page"], query["page_size"])
        filters["status"] = query["status"]
    if "related" in query:
        field = field_name(type(objects.find(runtime.world, query["related"])))
        if field not in table.kind.__struct_fields__:
            return Page([], 0, query["page"], query["page_size"])
        filters[field] = query["related"]
    return paginate(table, filters, {"text": contains})


async def count(engine: Engine, runtime: Runtime, query: Query) -> dict[str, int]:
    """GET /counts: how many objects there are of each kind; with ``related`` how many belong to that object."""
    await runtime.catch_up()
    all = tables(runtime.world)
    if "related" not in query:
        return {kind: len(table) for kind, table in all.items()}
    field = field_name(type(objects.find(runtime.world, query["related"])))
    none = {"page": 1, "page_size": 0, field: query["related"]}
    return {kind: paginate(table, none).count for kind, table in all.items() if field in table.kind.__struct_fields__}


def tables(world: World) -> dict[str, Table[Any]]:
    """The tables of all kinds that the service's document knows."""
    return {kind.kind: world.table(kind) for kind in world.kinds if objects.documented(kind)}


def field_name(kind: type[Record]) -> str:
    """The name of the field in which other objects hold the id of one of this kind."""
    return FIELD_NAMES.get(kind.kind, kind.kind)


def contains(record: Record, text: str) -> bool:
    """Whether a text occurs in an object's JSON, whatever the case of its letters; of an id only where it starts."""
    sought, shown = text.casefold(), encode(record).decode().casefold()
    if sought not in shown:
        return False
    return sought in IDS.sub("", shown) or any(id.startswith(sought) for id in IDS.findall(shown))


OPERATIONS = {"listObjects": index, "countObjects": count}
