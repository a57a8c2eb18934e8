"""Connexion's part of an application: what it is given of a document, and which layers it stacks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from connexion import ConnexionMiddleware
from connexion.resolver import Resolver
from starlette.types import ASGIApp, Receive, Scope, Send

from emulator.document.tree import Document, at, pointer_of

Definition = Mapping[str, Any]
"""An operation as the document defines it, with every reference replaced by what it refers to."""

ROUTE_KEYS = ("operationId", "security", "x-also")
"""What Connexion, and the router on top of it, needs of an operation."""


def connexion_app(
    document: Document, functions: Mapping[str, Callable[..., Any]], layers: Sequence[Any], **options: Any
) -> ASGIApp:
    """A Connexion application of one document with exactly these layers; ``options`` go to each layer's ``add_api``.

    ``functions`` maps operationIds to functions. The layers get the document's :func:`routes` as the specification
    and, as the option ``definitions``, its operations by operationId.
    """
    app = ConnexionMiddleware(
        _unanswered, import_name="emulator", middlewares=list(layers), resolver=Resolver(functions.__getitem__)
    )
    app.add_api(routes(document), definitions=definitions(document), **options)
    return cast(ASGIApp, app)


async def _unanswered(scope: Scope, receive: Receive, send: Send) -> None:
    """The application that Connexion wraps. The innermost layer answers every request, so none arrives here."""
    raise LookupError(f"no layer answered {scope['method']} {scope['path']}")


def routes(document: Document) -> dict[str, Any]:
    """The document without parameters, bodies and answers, which the compiled operations check themselves.

    Connexion validates and copies whatever document it is given, in Python. With all schemas that would take several
    times as long as the rest of a start, to learn what the tests of the document have established already.
    """
    return {
        "openapi": document["openapi"],
        "info": {"title": document["info"]["title"], "version": document["info"]["version"]},
        "servers": [{"url": server["url"]} for server in document.get("servers", [])],
        "security": document.get("security", []),
        "paths": {
            path: {method: _route(operation) for method, operation in _operations(item)}
            for path, item in document["paths"].items()
        },
        "components": {"securitySchemes": document["components"]["securitySchemes"]},
    }


def _route(operation: Definition) -> dict[str, Any]:
    # OpenAPI requires a response of every operation; an extension in its place is valid and the quickest to validate.
    return {key: operation[key] for key in ROUTE_KEYS if key in operation} | {"responses": {"x-none": {}}}


def definitions(document: Document) -> dict[str, Definition]:
    """The definition of each operation by its operationId; the parameters of its path are among its own."""
    resolve = _Resolver(document)
    return {
        operation["operationId"]: resolve.node(
            {**operation, "parameters": [*item.get("parameters", []), *operation.get("parameters", [])]}
        )
        for item in document["paths"].values()
        for _, operation in _operations(item)
    }


def _operations(item: Mapping[str, Any]) -> list[tuple[str, Definition]]:
    """The operations of a path by method; beside them stand parameters, which are a list, and texts."""
    return [(method, operation) for method, operation in item.items() if isinstance(operation, dict)]


_PROSE = frozenset(["description", "summary", "example", "examples", "links", "x-webhooks", "tags", "x-assumption"])
"""Keywords that only people and the document's other readers use; left out, which saves memory."""


class _Resolver:
    """Replaces references; a component that several operations refer to is resolved once and shared."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._components: dict[str, Any] = {}

    def node(self, node: Any) -> Any:
        """The node with its references replaced, and without what only people read."""
        if isinstance(node, list):
            return [self.node(part) for part in node]
        if not isinstance(node, dict):
            return node
        if "$ref" in node:
            return self._component(node["$ref"])
        resolved = {key: self.node(part) for key, part in node.items() if key not in _PROSE and key != "properties"}
        if isinstance(node.get("properties"), dict):
            # The names below "properties" are fields, which may be called like a keyword.
            resolved["properties"] = {name: self.node(part) for name, part in node["properties"].items()}
        return resolved

    def _component(self, reference: str) -> Any:
        if reference not in self._components:
            component = at(self._document, pointer_of(reference))
            self._components[reference] = self.node(component)
        return self._components[reference]
