"""The context of a request: what the layers of the stack learn about it and hand on to each other."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import Any, Protocol

from starlette.types import Receive, Scope, Send

from emulator.core.errors import ApiError
from emulator.core.world import World
from emulator.engine.logged_request import Checkpoint
from emulator.engine.runtime import Runtime
from emulator.resources.app.client_ip import IpAddress, resolve
from emulator.resources.app.settings import settings
from emulator.web.error_responses import body_of
from emulator.web.response import Response

SCOPE_KEY = "emulator.context"
"""Key of the ASGI scope under which a request's context stands."""

CONNECTION_KEY = "emulator.connection"
"""Key of the ASGI scope under which the request's connection stands, where there is one."""

MALFORMED: Mapping[str, Any] = MappingProxyType({"headers": [], "method": "", "path": "", "query_string": b""})
"""The scope of bytes that are no HTTP request."""


class ClientConnection(Protocol):
    """The connection that a request came on, as far as the request may control it."""

    def abort(self) -> None:
        """Cut it."""

    def begin_stream(self) -> None:
        """From now on, close it once the client has closed its side, which a client that waits for an answer may do."""

    def end_stream(self) -> None:
        """The stream has ended; other requests may follow."""


class RequestContext:
    """One request on its way through the stack.

    ``headers`` are the request's by lower-case name, the first of each name; ``raw_headers`` are all of them. The
    router sets ``operation_id`` (``""`` until then), ``path_params`` and, for a HEAD, ``method``. Authentication sets
    ``runtime``, that of the world the request is for, and ``checkpoint``, the place in the world's history where the
    request began; layers that need a world get the runtime as an argument. ``raw`` is the body, as far as it was read.
    ``find_runtime`` finds that of the request's key before authentication, for the shape of errors only (B-10).
    ``ignores_unknown_fields`` is the App's setting ``unknown_fields`` (B-13); the control API never ignores any.
    ``takes_any_metadata`` is its assumption ``metadata_values`` (B-22).
    ``hold_ms`` is how long an injected fault holds the request once its Idempotency-Key is taken, in milliseconds.
    ``connection`` is the one that it came on; None in a client's own process.
    """

    __slots__ = (
        "_client",
        "_new_id",
        "_request_id",
        "base_url",
        "checkpoint",
        "connection",
        "find_runtime",
        "headers",
        "hold_ms",
        "ignores_unknown_fields",
        "method",
        "operation_id",
        "path",
        "path_params",
        "query_string",
        "raw",
        "raw_headers",
        "runtime",
        "takes_any_metadata",
    )

    def __init__(self, base_url: str, new_id: Callable[[], str], scope: Mapping[str, Any] = MALFORMED) -> None:
        # Parts of the scope and not the scope itself: it holds the context, and only the collector ends a cycle.
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        self.query_string: bytes = scope["query_string"]
        self.path_params: dict[str, str] = {}
        self.connection: ClientConnection | None = scope.get(CONNECTION_KEY)
        self.base_url = base_url
        self.operation_id = ""
        self.runtime: Runtime | None = None
        self.ignores_unknown_fields = False
        self.takes_any_metadata = False
        self.find_runtime: Callable[[RequestContext], Runtime | None] | None = None
        self.checkpoint: Checkpoint | None = None
        self.raw = b""
        self.hold_ms = 0
        self._new_id = new_id
        self._request_id: str | None = None
        self._client: tuple[str, int] | None = scope.get("client")
        self.raw_headers: list[tuple[bytes, bytes]] = scope["headers"]
        self.headers: dict[bytes, bytes] = dict(reversed(self.raw_headers))

    async def hold(self) -> None:
        """Wait as long as an injected fault holds the request."""
        if self.hold_ms:
            await asyncio.sleep(self.hold_ms / 1000)

    def header(self, name: bytes) -> str | None:
        """The first header of this lower-case name."""
        value = self.headers.get(name)
        return None if value is None else value.decode("latin-1")

    def header_values(self, name: bytes) -> list[str]:
        """The values of all headers of this lower-case name, in the order they were sent."""
        if len(self.headers) == len(self.raw_headers):  # no name stands twice
            value = self.headers.get(name)
            return [] if value is None else [value.decode("latin-1")]
        return [bytes(value).decode("latin-1") for key, value in self.raw_headers if key == name]

    def authorization(self) -> str | None:
        """The ``Authorization`` header. Two are rejected with 401, for it is open which one counts (B-03)."""
        values = self.header_values(b"authorization")
        if len(values) > 1:
            raise ApiError("AUTHENTICATION_FAILED", message="There is more than one Authorization header.")
        return values[0] if values else None

    def require_single(self, *names: str) -> None:
        """Raise 400 for a header that may be sent once and was sent twice (B-05)."""
        if len(self.headers) == len(self.raw_headers):
            return
        for name in names:
            if len(self.header_values(name.lower().encode())) > 1:
                message = f"{name}: there is more than one such header"
                raise ApiError("VALIDATION_ERROR", http_status=400, param=name, message=message)

    def body_of(self, error: ApiError) -> bytes:
        """The body of an error, in the shape the App has set (B-10)."""
        runtime = self.runtime or (self.find_runtime and self.find_runtime(self))
        shape = settings(runtime.world).error_shape if runtime else "documented"
        return body_of(error, request_id=self.request_id, docs_url=f"{self.base_url}/docs", shape=shape)

    def error_response(self, error: ApiError) -> Response:
        """The response to an error, with its headers."""
        retry = {} if error.retry_after is None else {"Retry-After": str(error.retry_after)}
        return Response(error.status, self.body_of(error), {**error.headers, **retry})

    def client_address(self, world: World) -> IpAddress:
        """The client's address, by what the world's App believes of ``X-Forwarded-For`` (B-70)."""
        peer = self._client and self._client[0]
        return resolve(peer, self.header_values(b"x-forwarded-for"), settings(world).trusted_proxies)

    @property
    def request_id(self) -> str:
        """The ``req_`` id: drawn from the world if there is one, so that worlds do not affect each other (B-01)."""
        if self._request_id is None:
            self._request_id = self._new_id() if self.runtime is None else self.runtime.request_id()
        return self._request_id

    @request_id.setter
    def request_id(self, id: str) -> None:
        """The id that another service gave the request, which it was passed on to."""
        self._request_id = id


def context_of(scope: Mapping[str, Any]) -> RequestContext:
    """The context of the request that a scope belongs to."""
    context: RequestContext = scope[SCOPE_KEY]
    return context


class ContextLayer:
    """An ASGI application whose :meth:`handle` gets the request's context; ``scope`` is for the application below."""

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        return self.handle(scope[SCOPE_KEY], scope, receive, send)

    def handle(self, context: RequestContext, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Answer the request, or pass it on. It need not be a coroutine itself, each of which costs every request."""
        raise NotImplementedError
