"""Events in the documents: webhooks, schemas and enumerations made from the table of events.

``webhook.test`` is written in the files. The webhook and the schema of every other event are made
in its likeness.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from string import ascii_lowercase, ascii_uppercase
from typing import Any

from emulator.core.event_types import EVENTS, EventSpec
from emulator.document.tree import (
    Document,
    DocumentError,
    Node,
    map_parts,
    resolve,
    with_links,
    without,
)

MODEL = "webhook.test"
JSON = "application/json"

EXAMPLES = "x-event-examples"
"""The particulars of each event's example."""

AT, REQUEST = "2026-01-15T09:31:00.000Z", "req_7Hq2LmX9vB4tKz1NcR8wPd5s"
"""The instant of an example and the request that causes it, unless the example has others."""

EACH_EVENT, EACH_KIND = "x-each-event", "x-each-kind"
"""Entries of an enumeration that stand for every event of the table and every kind of object."""

_LETTERS = ascii_uppercase + ascii_lowercase
"""They make the ids of the examples different."""


def with_events(document: Document) -> Document:
    """Return the document with a webhook and a schema for each event of the table."""
    components, model = document["components"], document["x-webhooks"][MODEL]["post"]
    hooks: dict[str, Node] = {}
    schemas = {**components["schemas"]}
    for letter, (type, spec) in zip(_LETTERS, EVENTS.items(), strict=False):
        object_schema = {"$ref": f"#/components/schemas/{camel(spec.object)}"}
        example = _example(document, type, object_schema, letter)
        hooks[type] = {"post": _webhook(model, type, spec, example)}
        schemas[_schema_name(type)] = _schema(
            schemas[_schema_name(MODEL)], type, spec, object_schema
        )
    return without(document, EXAMPLES) | {
        "x-webhooks": hooks | document["x-webhooks"],
        "components": {**components, "schemas": dict(sorted(schemas.items()))},
    }


def _schema(model: Node, type: str, spec: EventSpec, object_schema: Node) -> Node:
    base, own = model["allOf"]
    fields: Node = {"object": object_schema}
    if spec.metadata:
        carried = {"$ref": "#/components/schemas/CarriedMetadata"}
        fields["metadata"] = {"description": spec.metadata, "allOf": [carried]}
    properties = {
        "type": {**own["properties"]["type"], "enum": [type]},
        "data": {**own["properties"]["data"], "properties": fields},
    }
    whole = {
        **model,
        "description": spec.meaning,
        "allOf": [base, {**own, "properties": properties}],
    }
    return with_links(whole | {"x-assumption": "B-80"})


def _webhook(model: Node, type: str, spec: EventSpec, example: Node) -> Node:
    media = {"schema": {"$ref": f"#/components/schemas/{_schema_name(type)}"}, "example": example}
    body = {**model["requestBody"], "content": {JSON: media}}
    own = {
        "summary": spec.summary,
        "description": spec.meaning,
        "requestBody": body,
        "x-assumption": spec.assumption,
    }
    return with_links({key: value for key, value in {**model, **own}.items() if value is not None})


def _example(document: Document, type: str, object_schema: Node, letter: str) -> Node:
    own: Node = {"created_at": AT, "request": REQUEST} | document[EXAMPLES].get(type, {})
    data: Node = {"object": _example_of(document, type, object_schema) | own.pop("object", {})}
    if metadata := own.pop("metadata", None):
        data["metadata"] = metadata
    envelope: Node = document["x-webhooks"][MODEL]["post"]["requestBody"]["content"][JSON][
        "example"
    ]
    return (
        envelope
        | {"id": f"evt_{letter}Zc4vB7nM0aS3dF6gH9jK2lQ", "type": type}
        | own
        | {"data": data}
    )


def _example_of(document: Document, type: str, object_schema: Node) -> Node:
    """Return the example of a GET that shows an object of the event's kind."""
    for item in document["paths"].values():
        response = resolve(document, item.get("get", {}).get("responses", {}).get("200", {}))
        media = response.get("content", {}).get(JSON, {})
        if media.get("schema") == object_schema:
            example: Node = media["example"]
            return example
    raise DocumentError(
        f"the event {type} shows {object_schema['$ref']}, which no GET has an example of"
    )


def with_enumerations(node: Any, values: Mapping[str, Iterable[str]]) -> Any:
    """Return a copy with the placeholders of enumerations, such as ``x-each-event``, expanded."""
    copy = map_parts(node, lambda part: with_enumerations(part, values))
    if isinstance(copy, dict) and isinstance(copy.get("enum"), list):
        copy["enum"] = [value for entry in copy["enum"] for value in values.get(entry, [entry])]
    return copy


def object_kinds(document: Document) -> list[str]:
    """Return a document's object kinds: all schemas with an id and an ``object`` tag."""
    properties = (
        schema.get("properties", {}) for schema in document["components"]["schemas"].values()
    )
    tags = (
        own["object"]["enum"]
        for own in properties
        if "id" in own and "enum" in own.get("object", {})
    )
    return sorted({tag for [tag] in tags})


def _schema_name(type: str) -> str:
    """Return ``PaymentIntentSucceededEvent``, say, for the event ``payment_intent.succeeded``."""
    return camel(type.replace(".", "_")) + "Event"


def camel(words: str) -> str:
    return "".join(word.capitalize() for word in words.split("_"))
