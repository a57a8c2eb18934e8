"""Null in requests: a field takes it where the answer of its operation can show it as null (B-12)."""

from __future__ import annotations

from collections.abc import Iterator

from emulator.document.tree import Document, Node, properties, resolve

METHODS = ("post", "patch")


def allow_nulls(document: Document) -> None:
    """Make the fields of request bodies nullable that take null, in place.

    A field that a POST requires does not: null is as left out there.
    """
    for item in document["paths"].values():
        for operation in (item[method] for method in METHODS if method in item):
            for body in _schemas(document, operation.get("requestBody", {})):
                for answer in _answers(document, operation):
                    _allow(document, body, answer)


def _answers(document: Document, operation: Node) -> Iterator[Node]:
    for status, answer in operation["responses"].items():
        if status.startswith("2"):
            yield from _schemas(document, answer)


def _schemas(document: Document, owner: Node) -> list[Node]:
    media = resolve(document, owner).get("content", {}).get("application/json")
    return [media["schema"]] if media else []


def _allow(document: Document, body: Node, answer: Node) -> None:
    """Mark the fields of a body, and those of the objects and lists in it, that the answer can show as null."""
    body = resolve(document, body)
    match body.get("allOf"):
        case [lone]:
            body = resolve(document, lone)
    shown = properties(document, answer)
    if "items" in body:
        _allow(document, body["items"], answer)
    for name, field in body.get("properties", {}).items():
        if name not in shown:
            continue
        if _is_nullable(document, shown[name]) and name not in body.get("required", ()):
            body["properties"][name] = _nullable(document, field)
        _allow(document, field, shown[name])


def _is_nullable(document: Document, schema: Node) -> bool:
    return bool(resolve(document, schema).get("nullable"))


def _nullable(document: Document, schema: Node) -> Node:
    if "$ref" not in schema:
        return schema | {"nullable": True}
    return {"description": resolve(document, schema)["description"], "allOf": [schema], "nullable": True}
