"""Any object by its id, to be read or changed in any way that its schema allows."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from typing import Any, get_type_hints

import msgspec

from emulator.core import calendar
from emulator.core.errors import ApiError, invalid_field
from emulator.core.records import Record, hidden_fields, to_wire
from emulator.core.validation import Body
from emulator.core.world import World
from emulator.document import bundles
from emulator.engine.engine import Engine
from emulator.engine.runtime import Runtime
from emulator.web.validation import CompiledSchema, error_of

FIXED = ("id", "object")
"""Fields that cannot be changed."""


async def show(engine: Engine, runtime: Runtime, id: str, query: Body) -> Record:
    """GET /objects/{id}."""
    await runtime.catch_up()
    return find(runtime.world, id)


async def update(engine: Engine, runtime: Runtime, id: str, query: Body, body: Body) -> Record:
    """PATCH /objects/{id}: sets fields, read-only ones included, without events or jobs."""
    changed: Record = await runtime.serve(set_fields, {"id": id, "fields": body}, None)
    return changed


def find(world: World, id: str) -> Record:
    """The object with this id, of any kind; 404 ``NOT_FOUND`` if there is none."""
    if (record := get(world, id)) is None:
        raise ApiError("NOT_FOUND", message=f"There is no object {id[:60]}.")
    return record


def get(world: World, id: str) -> Record | None:
    """The object with this id, of any kind; None if there is none."""
    for table in world.tables():
        if (record := table.get(id)) is not None and documented(table.kind):
            found: Record = record
            return found
    return None


def set_fields(world: World, id: str, fields: Body) -> Record:
    """Set fields of an object; 422 for unknown and fixed fields and for values that its schema forbids."""
    record = find(world, id)
    known = record.__struct_fields__
    for name in fields:
        if name in FIXED or name not in known or name in hidden_fields(type(record)):
            raise invalid_field(name[:60], "cannot be changed" if name in FIXED else "unknown field")
    fields = _normalised(type(record), fields)
    wanted = {**msgspec.to_builtins(to_wire(record)), **fields}
    if violations := schema_of(type(record)).violations(wanted):
        raise error_of(violations)
    values = _typed(type(record), fields)
    _require_unique(world, record, values)
    world.arrange()
    return world.replace(record, **values)


def _normalised(kind: type[Record], fields: Body) -> Body:
    """The fields with each instant in the form of objects (B-17); invalid ones are left for the schema to reject."""
    return {name: _instant(value) if name in _instants(kind) else value for name, value in fields.items()}


def _instant(value: object) -> object:
    with suppress(ValueError):
        return calendar.normalise(value) if isinstance(value, str) else value
    return value


def _require_unique(world: World, record: Record, values: Body) -> None:
    """Raise 422 for a unique value that another object has."""
    for field in record.unique:
        holder = world.table(type(record)).find(field, values[field]) if field in values else None
        if holder is not None and holder is not record:
            raise invalid_field(field, f"is the {field} of another {record.kind.replace('_', ' ')}")


def _typed(kind: type[Record], fields: Body) -> dict[str, Any]:
    """The values in the types of the record: nested objects become structs, lists become tuples."""
    hints = get_type_hints(kind)
    return {name: msgspec.convert(value, hints[name]) for name, value in fields.items()}


@cache
def schema_of(kind: type[Record]) -> CompiledSchema:
    """The schema of a kind in the OpenAPI document, with all schemas it refers to."""
    return CompiledSchema({"$ref": f"#/components/schemas/{_name(kind)}", "components": {"schemas": _schemas()}})


def documented(kind: type[Record]) -> bool:
    """Whether this kind is an object of the service; other kinds are the emulator's own."""
    return _name(kind) in _schemas()


@cache
def _instants(kind: type[Record]) -> frozenset[str]:
    """The fields of a kind that hold instants."""
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
