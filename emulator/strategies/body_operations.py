"""The operations that have a JSON body, with the schema of the body, every reference in it resolved."""

from __future__ import annotations

from typing import Any, NamedTuple

from emulator.document import bundles
from emulator.document.tree import Node, inlined, resolve

METHODS = ("post", "patch", "put")


class BodyOperation(NamedTuple):
    """One operation: ``path`` as in the document, without ``/v1``; ``schema`` is that of its JSON body."""

    name: str
    method: str
    path: str
    schema: Node


def _merged(node: Any) -> Any:
    """A schema with each ``allOf`` merged into what stands beside it."""
    if isinstance(node, list):
        return [_merged(part) for part in node]
    if not isinstance(node, dict):
        return node
    plain = {name: _merged(part) for name, part in node.items()}
    for part in plain.pop("allOf", ()):
        plain = {**part, **plain}
    return plain


def _operations() -> dict[str, BodyOperation]:
    document = bundles.load("service")
    found = {}
    for path, item in document["paths"].items():
        for method in METHODS:
            if "requestBody" in item.get(method, {}):
                body = resolve(document, item[method]["requestBody"])
                schema = _merged(inlined(document, body["content"]["application/json"]["schema"]))
                name = item[method]["operationId"]
                found[name] = BodyOperation(name, method.upper(), path, schema)
    return found


OPERATIONS = _operations()
"""By operationId, in the order of the document."""
