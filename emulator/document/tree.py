"""JSON pointers and references: how one finds a part of an OpenAPI document, and where a ``$ref`` leads.

Pure functions on parsed documents. They import nothing, so that every part of the emulator may use them.
"""

from __future__ import annotations

from typing import Any

Document = dict[str, Any]
Node = dict[str, Any]
"""Any object of a document, such as an operation or a schema."""
Pointer = tuple[str, ...]

COMBINATORS = ("allOf", "anyOf", "oneOf")


class DocumentError(Exception):
    """A mistake in the files of a document; the message names the file and, where there is one, the reference."""


def pointer_of(reference: str) -> Pointer:
    """The steps of a reference within one document: ``#/paths/~1reset`` is ``("paths", "/reset")``."""
    path = reference.partition("#")[2].removeprefix("/")
    return tuple(step.replace("~1", "/").replace("~0", "~") for step in path.split("/")) if path else ()


def fragment(pointer: Pointer) -> str:
    """The pointer as a URI fragment."""
    return "#" + "".join("/" + step.replace("~", "~0").replace("/", "~1") for step in pointer)


def at(node: Any, pointer: Pointer) -> Any:
    """What stands at a pointer. Raises ``LookupError`` or ``TypeError`` where nothing does."""
    for step in pointer:
        node = node[int(step)] if isinstance(node, list) else node[step]
    return node


def exists(node: Any, pointer: Pointer) -> bool:
    """Whether something stands at a pointer."""
    try:
        at(node, pointer)
    except (LookupError, TypeError, ValueError):
        return False
    return True


def resolve(document: Document, node: Any) -> Any:
    """The node itself, or what its ``$ref`` leads to, whatever the number of steps."""
    while "$ref" in node:
        node = at(document, pointer_of(node["$ref"]))
    return node


def inlined(document: Document, node: Any) -> Any:
    """The node with every reference in it replaced by what it leads to. The document has no circles of references."""
    if isinstance(node, list):
        return [inlined(document, part) for part in node]
    if not isinstance(node, dict):
        return node
    return {name: inlined(document, part) for name, part in resolve(document, node).items()}


def properties(document: Document, schema: Node) -> dict[str, Node]:
    """The properties that a schema, or that of its items, declares by itself or through what it combines."""
    schema = resolve(document, schema)
    if "items" in schema:
        return properties(document, schema["items"])
    found: dict[str, Node] = {}
    for word in COMBINATORS:
        for part in schema.get(word, ()):
            found |= properties(document, part)
    found |= schema.get("properties", {})
    return found


def component_name(reference: str) -> str:
    """The name of the component that a reference leads to."""
    return pointer_of(reference)[-1]


def with_links(node: Document) -> Document:
    """The node with a link to each assumption that it cites in its description, where readers of the document see it."""
    cited, description = node.get("x-assumption"), node.get("description")
    if cited is None or not isinstance(description, str):
        return node
    numbers = [cited] if isinstance(cited, str) else cited
    links = ", ".join(f"[{number}](/docs/assumptions#{number})" for number in numbers)
    return node | {"description": f"{description.rstrip()} ({links})"}
