"""The contract: says of any answer whether the document allows it, by the tests' own means and not by the server's.

It is stricter than the published document: an object that declares its properties may have no others.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from contract_tests.document.judges import Judge
from contract_tests.document.reader import Document, Operation, Part, operations, resolved, responses
from emulator.document import store

ROUTING_ANSWERS = {404, 405}
"""Statuses that the stack gives where there is no operation."""


def closed(document: Document) -> Document:
    """The document with every object schema closed that is not combined with another one."""
    strict = copy.deepcopy(document)
    combined = _combined(strict)
    for name, schema in strict["components"]["schemas"].items():
        if name not in combined and "allOf" not in schema:
            _close(schema)
    return strict


def _combined(node: Any) -> set[str]:
    """The names of the schemas that stand within an ``allOf`` of several."""
    if isinstance(node, list):
        return set().union(*map(_combined, node))
    if not isinstance(node, dict):
        return set()
    parts = node.get("allOf", [])
    here = {part["$ref"].rsplit("/", 1)[1] for part in parts if "$ref" in part} if len(parts) > 1 else set()
    return here.union(*map(_combined, node.values()))


def _close(schema: Any) -> None:
    if "properties" in schema:
        schema.setdefault("additionalProperties", False)
    for part in schema.get("properties", {}).values():
        _close(part)
    if "items" in schema:
        _close(schema["items"])


class Contract:
    """One document, closed, as a judge of answers."""

    def __init__(self, name: str) -> None:
        self.document = closed(store.load(name))
        self.base_path = urlsplit(self.document["servers"][0]["url"]).path
        self.judge = Judge(self.document)
        self.operations = list(operations(self.document))

    def operation(self, method: str, path: str) -> Operation | None:
        """The operation a request is for; literal segments win over parameters."""
        segments = path.removeprefix(self.base_path).split("/")
        if segments == ["", "reset", ""]:
            segments.pop()  # the one path with two spellings (B-06)
        fitting = [
            operation
            for operation in self.operations
            if operation.method == method and _fits(operation.path.split("/"), segments)
        ]
        return min(fitting, key=lambda operation: operation.path.count("{"), default=None)

    def faults(self, method: str, path: str, status: int, headers: Mapping[str, str], body: bytes) -> list[str]:
        """Everything in an answer that the document does not allow."""
        found = self._header_faults(headers)
        operation = self.operation(method, path)
        if operation is None:
            pointer = ("components", "schemas", "AnyError")
            expected = status in ROUTING_ANSWERS
            return (
                found
                + ([] if expected else [f"status {status} where there is no operation"])
                + self._body(pointer, body)
            )
        answers = dict(responses(self.document, operation))
        answer = answers.get(str(status))
        if answer is None:
            return [*found, f"{operation.name} does not document status {status}: {body[:300]!r}"]
        return found + self._answer_faults(answer, headers, body)

    def event_faults(self, body: bytes) -> list[str]:
        """Everything in a webhook's body that the document does not allow."""
        event = json.loads(body)
        hook = self.document["x-webhooks"][event["type"]]["post"]["requestBody"]["content"]["application/json"][
            "schema"
        ]
        return self._body(tuple(hook["$ref"].removeprefix("#/").split("/")), body)

    def _header_faults(self, headers: Mapping[str, str]) -> list[str]:
        return [] if headers.get("request-id", "").startswith("req_") else ["no Request-Id header"]

    def _answer_faults(self, answer: Part, headers: Mapping[str, str], body: bytes) -> list[str]:
        required = (
            name
            for name, header in answer.node.get("headers", {}).items()
            if resolved(self.document, Part((), header)).node.get("required")
        )
        found = [f"no {name} header" for name in required if name.lower() not in headers]
        content = answer.node.get("content")
        if not content:
            return found + (["a body where none is documented"] if body else [])
        media_type = headers.get("content-type", "").split(";")[0]
        if media_type not in content:
            return [*found, f"content type {media_type!r}"]
        if media_type != "application/json":
            return found
        return found + self._body((*answer.pointer, "content", media_type, "schema"), body)

    def _body(self, schema: tuple[str, ...], body: bytes) -> list[str]:
        return self.judge.faults(schema, json.loads(body))


def _fits(template: list[str], segments: list[str]) -> bool:
    return len(template) == len(segments) and all(
        part.startswith("{") or part == segment for part, segment in zip(template, segments, strict=True)
    )
