"""The handler of an operation, compiled once from its definition: from the raw request to the bytes of the response."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator, Mapping
from functools import cached_property
from typing import Any

from connexion.middleware.abstract import RoutedAPI
from connexion.operations import AbstractOperation
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send

from emulator.core.errors import ApiError
from emulator.core.handlers import Page
from emulator.core.limits import BODY, METADATA_VALUE, SNAPSHOT
from emulator.core.validation import Checked, valid_part
from emulator.core.world import encode
from emulator.web import strict_json
from emulator.web.authentication import RUNTIME_KEY
from emulator.web.connexion_app import Definition
from emulator.web.context import RequestContext
from emulator.web.error_responses import error_of
from emulator.web.pagination import envelope
from emulator.web.query import cast, cast_each, explain, fields, grouped, unknown_parameter
from emulator.web.response import Response, send_response
from emulator.web.routing import OperationLayer
from emulator.web.schemas import CompiledSchema, Violation
from emulator.web.streaming import Stream, send_stream

NO_BODY = CompiledSchema({"type": "object", "properties": {}, "additionalProperties": False})
"""The body of a POST for which none is documented: absent or an empty object, under the same rules (B-12, B-13)."""

Executor = Callable[[RequestContext, Any, "OperationHandler", dict[str, Any]], Awaitable[Any]]
"""Calls an operation's function with its arguments; the service and the control API have each their own.

The second argument is the runtime that authentication has found. It returns a :class:`Response` or a :class:`Stream`,
a value to be encoded with the documented status, or bytes that are the body already, of the documented media type.
"""


class OperationHandler:
    """Reads a request of one operation, validates it, executes it and responds.

    The definition says everything: parameters, body, defaults, success status. The function gets only valid arguments:
    path parameters by name, ``query`` if the operation has query parameters and ``body`` if it has a body.
    """

    def __init__(
        self,
        operation: AbstractOperation,
        definition: Definition,
        execute: Executor,
        published: Definition | None = None,
    ) -> None:
        self.operation_id: str = operation.operation_id
        self.function: Callable[..., Any] = operation.function
        self._method: str = operation.method
        self._execute = execute
        self._published = published
        self._parameters = {
            parameter["name"]: CompiledSchema(parameter["schema"])
            for parameter in definition["parameters"]
            if parameter["in"] == "query"
        }
        self._repeatable = {
            parameter["name"]
            for parameter in definition["parameters"]
            if parameter["schema"].get("type") == "array" and parameter.get("explode", True)
        }
        required = {parameter["name"] for parameter in definition["parameters"] if parameter.get("required")}
        self._required = required & self._parameters.keys()
        self._defaults = {
            name: schema.source["default"] for name, schema in self._parameters.items() if "default" in schema.source
        }
        self.header_names = [each["name"] for each in definition["parameters"] if each["in"] == "header"]
        request_body = definition.get("requestBody", {})
        content = request_body.get("content", {})
        self._max_bytes = (SNAPSHOT if request_body.get("x-large-body") else BODY).most
        self._body = CompiledSchema(content["application/json"]["schema"]) if content else None
        # The body of a GET or a DELETE has no meaning (RFC 9110) and is ignored.
        self._body_schema = self._body or (NO_BODY if self._method == "post" else None)
        self.status = next(int(status) for status in definition["responses"] if status.startswith("2"))
        self._content = definition["responses"][str(self.status)].get("content", {})

    async def handle(self, context: RequestContext, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or raise the :class:`ApiError` of everything that is wrong with it."""
        violations: list[Violation] = []
        body: dict[str, Any] = {}
        if self._body_schema:
            context.raw = await read_body(context, receive, self._max_bytes)
            body = await _parsed(context.raw)
        query = self._query(context.query_string, violations) if self._parameters or context.query_string else {}
        if self._body_schema:
            body = self._validated(self._without_nulls(body), self._body_schema, context, violations)
        if violations:
            raise error_of([*violations, *self._broken_rules(context, scope[RUNTIME_KEY], body, violations)])
        arguments: dict[str, Any] = dict(context.path_params)
        if self._parameters:
            arguments["query"] = query
        if self._body:
            arguments["body"] = body
        result = await self._execute(context, scope[RUNTIME_KEY], self, arguments)
        if isinstance(result, Stream):
            await send_stream(result, context.connection, receive, send)
        else:
            await send_response(result if isinstance(result, Response) else self._respond(context, result), send)

    def headers(self, context: RequestContext) -> dict[str, str]:
        """The headers that the document names and the client sent; one sent twice is a list (RFC 9110)."""
        values = {name: ", ".join(context.header_values(name.lower().encode())) for name in self.header_names}
        return {name: value for name, value in values.items() if value}

    def _query(self, raw: bytes, violations: list[Violation]) -> dict[str, Any]:
        given: dict[str, Any] = {}
        for name, texts in grouped(fields(raw)).items():
            schema = self._parameters.get(name)
            if schema is None:
                violations.append(_bad(name[:60], unknown_parameter(self._parameters)))
            elif len(texts) > 1 and name not in self._repeatable:
                violations.append(_bad(name, "is given more than once"))
            else:
                source = schema.source
                given[name] = value = cast_each(texts, source) if name in self._repeatable else cast(texts[0], source)
                if not schema.accepts(value):
                    violations.extend(
                        _bad(name, explain(each.message, texts[0], source)) for each in schema.violations(value)
                    )
        violations.extend(_bad(name, "is required") for name in sorted(self._required - given.keys()))
        return {**self._defaults, **given}

    def _without_nulls(self, body: dict[str, Any]) -> dict[str, Any]:
        """The body without the nulls that are as left out: of fields that the answer can show as null (B-12).

        In a PATCH those clear the field; the entries of a list are new as a whole.
        """
        if self._response is None or self._method not in ("post", "patch"):
            return body
        return self._response.without_nulls(body, in_lists_only=self._method == "patch")

    def _validated(
        self, body: dict[str, Any], schema: CompiledSchema, context: RequestContext, violations: list[Violation]
    ) -> dict[str, Any]:
        if not schema.accepts(body):
            if context.ignores_unknown_fields:
                body = schema.known(body)
            found = schema.violations(body)
            if context.takes_any_metadata:
                found = [each for each in found if not _is_metadata(each, body)]
            violations.extend(map(self._explain, found))
        return schema.complete(body)

    def _broken_rules(
        self, context: RequestContext, runtime: Any, body: Any, violations: list[Violation]
    ) -> Iterator[Violation]:
        """What the operation's rules find wrong with the valid part of an invalid request (B-12)."""
        if not self._body or not isinstance(self.function, Checked):
            return
        arguments: dict[str, Any] = dict(context.path_params)
        arguments["body"] = valid_part(body, {violation.path for violation in violations})
        for error in self.function.violations(runtime.world, arguments):
            for field, messages in (error.errors or {}).items():
                yield from (Violation(field, "rule", message, error.code) for message in messages)

    def _explain(self, violation: Violation) -> Violation:
        """A field that the object has but a PATCH does not take is not unknown: it cannot be changed (B-13)."""
        immutable = violation.keyword == "unknown" and self._method == "patch"
        if immutable and self._response and self._response.has(violation.path):
            return violation._replace(message="cannot be changed")
        return violation

    def _respond(self, context: RequestContext, result: Any) -> Response:
        if isinstance(result, bytes):
            return Response(self.status, result, media_type=next(iter(self._content)))
        if isinstance(result, Page):
            result = envelope(result, context)
        elif isinstance(result, dict):
            lists = {name: envelope(each, context) for name, each in result.items() if isinstance(each, Page)}
            result = {**result, **lists} if lists else result
        body = b"" if result is None else encode(result)
        if self._published is not None:
            self._require_conformance(body)
        return Response(self.status, body)

    def _require_conformance(self, body: bytes) -> None:
        """Raise :class:`InvalidResponse`, which the client gets as 500, for a body that breaks the document."""
        if self._response is None:
            problem = "a body where none is documented" if body else None
        elif not body:
            problem = "no body"
        else:
            answer = json.loads(body)
            violations = [each for schema in self._judges for each in schema.violations(answer)]
            problem = "; ".join(f"{each.path}: {each.message}" for each in violations)
        if problem:
            raise InvalidResponse(f"the response of {self.operation_id} breaks the document: {problem}")

    @cached_property
    def _response(self) -> CompiledSchema | None:
        return _json_schema(self._content)

    @cached_property
    def _judges(self) -> list[CompiledSchema]:
        """The schemas of the response: the published one, and ours, which also knows the form of a timestamp."""
        responses = (self._published or {}).get("responses", {})
        published = _json_schema(responses.get(str(self.status), {}).get("content", {}))
        return [schema for schema in (published, self._response) if schema is not None]


def _json_schema(content: Mapping[str, Any]) -> CompiledSchema | None:
    media = content.get("application/json")
    return CompiledSchema(media["schema"]) if media else None


class InvalidResponse(Exception):
    """A response that breaks the document."""


async def read_body(context: RequestContext, receive: Receive, max_bytes: int) -> bytes:
    """The raw body. Raises 400 for a body that is too large or has a content type other than JSON (B-12).

    A body whose ``Content-Length`` is too large is rejected before it is read.
    """
    if int(context.header(b"content-length") or 0) > max_bytes:
        raise _too_large(max_bytes)
    raw = bytearray()
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        raw += message.get("body", b"")
        if len(raw) > max_bytes:
            raise _too_large(max_bytes)
        more = message.get("more_body", False)
    if raw.strip() and _media_type(context) != "application/json":
        raise strict_json.malformed("its Content-Type must be application/json")
    return bytes(raw)


async def _parsed(raw: bytes) -> dict[str, Any]:
    """The JSON of a body; a large one is parsed in a thread, so that other requests need not wait for it."""
    return strict_json.parse(raw) if len(raw) <= BODY.most else await asyncio.to_thread(strict_json.parse, raw)


def _too_large(max_bytes: int) -> ApiError:
    return strict_json.malformed(f"it is larger than {max_bytes} bytes")


def _media_type(context: RequestContext) -> str:
    return (context.header(b"content-type") or "").split(";", 1)[0].strip().lower()


def _is_metadata(violation: Violation, body: dict[str, Any]) -> bool:
    """Whether it is about a value of metadata that under one assumption is allowed: any JSON of 500 characters (B-22)."""
    field, _, key = violation.path.partition(".")
    values = body.get("metadata")
    if field != "metadata" or not isinstance(values, dict) or key not in values:
        return False
    return len(encode(values[key])) <= METADATA_VALUE.most


def _bad(name: str, message: str) -> Violation:
    """The violation of a query parameter (B-12)."""
    return Violation(name, "query", message, "INVALID_FILTER_PARAM")


class OperationAPI(RoutedAPI[OperationHandler]):
    """The handlers of one document."""

    def __init__(
        self,
        *args: Any,
        definitions: Mapping[str, Definition],
        execute: Executor,
        published: Mapping[str, Definition],
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self._definitions = definitions
        self._execute = execute
        self._published = published
        self.add_paths()

    def make_operation(self, operation: AbstractOperation) -> OperationHandler:
        definition = self._definitions[operation.operation_id]
        return OperationHandler(operation, definition, self._execute, self._published.get(operation.operation_id))


class OperationMiddleware(OperationLayer[OperationAPI]):
    """The innermost layer: it answers every request, in place of Connexion's request and response validation."""

    api_cls = OperationAPI
