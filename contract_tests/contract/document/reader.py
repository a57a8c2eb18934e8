"""A reader of OpenAPI documents: hands out their parts with JSON pointers to their places."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from emulator.document.tree import Document, Pointer, at, pointer_of

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
COMBINATORS = ("allOf", "anyOf", "oneOf")
PAYLOADS = frozenset({"example", "examples"})


class Part(NamedTuple):
    """One object of the document and its place."""

    pointer: Pointer
    node: Any


class Operation(NamedTuple):
    method: str
    path: str
    pointer: Pointer
    node: dict[str, Any]

    @property
    def name(self) -> str:
        return f"{self.method} {self.path}"


class Example(NamedTuple):
    """One example and the schema it is an example of."""

    pointer: Pointer
    schema: Pointer
    value: Any


def resolved(document: Document, part: Part) -> Part:
    while isinstance(part.node, dict) and "$ref" in part.node:
        target = pointer_of(part.node["$ref"])
        part = Part(target, at(document, target))
    return part


def operations(document: Document, under: str = "paths") -> Iterator[Operation]:
    for path, item in document.get(under, {}).items():
        for method in METHODS:
            if method in item:
                yield Operation(method.upper(), path, (under, path, method), item[method])


def parts(document: Document) -> Iterator[Part]:
    """Yield every object of the document down to, but without, schemas and example values."""
    yield from _parts(Part((), document))


def _parts(part: Part) -> Iterator[Part]:
    yield part
    for key, child in _children(part):
        if not _leads_out(part.pointer, key):
            yield from _parts(Part((*part.pointer, key), child))


def _children(part: Part) -> Iterator[tuple[str, Any]]:
    items = part.node.items() if isinstance(part.node, dict) else enumerate(part.node)
    yield from ((str(key), child) for key, child in items if isinstance(child, dict | list))


def _leads_out(pointer: Pointer, key: str) -> bool:
    is_extension = key.startswith("x-") and key != "x-webhooks"
    return (
        is_extension
        or key == "schema"
        or key in PAYLOADS
        or (*pointer, key) == ("components", "schemas")
    )


def schemas(document: Document) -> Iterator[Part]:
    """Yield every schema of the document, nested ones too; references are schemas as well."""
    for name, schema in document["components"]["schemas"].items():
        yield from _schemas(Part(("components", "schemas", name), schema))
    for pointer, node in parts(document):
        if isinstance(node, dict) and "schema" in node:
            yield from _schemas(Part((*pointer, "schema"), node["schema"]))


def _schemas(part: Part) -> Iterator[Part]:
    yield part
    for child in subschemas(part):
        yield from _schemas(child)


def subschemas(part: Part) -> Iterator[Part]:
    pointer, schema = part
    for name, child in schema.get("properties", {}).items():
        yield Part((*pointer, "properties", name), child)
    for key in ("items", "additionalProperties", "not"):
        if isinstance(schema.get(key), dict):
            yield Part((*pointer, key), schema[key])
    yield from alternatives(part)


def alternatives(part: Part) -> Iterator[Part]:
    for key in COMBINATORS:
        for number, child in enumerate(part.node.get(key, ())):
            yield Part((*part.pointer, key, str(number)), child)


def properties(document: Document, schema: Part) -> dict[str, Part]:
    """Return a schema's properties: its own, and those it combines or refers to."""
    pointer, node = resolved(document, schema)
    collected: dict[str, Part] = {}
    for child in alternatives(Part(pointer, node)):
        collected |= properties(document, child)
    own = {
        name: Part((*pointer, "properties", name), child)
        for name, child in node.get("properties", {}).items()
    }
    return collected | own


def flat(document: Document, part: Part) -> Part:
    """Return a schema with the keywords of the one that it refers to or combines with its own."""
    pointer, node = resolved(document, part)
    combined = (
        [flat(document, alternative).node for alternative in alternatives(Part(pointer, node))]
        if "allOf" in node
        else []
    )
    return Part(pointer, {key: value for part in (*combined, node) for key, value in part.items()})


def examples(document: Document) -> Iterator[Example]:
    """Yield every example of the document: of media types, parameters, headers and schemas."""
    for pointer, node in parts(document):
        if isinstance(node, dict) and "schema" in node:
            yield from _examples(document, Part(pointer, node), (*pointer, "schema"))
    for pointer, schema in schemas(document):
        yield from _examples(document, Part(pointer, schema), pointer)


def _examples(document: Document, part: Part, schema: Pointer) -> Iterator[Example]:
    pointer, node = part
    if "example" in node:
        yield Example((*pointer, "example"), schema, node["example"])
    for name, example in node.get("examples", {}).items():
        place = resolved(document, Part((*pointer, "examples", name), example))
        yield Example((*place.pointer, "value"), schema, place.node["value"])


def responses(document: Document, operation: Operation) -> Iterator[tuple[str, Part]]:
    """Yield the responses of an operation as (status, response)."""
    for status, response in operation.node["responses"].items():
        yield status, resolved(document, Part((*operation.pointer, "responses", status), response))


def parameters(document: Document, operation: Operation) -> Iterator[dict[str, Any]]:
    for owner in (operation.pointer[:-1], operation.pointer):
        for number, parameter in enumerate(at(document, owner).get("parameters", ())):
            yield resolved(document, Part((*owner, "parameters", str(number)), parameter)).node


def request_schema(document: Document, operation: Operation) -> Part | None:
    """Return the schema of an operation's JSON body, if it takes one."""
    if "requestBody" not in operation.node:
        return None
    pointer, body = resolved(
        document, Part((*operation.pointer, "requestBody"), operation.node["requestBody"])
    )
    return Part(
        (*pointer, "content", "application/json", "schema"),
        body["content"]["application/json"]["schema"],
    )
