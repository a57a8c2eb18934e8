"""Connexion as we use it: given a document that the tests have validated, without what only people read in it."""

from __future__ import annotations

from functools import reduce
from operator import getitem
from typing import Any, cast

from connexion import AsyncApp
from connexion.middleware.main import API
from connexion.resolver import Resolver
from connexion.spec import OpenAPISpecification


class FinishedSpecification(OpenAPISpecification):
    """A document with nothing left to do: the tests validate every bundle, and :func:`lean` has followed references.

    To have Connexion do both, and copy the document twice, would take a third of the start.
    """

    def __init__(self, document: dict[str, Any], *, base_uri: str = "") -> None:
        self._raw_spec = self._spec = document
        self._base_uri = base_uri


_PROSE = frozenset(["description", "summary", "example", "examples", "links", "x-webhooks", "tags", "x-assumption"])


def lean(document: dict[str, Any]) -> dict[str, Any]:
    """A document without what only people read, and without references: each is replaced by the part it means."""
    # Of the components the references bring what is needed; who may do what is found by name.
    components = {"securitySchemes": document["components"]["securitySchemes"]}
    return cast("dict[str, Any]", _Lean(document).walk({**document, "components": components}))


class _Lean:
    """One walk through a document. What is referred to several times is walked once and shared."""

    def __init__(self, document: dict[str, Any]) -> None:
        self._document = document
        self._parts: dict[str, Any] = {}

    def walk(self, node: Any) -> Any:
        if isinstance(node, list):
            return [self.walk(part) for part in node]
        if not isinstance(node, dict):
            return node
        if "$ref" in node:
            return self._part(node["$ref"])
        kept = {key: self.walk(value) for key, value in node.items() if key not in _PROSE and key != "properties"}
        if isinstance(node.get("properties"), dict):
            kept["properties"] = {name: self.walk(part) for name, part in node["properties"].items()}
        return kept

    def _part(self, reference: str) -> Any:
        if reference not in self._parts:
            part = reduce(getitem, reference.removeprefix("#/").split("/"), self._document)
            self._parts[reference] = self.walk(part)
        return self._parts[reference]


def connexion_app(document: dict[str, Any], middlewares: list[Any], resolver: Resolver, **options: Any) -> AsyncApp:
    """A Connexion application of one document with just these layers; ``options`` go to the layers.

    This is ``AsyncApp.add_api`` for a document that is finished.
    """
    app = AsyncApp("emulator", middlewares=middlewares, resolver=resolver)
    shared = vars(app.middleware.options)
    app.middleware.apis.append(
        API(FinishedSpecification(lean(document)), base_path=None, name=None, **shared, **options)
    )
    return app
