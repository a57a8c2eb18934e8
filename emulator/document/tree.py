"""Parts of an OpenAPI document: pointers, references, every schema, conditions between fields.

Conditions are in the keywords that each version of OpenAPI has for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

# -- pointers, and where a ``$ref`` leads


Document = dict[str, Any]
Node = dict[str, Any]
"""Any object of a document, such as an operation or a schema."""
Pointer = tuple[str, ...]


class DocumentError(Exception):
    """A mistake in a document's files; the message names the file and, if any, the reference."""


def pointer_of(reference: str) -> Pointer:
    """Return a reference's steps: ``("paths", "/reset")`` for ``#/paths/~1reset``."""
    path = reference.partition("#")[2].removeprefix("/")
    return (
        tuple(step.replace("~1", "/").replace("~0", "~") for step in path.split("/"))
        if path
        else ()
    )


def fragment(pointer: Pointer) -> str:
    return "#" + "".join("/" + step.replace("~", "~0").replace("/", "~1") for step in pointer)


def at(node: Any, pointer: Pointer) -> Any:
    """Return the value at a pointer; if none, ``LookupError``, ``TypeError`` or ``ValueError``."""
    for step in pointer:
        node = node[int(step)] if isinstance(node, list) else node[step]
    return node


MISSING = object()
"""The target of a pointer that leads nowhere."""


def look_up(node: Any, pointer: Pointer, default: Any = MISSING) -> Any:
    """Return the value at a pointer, or the default where nothing is."""
    try:
        return at(node, pointer)
    except (LookupError, TypeError, ValueError):
        return default


def without(node: Node, *keys: str) -> Node:
    return {key: part for key, part in node.items() if key not in keys}


def map_parts(node: Any, change: Callable[[Any], Any]) -> Any:
    """Return an object or list with ``change`` applied to each part; any other value unchanged."""
    if isinstance(node, dict):
        return {name: change(part) for name, part in node.items()}
    return [change(part) for part in node] if isinstance(node, list | tuple) else node


def map_texts(value: Any, change: Callable[[str], Any]) -> Any:
    """Return a JSON value with ``change`` applied to each text; names of fields stay."""
    return (
        change(value)
        if isinstance(value, str)
        else map_parts(value, lambda part: map_texts(part, change))
    )


def resolve(document: Document, node: Any) -> Any:
    """Return the node itself, or the target of its ``$ref``, whatever the number of steps."""
    while "$ref" in node:
        node = at(document, pointer_of(node["$ref"]))
    return node


def operations(document: Document) -> Iterator[tuple[str, str, Node]]:
    """Yield every operation, in order, as its path, its method in small letters, and its node."""
    for path, item in document["paths"].items():
        # Beside the operations of a path stand parameters, which are a list, and texts.
        yield from ((path, method, node) for method, node in item.items() if isinstance(node, dict))


def inlined(document: Document, node: Any) -> Any:
    """Return the node with every reference replaced by its target; there are no circles."""
    target = resolve(document, node) if isinstance(node, dict) else node
    return map_parts(target, lambda part: inlined(document, part))


def properties(document: Document, schema: Node) -> dict[str, Node]:
    """Return the properties that a schema or its items' schema declares or combines."""
    schema = resolve(document, schema)
    if "items" in schema:
        return properties(document, schema["items"])
    declared: dict[str, Node] = {}
    for part in (combined for word in SCHEMA_LISTS for combined in schema.get(word, ())):
        declared |= properties(document, part)
    declared |= schema.get("properties", {})
    return declared


def with_links(node: Document) -> Document:
    """Return the node with a link to each assumption that a description for readers cites."""
    cited, description = node.get("x-assumption"), node.get("description")
    if cited is None or not isinstance(description, str):
        return node
    numbers = [cited] if isinstance(cited, str) else cited
    links = ", ".join(f"[{number}](/docs/assumptions#{number})" for number in numbers)
    return node | {"description": f"{description.rstrip()} ({links})"}


# -- a change of every schema, and of nothing that only looks like one


Schema = dict[str, Any]
SchemaChange = Callable[[Schema], Schema]

SCHEMA_LISTS = ("allOf", "anyOf", "oneOf")
WEBHOOKS = "x-webhooks"

PLACES = {
    "schema": "schema",
    "schemas": "by name",
    "example": "data",
    "examples": "data",
    "links": "data",
}
"""Where a document has a schema, schemas by name, or data, which may look like a schema."""

PLACES_IN_A_SCHEMA = {
    "items": "schema",
    "additionalProperties": "schema",
    "not": "schema",
    "properties": "by name",
    **dict.fromkeys(SCHEMA_LISTS, "list"),
}


def map_schemas(document: Document, change: SchemaChange) -> Document:
    """Return a copy of the document with every schema changed, inner schemas first.

    References are not passed to ``change``.
    """
    return {key: _mapped(part, _place(key), change) for key, part in document.items()}


def _place(key: str) -> str:
    is_data = key.startswith("x-") and key != WEBHOOKS
    return PLACES.get(key, "data" if is_data else "elsewhere")


def _mapped(node: Any, place: str, change: SchemaChange) -> Any:
    match place, node:
        case "elsewhere", dict():
            return {key: _mapped(part, _place(key), change) for key, part in node.items()}
        case "by name", dict():
            return {name: _mapped(part, "schema", change) for name, part in node.items()}
        case "schema", dict() if "$ref" not in node:
            inner = {
                key: _mapped(part, PLACES_IN_A_SCHEMA.get(key, "data"), change)
                for key, part in node.items()
            }
            return change(inner)
        case "elsewhere", list():
            return [_mapped(part, "elsewhere", change) for part in node]
        case "list", list():
            return [_mapped(part, "schema", change) for part in node]
    return node


# -- conditions


CONDITIONS, REQUIRED_UNLESS = "x-conditions", "x-required-unless"


class Condition(NamedTuple):
    """An object that is valid under ``when`` has to be valid under ``then`` as well."""

    when: Schema
    then: Schema


def with_kinds(document: Document) -> Document:
    """Return the document with a schema per kind, for objects whose conditions ask for one field.

    ``oneOf`` these kinds is a union that generators make types of, and that renderers show;
    conditions are neither.
    """
    components = document.get("components", {})
    schemas: dict[str, Schema] = {}
    for name, schema in components.get("schemas", {}).items():
        schemas |= _kinds(name, schema) or {name: schema}
    return document | {"components": components | {"schemas": schemas}}


def _kinds(name: str, schema: Schema) -> dict[str, Schema]:
    """Return a schema and its kinds' schemas; nothing if its conditions ask for several fields."""
    kinds: dict[str, Schema] = {}
    for condition in _conditions(schema):
        match condition:
            case (
                {"properties": choices, **other},
                {"required": needed, "not": {"anyOf": excluded}, **more},
            ) if len(choices) == 1 and not other and not more:
                [(field, choice)] = choices.items()
            case _:
                return {}
        [value] = choice["enum"]
        foreign = {field_name for part in excluded for field_name in part["required"]}
        properties = {
            field_name: part
            for field_name, part in schema["properties"].items()
            if field_name not in foreign
        }
        properties[field] = {
            "description": properties[field]["description"],
            "type": "string",
            "enum": [value],
        }
        kinds[name + value.title().replace("_", "")] = without(
            schema, CONDITIONS, REQUIRED_UNLESS
        ) | {
            "description": f"The form of `{name}` whose `{field}` is `{value}`.",
            "required": [*schema["required"], *needed],
            "properties": properties,
        }
    if not kinds:
        return {}
    # No discriminator: openapi-schema-validator fails on a value of it that is a list. One value of
    # an enum tells kinds apart.
    union = {
        "description": schema["description"],
        "oneOf": [{"$ref": f"#/components/schemas/{kind}"} for kind in kinds],
    }
    return {name: union} | kinds


def unconditional(schema: Schema) -> Schema:
    """Leave conditions to the descriptions, which say them too.

    OpenAPI 3.0 has only ``not`` for them, and of that generators make types, or nothing at all:
    openapi-generator ends at one within another.
    """
    return without(schema, CONDITIONS, REQUIRED_UNLESS)


def forbid(schema: Schema) -> Schema:
    """Write conditions within ``not``, for validators that know only the keywords of 3.0."""
    broken = [_given(schema, _broken(condition)) for condition in _conditions(schema)]
    return (
        without(schema, CONDITIONS, REQUIRED_UNLESS) | {"not": {"anyOf": broken}}
        if broken
        else schema
    )


def _broken(condition: Condition) -> Schema:
    """Return the schema of an object that breaks a condition, nesting no ``not`` if possible."""
    match condition:
        case {"not": exception}, then:
            return {"not": {"anyOf": [exception, then]}}
        case when, {"not": {"required": names, **others}, **more} if not others and not more:
            return when | {"required": [*when.get("required", ()), *names]}
        case when, {"not": {"anyOf": choices}, **more} if not more:
            return when | {"anyOf": choices}
        case when, then:
            return when | {"not": then}


def depend(schema: Schema) -> Schema:
    """Write conditions for OpenAPI 3.1: ``dependentSchemas`` for one field's presence, else ``if``.

    Each ``if`` of a chain excludes the others. ``allOf`` would need no chain, but generators make
    types of it.
    """
    dependent: Schema = {}
    chain: Schema = {}
    for when, condition in reversed(_conditions(schema)):
        then = _given(schema, condition)
        # Open explicitly: Redocly closes a schema with properties when it checks examples.
        if "properties" in then:
            then["additionalProperties"] = True
        match when:
            case {"required": [name], **others} if not others:
                dependency = {"if": {"properties": {name: _not_null(schema, name)}}, "then": then}
                dependent = {name: dependency if _is_nullable(schema, name) else then} | dependent
            case _:
                chain = {"if": _given(schema, when), "then": then} | (
                    {"else": chain} if chain else {}
                )
    return (
        without(schema, CONDITIONS, REQUIRED_UNLESS)
        | ({"dependentSchemas": dependent} if dependent else {})
        | chain
    )


def _given(schema: Schema, condition: Any) -> Any:
    """Return a condition on an object's fields in which a null field does not count as given."""
    own = map_parts(condition, lambda part: _given(schema, part))
    if not isinstance(condition, dict):
        return own
    own.pop("properties", None)
    other_than_null = {
        name: _not_null(schema, name)
        for name in condition.get("required", ())
        if _is_nullable(schema, name)
    }
    properties = other_than_null | condition.get("properties", {})
    return own | ({"properties": properties} if properties else {})


def _not_null(schema: Schema, name: str) -> Schema:
    """Return any value but null by its type: openapi-generator makes no model of a ``not``."""
    field: Schema = schema["properties"][name]
    return {"type": field["type"]} if "type" in field else {"not": {"enum": [None]}}


def _is_nullable(schema: Schema, name: str) -> bool:
    return bool(schema.get("properties", {}).get(name, {}).get("nullable"))


def _conditions(schema: Schema) -> list[Condition]:
    conditions: list[Condition] = []
    unless = [
        Condition({"not": but}, {"required": [name]})
        for name, but in schema.get(REQUIRED_UNLESS, {}).items()
    ]
    written = [Condition(rule["if"], rule["then"]) for rule in schema.get(CONDITIONS, ())]
    for condition in (_positive(written_condition) for written_condition in (*unless, *written)):
        position = next(
            (number for number, earlier in enumerate(conditions) if earlier.when == condition.when),
            None,
        )
        if position is None:
            conditions.append(condition)
        else:
            conditions[position] = Condition(
                condition.when, _both(conditions[position].then, condition.then)
            )
    return conditions


def _positive(condition: Condition) -> Condition:
    """Return the condition without a double negation: "if custom" for "unless not custom"."""
    match condition.when:
        case {"not": {"properties": properties, **others}} if not others and len(properties) == 1:
            [(name, excluded)] = properties.items()
            if excluded.keys() == {"not"}:
                return Condition(
                    {"required": [name], "properties": {name: excluded["not"]}}, condition.then
                )
    return condition


def _both(one: Schema, other: Schema) -> Schema:
    """Return two schemas, each of ``required`` and ``properties`` at most, as one."""
    required = list(dict.fromkeys([*one.get("required", ()), *other.get("required", ())]))
    properties: dict[str, Any] = one.get("properties", {}) | other.get("properties", {})
    return ({"required": required} if required else {}) | (
        {"properties": properties} if properties else {}
    )
