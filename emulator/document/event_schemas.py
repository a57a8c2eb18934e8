"""Events in the documents: the webhooks and schemas that are made from the table of events, and enumerations of them.

``webhook.test`` is written in the files. The webhook and the schema of every other event are made in its likeness.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from string import ascii_lowercase, ascii_uppercase
from typing import Any

from emulator.core.event_types import EVENTS, EventSpec
from emulator.document.tree import Document, DocumentError, Node, resolve, with_links

MODEL = "webhook.test"
JSON = "application/json"

EXAMPLES = "x-event-examples"
"""What is particular to the example of each event."""

AT, REQUEST = "2026-01-15T09:31:00.000Z", "req_7Hq2LmX9vB4tKz1NcR8wPd5s"
"""When an example happens, and the request that causes it, unless something else is written."""

EACH_EVENT, EACH_KIND = "x-each-event", "x-each-kind"
"""Entries of an enumeration that stand for every event of the table, and for every kind of object."""

_LETTERS = ascii_uppercase + ascii_lowercase
"""They make the ids of the examples different."""


def with_events(document: Document) -> Document:
    """Return the document with a webhook and a schema for each event of the table."""
    rows = enumerate(EVENTS.items())
    events = [_DocumentedEvent(document, type, spec, _LETTERS[number]) for number, (type, spec) in rows]
    components = document["components"]
    schemas = components["schemas"] | {event.schema_name: event.schema() for event in events}
    return {
        **{key: part for key, part in document.items() if key != EXAMPLES},
        "x-webhooks": {event.type: {"post": event.webhook()} for event in events} | document["x-webhooks"],
        "components": {**components, "schemas": dict(sorted(schemas.items()))},
    }


def with_enumerations(node: Any, values: Mapping[str, Iterable[str]]) -> Any:
    """Return a copy in which an entry such as ``x-each-event`` of an enumeration is replaced by what it stands for."""
    if isinstance(node, list):
        return [with_enumerations(item, values) for item in node]
    if not isinstance(node, dict):
        return node
    copy = {key: with_enumerations(value, values) for key, value in node.items()}
    if isinstance(copy.get("enum"), list):
        copy["enum"] = [value for entry in copy["enum"] for value in values.get(entry, [entry])]
    return copy


def object_kinds(document: Document) -> list[str]:
    """Return the kinds of the objects that a document has: those of every schema with an id and an ``object`` tag."""
    properties = (schema.get("properties", {}) for schema in document["components"]["schemas"].values())
    tags = (own["object"]["enum"] for own in properties if "id" in own and "enum" in own.get("object", {}))
    return sorted({tag for [tag] in tags})


class _DocumentedEvent:
    """One row of the table as the document shows it."""

    def __init__(self, document: Document, type: str, spec: EventSpec, letter: str) -> None:
        self.type = type
        self.schema_name = _schema_name(type)
        self._document = document
        self._schemas: Node = document["components"]["schemas"]
        self._spec = spec
        self._letter = letter
        self._object = {"$ref": f"#/components/schemas/{_camel(spec.object)}"}

    def schema(self) -> Node:
        model = self._schemas[_schema_name(MODEL)]
        base, own = model["allOf"]
        fields: Node = {"object": self._object}
        if self._spec.metadata:
            carried = {"$ref": "#/components/schemas/CarriedMetadata"}
            fields["metadata"] = {"description": self._spec.metadata, "allOf": [carried]}
        properties = {
            "type": {**own["properties"]["type"], "enum": [self.type]},
            "data": {**own["properties"]["data"], "properties": fields},
        }
        whole = {**model, "description": self._spec.meaning, "allOf": [base, {**own, "properties": properties}]}
        return with_links(whole | {"x-assumption": "B-80"})

    def webhook(self) -> Node:
        model = {key: value for key, value in self._model().items() if key != "x-assumption"}
        media = {"schema": {"$ref": f"#/components/schemas/{self.schema_name}"}, "example": self._example()}
        body = {**model["requestBody"], "content": {JSON: media}}
        about = {"summary": self._spec.summary, "description": self._spec.meaning}
        return with_links({**model, **about, "requestBody": body})

    def _model(self) -> Node:
        model: Node = self._document["x-webhooks"][MODEL]["post"]
        return model

    def _example(self) -> Node:
        own: Node = {"created_at": AT, "request": REQUEST} | self._document[EXAMPLES].get(self.type, {})
        data: Node = {"object": self._object_example() | own.pop("object", {})}
        if metadata := own.pop("metadata", None):
            data["metadata"] = metadata
        envelope: Node = self._model()["requestBody"]["content"][JSON]["example"]
        return envelope | {"id": f"evt_{self._letter}Zc4vB7nM0aS3dF6gH9jK2lQ", "type": self.type} | own | {"data": data}

    def _object_example(self) -> Node:
        for item in self._document["paths"].values():
            answer = resolve(self._document, item.get("get", {}).get("responses", {}).get("200", {}))
            media = answer.get("content", {}).get(JSON, {})
            if media.get("schema") == self._object:
                example: Node = media["example"]
                return example
        raise DocumentError(f"the event {self.type} shows {self._object['$ref']}, which no GET has an example of")


def _schema_name(type: str) -> str:
    """Return the name of an event's schema: ``PaymentIntentSucceededEvent`` for ``payment_intent.succeeded``."""
    return _camel(type.replace(".", "_")) + "Event"


def _camel(words: str) -> str:
    return "".join(word.capitalize() for word in words.split("_"))
