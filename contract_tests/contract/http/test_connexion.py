"""Compiled operations and Connexion: a function gets the arguments of Connexion's validation."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from connexion import AsyncApp
from connexion.resolver import Resolver

from contract_tests.contract.document.reader import (
    Document,
    Operation,
    examples,
    operations,
    parameters,
    request_schema,
)
from emulator.core import calendar
from emulator.document import bundles
from emulator.web.operation import build_app
from emulator.web.root_app import RootApp
from emulator.web.routing import DocumentedApi, definitions

DOCUMENT: Document = bundles.load("service")
BASE, HOST = "/v1", "http://sandbox.local"
ID = "cust_8Kd2mQ5rT1vX7zB3nC6pF9sL"

Heard = list[tuple[str, dict[str, Any]]]
Request = tuple[str, str, dict[str, Any]]
"""Method, path with its query, and what else httpx is answers."""


def _open(document: Document) -> Document:
    """Return the document without keys: who asks is not what is compared."""
    bare = copy.deepcopy(document)
    for owner in (bare, *(operation.node for operation in operations(bare))):
        owner.pop("security", None)
    return bare


async def _nothing(*_: object) -> None:
    """Starts and stops nothing, and lets everybody in."""


def _plan(heard: Heard) -> Any:
    """Our stack, whose functions only record their arguments."""

    async def execute(
        context: Any, runtime: Any, operation: Any, arguments: dict[str, Any]
    ) -> None:
        heard.append((operation.operation_id, arguments))

    functions = {operation.node["operationId"]: lambda: None for operation in operations(DOCUMENT)}
    document = _open(DOCUMENT)
    api = DocumentedApi(document, definitions(document), {})
    app = build_app(api, functions, authenticate=_nothing, execute=execute, published=None)
    return RootApp(
        [("", app)], new_request_id=lambda: "req_0", start=_nothing, stop=_nothing, base_url=HOST
    )


def _stock(heard: Heard) -> Any:
    """Connexion as it comes, with the same document."""

    def recorder(name: str) -> Any:
        async def function(**arguments: Any) -> tuple[str, int]:
            heard.append((name, arguments))
            return "", 200

        return function

    app = AsyncApp("stock", resolver=Resolver(recorder))
    app.add_api(_in_json_schema(_open(DOCUMENT)), strict_validation=True)
    return app


def _in_json_schema(node: Any) -> Any:
    """Return the document with JSON Schema for ``x-required-unless``, which Connexion lacks."""
    if isinstance(node, list):
        return [_in_json_schema(part) for part in node]
    if not isinstance(node, dict):
        return node
    plain = {name: _in_json_schema(part) for name, part in node.items()}
    exceptions = plain.pop("x-required-unless", {})
    choices = [
        {"anyOf": [{"required": [name]}, exception]} for name, exception in exceptions.items()
    ]
    return {**plain, "allOf": choices} if choices else plain


def bodies(operation: Operation) -> Iterator[dict[str, Any]]:
    """Yield some bodies of the document, and one spoilt: every second field wrong, others gone."""
    if request_schema(DOCUMENT, operation) is None:
        return
    known = [
        example.value
        for example in examples(DOCUMENT)
        if example.pointer[: len(operation.pointer)] == operation.pointer
    ]
    known = [value for value in known if isinstance(value, dict)]
    yield from known[:2]
    for body in known[:1]:
        yield {**body, "colour": "red"}
        for number, name in enumerate(body):
            others = {other: value for other, value in body.items() if other != name}
            yield {**others, name: {"a": [1]}} if number % 2 else others


def queries(operation: Operation) -> Iterator[str]:
    """Queries that are all right, and some that are not."""
    yield ""
    for parameter in parameters(DOCUMENT, operation):
        if parameter["in"] == "query":
            name, schema = parameter["name"], parameter["schema"]
            good = schema.get("enum") or [
                schema.get("default") or schema.get("minimum") or parameter.get("example")
            ]
            yield from (
                f"?{name}={value}"
                for value in good
                if isinstance(value, int | str) and value is not True
            )
    yield "?colour=red"


def requests() -> Iterator[Request]:
    """Requests for every operation."""
    for operation in operations(DOCUMENT):
        path = BASE + operation.path
        for parameter in ("id", "did", "number"):
            path = path.replace(f"{{{parameter}}}", ID)
        for query in queries(operation):
            body = next(bodies(operation), None) if operation.method in ("POST", "PATCH") else None
            yield operation.method, path + query, {} if body is None else {"json": body}
        for body in bodies(operation):
            yield operation.method, path, {"json": body}


async def _responses(app: Any, heard: Heard, sent: list[Request]) -> list[Heard]:
    """Return the arguments of the functions for each request; none for one that was rejected."""
    responses = []
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url=HOST) as http:
        for method, path, options in sent:
            heard.clear()
            await http.request(method, path, **options)
            responses.append(list(heard))
    return responses


def _flat(heard: Heard) -> list[tuple[str, dict[str, Any], Any]]:
    """Return operation, parameters and body; ours come in a mapping, instants in one form."""
    flat = []
    for name, arguments in heard:
        parameters = {
            key: _instant(value) for key, value in arguments.items() if key not in ("body", "query")
        }
        parameters |= {key: _instant(value) for key, value in arguments.get("query", {}).items()}
        flat.append((name, parameters, arguments.get("body") or {}))
    return flat


def _instant(value: Any) -> Any:
    try:
        return calendar.normalise(value)
    except (TypeError, ValueError, AttributeError):
        return value


def _within(stock: Any, plan: Any) -> bool:
    """Return whether ours has all of Connexion's arguments; ours adds the body's defaults."""
    if isinstance(stock, dict) and isinstance(plan, dict):
        return all(name in plan and _within(part, plan[name]) for name, part in stock.items())
    if isinstance(stock, list) and isinstance(plan, list):
        return len(stock) == len(plan) and all(map(_within, stock, plan))
    return bool(stock == plan)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of what Connexion's own validators use
def test_operations_accept_what_connexions_own_validation_accepts(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Every operation, with the document's own bodies and queries and with each of them spoilt."""
    caplog.set_level("CRITICAL")  # Connexion logs each error
    sent = list(requests())
    heard: Heard = []
    by_plan = asyncio.run(_responses(_plan(heard), heard, sent))
    by_stock = asyncio.run(_responses(_stock(heard), heard, sent))
    assert min(sum(map(bool, by_plan)), by_plan.count([])) > 100
    for request, plan, stock in zip(sent, by_plan, by_stock, strict=True):
        assert len(plan) == len(stock), request
        for (name, arguments, body), expected in zip(_flat(plan), _flat(stock), strict=True):
            assert (name, arguments) == expected[:2], request
            assert _within(expected[2], body), request
