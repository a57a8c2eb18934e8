"""Connexion as we use it: given a document that the tests have validated, without what only people read in it."""

from __future__ import annotations

from typing import Any

from connexion import AsyncApp
from connexion.middleware.main import API
from connexion.resolver import Resolver
from connexion.spec import OpenAPISpecification


class ValidatedSpecification(OpenAPISpecification):
    """A document that is known to be in order: validating it again would take half of the start."""

    @classmethod
    def _validate_spec(cls, spec: dict[str, Any]) -> None:
        """The tests run openapi-spec-validator on every bundle."""


_PROSE = frozenset(["description", "summary", "example", "examples", "links", "x-webhooks", "tags", "x-assumption"])


def lean(node: Any) -> Any:
    """A document without what only people read; Connexion copies and walks all of it several times."""
    if isinstance(node, list):
        return [lean(part) for part in node]
    if not isinstance(node, dict):
        return node
    kept = {key: lean(value) for key, value in node.items() if key not in _PROSE and key != "properties"}
    if isinstance(node.get("properties"), dict):
        kept["properties"] = {name: lean(part) for name, part in node["properties"].items()}
    return kept


def connexion_app(document: dict[str, Any], middlewares: list[Any], resolver: Resolver, **options: Any) -> AsyncApp:
    """A Connexion application of one document with just these layers; ``options`` go to the layers.

    This is ``AsyncApp.add_api`` without its validation of the document.
    """
    app = AsyncApp("emulator", middlewares=middlewares, resolver=resolver)
    shared = vars(app.middleware.options)
    app.middleware.apis.append(
        API(ValidatedSpecification(lean(document)), base_path=None, name=None, **shared, **options)
    )
    return app
