"""Points: all parts of the service's document, and the parts one exchange exercises."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

from contract_tests.contract.document.reader import (
    Document,
    Operation,
    Part,
    Pointer,
    parameters,
    properties,
    request_schema,
    resolved,
    responses,
)
from contract_tests.support.contract import Contract
from emulator.core.limits import ITEMS, STRING
from emulator.resources.registry import STATE_MACHINES

LIMITS = ("minLength", "maxLength", "minimum", "maximum", "minItems", "maxItems", "maxProperties")

OWN_LIMITS = (("maxItems", ITEMS.most), ("maxLength", STRING.most))
"""The sandbox's bounds of the document's unbounded things (B-26). One test has them all."""


class Point(NamedTuple):
    """One part of the document: its kind and its name."""

    kind: str
    name: str


class Exchange(NamedTuple):
    """One request and its answer, as bytes."""

    method: str
    path: str
    query: bytes
    sent: bytes
    status: int
    headers: dict[str, str]
    body: bytes


class Points:
    """The points of the service's document."""

    def __init__(self, contract: Contract) -> None:
        self.contract = contract
        self.document: Document = contract.document
        self.properties = cache(
            lambda pointer: properties(self.document, Part(pointer, _at(self.document, pointer)))
        )

    # What is documented

    def documented(self) -> set[Point]:
        points = set(transitions())
        for operation in self.contract.operations:
            points |= set(self._of_operation(operation))
        points |= {
            Point("error code", code)
            for code in self.document["components"]["schemas"]["ErrorCode"]["enum"]
        }
        return points | {Point("event", type) for type in self.document["x-webhooks"]}

    def _of_operation(self, operation: Operation) -> Iterator[Point]:
        yield Point("operation", operation.name)
        for status, response in responses(self.document, operation):
            yield Point("status", f"{operation.name} {status}")
            content = response.node.get("content", {}).get("application/json")
            if content:
                schema = Part(
                    (*response.pointer, "content", "application/json", "schema"), content["schema"]
                )
                yield from (
                    Point("field answered", _name(part.pointer))
                    for part in self._fields(schema, set())
                )
        for parameter in parameters(self.document, operation):
            if parameter["in"] == "query":
                yield from self._of_parameter(operation, parameter)
        if schema := request_schema(self.document, operation):
            for part in self._fields(schema, set()):
                yield Point("field sent", _name(part.pointer))
                yield from self._limits(part)

    def _of_parameter(self, operation: Operation, parameter: dict[str, Any]) -> Iterator[Point]:
        name = f"{operation.name} ?{parameter['name']}"
        yield Point("parameter", name)
        schema = resolved(self.document, Part((), parameter["schema"])).node
        yield from (
            Point("limit", f"{name} {word} {schema[word]}") for word in LIMITS if word in schema
        )

    def _limits(self, part: Part) -> Iterator[Point]:
        for word, limit in self._limited(part).items():
            if (word, limit) not in OWN_LIMITS:
                yield Point("limit", f"{_name(part.pointer)} {word} {limit}")

    def _limited(self, part: Part) -> dict[str, int]:
        nodes = [part.node, resolved(self.document, part).node]
        nodes += [
            resolved(self.document, Part((), part)).node for part in nodes[1].get("allOf", ())
        ]
        return {word: node[word] for node in nodes for word in LIMITS if word in node}

    def _fields(self, schema: Part, visited: set[Pointer]) -> Iterator[Part]:
        schema = resolved(self.document, schema)
        if schema.pointer in visited:
            return
        visited.add(schema.pointer)
        if "items" in schema.node:
            yield from self._fields(Part((*schema.pointer, "items"), schema.node["items"]), visited)
        for part in self.properties(schema.pointer).values():
            yield part
            yield from self._fields(part, visited)

    # What is exercised

    def exercised(self, exchange: Exchange) -> Iterator[Point]:
        error = _parsed(exchange.body)
        if exchange.status >= 400 and isinstance(error, dict) and "code" in error:
            yield Point("error code", error["code"])
        operation = self.contract.operation(exchange.method, exchange.path)
        if operation is None:
            return
        yield Point("operation", operation.name)
        yield Point("status", f"{operation.name} {exchange.status}")
        yield from self._asked(operation, exchange)
        response = dict(responses(self.document, operation)).get(str(exchange.status))
        content = response and response.node.get("content", {}).get("application/json")
        if response and content and (body := _parsed(exchange.body)) is not None:
            schema = Part(
                (*response.pointer, "content", "application/json", "schema"), content["schema"]
            )
            yield from self._answered(schema, body)

    def _asked(self, operation: Operation, exchange: Exchange) -> Iterator[Point]:
        known = {
            parameter["name"]: parameter
            for parameter in parameters(self.document, operation)
            if parameter["in"] == "query"
        }
        for name, value in parse_qsl(exchange.query.decode("latin-1")):
            if name in known:
                yield Point("parameter", f"{operation.name} ?{name}")
                schema = resolved(self.document, Part((), known[name]["schema"])).node
                number = re.fullmatch(r"-?[0-9]{1,12}", value) and schema.get("type") == "integer"
                yield from _reached(
                    f"{operation.name} ?{name}", schema, int(value) if number else value
                )
        schema_sent = request_schema(self.document, operation)
        if schema_sent and (body := _parsed(exchange.sent)) is not None:
            for part, value in self._present(schema_sent, body):
                if exchange.status < 300:
                    yield Point("field sent", _name(part.pointer))
                yield from _reached(_name(part.pointer), self._limited(part), value)

    def _answered(self, schema: Part, body: Any) -> Iterator[Point]:
        for part, value in self._present(schema, body):
            if value is not None:
                yield Point("field answered", _name(part.pointer))
            if part.pointer[-1] in ("code", "failure_reason") and isinstance(value, str):
                yield Point("error code", value)

    def _present(self, schema: Part, value: Any) -> Iterator[tuple[Part, Any]]:
        schema = resolved(self.document, schema)
        if isinstance(value, list) and "items" in schema.node:
            for entry in value:
                yield from self._present(
                    Part((*schema.pointer, "items"), schema.node["items"]), entry
                )
        elif isinstance(value, dict):
            declared = self.properties(schema.pointer)
            for name in value.keys() & declared.keys():
                yield declared[name], value[name]
                yield from self._present(declared[name], value[name])


def transitions() -> Iterator[Point]:
    for life in STATE_MACHINES:
        yield from (transition(life.kind.kind, *row[:3]) for row in life.rows)


def transition(kind: str, source: str | None, trigger: str, target: str) -> Point:
    return Point("transition", f"{kind}: {source or 'new'} — {trigger} → {target}")


def _reached(name: str, limits: dict[str, Any], value: Any) -> Iterator[Point]:
    size = (
        value
        if isinstance(value, int)
        else len(value)
        if isinstance(value, str | list | dict)
        else None
    )
    for word in LIMITS:
        if word in limits and size is not None:
            beyond = limits[word] + (1 if word.startswith("max") else -1)
            if size in (limits[word], beyond):
                yield Point("limit", f"{name} {word} {limits[word]}")


def _parsed(raw: bytes) -> Any:
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return None


def _at(document: Document, pointer: Pointer) -> Any:
    node: Any = document
    for step in pointer:
        node = node[int(step)] if isinstance(node, list) else node[step]
    return node


def _name(pointer: Pointer) -> str:
    """Return the pointer to a property, in words: ``CustomerCreate.email``."""
    words = [
        word for word in pointer if word not in ("components", "schemas", "properties", "allOf")
    ]
    return ".".join(word for word in words if not word.isdecimal()).replace(".items", "[]")
