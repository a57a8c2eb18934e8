"""Any object by its id, to be read or set to any state its schema allows."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from typing import Any, get_type_hints

import msgspec

from emulator.core import calendar
from emulator.core.records import Record, hidden_fields, to_wire
from emulator.core.world import World
from emulator.document import bundles
from emulator.engine.engine import Engine
from emulator.engine.runtime import Runtime
from emulator.errors import ApiError, invalid_field
from emulator.web.error_responses import error_of
from emulator.web.schemas import Schema

Body = Mapping[str, Any]

FIXED = ("id", "object")
"""What makes an object the one it is."""


async def show(engine: Engine, runtime: Runtime, id: str, query: Body) -> Record:
    """GET /objects/{id}."""
    runtime.run_due()
    return find(runtime.world, id)


async def update(engine: Engine, runtime: Runtime, id: str, query: Body, body: Body) -> Record:
    """PATCH /objects/{id}: set fields, the read-only ones included; no event and no job follows."""
    changed: Record = await runtime.serve(set_fields, {"id": id, "fields": body}, None)
    return changed


def find(world: World, id: str) -> Record:
    """The object with this id, of whatever kind; 404 ``NOT_FOUND``."""
    for table in world.tables():
        if (record := table.get(id)) is not None and documented(table.kind):
            found: Record = record
            return found
    raise ApiError("NOT_FOUND", message=f"There is no object {id[:60]}.")


def set_fields(world: World, id: str, fields: Body) -> Record:
    """Set fields of an object as a turn. 422 for what it does not have, what is fixed and what its schema forbids."""
    record = find(world, id)
    shown = record.__struct_fields__
    for name in fields:
        if name in FIXED or name not in shown or name in hidden_fields(type(record)):
            raise invalid_field(name[:60], "cannot be changed" if name in FIXED else "unknown field")
    fields = _as_kept(type(record), fields)
    wanted = {**msgspec.to_builtins(to_wire(record)), **fields}
    if faults := schema_of(type(record)).violations(wanted):
        raise error_of(faults)
    values = _typed(type(record), fields)
    _refuse_taken(world, record, values)
    return world.replace(record, **values)


def _as_kept(kind: type[Record], fields: Body) -> Body:
    """The fields, each instant in the one form that objects show (B-17). What is no instant the schema refuses."""
    return {name: _instant(value) if name in _instants(kind) else value for name, value in fields.items()}


def _instant(value: object) -> object:
    with suppress(ValueError):
        return calendar.normalise(value) if isinstance(value, str) else value
    return value


def _refuse_taken(world: World, record: Record, values: Body) -> None:
    """422 for a value that no two of its kind may have, and another one has."""
    for field in record.unique:
        holder = world.table(type(record)).find(field, values[field]) if field in values else None
        if holder is not None and holder is not record:
            raise invalid_field(field, f"is the {field} of another {record.kind.replace('_', ' ')}")


def _typed(kind: type[Record], fields: Body) -> dict[str, Any]:
    """The values as the record keeps them: nested objects are structs there and lists tuples."""
    hints = get_type_hints(kind)
    return {name: msgspec.convert(value, hints[name]) for name, value in fields.items()}


@cache
def schema_of(kind: type[Record]) -> Schema:
    """The document's schema of a kind, its references within reach."""
    return Schema({"$ref": f"#/components/schemas/{_name(kind)}", "components": {"schemas": _schemas()}})


def documented(kind: type[Record]) -> bool:
    """Whether the service's document knows objects of this kind; the others are the emulator's own."""
    return _name(kind) in _schemas()


@cache
def _instants(kind: type[Record]) -> frozenset[str]:
    """The fields of a kind that hold an instant."""
    timestamp = {"$ref": "#/components/schemas/Timestamp"}
    fields = _schemas()[_name(kind)]["properties"].items()
    return frozenset(name for name, part in fields if timestamp in part.get("allOf", ()))


def _name(kind: type[Record]) -> str:
    return "".join(word.title() for word in kind.kind.split("_"))


@cache
def _schemas() -> dict[str, Any]:
    """The schemas of the service's document."""
    schemas: dict[str, Any] = bundles.load("service")["components"]["schemas"]
    return schemas


OPERATIONS = {"getObject": show, "updateObject": update}
