"""The contract: judges responses by the document, with the tests' means and not the server's.

It is stricter than the document: an object that declares its properties may have no others.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from contract_tests.contract.document.judges import Judge, judge_of
from contract_tests.contract.document.reader import (
    Operation,
    Part,
    Pointer,
    alternatives,
    at,
    operations,
    parameters,
    properties,
    request_schema,
    resolved,
)
from emulator.document import bundles
from emulator.document.paths import fixture
from emulator.document.tree import pointer_of

INPUT_ERRORS = {400, 409, 422}
"""Statuses of answers that name what is wrong with a request."""

NAMING_THEIR_OBJECT = {
    id
    for id, codes in fixture("document-exceptions")["of_operation"].items()
    if "INVALID_FIELD" in codes
}
"""Actions whose error names the object's field that makes it unready (B-65, B-66)."""

ROUTING_RESPONSES = {404, 405}
"""Statuses that the stack gives where there is no operation."""


class Response(NamedTuple):
    """The document's demands on a response: its headers, and a schema for each content type."""

    headers: tuple[str, ...]
    content: dict[str, Pointer]


class Contract:
    """One document as a judge of answers."""

    def __init__(self, name: str) -> None:
        self.document = bundles.load(name)
        self.base_path = urlsplit(self.document["servers"][0]["url"]).path
        self.judge = Judge(self.document)
        self.strict = judge_of(f"{name}-3.0")
        self.operations = list(operations(self.document))
        self._by_length: dict[tuple[str, int], list[tuple[list[str], Operation]]] = defaultdict(
            list
        )
        for operation in self.operations:
            template = operation.path.split("/")
            self._by_length[operation.method, len(template)].append((template, operation))
        self.operation = lru_cache(4096)(self._find_operation)
        self._response = cache(self._find_response)
        self._shape = cache(self._find_shape)

    def _find_operation(self, method: str, path: str) -> Operation | None:
        """Return the operation a request is for; literal segments win over parameters."""
        segments = path.removeprefix(self.base_path).split("/")
        if segments == ["", "reset", ""]:
            segments.pop()  # the one path with two spellings (B-06)
        own = self._by_length.get((method, len(segments)), ())
        fitting = [operation for template, operation in own if _fits(template, segments)]
        return min(fitting, key=lambda operation: operation.path.count("{"), default=None)

    def faults(
        self, method: str, path: str, status: int, headers: Mapping[str, str], body: bytes
    ) -> list[str]:
        wrong = [] if headers.get("request-id", "").startswith("req_") else ["no Request-Id header"]
        operation = self.operation(method, path)
        if operation is None:
            if status not in ROUTING_RESPONSES:
                wrong.append(f"status {status} where there is no operation")
            return wrong + self._body(("components", "schemas", "AnyError"), body)
        response = self._response(operation.pointer, status)
        if response is None:
            return [*wrong, f"{operation.name} does not document status {status}: {body[:300]!r}"]
        return wrong + self._response_faults(response, headers, body)

    def _find_response(self, operation: Pointer, status: int) -> Response | None:
        place = (*operation, "responses")
        documented = at(self.document, place).get(str(status))
        if documented is None:
            return None
        pointer, node = resolved(self.document, Part((*place, str(status)), documented))
        headers = {
            name: resolved(self.document, Part((), header)).node
            for name, header in node.get("headers", {}).items()
        }
        required = tuple(name for name, header in headers.items() if header.get("required"))
        return Response(
            required,
            {media: (*pointer, "content", media, "schema") for media in node.get("content", ())},
        )

    def misnamed(self, method: str, path: str, status: int, body: bytes) -> list[str]:
        """Return the names in an error that its operation does not take.

        Those are left alone that it calls unknown or fixed, and names of headers, which every
        operation takes.
        """
        operation = self.operation(method, path) if status in INPUT_ERRORS else None
        if operation is None:
            return []
        error = json.loads(body)
        named = dict(error.get("errors") or {})
        if param := error.get("param"):
            named.setdefault(param, [error["message"]])
        return [
            f"{name} is no field or parameter of {operation.name}: {messages}"
            for name, messages in named.items()
            if not name[:1].isupper()
            and not any("unknown" in text or "cannot be changed" in text for text in messages)
            and not self._takes(operation, name)
        ]

    def _takes(self, operation: Operation, name: str) -> bool:
        if operation.node.get("operationId") in NAMING_THEIR_OBJECT and name in (
            "customer",
            "due_date",
        ):
            return True
        if name in {parameter["name"] for parameter in parameters(self.document, operation)}:
            return True
        schema = (
            request_schema(self.document, operation) if "requestBody" in operation.node else None
        )
        return schema is not None and self._has(schema, name.split("."))

    def _has(self, schema: Part, names: list[str]) -> bool:
        schema = resolved(self.document, schema)
        first, *others = names
        if first.isdigit():
            part = (
                Part((*schema.pointer, "items"), schema.node["items"])
                if "items" in schema.node
                else None
            )
        else:
            part = properties(self.document, schema).get(first)
        if part is None:
            combined = (resolved(self.document, part) for part in alternatives(schema))
            return any(_is_open(part.node) for part in (schema, *combined))
        return not others or self._has(part, others)

    def event_faults(self, body: bytes) -> list[str]:
        event = json.loads(body)
        content = self.document["x-webhooks"][event["type"]]["post"]["requestBody"]["content"]
        return self._body(pointer_of(content["application/json"]["schema"]["$ref"]), body)

    def _response_faults(
        self, response: Response, headers: Mapping[str, str], body: bytes
    ) -> list[str]:
        wrong = [f"no {name} header" for name in response.headers if name.lower() not in headers]
        if not response.content:
            return wrong + (["a body where none is documented"] if body else [])
        media_type = headers.get("content-type", "").split(";")[0]
        if media_type not in response.content:
            return [*wrong, f"content type {media_type!r}"]
        if media_type != "application/json":
            return wrong
        return wrong + self._body(response.content[media_type], body)

    def _body(self, schema: Pointer, body: bytes) -> list[str]:
        value = json.loads(body)
        return (
            self.judge.faults(schema, value)
            + self.strict.faults(schema, value)
            + list(self.undeclared(schema, value))
        )

    def undeclared(self, schema: Pointer, value: Any, path: str = "$") -> Iterator[str]:
        """Yield the fields that no part of a schema declares, at any depth."""
        fields, entries = self._shape(schema)
        if isinstance(value, list):
            for number, entry in enumerate(value) if entries else ():
                if isinstance(entry, dict | list):
                    yield from self.undeclared(entries, entry, f"{path}[{number}]")
        elif isinstance(value, dict) and fields:
            for name, child in value.items():
                if name not in fields:
                    yield f"{path}.{name}: undeclared"
                elif isinstance(child, dict | list):
                    yield from self.undeclared(fields[name], child, f"{path}.{name}")

    def _find_shape(self, schema: Pointer) -> tuple[dict[str, Pointer], Pointer]:
        """Return the places of an object's fields, none if it is open, and of a list's entries."""
        pointer, node = part = resolved(self.document, Part(schema, at(self.document, schema)))
        fields = {} if _is_open(node) else properties(self.document, part)
        return {name: field.pointer for name, field in fields.items()}, (
            *pointer,
            "items",
        ) if "items" in node else ()


@cache
def contract(name: str) -> Contract:
    """Return a document's contract, one for the whole process: it compiles each schema once."""
    return Contract(name)


def _fits(template: list[str], segments: list[str]) -> bool:
    return len(template) == len(segments) and all(
        part == segment or part.startswith("{")
        for part, segment in zip(template, segments, strict=True)
    )


def _is_open(schema: Mapping[str, Any]) -> bool:
    return bool(schema.get("additionalProperties"))
