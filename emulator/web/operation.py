"""A plan: one operation of the document compiled once, from the raw request to the bytes of the answer."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from functools import cached_property
from typing import Any

from connexion.middleware.abstract import RoutedAPI
from connexion.operations import AbstractOperation
from starlette.types import Receive, Scope, Send

from emulator.core.handlers import Page
from emulator.core.world import encode
from emulator.errors import ApiError
from emulator.web import context as calls
from emulator.web import strict_json
from emulator.web.authentication import header, listed
from emulator.web.connexion_app import Definition
from emulator.web.context import RequestContext
from emulator.web.error_responses import error_of
from emulator.web.pagination import envelope
from emulator.web.query import cast, fields
from emulator.web.response import Response, send_response
from emulator.web.routing import OperationLayer
from emulator.web.schemas import Schema, Violation
from emulator.web.streaming import Stream, send_stream

MAX_BODY = 1024 * 1024
"""Bytes of a request body that are read, unless the document says ``x-max-bytes`` beside its content."""

NOTHING = Schema({"type": "object", "properties": {}, "additionalProperties": False})
"""The body of a POST that has none documented: absent or empty, and held to the same rules (B-12, B-13)."""

Executor = Callable[[RequestContext, "OperationHandler", Scope, dict[str, Any], bytes], Awaitable[Any]]
"""Runs a plan's function with its arguments; this is what differs between the service and the control API.

It is also given the raw body. It returns a :class:`Reply` or a :class:`Flow`, or a value to be encoded with the
documented status, or bytes that are the body already, of the documented media type.
"""


class OperationHandler:
    """What is done with a request of one operation: read it, check it, perform it, answer.

    The document says everything: parameters, body, defaults, success status. The function hears only valid arguments:
    path parameters by name, ``query`` where the operation has query parameters and ``body`` where it has a body.
    """

    def __init__(self, operation: AbstractOperation, definition: Definition, perform: Executor, strict: bool) -> None:
        self.operation_id: str = operation.operation_id
        self.function: Callable[..., Any] = operation.function
        self._method: str = operation.method
        self._execute = perform
        self._strict = strict
        self._parameters = {
            parameter["name"]: Schema(parameter["schema"])
            for parameter in definition["parameters"]
            if parameter["in"] == "query"
        }
        required = {parameter["name"] for parameter in definition["parameters"] if parameter.get("required")}
        self._demanded = required & self._parameters.keys()
        self._defaults = {
            name: schema.source["default"] for name, schema in self._parameters.items() if "default" in schema.source
        }
        self.header_names = [each["name"] for each in definition["parameters"] if each["in"] == "header"]
        request_body = definition.get("requestBody", {})
        content = request_body.get("content", {})
        self._most = request_body.get("x-max-bytes", MAX_BODY)
        self._body = Schema(content["application/json"]["schema"]) if content else None
        # What else may come as a body is nobody's business: that of a GET or a DELETE has no meaning (RFC 9110).
        self._expected = self._body or (NOTHING if self._method == "post" else None)
        self.status = next(int(status) for status in definition["responses"] if status.startswith("2"))
        self._content = definition["responses"][str(self.status)].get("content", {})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        call = calls.of(scope)
        raw = await read_body(scope, receive, self._most) if self._expected else b""
        call.raw = raw
        body = strict_json.parse(raw)
        faults: list[Violation] = []
        query = self._query(scope["query_string"], faults) if self._parameters or scope["query_string"] else {}
        if self._expected:
            body = self._checked(body, self._expected, call, faults)
        if faults:
            raise error_of(faults)
        arguments: dict[str, Any] = dict(scope["path_params"])
        if self._parameters:
            arguments["query"] = query
        if self._body:
            arguments["body"] = body
        result = await self._execute(call, self, scope, arguments, raw)
        if isinstance(result, Stream):
            await send_stream(result, scope, receive, send)
        else:
            await send_response(result if isinstance(result, Response) else self._respond(call, scope, result), send)

    def headers(self, scope: Scope) -> dict[str, str]:
        """The header fields that the document names and the client sent; one sent twice is a list (RFC 9110)."""
        return {name: value for name in self.header_names if (value := listed(scope, name.lower().encode()))}

    def _query(self, raw: bytes, faults: list[Violation]) -> dict[str, Any]:
        given: dict[str, Any] = {}
        for name, text in fields(raw):
            schema = self._parameters.get(name)
            if schema is None:
                faults.append(_bad(name[:60], "unknown parameter"))
            elif name in given:
                faults.append(_bad(name, "is given more than once"))
            else:
                given[name] = value = cast(text, schema.source)
                if not schema.accepts(value):
                    faults.extend(_bad(name, fault.message) for fault in schema.violations(value))
        faults.extend(_bad(name, "is required") for name in sorted(self._demanded - given.keys()))
        return {**self._defaults, **given}

    def _checked(
        self, body: dict[str, Any], schema: Schema, call: RequestContext, faults: list[Violation]
    ) -> dict[str, Any]:
        if not schema.accepts(body):
            if call.ignores_unknown_fields:
                body = schema.known(body)
            faults.extend(map(self._explain, schema.violations(body)))
        return body if faults else schema.complete(body)

    def _explain(self, fault: Violation) -> Violation:
        """A field that a PATCH does not take but the object has is no unknown one: it cannot be changed (B-13)."""
        immutable = fault.keyword == "unknown" and self._method == "patch"
        if immutable and self._response and self._response.has(fault.path):
            return fault._replace(message="cannot be changed")
        return fault

    def _respond(self, call: RequestContext, scope: Scope, result: Any) -> Response:
        if isinstance(result, bytes):
            return Response(self.status, result, media_type=next(iter(self._content)))
        if isinstance(result, Page):
            result = envelope(result, call.base_url, scope)
        body = b"" if result is None else encode(result)
        if self._strict:
            self._conforms(body)
        return Response(self.status, body)

    def _conforms(self, body: bytes) -> None:
        """In strict mode an answer that breaks the document is our failure: 500 rather than a wrong answer."""
        if self._response is None:
            problem = "a body where none is documented" if body else None
        else:
            faults = self._response.violations(json.loads(body)) if body else [Violation("", "required", "no body")]
            problem = "; ".join(f"{fault.path}: {fault.message}" for fault in faults)
        if problem:
            raise InvalidResponse(f"answer of {self.operation_id} breaks the document: {problem}")

    @cached_property
    def _response(self) -> Schema | None:
        media = self._content.get("application/json")
        return Schema(media["schema"]) if media else None


class InvalidResponse(Exception):
    """An answer of ours that breaks the document."""


async def read_body(scope: Scope, receive: Receive, most: int) -> bytes:
    """The raw body; a content type other than JSON, or a body too large, is refused with 400 (B-12).

    One that says beforehand that it is too large is refused before any of it is read.
    """
    if int(header(scope, b"content-length") or 0) > most:
        raise _too_large(most)
    raw = bytearray()
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Disconnected
        raw += message.get("body", b"")
        if len(raw) > most:
            raise _too_large(most)
        more = message.get("more_body", False)
    if raw.strip() and _media_type(scope) != "application/json":
        raise strict_json.refuse("its Content-Type must be application/json")
    return bytes(raw)


def _too_large(most: int) -> ApiError:
    return strict_json.refuse(f"it is larger than {most} bytes")


class Disconnected(Exception):
    """The client left before its request was whole; nobody waits for an answer."""


def _media_type(scope: Scope) -> str:
    return (header(scope, b"content-type") or "").split(";", 1)[0].strip().lower()


def _bad(name: str, message: str) -> Violation:
    """A fault of a query parameter (B-12)."""
    return Violation(name, "query", message, "INVALID_FILTER_PARAM")


class OperationAPI(RoutedAPI[OperationHandler]):
    """The plans of one document."""

    def __init__(
        self, *args: Any, definitions: Mapping[str, Definition], perform: Executor, strict: bool, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self._definitions = definitions
        self._perform = perform
        self._strict = strict
        self.add_paths()

    def make_operation(self, operation: AbstractOperation) -> OperationHandler:
        definition = self._definitions[operation.operation_id]
        return OperationHandler(operation, definition, self._perform, self._strict)


class OperationMiddleware(OperationLayer[OperationAPI]):
    """The innermost layer: it answers, so nothing of Connexion's own request and response handling runs below it."""

    api_cls = OperationAPI
