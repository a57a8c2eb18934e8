"""Applies a change to every schema of an OpenAPI document, and to nothing that only looks like one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from emulator.document.tree import Document

Schema = dict[str, Any]
SchemaChange = Callable[[Schema], Schema]

PAYLOADS = frozenset({"example", "examples", "links"})
"""Keys that hold data of any form, which is copied as it is even where it looks like a schema."""

SCHEMA_LISTS = ("allOf", "anyOf", "oneOf")
WEBHOOKS = "x-webhooks"


def map_schemas(document: Document, change: SchemaChange) -> Document:
    """A copy of the document with every schema changed, inner schemas before the one they are part of.

    References are not passed to ``change``.
    """
    return {key: _part(key, value, change) for key, value in document.items()}


def _part(key: str, value: Any, change: SchemaChange) -> Any:
    """Change the schemas in anything but a schema."""
    if key in PAYLOADS or (key.startswith("x-") and key != WEBHOOKS):
        return value
    if key == "schema":
        return _schema(value, change)
    if key == "schemas":
        return {name: _schema(schema, change) for name, schema in value.items()}
    return _inner(value, change)


def _inner(value: Any, change: SchemaChange) -> Any:
    if isinstance(value, dict):
        return {key: _part(key, item, change) for key, item in value.items()}
    return [_inner(item, change) for item in value] if isinstance(value, list) else value


def _schema(schema: Any, change: SchemaChange) -> Any:
    if not isinstance(schema, dict) or "$ref" in schema:
        return schema
    return change({key: _subschemas(key, value, change) for key, value in schema.items()})


def _subschemas(key: str, value: Any, change: SchemaChange) -> Any:
    if key in SCHEMA_LISTS:
        return [_schema(schema, change) for schema in value]
    if key == "properties":
        return {name: _schema(schema, change) for name, schema in value.items()}
    if key in ("items", "additionalProperties", "not"):
        return _schema(value, change)
    return value
