"""Any object of a world: by its id, by kind, by search, and by the name that people know it by.

An object is read, and changed in any way that its schema allows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from itertools import chain
from typing import Any, NamedTuple, TypeVar, get_type_hints

import msgspec

from emulator.core import calendar
from emulator.core.errors import invalid_field
from emulator.core.handlers import list_handler
from emulator.core.lists import Page, Query, select
from emulator.core.records import Record, folded, hidden_fields, to_wire
from emulator.core.tables import Table
from emulator.core.unit_of_work import Event
from emulator.core.violations import Body
from emulator.core.world import World, encode
from emulator.engine.reading import View, read_page
from emulator.engine.runtime import Runtime
from emulator.insight.names import LONGEST, describe, documented, find, get, schema_name, schemas
from emulator.insight.state.under_way import UnderWay, all_under_way, under_way
from emulator.presentation import typed_text
from emulator.presentation.languages.language import Language, language_of
from emulator.resources import set_directly
from emulator.resources.app.settings import settings
from emulator.resources.customers.customer_records import Customer
from emulator.resources.customers.payment_methods import PaymentMethod
from emulator.resources.simulation.emails import Email
from emulator.resources.webhooks.deliveries import WebhookDelivery
from emulator.web.schemas import CompiledSchema
from emulator.web.violations import Violation, error_of

# -- one object by its id


FIXED = ("id", "object")
"""Fields that cannot be changed."""


async def show(runtime: Runtime, id: str) -> Record:
    """GET /objects/{id}."""
    await runtime.catch_up()
    return find(runtime.world, id)


async def update(runtime: Runtime, id: str, body: Body) -> Record:
    """PATCH /objects/{id}: set fields, also read-only; no event; planned work follows (B-89)."""
    changed: Record = await runtime.serve(set_fields, {"id": id, "fields": body}, None)
    return changed


def set_fields(world: World, id: str, fields: Body) -> Record:
    """Set an object's fields; 422 for unknown and fixed ones and for values against the schema."""
    record = find(world, id)
    known = record.__struct_fields__
    for name in fields:
        if name in FIXED or name not in known or name in hidden_fields(type(record)):
            raise invalid_field(
                name[:60], "cannot be changed" if name in FIXED else "unknown field"
            )
    # Instants in the form of objects (B-17); invalid ones are left for the schema to reject.
    fields = {
        name: _instant(value) if name in _instants(type(record)) else value
        for name, value in fields.items()
    }
    wanted = {**msgspec.to_builtins(to_wire(record)), **fields}
    violations = schema_of(type(record)).violations(wanted) or _invalid_metadata(world, fields)
    if violations:
        raise error_of(violations)
    if isinstance(record, Event):
        for path, message in invalid_subject(world, wanted["data"]["object"]):
            raise invalid_field(path, message)
    values = _typed(world, type(record), fields)
    _require_unique(world, record, values)
    return set_directly.set_fields(world, record, values)


def _instant(value: object) -> object:
    with suppress(ValueError):
        return calendar.normalise(value) if isinstance(value, str) else value
    return value


def _invalid_metadata(world: World, fields: Body) -> list[Violation]:
    """Return the violations of metadata as a client may send them (B-22)."""
    if "metadata" not in fields or settings(world).assumptions.metadata_values == "any":
        return []
    own = _schema("MetadataInput").violations(fields["metadata"])
    return [violation._replace(path=f"metadata.{violation.path}") for violation in own]


def _require_unique(world: World, record: Record, values: Body) -> None:
    for field in record.unique:
        holder = world.table(type(record)).find(field, values[field]) if field in values else None
        if holder is not None and holder is not record:
            raise invalid_field(field, f"is the {field} of another {record.kind.replace('_', ' ')}")


def _typed(world: World, kind: type[Record], fields: Body) -> dict[str, Any]:
    """Return the values in the record's types; 422 for one that its type does not hold."""
    hints, values = get_type_hints(kind), {}
    if settings(world).assumptions.metadata_values == "any":
        hints["metadata"] = dict[str, Any]
    for name, value in fields.items():
        try:
            values[name] = msgspec.convert(value, hints[name])
        except msgspec.ValidationError:
            raise invalid_field(name, "has a value that cannot be stored") from None
    return values


def schema_of(kind: type[Record]) -> CompiledSchema:
    """Return the schema of a kind in the OpenAPI document, with all schemas it refers to."""
    return _schema(schema_name(kind))


@cache
def _schema(name: str) -> CompiledSchema:
    return CompiledSchema(
        {"$ref": f"#/components/schemas/{name}", "components": {"schemas": schemas()}}
    )


def invalid_subject(world: World, subject: Any) -> Iterator[tuple[str, str]]:
    """Yield the faults of the object of an event, as the path of a field and a message.

    The object is as its kind was then: fields may have been added since, but it has an id.
    """
    name = subject.get("object") if isinstance(subject, dict) else None
    kind = next((kind for kind in world.kinds if kind.kind == name and documented(kind)), None)
    if kind is None or "id" not in subject:
        yield "data.object", "is no object of the service"
        return
    schema = schema_of(kind)
    for violation in () if schema.accepts(subject) else schema.violations(subject):
        if violation.keyword not in ("required", "additionalProperties"):
            yield f"data.object.{violation.path}", violation.message


@cache
def _instants(kind: type[Record]) -> frozenset[str]:
    timestamp = {"$ref": "#/components/schemas/Timestamp"}
    fields = schemas()[schema_name(kind)]["properties"].items()
    return frozenset(name for name, part in fields if timestamp in part.get("allOf", ()))


# -- a page of any list


T = TypeVar("T")


def page_of(
    rows: Sequence[T], query: Query, as_sent: Callable[[T], Any] = lambda row: row
) -> Page[Any]:
    """Return the page of a list that a query asks for, each row as it is sent."""
    page, size = query["page"], query["page_size"]
    return Page([*map(as_sent, rows[(page - 1) * size : page * size])], len(rows), page, size)


def listing(kind: type[Record]) -> Callable[..., Any]:
    """Return the handler of a GET of all records of a kind, newest first."""
    index = list_handler(kind)

    async def show(runtime: Runtime, query: Query) -> Any:
        paging = {name: value for name, value in query.items() if name != "app"}
        return await runtime.read(index, {"query": paging})

    return show


def clearing(kind: type[Record]) -> Callable[..., Any]:
    """Return a DELETE handler for a kind's records, or one by id, which may be gone already."""

    def clear(world: World, id: str | None) -> None:
        for record in world.table(kind):
            if id in (None, record.id):
                world.remove(record)

    async def delete(runtime: Runtime, query: Query) -> None:
        await runtime.serve(clear, {"id": query.get("id")}, None)

    return delete


# -- objects by kind: listed, searched by text, found by what they belong to, and counted


IDS = re.compile(r"[a-z]{2,8}_[a-z0-9]{24}", re.ASCII)
"""Ids, in small letters."""

FIELD_NAMES = {"subscription_plan": "plan", "webhook_endpoint": "webhook"}
"""Kinds for which other objects have a field that is not named like the kind."""


async def index(runtime: Runtime, query: Query) -> Page[Any]:
    """GET /objects: one kind, newest first; filters ``query``, ``related`` and ``status``."""
    await runtime.catch_up()
    table = tables(runtime.world)[query["kind"]]
    filters: dict[str, Any] = {
        "page": query["page"],
        "page_size": query["page_size"],
        "text": query.get("query"),
    }
    if "status" in query:
        if "status" not in table.kind.__struct_fields__:
            return page_of((), query)
        filters["status"] = query["status"]
    if "related" in query:
        field = field_name(type(find(runtime.world, query["related"])))
        if field not in table.kind.__struct_fields__:
            return page_of((), query)
        filters[field] = query["related"]
    return await read_page(select(table, filters, {"text": contains}))


async def count(runtime: Runtime, query: Query) -> dict[str, int]:
    """GET /counts: the number of objects of each kind; ``related``: of those that belong to one."""
    await runtime.catch_up()
    all = tables(runtime.world)
    if "related" not in query:
        return {kind: len(table) for kind, table in all.items()}
    field = field_name(type(find(runtime.world, query["related"])))
    none = {"page": 1, "page_size": 0, field: query["related"]}
    related = {kind: table for kind, table in all.items() if field in table.kind.__struct_fields__}
    return {kind: (await read_page(select(table, none))).count for kind, table in related.items()}


def tables(world: World) -> dict[str, Table[Any]]:
    """Return the tables of all kinds that the service's document knows."""
    return {kind.kind: world.table(kind) for kind in world.kinds if documented(kind)}


def field_name(kind: type[Record]) -> str:
    """Return the name of the field in which other objects hold the id of one of this kind."""
    return FIELD_NAMES.get(kind.kind, kind.kind)


def contains(record: Record, text: str) -> bool:
    """Return whether JSON has a text in any case and Unicode form; an id only at its start.

    A phone or card number is found however it is written (B-35).
    """
    sought, content = folded(text), folded(encode(record).decode())
    if sought in content and (
        sought in IDS.sub("", content) or any(id.startswith(sought) for id in IDS.findall(content))
    ):
        return True
    number = typed_text.sought_number(text)
    return number is not None and number in typed_text.compact(IDS.sub("", content))


# -- names: how people call an object, where its id says nothing to them


async def list_names(runtime: Runtime, query: Query) -> dict[str, str]:
    """GET /names: the names of these ids, without ids of nothing and of nameless objects."""
    await runtime.catch_up()
    language = language_of(query["language"])
    names = ((id, _name(runtime, id, language)) for id in dict.fromkeys(query["ids"].split(",")))
    return {id: name for id, name in names if name}


async def list_under_way(runtime: Runtime, query: Query) -> dict[str, list[UnderWay]]:
    """GET /under-way: what is under way of these objects, without those of which nothing is.

    Without ``ids`` all that is under way in the world, each by the id of its own object.
    """
    await runtime.catch_up()
    language, world = language_of(query["language"]), runtime.world
    if "ids" not in query:
        every = await runtime.examine(lambda view: all_under_way(view.world, language))
        return {waiting.object: [waiting] for waiting in every}
    records = (get(world, id) for id in dict.fromkeys(query["ids"].split(",")))
    own = {record.id: under_way(world, record, language) for record in records if record}
    return {id: waiting for id, waiting in own.items() if waiting}


def _name(runtime: Runtime, id: str, language: Language) -> str:
    if id.startswith("req_"):
        entry = runtime.journal.find(id)
        return f"{entry.method} {entry.target}"[:LONGEST] if entry else ""
    record = runtime.world.get(Email, id) or get(runtime.world, id)
    return describe(runtime.world, record, language) if record else ""


# -- search: by id, then by name, the best match first


NAMED_BY_OTHERS = (Event, WebhookDelivery)
"""Kinds named after another object, which the search finds; these are found by id alone."""


class SearchHit(NamedTuple):
    """A record with its name; of two hits that with the lower rank is shown first."""

    rank: int
    record: Record
    name: str


async def search(runtime: Runtime, query: Query) -> Page[Any]:
    """GET /search: exact ids, then starts of ids, of names, of words, then the inside of names."""
    await runtime.catch_up()
    hits = await runtime.examine(_hits, query["query"].strip(), language_of(query["language"]))
    return page_of(hits, query, _row_of)


def _row_of(hit: SearchHit) -> dict[str, Any]:
    record: Any = hit.record
    return {
        "id": record.id,
        "kind": record.kind,
        "name": hit.name,
        "status": getattr(record, "status", None),
        "created_at": record.created_at,
    }


def _hits(view: View, text: str, language: Language) -> list[SearchHit]:
    """Return the hits, best first; within a rank by kind, the newest first."""
    ranks: list[list[SearchHit]] = [[] for _ in range(5)]  # as _rank gives
    # Every name begins with an empty text.
    world = view.world
    for table in () if not text else (*tables(world).values(), world.table(Email)):
        for record in reversed([*table]):
            name = "" if isinstance(record, NAMED_BY_OTHERS) else describe(world, record, language)
            rank = _rank(text, record.id, f"{name} {_contact(record)}".strip())
            if rank is not None:
                ranks[rank].append(
                    SearchHit(rank, record, name or describe(world, record, language))
                )
    return [*chain.from_iterable(ranks)]


def _contact(record: Record) -> str:
    """Return the email and the phone of a customer, or the phone of a payment method."""
    if isinstance(record, Customer):
        return f"{record.email or ''} {record.phone or ''}"
    return str(record.details.get("phone", "")) if isinstance(record, PaymentMethod) else ""


def _rank(text: str, id: str, name: str) -> int | None:
    """Return a match's rank, 0 best, or None. The inside of an id is random and never matches."""
    if id.startswith(text):
        return 0 if id == text else 1
    sought, known = folded(text), folded(name)
    if sought not in known:
        number = typed_text.sought_number(text)
        return 4 if number is not None and number in typed_text.compact(known) else None
    if known.startswith(sought):
        return 2
    return 3 if f" {sought}" in known else 4


OPERATIONS = {
    "getObject": show,
    "updateObject": update,
    "listObjects": index,
    "countObjects": count,
    "listNames": list_names,
    "listUnderWay": list_under_way,
    "searchObjects": search,
}
