"""A request's context: the facts that layers learn and hand on, and the responses they send."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

import msgspec
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Send

from emulator.core.errors import ApiError
from emulator.core.limits import KIB
from emulator.core.world import World
from emulator.engine.logged_requests import Checkpoint
from emulator.engine.runtime import Runtime
from emulator.engine.storage.store import StorageError
from emulator.resources.app.clients import IpAddress, resolve
from emulator.resources.app.settings import Settings, settings
from emulator.web.violations import body_of

# -- responses that are complete, and bodies of requests


NO_HEADERS: Mapping[str, str] = MappingProxyType({})


class Response(msgspec.Struct, frozen=True):
    """Status, body and headers beyond content type and length."""

    status: int
    body: bytes
    headers: Mapping[str, str] = NO_HEADERS
    media_type: bytes = b"application/json"


async def send_response(response: Response, send: Send) -> None:
    # Where nothing stands between, the request's log sends it in one piece.
    send_whole = getattr(getattr(send, "__self__", None), "send_whole", None)
    if send_whole is not None and send_whole(response):
        return
    body = response.body
    headers = [(b"content-length", b"%d" % len(body))]
    if body:
        headers.append((b"content-type", response.media_type))
    elif response.status == 204:
        headers.clear()  # without a body there is no length (RFC 9110)
    if response.headers:
        headers += [
            (name.lower().encode(), value.encode()) for name, value in response.headers.items()
        ]
    await send({"type": "http.response.start", "status": response.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def whole_body(receive: Receive, most: int) -> bytes | None:
    """Return the body of a request; None if it is larger than ``most`` bytes.

    Raises ``ClientDisconnect`` where the client went away before its end.
    """
    raw, more = bytearray(), True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        raw += message.get("body", b"")
        if len(raw) > most:
            return None
        more = message.get("more_body", False)
    return bytes(raw)


async def disconnected(receive: Receive) -> None:
    """Wait until the client is gone."""
    while (await receive())["type"] != "http.disconnect":
        pass


# -- the context


SCOPE_KEY = "emulator.context"
"""Key of the ASGI scope under which a request's context stands."""

CONNECTION_KEY = "emulator.connection"
"""Key of the ASGI scope under which the request's connection stands, where there is one."""

MALFORMED: Mapping[str, Any] = MappingProxyType(
    {"headers": [], "method": "", "path": "", "query_string": b""}
)
"""The scope of bytes that are no HTTP request."""


class ClientConnection(Protocol):
    """The connection that a request came on, as far as the request may control it."""

    def abort(self) -> None:
        """Cut the connection."""

    def takes_whole(self, send: Send) -> bool:
        """Return whether :meth:`send_whole` can stand in for the server's ``send`` now."""

    def send_whole(self, send: Send, response: Response, request_id: str) -> None:
        """Send a response without headers of its own, in one write."""

    def begin_stream(self) -> None:
        """From now on, close if the client closes its side, which a waiting client may do."""

    def end_stream(self) -> None:
        """End the stream; other requests may follow."""


class RequestContext:
    """One request on its way through the stack.

    ``headers`` are the request's by lower-case name, the first of each name; ``raw_headers`` are
    all of them. The router sets ``operation_id`` (``""`` until then), ``path_params`` and, for a
    HEAD, ``method``. Authentication sets ``runtime``, that of the world the request is for, and
    ``checkpoint``, the place in the world's history where the request began; layers that need a
    world get the runtime as an argument. ``raw`` is the body, as far as it was read.
    ``find_runtime`` finds that of the request's key, for the id and the shape of errors before
    authentication (B-01, B-10). ``settings`` are the App's for a request to the service; None for
    any other, which no setting concerns. ``error_shape`` is that of an error whose world is
    released before the error is written. ``hold_ms`` is how long an injected fault holds the
    request once its Idempotency-Key is taken, in milliseconds. ``connection`` is the one that it
    came on; None in a client's own process.
    """

    operation_id = ""
    path_params: Mapping[str, str] = MappingProxyType({})
    runtime: Runtime | None = None
    settings: Settings | None = None
    error_shape: str | None = None
    find_runtime: Callable[[RequestContext], Runtime | None] | None = None
    checkpoint: Checkpoint | None = None
    raw = b""
    hold_ms = 0
    _request_id: str | None = None

    def __init__(
        self, base_url: str, new_id: Callable[[], str], scope: Mapping[str, Any] = MALFORMED
    ) -> None:
        # Parts of the scope and not the scope itself: it holds the context, and only the collector
        # ends a cycle.
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        self.query_string: bytes = scope["query_string"]
        self.connection: ClientConnection | None = scope.get(CONNECTION_KEY)
        self.base_url = base_url
        self._new_id = new_id
        self._client: tuple[str, int] | None = scope.get("client")
        self.raw_headers: list[tuple[bytes, bytes]] = scope["headers"]
        self.headers: dict[bytes, bytes] = dict(reversed(self.raw_headers))
        self.repeats_a_header: bool = len(self.headers) != len(self.raw_headers)

    async def hold(self) -> None:
        if self.hold_ms:
            await asyncio.sleep(self.hold_ms / 1000)

    def header(self, name: bytes) -> str | None:
        """Return the first header of this lower-case name."""
        value = self.headers.get(name)
        return None if value is None else value.decode("latin-1")

    def header_values(self, name: bytes) -> list[str]:
        """Return the values of all headers of this lower-case name, in the order they were sent."""
        if not self.repeats_a_header:
            value = self.headers.get(name)
            return [] if value is None else [value.decode("latin-1")]
        return [bytes(value).decode("latin-1") for key, value in self.raw_headers if key == name]

    def authorization(self) -> str | None:
        """Return the ``Authorization`` header. Two are ambiguous and rejected with 401 (B-03)."""
        if self.repeats_a_header and len(self.header_values(b"authorization")) > 1:
            raise ApiError(
                "AUTHENTICATION_FAILED", message="There is more than one Authorization header."
            )
        return self.header(b"authorization")

    def require_single(self, *names: str) -> None:
        """Raise 400 for a header that may be sent once and was sent twice (B-05)."""
        for name in names:
            if len(self.header_values(name.lower().encode())) > 1:
                message = f"{name}: there is more than one such header"
                raise ApiError("VALIDATION_ERROR", http_status=400, param=name, message=message)

    def body_of(self, error: ApiError) -> bytes:
        """Return the body of an error, in the shape the App has set (B-10)."""
        shape = self.error_shape
        if shape is None:
            runtime = self.runtime or (self.find_runtime and self.find_runtime(self))
            shape = settings(runtime.world).error_shape if runtime else "documented"
        return body_of(
            error, request_id=self.request_id, docs_url=f"{self.base_url}/docs", shape=shape
        )

    def error_response(self, error: ApiError) -> Response:
        retry = {} if error.retry_after is None else {"Retry-After": str(error.retry_after)}
        return Response(error.status, self.body_of(error), {**error.headers, **retry})

    def client_address(self, world: World) -> IpAddress:
        """Return the client's address, by the App's trust in ``X-Forwarded-For`` (B-70)."""
        peer = self._client and self._client[0]
        return resolve(
            peer, self.header_values(b"x-forwarded-for"), settings(world).trusted_proxies
        )

    @property
    def request_id(self) -> str:
        """The ``req_`` id, drawn from the world, if any, so that worlds stay independent (B-01)."""
        if self._request_id is None:
            if self.runtime is not None:
                self._request_id = self.runtime.request_id()
            else:
                runtime = self.find_runtime and self.find_runtime(self)
                self._request_id = runtime.request_id() if runtime else self._new_id()
        return self._request_id

    @request_id.setter
    def request_id(self, id: str) -> None:
        """Set the id that another service gave the request that was passed on to it."""
        self._request_id = id


def context_of(scope: Mapping[str, Any]) -> RequestContext:
    context: RequestContext = scope[SCOPE_KEY]
    return context


# -- responses without an end of their own


DRAIN_SECONDS = 0.2
"""Seconds (real time) for the client to read an ended stream before the connection is cut."""


PIECE = 16 * KIB
"""Bytes of a stream that are sent at once, and that may wait for a client that does not read."""


class Stream(NamedTuple):
    """A stream's parts, the first made before the response starts; ``ended``: no more come.

    Streams that share ``pauses`` send one piece after the other, however many have much to send;
    between any two pieces other tasks run.
    """

    parts: Callable[[], AsyncGenerator[bytes, None]]
    ended: asyncio.Event
    media_type: str
    pauses: asyncio.Lock


async def send_stream(
    stream: Stream, connection: ClientConnection | None, receive: Receive, send: Send
) -> None:
    """Send the stream until it ends or the client disconnects; slow readers hold nothing up."""
    if connection is not None:
        connection.begin_stream()
    sending = asyncio.create_task(_send(stream, send))
    ends = [asyncio.create_task(disconnected(receive)), asyncio.create_task(stream.ended.wait())]
    try:
        await asyncio.wait([sending, *ends], return_when=asyncio.FIRST_COMPLETED)
        if stream.ended.is_set():
            await asyncio.wait([sending], timeout=DRAIN_SECONDS)
    finally:
        if connection is not None:
            connection.end_stream()
        for task in (sending, *ends):
            task.cancel()
        await asyncio.gather(sending, *ends, return_exceptions=True)
    is_whole = not sending.cancelled() and sending.result()
    if not is_whole and connection is not None:
        connection.abort()


async def _send(stream: Stream, send: Send) -> bool:
    """Return False if storing failed before the stream ended."""
    async with aclosing(stream.parts()) as parts:
        part = await anext(parts)
        headers = [(b"content-type", stream.media_type.encode()), (b"cache-control", b"no-store")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        try:
            await send({"type": "http.response.body", "body": part, "more_body": True})
            async for part in parts:
                for at in range(0, len(part), PIECE):
                    await send(
                        {
                            "type": "http.response.body",
                            "body": part[at : at + PIECE],
                            "more_body": True,
                        }
                    )
                    async with stream.pauses:
                        await asyncio.sleep(0)
        except StorageError:
            return False
    await send({"type": "http.response.body", "body": b""})
    return True
