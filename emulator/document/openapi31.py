"""Converts a document to OpenAPI 3.1, where schemas are JSON Schema and webhooks have a key of their own."""

from __future__ import annotations

import re

from emulator.document.schema_walk import SCHEMA_LISTS, WEBHOOKS, Schema, map_schemas
from emulator.document.tree import Document

ANNOTATIONS = frozenset({"title", "description", "default", "example", "deprecated", "readOnly", "writeOnly"})
"""Keywords that describe a schema and validate nothing; they stay outside when null becomes one of two alternatives."""

SPDX = re.compile(r"[A-Za-z0-9.+-]+")


def to_openapi_3_1(document: Document) -> Document:
    """The OpenAPI 3.1 version of a 3.0 document. The 3.0 document is not changed."""
    twin = {_KEYS.get(key, key): value for key, value in map_schemas(document, _schema).items()}
    return twin | {"openapi": "3.1.0", "info": _info(document["info"])}


_KEYS = {WEBHOOKS: "webhooks"}


def _info(info: Document) -> Document:
    """3.1 has a field for the SPDX identifier of a licence, which excludes the URL."""
    licence = info.get("license") or {}
    name = licence.get("name", "")
    return info | {"license": {"name": name, "identifier": name}} if SPDX.fullmatch(name) else info


def _schema(schema: Schema) -> Schema:
    for step in (_nullable, _bounds, _binary, _keys, _example):
        schema = step(schema)
    return schema


def _nullable(schema: Schema) -> Schema:
    """``nullable`` allows null whatever else the schema says: null becomes a type, or an alternative to the rest."""
    rest = {key: value for key, value in schema.items() if key != "nullable"}
    if not schema.get("nullable"):
        return rest
    return _alternative(rest) if any(key in rest for key in (*SCHEMA_LISTS, "not")) else _with_null(rest)


def _with_null(schema: Schema) -> Schema:
    null: Schema = {}
    if "type" in schema:
        null["type"] = [schema["type"], "null"]
    if "enum" in schema:
        null["enum"] = [*(value for value in schema["enum"] if value is not None), None]
    return schema | null


def _alternative(schema: Schema) -> Schema:
    about = {key: value for key, value in schema.items() if key in ANNOTATIONS or key.startswith("x-")}
    rule = {key: value for key, value in schema.items() if key not in about}
    return about | {"anyOf": [*_choices(rule), {"type": "null"}]}


def _choices(rule: Schema) -> list[Schema]:
    """The alternatives beside null. ``allOf`` around one reference is only there for the ``nullable`` of 3.0."""
    match rule:
        case {"anyOf": choices, **others} if not others:
            return list(choices)
        case {"allOf": [lone], **others} if not others:
            return [lone]
    return [rule]


def _bounds(schema: Schema) -> Schema:
    """An exclusive bound is a number of its own in 3.1, not a flag on the inclusive one."""
    for bound, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if isinstance(schema.get(exclusive), bool):
            schema = _bound(schema, bound, exclusive)
    return schema


def _bound(schema: Schema, bound: str, exclusive: str) -> Schema:
    rest = {key: value for key, value in schema.items() if key != exclusive}
    if schema[exclusive] and bound in rest:
        rest[exclusive] = rest.pop(bound)
    return rest


def _binary(schema: Schema) -> Schema:
    """3.1 describes binary content by its media type."""
    if schema.get("format") != "binary":
        return schema
    rest = {key: value for key, value in schema.items() if key not in ("type", "format")}
    return rest | {"contentMediaType": "application/octet-stream"}


def _keys(schema: Schema) -> Schema:
    """Limits on the keys of a free object are an extension in 3.0 and ``propertyNames`` in 3.1."""
    names = {key.removeprefix("x-key-"): value for key, value in schema.items() if key.startswith("x-key-")}
    rest = {key: value for key, value in schema.items() if not key.startswith("x-key-")}
    return rest | {"propertyNames": names} if names else rest


def _example(schema: Schema) -> Schema:
    """JSON Schema has a list of examples instead of one."""
    return {_EXAMPLE.get(key, key): [value] if key in _EXAMPLE else value for key, value in schema.items()}


_EXAMPLE = {"example": "examples"}
