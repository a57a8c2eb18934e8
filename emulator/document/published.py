"""Makes of a document as it is written the one that is served: what every reader and generator of OpenAPI can use.

The server validates requests by the document as it is written. What is served says the same with standard keywords,
without the few constructions that widely used generators reject.
"""

from __future__ import annotations

import json
from typing import Any

from emulator.document.schema_walk import WEBHOOKS, Schema, map_schemas
from emulator.document.tree import Document, Node

ANY_EVENT = "AnyEvent"
LINK_BODY = "x-request-body"
"""Where the body of a link stands. openapi-generator rejects a ``requestBody`` that is not a string."""

INSTEAD = "x-use-instead"
"""Beside ``x-sandbox-only``: what a client of the real service uses instead of the operation."""


def published(document: Document) -> Document:
    """The document as it is served, still in the form of 3.0 that the YAML files have."""
    whole = map_schemas(document, _schema)
    whole["info"] = {**whole["info"], "contact": {"name": "payments-emulator"}}
    whole["paths"] = _with_marks(whole)
    whole = without_link_bodies(whole)
    return with_any_event(whole) if WEBHOOKS in whole else whole


def _schema(schema: Schema) -> Schema:
    for step in (_instant, _default):
        schema = step(schema)
    return schema


def _instant(schema: Schema) -> Schema:
    """Without the pattern of an instant: the PHP client holds the object that it made of the text against it."""
    return {k: v for k, v in schema.items() if k != "pattern"} if schema.get("format") == "date-time" else schema


def _default(schema: Schema) -> Schema:
    """A default as a sentence: openapi-typescript takes a field with ``default`` for one that is always there.

    Generators reject one that is an object, and one beside a reference.
    """
    if "default" not in schema:
        return schema
    rest = {key: value for key, value in schema.items() if key != "default"}
    said = f"Default: `{json.dumps(schema['default'], ensure_ascii=False)}`."
    return rest | {"description": f"{schema.get('description', '')} {said}".strip(), "x-default": schema["default"]}


def _with_marks(document: Document) -> Node:
    """The paths, with the mark of a sandbox extension on each operation and not only on its tag."""
    marks = {tag["name"]: tag for tag in document.get("tags", ()) if tag.get("x-sandbox-only")}
    return {
        path: {key: _marked(value, marks) for key, value in item.items()} for path, item in document["paths"].items()
    }


def _marked(operation: Any, marks: Node) -> Any:
    tags = operation.get("tags", ()) if isinstance(operation, dict) else ()
    for tag in (marks[name] for name in tags if name in marks):
        sentence = f"For sandbox keys only. {tag.get(INSTEAD, '')}".strip()
        about = f"{operation.get('description', '').strip()}\n\n{sentence}".strip()
        mark = {"description": about, "x-sandbox-only": True}
        return operation | mark | ({INSTEAD: tag[INSTEAD]} if INSTEAD in tag else {})
    return operation


def without_link_bodies(node: Any) -> Any:
    """A copy in which the body of each link stands under ``x-request-body``."""
    if isinstance(node, list):
        return [without_link_bodies(item) for item in node]
    if not isinstance(node, dict):
        return node
    return {
        key: {name: _link(link) for name, link in value.items()}
        if key == "links" and isinstance(value, dict)
        else without_link_bodies(value)
        for key, value in node.items()
    }


def _link(link: Any) -> Any:
    return {LINK_BODY if key == "requestBody" else key: value for key, value in link.items()}


def with_any_event(document: Document) -> Document:
    """The document with a schema for any event, with ids for the webhooks, and with the callback of createWebhook."""
    hooks = {type: {"post": {"operationId": hook_id(type)} | item["post"]} for type, item in document[WEBHOOKS].items()}
    refs = {type: item["post"]["requestBody"]["content"]["application/json"]["schema"] for type, item in hooks.items()}
    mapping = {type: ref["$ref"] for type, ref in refs.items()}
    any_event = {
        "description": "Any event, as it is delivered; `type` says which.",
        "oneOf": list(refs.values()),
        "discriminator": {"propertyName": "type", "mapping": mapping},
    }
    components = document["components"]
    schemas = dict(sorted((components["schemas"] | {ANY_EVENT: any_event}).items()))
    return document | {
        WEBHOOKS: hooks,
        "components": components | {"schemas": schemas},
        "paths": _with_callback(document["paths"], next(iter(hooks.values()))["post"]),
    }


def hook_id(type: str) -> str:
    """``payment_intent.succeeded`` is ``onPaymentIntentSucceeded``."""
    return "on" + "".join(word.capitalize() for word in type.replace(".", "_").split("_"))


def _with_callback(paths: Node, model: Node) -> Node:
    content = {"application/json": {"schema": {"$ref": f"#/components/schemas/{ANY_EVENT}"}}}
    receive = model | {
        "operationId": "receiveEvent",
        "summary": "An event is delivered",
        "description": "Sent to the endpoint for each event that it subscribes to.",
        "requestBody": {"required": True, "content": content},
        "responses": model["responses"] | {"4XX": {"description": "The delivery failed."}},
    }
    receive = {key: value for key, value in receive.items() if key != "x-assumption"}
    path = "/webhooks/"
    create = paths[path]["post"] | {"callbacks": {"event": {"{$request.body#/url}": {"post": receive}}}}
    return paths | {path: paths[path] | {"post": create}}
