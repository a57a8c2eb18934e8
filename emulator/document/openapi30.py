"""Converts a document to the strict OpenAPI 3.0 that is served: null and bounds as every reader understands them.

``nullable`` adds null to the ``type`` beside it, and to nothing else. The documents are written with ``nullable``
beside a reference, which validators that follow the standard read as "no null". Where null is allowed, the 3.0 document
that is served has an enumeration with null in it, the type that a reference leads to, or null as an alternative.
"""

from __future__ import annotations

from emulator.document.openapi31 import ANNOTATIONS
from emulator.document.schema_walk import SCHEMA_LISTS, Schema, map_schemas
from emulator.document.tree import Document, resolve

NULL: Schema = {"type": "object", "nullable": True, "enum": [None]}
"""Null and no other value. 3.0 has no type for it."""


def to_openapi_3_0(document: Document) -> Document:
    """The document with every null and every exclusive bound in a form that a strict reader allows."""

    def change(schema: Schema) -> Schema:
        schema = _bounds(schema)
        return _strict(document, schema) if schema.get("nullable") else schema

    return map_schemas(document, change)


def _bounds(schema: Schema) -> Schema:
    """An exclusive bound by ``not``: Redocly's Respect reads the flag of 3.0 as the number that it is in 3.1."""
    flags = {"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"}
    excluded = [schema[bound] for flag, bound in flags.items() if schema.get(flag)]
    rest = {key: value for key, value in schema.items() if key not in flags}
    return rest | {"not": {"enum": excluded}} if excluded else rest


def _strict(document: Document, schema: Schema) -> Schema:
    if not any(key in schema for key in SCHEMA_LISTS):
        return _with_null_in_enum(schema)
    about = {key: value for key, value in schema.items() if key in ANNOTATIONS or key.startswith("x-")}
    match {key: value for key, value in schema.items() if key not in about and key != "nullable"}:
        case {"allOf": [{"$ref": _} as lone]}:
            target: Schema = resolve(document, lone)
            if _is_plain(target):
                return target | about | {"nullable": True}
            return about | {"anyOf": [lone, NULL]}
        case {"anyOf": [first, *others]} if "type" in first:
            return about | {"anyOf": [_with_null_in_enum(first | {"nullable": True}), *others]}
        case rule:
            return about | {"anyOf": [rule, NULL]}


def _is_plain(schema: Schema) -> bool:
    """Whether it is a text, number or boolean without an enumeration, whose name would add nothing."""
    return schema.get("type") in ("string", "integer", "number", "boolean") and "enum" not in schema


def _with_null_in_enum(schema: Schema) -> Schema:
    if "enum" not in schema or None in schema["enum"]:
        return schema
    return schema | {"enum": [*schema["enum"], None]}
