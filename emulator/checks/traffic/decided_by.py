"""The operation that a request calls, and the assumptions that the document cites for a field of its answer."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

from emulator.checks.traffic.passed import PassedRequest, json_or_text
from emulator.document import bundles
from emulator.document.operations import operation_specs
from emulator.document.tree import COMBINATORS, Document, Node, resolve

SHAPE = "B-10"
"""The assumption about the two shapes of errors."""

UNKNOWN_FIELDS = "B-13"
"""The assumption about fields that an operation does not have."""


class Route(NamedTuple):
    """An operation of the document, with what its path looks like."""

    method: str
    path: re.Pattern[str]
    id: str
    operation: Node


@cache
def routes() -> tuple[Route, ...]:
    """Every operation; those with fixed paths come first."""
    found = [
        Route(
            method.upper(), re.compile(f"/v1{re.sub(r'{[^}]*}', '([^/]+)', path)}"), operation["operationId"], operation
        )
        for path, item in sorted(_document()["paths"].items(), key=lambda each: each[0].count("{"))
        for method, operation in item.items()
        if isinstance(operation, dict)
    ]
    return tuple(found)


def route_of(method: str, target: str) -> Route | None:
    """The operation that a request calls; None if there is none."""
    path = target.partition("?")[0]
    return next((each for each in routes() if each.method == method and each.path.fullmatch(path)), None)


def assumptions_of(route: Route | None, passed: PassedRequest, place: str) -> tuple[str, ...]:
    """The assumptions that may be about a field of an answer.

    Those of the field, or around it. For a status or an error: those of what was sent, of the operation and the answer.
    """
    if place == "error shape":
        return (SHAPE,)
    if route is None:
        return ()
    response = resolve(_document(), route.operation["responses"].get(str(passed.status), {}))
    if place != "status" and not place.startswith("error "):
        return _nearest(_json_schema(response), _steps(place)) or _cited(route.operation)
    return tuple(dict.fromkeys((*_of_request(route, passed), *_cited(route.operation), *_cited(response))))


def _of_request(route: Route, passed: PassedRequest) -> Iterator[str]:
    """The assumptions about the parameters and fields that were sent."""
    given = dict(parse_qsl(passed.target.partition("?")[2], keep_blank_values=True))
    for parameter in (resolve(_document(), each) for each in route.operation.get("parameters", ())):
        if parameter["name"] in given:
            yield from _cited(parameter)
    sent = json_or_text(passed.body)
    for name in sent if isinstance(sent, dict) else ():
        if name not in operation_specs()[route.id].fields.names:
            yield UNKNOWN_FIELDS
        yield from _nearest(_json_schema(route.operation.get("requestBody", {})), [name])


def assumptions_of_event(type: str, place: str) -> tuple[str, ...]:
    """The assumptions that may be about a field of an event."""
    webhook = _document().get("x-webhooks", {}).get(type, {})
    operation = next((each for each in webhook.values() if isinstance(each, dict)), {})
    return _nearest(_json_schema(operation.get("requestBody", {})), _steps(place)) or _cited(operation)


def _json_schema(node: Node) -> Node:
    """The schema of the JSON in a body or an answer; empty if there is none."""
    content = resolve(_document(), node).get("content", {})
    schema: Node = content.get("application/json", {}).get("schema", {})
    return schema


def _steps(place: str) -> list[str]:
    """The names of fields on the way to a place; ``[]`` for an item."""
    return re.findall(r"\w+|\[\]", place)


def _nearest(schema: Node, steps: list[str]) -> tuple[str, ...]:
    """What the schema of a field cites, or else the nearest one around it."""
    found: tuple[str, ...] = ()
    for step in steps:
        following = next(_inside(schema, step), None)
        if following is None:
            return found
        schema = following
        found = _cited(schema) or _cited(resolve(_document(), schema)) or found
    return found


def _inside(schema: Node, step: str) -> Iterator[Node]:
    """The schemas of a property, or of the items (``[]``)."""
    schema = resolve(_document(), schema)
    if step == "[]" and "items" in schema:
        yield schema["items"]
    if step in schema.get("properties", {}):
        yield schema["properties"][step]
    for word in COMBINATORS:
        for part in schema.get(word, ()):
            yield from _inside(part, step)


def _cited(node: Mapping[str, Any]) -> tuple[str, ...]:
    cited = node.get("x-assumption", ())
    return (cited,) if isinstance(cited, str) else tuple(cited)


@cache
def _document() -> Document:
    return bundles.load("service")
