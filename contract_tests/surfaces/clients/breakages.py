"""Mistakes that generators of this document once met, put back one by one: the gate must notice each."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from contract_tests.surfaces.clients.generators import openapi_python_client, orval
from contract_tests.surfaces.clients.workflows import WORKFLOWS, respect
from contract_tests.surfaces.clients.workshop import Documents, GateError, Tools, Workshop, served
from emulator.document import bundles
from emulator.document.published import NULL, published
from emulator.document.tree import Document, Schema, map_schemas

Break = Callable[[Document], Document]
Notice = Callable[[Workshop, str], None]


class Breakage(NamedTuple):
    """What is put back into the service's document, and the step of the gate that fails then."""

    put_back: Break
    noticed_by: Notice


def object_defaults(document: Document) -> Document:
    """Defaults that are objects: openapi-python-client leaves out the operations that have one."""

    def change(schema: Schema) -> Schema:
        is_metadata = "MetadataInput" in str(schema.get("allOf", ""))
        return schema | {"default": {}} if is_metadata else schema

    return map_schemas(document, change)


def null_beside_references(document: Document) -> Document:
    """``nullable`` beside a reference, which by the standard does not allow null."""
    return published(bundles.load("service")) | {"servers": document["servers"]}


def null_as_alternative(document: Document) -> Document:
    """Null as one of two alternatives, of which orval makes code that does not compile."""
    field = {"anyOf": [{"$ref": "#/components/schemas/Address"}, NULL]}
    schemas = document["components"]["schemas"]
    customer = schemas["Customer"]
    customer = customer | {"properties": customer["properties"] | {"address": field}}
    return document | {"components": document["components"] | {"schemas": schemas | {"Customer": customer}}}


def workflow(work: Workshop, url: str) -> None:
    """One workflow, by the document of the workshop."""
    control = served(url).control
    [chosen] = [file for file in WORKFLOWS if file.name.startswith("subscribe")]
    respect(work, url, Documents(work.service, control), chosen)


BREAKAGES = (
    Breakage(object_defaults, openapi_python_client),
    Breakage(null_beside_references, workflow),
    Breakage(null_as_alternative, orval),
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
