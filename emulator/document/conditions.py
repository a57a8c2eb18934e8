"""Conditions between the fields of an object, in the keywords that each version of OpenAPI has for them.

They are written as ``x-conditions``, a list of ``{if: …, then: …}``, and, where the server itself validates by them, as
``x-required-unless``. OpenAPI 3.1 has ``dependentSchemas`` and ``if``. In 3.0 they stand within ``not``, as generators
would make types of an ``anyOf``.

A field that is null counts as left out (B-12), so ``required`` in a condition asks for a value other than null as well.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from emulator.document.schema_walk import Schema, map_schemas
from emulator.document.tree import Document

CONDITIONS, REQUIRED_UNLESS = "x-conditions", "x-required-unless"


class Condition(NamedTuple):
    """An object that is valid under ``when`` has to be valid under ``then`` as well."""

    when: Schema
    then: Schema


def with_not(document: Document) -> Document:
    """The document with its conditions within ``not``, as OpenAPI 3.0 can say them."""
    return map_schemas(document, forbid)


def with_if(document: Document) -> Document:
    """The document with its conditions as ``dependentSchemas`` and ``if``, as OpenAPI 3.1 can say them."""
    return map_schemas(document, _depend)


def forbid(schema: Schema) -> Schema:
    """A schema whose conditions stand within ``not``."""
    broken = [_given(schema, _broken(each)) for each in _conditions(schema)]
    return _plain(schema) | {"not": {"anyOf": broken}} if broken else schema


def _broken(condition: Condition) -> Schema:
    """What an object looks like that breaks a condition."""
    match condition.when:
        case {"not": exception}:
            return {"not": {"anyOf": [exception, condition.then]}}
        case when:
            return when | {"not": condition.then}


def _depend(schema: Schema) -> Schema:
    """Conditions of one field's presence are ``dependentSchemas``; the others a chain of ``if``, ``then`` and ``else``.

    Each ``if`` of a chain excludes the others. ``allOf`` would need no chain, but generators make types of it.
    """
    dependent: Schema = {}
    chain: Schema = {}
    for when, condition in reversed(_conditions(schema)):
        then = _open(_given(schema, condition))
        match when:
            case {"required": [name], **others} if not others:
                dependent = {name: _unless_null(schema, name, then)} | dependent
            case _:
                chain = {"if": _given(schema, when), "then": then} | ({"else": chain} if chain else {})
    return _plain(schema) | ({"dependentSchemas": dependent} if dependent else {}) | chain


def _given(schema: Schema, condition: Any) -> Any:
    """A condition on the fields of an object in which a field that is null does not count as given."""
    if isinstance(condition, list):
        return [_given(schema, part) for part in condition]
    if not isinstance(condition, dict):
        return condition
    own = {key: _given(schema, part) for key, part in condition.items() if key != "properties"}
    other_than_null = {
        name: _not_null(schema, name) for name in condition.get("required", ()) if _is_nullable(schema, name)
    }
    properties = other_than_null | condition.get("properties", {})
    return own | ({"properties": properties} if properties else {})


def _unless_null(schema: Schema, name: str, then: Schema) -> Schema:
    return {"if": {"properties": {name: _not_null(schema, name)}}, "then": then} if _is_nullable(schema, name) else then


def _not_null(schema: Schema, name: str) -> Schema:
    """Any value but null: by its type, as openapi-generator for Python cannot make a model of a ``not`` in a property."""
    field: Schema = schema["properties"][name]
    return {"type": field["type"]} if "type" in field else {"not": {"enum": [None]}}


def _is_nullable(schema: Schema, name: str) -> bool:
    return bool(schema.get("properties", {}).get(name, {}).get("nullable"))


def _open(then: Schema) -> Schema:
    """The same, said explicitly: Redocly closes every schema with properties when it checks examples."""
    return then | {"additionalProperties": True} if "properties" in then else then


def _plain(schema: Schema) -> Schema:
    return {key: value for key, value in schema.items() if key not in (CONDITIONS, REQUIRED_UNLESS)}


def _conditions(schema: Schema) -> list[Condition]:
    """The conditions of a schema; those with the same ``if`` as one."""
    found: list[Condition] = []
    unless = [Condition({"not": but}, {"required": [name]}) for name, but in schema.get(REQUIRED_UNLESS, {}).items()]
    written = [Condition(each["if"], each["then"]) for each in schema.get(CONDITIONS, ())]
    for condition in (_positive(each) for each in (*unless, *written)):
        same = next((number for number, each in enumerate(found) if each.when == condition.when), None)
        if same is None:
            found.append(condition)
        else:
            found[same] = Condition(condition.when, _both(found[same].then, condition.then))
    return found


def _positive(condition: Condition) -> Condition:
    """Without a double negation: "unless its type is no ``custom``" is "if its type is ``custom``"."""
    match condition.when:
        case {"not": {"properties": properties, **others}} if not others and len(properties) == 1:
            [(name, excluded)] = properties.items()
            if excluded.keys() == {"not"}:
                return Condition({"required": [name], "properties": {name: excluded["not"]}}, condition.then)
    return condition


def _both(one: Schema, other: Schema) -> Schema:
    """Two schemas of which each has ``required`` and ``properties`` at most, as one."""
    required = list(dict.fromkeys([*one.get("required", ()), *other.get("required", ())]))
    properties: dict[str, Any] = one.get("properties", {}) | other.get("properties", {})
    return ({"required": required} if required else {}) | ({"properties": properties} if properties else {})
