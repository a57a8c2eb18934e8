"""Mistakes that generators of this document once met, put back one by one: the gate must notice each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from contract_tests.surfaces.clients.generators import openapi_generator, openapi_python_client, php
from contract_tests.surfaces.clients.workflows import WORKFLOWS, respect
from contract_tests.surfaces.clients.workshop import Documents, GateError, Tools, Workshop, served
from emulator.document import bundles
from emulator.document.published import LINK_BODY, published
from emulator.document.tree import Document, Schema, map_schemas

Break = Callable[[Document], Document]
Notice = Callable[[Workshop, str], None]


class Breakage(NamedTuple):
    """What is put back into the service's document, and the step of the gate that fails then."""

    put_back: Break
    noticed_by: Notice


def link_bodies(document: Document) -> Document:
    """Links whose body is an object, which openapi-generator rejects."""
    renamed: Document = _renamed(document, {LINK_BODY: "requestBody"})
    return renamed


def _renamed(node: Any, names: dict[str, str]) -> Any:
    if isinstance(node, list):
        return [_renamed(item, names) for item in node]
    if not isinstance(node, dict):
        return node
    return {names.get(key, key): _renamed(value, names) for key, value in node.items()}


def object_defaults(document: Document) -> Document:
    """Defaults that are objects: openapi-python-client leaves out the operations that have one."""

    def change(schema: Schema) -> Schema:
        is_metadata = "MetadataInput" in str(schema.get("allOf", ""))
        return schema | {"default": {}} if is_metadata else schema

    return map_schemas(document, change)


def null_beside_references(document: Document) -> Document:
    """``nullable`` beside a reference, which by the standard does not allow null."""
    return published(bundles.load("service")) | {"servers": document["servers"]}


def patterns_of_instants(document: Document) -> Document:
    """Return a pattern beside ``date-time``, which the PHP client holds an object against."""

    def change(schema: Schema) -> Schema:
        return schema | {"pattern": "^[0-9TZ.:-]+$"} if schema.get("format") == "date-time" else schema

    return map_schemas(document, change)


def workflow(work: Workshop, url: str) -> None:
    """One workflow, by the document of the workshop."""
    control = served(url).control
    [chosen] = [file for file in WORKFLOWS if file.name.startswith("subscribe")]
    respect(work, url, Documents(work.service, control), chosen)


BREAKAGES = (
    Breakage(link_bodies, openapi_generator),
    Breakage(object_defaults, openapi_python_client),
    Breakage(null_beside_references, workflow),
    Breakage(patterns_of_instants, php),
)


def notice(tools: Tools, breakage: Breakage, url: str) -> None:
    """Raise :class:`GateError` if nothing fails with the mistake put back."""
    name = breakage.put_back.__name__
    work = Workshop(tools, f"broken-{name}", breakage.put_back(served(url).service))
    try:
        breakage.noticed_by(work, url)
    except GateError:
        return
    raise GateError(f"{name} was put back, and {breakage.noticed_by.__name__} passed")
