"""Bounds: every array and string of a request that has none in the document gets one (B-26)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from emulator.core.limits import ITEMS, METADATA_KEY, STRING
from emulator.document.tree import Document, at, pointer_of

BOUNDED = frozenset(["country", "currency", "date", "date-time", "domain", "e164", "email", "ipv4-network"])
"""The formats whose texts are short by themselves."""

FINITE = frozenset(["country", "currency"])
"""The formats that few texts have: a list without repetitions is no longer than there are of them."""

METHODS = ("get", "put", "post", "delete", "patch")


def bound_requests(document: Document) -> None:
    """Add ``maxItems``, ``maxLength`` and ``x-key-maxLength`` to the schemas of all request bodies, in place."""
    seen: set[int] = set()
    for item in document["paths"].values():
        for operation in (item[method] for method in METHODS if method in item):
            for media in operation.get("requestBody", {}).get("content", {}).values():
                _bound(media["schema"], document, seen)


def _bound(schema: Any, document: Document, seen: set[int]) -> None:
    while "$ref" in schema:
        schema = at(document, pointer_of(schema["$ref"]))
    if id(schema) in seen:
        return
    seen.add(id(schema))
    if schema.get("type") == "array" and not _is_finite(schema):
        schema.setdefault("maxItems", ITEMS.most)
    if schema.get("type") == "string" and "enum" not in schema and schema.get("format") not in BOUNDED:
        schema.setdefault("maxLength", STRING.most)
    if "x-key-minLength" in schema:
        schema.setdefault("x-key-maxLength", METADATA_KEY.most)
    for part in _parts(schema):
        _bound(part, document, seen)


def _is_finite(schema: Any) -> bool:
    return schema.get("uniqueItems", False) and schema["items"].get("format") in FINITE


def _parts(schema: Document) -> Iterator[Any]:
    yield from schema.get("properties", {}).values()
    for word in ("allOf", "anyOf", "oneOf"):
        yield from schema.get(word, ())
    for word in ("items", "additionalProperties"):
        if isinstance(schema.get(word), dict):
            yield schema[word]
