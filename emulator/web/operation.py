"""An operation, compiled once from its definition: from the raw request to the response's bytes.

Parameters are cast and bodies validated, all faults of a request at once and in the order of B-05;
lists get their envelope (B-19). The pipeline at the end stacks the layers between a request and the
function of its operation.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from functools import cached_property, lru_cache
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

from connexion.middleware.request_validation import (
    RequestValidationAPI,
    RequestValidationMiddleware,
)
from connexion.operations import AbstractOperation
from starlette.types import ASGIApp, Receive, Scope, Send

from emulator.core import calendar
from emulator.core.errors import ApiError
from emulator.core.limits import BODY, DIGITS, METADATA_VALUE, QUERY, SNAPSHOT
from emulator.core.lists import Page
from emulator.core.records import list_to_wire
from emulator.core.violations import broken_rules, valid_part
from emulator.core.world import encode
from emulator.document.tree import Document
from emulator.web import json_text
from emulator.web.context import (
    SCOPE_KEY,
    RequestContext,
    Response,
    Stream,
    send_response,
    send_stream,
    whole_body,
)
from emulator.web.routing import (
    Authenticate,
    AuthenticatedOperation,
    Definition,
    DocumentedApi,
    connexion_app,
    definitions,
)
from emulator.web.schemas import CompiledSchema, known, without_nulls
from emulator.web.violations import Violation, error_of

# -- query strings


def fields(raw: bytes) -> list[tuple[str, str]]:
    """Return the parameters in order; 422 for too many. Bytes that are not UTF-8 are replaced."""
    try:
        return parse_qsl(
            raw.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=QUERY.most
        )
    except ValueError:
        raise ApiError(
            "INVALID_FILTER_PARAM", message=f"The query has more than {QUERY.most} parameters."
        ) from None


def grouped(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    values: dict[str, list[str]] = {}
    for name, text in pairs:
        values.setdefault(name, []).append(text)
    return values


def cast(text: str, schema: Mapping[str, Any]) -> Any:
    """Return a parameter's text as its schema's type; other text stays and fails validation."""
    match schema.get("type"):
        case "integer":
            return _integer(text)
        case "boolean":
            return {"true": True, "false": False}.get(text, text)
        case "array":
            return cast_each(text.split(","), schema)
    return _instant(text) if schema.get("format") == "instant" else text


def _instant(text: str) -> str:
    """Return an instant as a timestamp for filters; any other text is unchanged and rejected."""
    try:
        return calendar.normalise(text)
    except ValueError:
        return text


def cast_each(texts: Iterable[str], schema: Mapping[str, Any]) -> list[Any]:
    """Return an array parameter's values: ``?expand=a&expand=b``, or parts of one text."""
    return [cast(text, schema["items"]) for text in texts]


def _integer(text: str) -> int | str:
    digits = text.removeprefix("-")
    return (
        int(text) if digits.isascii() and digits.isdigit() and len(digits) <= DIGITS.most else text
    )


# -- the list envelope (B-19)


def envelope(page: Page[Any], context: RequestContext) -> dict[str, Any]:
    """Return the list as sent; past the end, ``previous`` is the last page there is."""
    pages = -(-page.count // page.page_size)
    previous = min(page.page - 1, pages)
    return {
        "object": "list",
        "data": list_to_wire(page.data),
        "pagination": {
            "count": page.count,
            "total_pages": pages,
            "page": page.page,
            "page_size": page.page_size,
            "previous": _url(context, previous) if previous >= 1 else None,
            "next": _url(context, page.page + 1) if page.page < pages else None,
        },
    }


def _url(context: RequestContext, number: int) -> str:
    """Return the URL of this request with another page number and the same other parameters."""
    return f"{context.base_url}{_target(context.path, context.query_string)}{number}"


@lru_cache(maxsize=64)
def _target(path: str, query: bytes) -> str:
    """Return path and query of a list, up to the page number."""
    others = [(name, value) for name, value in fields(query) if name != "page"]
    return f"{quote(path)}?{urlencode([*others, ('page', '')])}"


# -- the operation


NO_BODY = CompiledSchema({"type": "object", "properties": {}, "additionalProperties": False})
"""The body of a POST without a documented body: none or an empty object (B-12, B-13)."""

Executor = Callable[[RequestContext, Any, "OperationHandler", dict[str, Any]], Awaitable[Any]]
"""Calls an operation's function; the service and the control API each have their own.

The second argument is the runtime that authentication has found. It returns a :class:`Response` or
a :class:`Stream`, a value to be encoded with the documented status, or bytes that are the body
already, of the documented media type.
"""


class OperationHandler:
    """Reads a request of one operation, validates it, executes it and responds.

    The definition says everything: parameters, body, defaults, success status. The function gets
    only valid arguments: path parameters by name, ``query`` if the operation has query parameters
    and ``body`` if it has a body.
    """

    def __init__(
        self,
        operation: AbstractOperation,
        documented: DocumentedApi,
        execute: Executor,
        published: Definition | None = None,
    ) -> None:
        self.operation_id: str = operation.operation_id
        self.function: Callable[..., Any] = operation.function
        self._method: str = operation.method
        self._documented = documented
        definition = documented.definitions[self.operation_id]
        self._execute = execute
        self._published = published
        parameters = definition["parameters"]
        query = {part["name"]: part for part in parameters if part["in"] == "query"}
        schemas = {name: part["schema"] for name, part in query.items()}
        self.query_names = frozenset(query)
        self.header_names = [part["name"] for part in parameters if part["in"] == "header"]
        self._parameters = {name: documented.schema(schema) for name, schema in schemas.items()}
        self._repeatable = {
            name
            for name, part in query.items()
            if part["schema"].get("type") == "array" and part.get("explode", True)
        }
        self._required = {name for name, part in query.items() if part.get("required")}
        self._defaults = {
            name: schema["default"] for name, schema in schemas.items() if "default" in schema
        }
        request_body = definition.get("requestBody", {})
        content = request_body.get("content", {})
        self._max_bytes = (SNAPSHOT if request_body.get("x-large-body") else BODY).most
        self._body = _json_schema(content, documented.schema)
        # The body of a GET or a DELETE has no meaning (RFC 9110) and is ignored.
        self._body_schema = self._body or (NO_BODY if self._method == "post" else None)
        self.status: int = next(
            int(status) for status in definition["responses"] if status.startswith("2")
        )
        self._content = definition["responses"][str(self.status)].get("content", {})
        # Who polls sends the same query each time.
        self._query = lru_cache(maxsize=8)(self._read_query)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond to a request, or raise one :class:`ApiError` for all of its faults."""
        context: RequestContext = scope[SCOPE_KEY]
        violations: list[Violation] = []
        arguments: dict[str, Any] = {**context.path_params}
        body: dict[str, Any] = {}
        if self._body_schema:
            context.raw = raw = await read_body(context, receive, self._max_bytes)
            # A large one is parsed in a thread, so that other requests need not wait for it.
            is_large = len(raw) > BODY.most
            body = (
                await asyncio.to_thread(json_text.parse, raw) if is_large else json_text.parse(raw)
            )
        if self._parameters or context.query_string:
            query, broken = self._query(context.query_string)
            violations += broken
            if self._parameters:
                arguments["query"] = query.copy()
        if self._body_schema:
            body = self._validated(
                self._without_nulls(body, context.raw), self._body_schema, context, violations
            )
            if self._body:
                arguments["body"] = body
        if violations:
            raise error_of([*violations, *self._broken_rules(context, body, violations)])
        result = await self._execute(context, context.runtime, self, arguments)
        if isinstance(result, Stream):
            await send_stream(result, context.connection, receive, send)
        else:
            await send_response(
                result if isinstance(result, Response) else self._respond(context, result), send
            )

    def headers(self, context: RequestContext) -> dict[str, str]:
        """Return the headers the document names and the client sent; a repeated one is a list."""
        values = {
            name: ", ".join(context.header_values(name.lower().encode()))
            for name in self.header_names
        }
        return {name: value for name, value in values.items() if value}

    def _read_query(self, raw: bytes) -> tuple[dict[str, Any], list[Violation]]:
        query: dict[str, Any] = {}
        violations: list[Violation] = []
        for name, texts in grouped(fields(raw)).items():
            schema = self._parameters.get(name)
            if schema is None:
                names = ", ".join(self._parameters)
                known = f"; must be one of {names}" if names else ""
                violations.append(_bad(name[:60], f"unknown parameter{known}"))
            elif len(texts) > 1 and name not in self._repeatable:
                violations.append(_bad(name, "is given more than once"))
            else:
                source = schema.source
                query[name] = value = (
                    cast_each(texts, source) if name in self._repeatable else cast(texts[0], source)
                )
                if not schema.accepts(value):
                    is_unencoded = source.get("format") == "instant" and " " in texts[0]
                    hint = "; a + in a URL is written %2B" if is_unencoded else ""
                    violations.extend(
                        _bad(name, violation.message + hint)
                        for violation in schema.violations(value)
                    )
        violations.extend(
            _bad(name, "is required") for name in sorted(self._required - query.keys())
        )
        return {**self._defaults, **query}, violations

    def _without_nulls(self, body: dict[str, Any], raw: bytes) -> dict[str, Any]:
        """Return the body without nulls that mean "no field", as the response shows them (B-12).

        In a PATCH those clear the field; the entries of a list are new as a whole.
        """
        if b"null" not in raw or self._response is None or self._method not in ("post", "patch"):
            return body
        whole: dict[str, Any] = without_nulls(body, self._response.source, self._method == "patch")
        return whole

    def _validated(
        self,
        body: dict[str, Any],
        schema: CompiledSchema,
        context: RequestContext,
        violations: list[Violation],
    ) -> dict[str, Any]:
        if not schema.accepts(body):
            own = context.settings
            if own and own.unknown_fields == "ignore":
                body = known(body, schema.source)
            broken = schema.violations(body)
            if own and own.assumptions.metadata_values == "any":
                broken = [violation for violation in broken if not _is_metadata(violation, body)]
            violations.extend(map(self._explain, broken))
        return schema.complete(body)

    def _broken_rules(
        self, context: RequestContext, body: Any, violations: list[Violation]
    ) -> Iterator[Violation]:
        """Yield the rule violations in the valid part of an invalid request (B-12)."""
        if not self._body or context.runtime is None:
            return
        part = valid_part(body, {violation.path for violation in violations})
        for error in broken_rules(
            self.function, context.runtime.world, part, **context.path_params
        ):
            for field, messages in (error.errors or {}).items():
                yield from (Violation(field, "rule", message, error.code) for message in messages)

    def _explain(self, violation: Violation) -> Violation:
        """Say "cannot be changed", not "unknown", of a field that no PATCH takes (B-13)."""
        immutable = violation.keyword == "unknown" and self._method == "patch"
        if immutable and self._response and violation.path in self._response.names():
            return violation._replace(message="cannot be changed")
        return violation

    def _respond(self, context: RequestContext, result: Any) -> Response:
        if isinstance(result, bytes):
            return Response(self.status, result, media_type=next(iter(self._content)).encode())
        if isinstance(result, Page):
            result = envelope(result, context)
        elif isinstance(result, dict):
            lists = {
                name: envelope(page, context)
                for name, page in result.items()
                if isinstance(page, Page)
            }
            result = {**result, **lists} if lists else result
        body = b"" if result is None else encode(result)
        if self._published is not None:
            self._require_conformance(body)
        return Response(self.status, body)

    def _require_conformance(self, body: bytes) -> None:
        """Raise :class:`InvalidResponse` (500) for a body that breaks the document."""
        if self._response is None:
            problem = "a body where none is documented" if body else None
        elif not body:
            problem = "no body"
        else:
            response = json.loads(body)
            broken = [schema for schema in self._judges if not schema.accepts(response)]
            violations = [
                violation for schema in broken for violation in schema.violations(response)
            ]
            problem = "; ".join(
                f"{violation.path}: {violation.message}" for violation in violations
            )
        if problem:
            raise InvalidResponse(
                f"the response of {self.operation_id} breaks the document: {problem}"
            )

    @cached_property
    def _response(self) -> CompiledSchema | None:
        return _json_schema(self._content, self._documented.schema)

    @cached_property
    def _judges(self) -> list[CompiledSchema]:
        """The response's schemas: the published one, and ours, which also checks timestamps."""
        responses = (self._published or {}).get("responses", {})
        published = _json_schema(
            responses.get(str(self.status), {}).get("content", {}), CompiledSchema
        )
        return [schema for schema in (published, self._response) if schema is not None]


def _json_schema(
    content: Mapping[str, Any], compiled: Callable[[dict[str, Any]], CompiledSchema]
) -> CompiledSchema | None:
    media = content.get("application/json")
    return compiled(media["schema"]) if media else None


class InvalidResponse(Exception):
    """A response that breaks the document."""


async def read_body(context: RequestContext, receive: Receive, max_bytes: int) -> bytes:
    """Return the raw body. Raises 400 if it is too large, compressed or not JSON (B-12).

    A body whose ``Content-Length`` is too large is rejected before it is read.
    """
    if int(context.headers.get(b"content-length") or 0) > max_bytes:
        raise _too_large(max_bytes)
    if (raw := await whole_body(receive, max_bytes)) is None:
        raise _too_large(max_bytes)
    encoding = (context.header(b"content-encoding") or "identity").strip()
    if encoding.lower() != "identity" and raw:
        raise json_text.malformed(
            f"its Content-Encoding must be identity, not {encoding[:60]}; send it uncompressed"
        )
    media_type = context.headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
    if media_type != b"application/json" and raw.strip():
        raise json_text.malformed("its Content-Type must be application/json")
    return raw


def _too_large(max_bytes: int) -> ApiError:
    return json_text.malformed(f"it is larger than {max_bytes} bytes")


def _is_metadata(violation: Violation, body: dict[str, Any]) -> bool:
    """Return whether one assumption allows the metadata value: JSON up to 500 characters (B-22)."""
    field, _, key = violation.path.partition(".")
    values = body.get("metadata")
    if field != "metadata" or not isinstance(values, dict) or key not in values:
        return False
    return len(encode(values[key]).decode()) <= METADATA_VALUE.most


def _bad(name: str, message: str) -> Violation:
    """Return the violation of a query parameter (B-12)."""
    return Violation(name, "query", message, "INVALID_FILTER_PARAM")


class OperationAPI(RequestValidationAPI):
    """The operations of one document: authentication, then ``before``, then the handler."""

    def __init__(
        self,
        *args: Any,
        documented: DocumentedApi,
        authenticate: Authenticate,
        before: Callable[[ASGIApp], ASGIApp],
        execute: Executor,
        published: Mapping[str, Definition],
        **kwargs: Any,
    ) -> None:
        self._documented = documented
        self._authenticate = authenticate
        self._before = before
        self._execute = execute
        self._published = published
        super().__init__(*args, **kwargs)

    def make_operation(self, operation: AbstractOperation) -> AuthenticatedOperation:
        published = self._published.get(operation.operation_id)
        handler = OperationHandler(operation, self._documented, self._execute, published)
        return AuthenticatedOperation(self._before(handler), operation, self._authenticate)


class OperationMiddleware(RequestValidationMiddleware):
    """The innermost layer: validates a request, executes the operation and responds."""

    api_cls = OperationAPI


# -- the pipeline


def build_app(
    api: DocumentedApi,
    operations: Mapping[str, Callable[..., Any]],
    *,
    authenticate: Authenticate,
    execute: Executor,
    published: Document | None,
    before: Callable[[ASGIApp], ASGIApp] = lambda handler: handler,
) -> ASGIApp:
    """Return one API's application. ``operations`` maps its operationIds to functions.

    ``published`` is the document as clients get it: every response is validated against it before
    it is sent. If it is None, responses are not validated. ``before`` makes the layer between
    authentication and the handler, which reads the body. Raises ``LookupError`` for an operation
    without a function, and the reverse.
    """
    if unmatched := operations.keys() ^ api.definitions.keys():
        raise LookupError(f"without a function, or without an operation: {sorted(unmatched)}")
    return connexion_app(
        api,
        operations,
        OperationMiddleware,
        authenticate=authenticate,
        before=before,
        execute=execute,
        published={} if published is None else definitions(published),
    )
