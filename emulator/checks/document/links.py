"""The operations of an OpenAPI document, and the links from their successful responses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from emulator.checks.document.format_strategies import VALID
from emulator.document import tree
from emulator.document.tree import CONDITIONS, Document, at, forbid, map_texts, pointer_of, resolve


class Operation(NamedTuple):
    """One operation; ``node`` is its OpenAPI object."""

    id: str
    method: str
    path: str
    node: dict[str, Any]


class Link(NamedTuple):
    """One link: the values that a response of ``source`` passes to ``target``."""

    name: str
    source: Operation
    target: Operation
    node: dict[str, Any]


def operations(document: Document) -> dict[str, Operation]:
    every = (
        Operation(node["operationId"], method.upper(), path, node)
        for path, method, node in tree.operations(document)
    )
    return {operation.id: operation for operation in every}


def is_usable(document: object) -> bool:
    """Return whether it is an OpenAPI 3.0 document with an operationId for each operation."""
    if not isinstance(document, dict) or not str(document.get("openapi")).startswith("3.0."):
        return False
    every = [node for _, _, node in tree.operations({"paths": {}, **document})]
    return bool(every) and all("operationId" in node for node in every)


def links(document: Document) -> Iterator[Link]:
    known = operations(document)
    for source in known.values():
        for status, response in source.node["responses"].items():
            for name, link in resolve(document, response).get("links", {}).items():
                node = resolve(document, link)
                yield Link(f"{source.id} {status} {name}", source, known[node["operationId"]], node)


def filled_in(value: object, response: object) -> Any:
    """Return a link's value with its runtime expressions evaluated on the JSON of a response."""
    own = "$response.body#/"
    return map_texts(
        value, lambda text: at(response, pointer_of(text)) if text.startswith(own) else text
    )


def with_standard_keywords(node: object) -> Any:
    """Return the document with ``x-key-minLength`` and ``x-conditions`` as JSON Schema has them.

    A format that has texts of its own has no ``pattern``: schemathesis would make texts of the
    pattern alone, such as a country ``AA``, or a security profile's address that locks every later
    request out.
    """
    if isinstance(node, list):
        return [with_standard_keywords(part) for part in node]
    if not isinstance(node, dict):
        return node
    schema = {name: with_standard_keywords(part) for name, part in node.items()}
    if any(schema.get("format") == name for name in VALID):
        schema.pop("pattern", None)
    if "x-key-minLength" in schema:
        values = schema["additionalProperties"]
        schema["patternProperties"] = {f"^[\\s\\S]{{{schema['x-key-minLength']},}}$": values}
        schema["additionalProperties"] = False
    return forbid(schema) if CONDITIONS in schema else schema


def headers(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}
