"""The operations of an OpenAPI document, and the links between them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from emulator.checks.document.format_strategies import VALID
from emulator.document.conditions import CONDITIONS, forbid
from emulator.document.tree import Document, resolve

METHODS = ("get", "put", "post", "delete", "patch")


class Operation(NamedTuple):
    """One operation; ``node`` is its OpenAPI object."""

    id: str
    method: str
    path: str
    node: dict[str, Any]

    @property
    def is_endless(self) -> bool:
        """Whether its response is a stream without an end."""
        return "text/event-stream" in self.node["responses"].get("200", {}).get("content", {})


class Link(NamedTuple):
    """One link: the values that a response of ``source`` passes to ``target``."""

    name: str
    source: Operation
    target: Operation
    node: dict[str, Any]


def operations(document: Document) -> dict[str, Operation]:
    """All operations by id."""
    every = (
        Operation(item[method]["operationId"], method.upper(), path, item[method])
        for path, item in document["paths"].items()
        for method in METHODS
        if method in item
    )
    return {operation.id: operation for operation in every}


def is_usable(document: Any) -> bool:
    """Whether it is an OpenAPI 3.0 document with an operationId for each operation."""
    if not isinstance(document, dict) or not str(document.get("openapi")).startswith("3.0."):
        return False
    every = [item[method] for item in document.get("paths", {}).values() for method in METHODS if method in item]
    return bool(every) and all("operationId" in node for node in every)


def links(document: Document) -> Iterator[Link]:
    """All links of all responses."""
    known = operations(document)
    for source in known.values():
        for status, answer in source.node["responses"].items():
            for name, link in resolve(document, answer).get("links", {}).items():
                node = resolve(document, link)
                yield Link(f"{source.id} {status} {name}", source, known[node["operationId"]], node)


def filled_in(value: Any, answer: Any) -> Any:
    """A link's value with its runtime expressions evaluated on the JSON of a response."""
    if isinstance(value, dict):
        return {name: filled_in(part, answer) for name, part in value.items()}
    if isinstance(value, list):
        return [filled_in(part, answer) for part in value]
    if isinstance(value, str) and value.startswith("$response.body#/"):
        for step in value.removeprefix("$response.body#/").split("/"):
            answer = answer[int(step) if isinstance(answer, list) else step]
        return answer
    return value


def with_standard_keywords(node: Any) -> Any:
    """The document with ``x-key-minLength`` and ``x-conditions`` as JSON Schema has them.

    A format that has texts of its own has no ``pattern``: schemathesis would make texts of the pattern alone, such as a
    country ``AA``, or a security profile's address that locks every later request out.
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
