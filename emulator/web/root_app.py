"""The root application: gives a request its context, passes it on by path, and logs it."""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Awaitable, Callable
from functools import lru_cache

import msgspec
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from emulator.core.errors import ApiError
from emulator.core.world import World
from emulator.engine.logged_requests import (
    MAX_BODY_BYTES,
    LoggedRequest,
    redacted_body,
    redacted_path,
)
from emulator.engine.runtime import Runtime
from emulator.web.context import SCOPE_KEY, RequestContext, Response, send_response

# -- applications that are built on their first request


class LazyApp:
    """Stands for the application that ``make`` builds, in a thread because its imports are slow."""

    def __init__(self, make: Callable[[], ASGIApp]) -> None:
        self._make = make
        self._app: ASGIApp | None = None
        self._building = asyncio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._app is None:
            async with self._building:
                if self._app is None:
                    self._app = await asyncio.to_thread(self._make)
        await self._app(scope, receive, send)


# -- the request log


SERVICE = "/v1/"

MAX_SHOWN_UNITS = 100
"""Units of a request whose events appear in the server's log; an advance may have many more."""


class FinishedRequest(msgspec.Struct, frozen=True, gc=False):
    """A request with its response, as in the server's log; ``app`` is None if it is about none.

    ``events`` are the types of those that it caused, ``seconds`` is real time.
    """

    id: str
    app: str | None
    method: str
    path: str
    status: int
    seconds: float
    events: tuple[str, ...]


RequestReport = Callable[[FinishedRequest, bytes, World | None], None]
"""Takes a finished request, and of a recorded one its response and its world; else b"" and None."""


class RequestLog:
    """One request, which is recorded if it is to the service or may change a world.

    Each, recorded or not, is given to ``report``. ``status`` is 0 until the response starts.
    """

    status = 0
    _response = b""

    def __init__(self, context: RequestContext, send: Send, report: RequestReport | None) -> None:
        self._context = context
        self._send = send
        self._report = report
        self._method = context.method
        self._is_recorded = context.method != "GET" or context.path.startswith(SERVICE)
        self._started = time.perf_counter()

    def send(self, message: Message) -> Awaitable[None]:
        """Send a response's message with the request's id; the last completes the entry first."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message["headers"] = [
                *message.get("headers", ()),
                (b"request-id", self._context.request_id.encode()),
            ]
        else:
            self._add(message.get("body", b""), is_last=not message.get("more_body"))
        return self._send(message)

    def send_whole(self, response: Response) -> bool:
        """Send a response in one piece, if headers and connection allow it; return whether."""
        context = self._context
        if (
            response.headers
            or context.connection is None
            or not context.connection.takes_whole(self._send)
        ):
            return False
        self.status = response.status
        self._add(response.body, is_last=True)
        context.connection.send_whole(self._send, response, context.request_id)
        return True

    def _add(self, body: bytes, *, is_last: bool) -> None:
        runtime = self._context.runtime
        if runtime is not None and self._is_recorded:
            self._response = (self._response + body)[:MAX_BODY_BYTES]
            if is_last:
                self._record(runtime)
        if is_last and self._report is not None:
            self._report(
                self._answered(runtime), self._response, runtime.world if runtime else None
            )

    def _record(self, runtime: Runtime) -> None:
        context = self._context
        entry = LoggedRequest(
            id=context.request_id,
            checkpoint=runtime.history.beginning(context.checkpoint),
            last_unit=runtime.journal.count,
            operation=context.operation_id or None,
            method=self._method,
            path=context.path,
            query=context.query_string,
            headers=context.raw_headers,
            body=redacted_body(context.raw),
            status=self.status,
            response=self._response,
            began=self._started,
            answered=time.perf_counter(),
        )
        runtime.journal.record(entry)

    def _answered(self, runtime: Runtime | None) -> FinishedRequest:
        context = self._context
        return FinishedRequest(
            id=context.request_id,
            app=runtime.world.name if runtime else None,
            method=self._method,
            path=self._shown_path(),
            status=self.status,
            seconds=time.perf_counter() - self._started,
            events=self._events(runtime) if runtime and self._is_recorded else (),
        )

    def _shown_path(self) -> str:
        """Return the path without secrets."""
        context = self._context
        # One that led to an object has that object's id in it, and nothing else of a client's own:
        # it need not be searched, which takes longer than all else of a line.
        if self.status < 400 and context.path_params and context.path.startswith(SERVICE):
            return context.path
        return redacted_path(context.path)

    def _events(self, runtime: Runtime) -> tuple[str, ...]:
        """Return the types of the request's events; none if it replaced the world."""
        begun = self._context.checkpoint
        if begun is None or runtime.journal.count <= begun.units:
            return ()
        causes = (self._context.request_id, None)
        units = runtime.journal.since(begun)[:MAX_SHOWN_UNITS]
        types = [
            event.type for unit in reversed(units) if unit.cause in causes for event in unit.events
        ]
        return tuple(types)


# -- the root application


logger = logging.getLogger("emulator")


def as_api_error(context: RequestContext, error: BaseException) -> ApiError:
    """Return the error that a client gets for an exception; an unexpected one is logged."""
    if isinstance(error, ApiError):
        return error
    if isinstance(error, asyncio.CancelledError):  # only a server that stops cancels a request
        return ApiError("INTERNAL_ERROR", message="The sandbox is stopping.")
    if not isinstance(error, ClientDisconnect):
        logger.error("%s %s failed", context.method, redacted_path(context.path), exc_info=error)
    return ApiError("INTERNAL_ERROR")


class RootApp:
    """Passes requests to ASGI applications by path prefix; the last prefix must be empty.

    ``base_url`` is where the sandbox is reached, for requests that do not say how they reached it.
    ``report`` takes each finished request. With ``waits`` nothing is sent before all
    that was done in its world is stored.
    """

    def __init__(
        self,
        apps: list[tuple[str, ASGIApp]],
        *,
        new_request_id: Callable[[], str],
        start: Callable[[], Awaitable[None]],
        stop: Callable[[], Awaitable[None]],
        base_url: str,
        report: RequestReport | None = None,
        waits: bool = False,
    ) -> None:
        self._apps = apps
        self._new_request_id = new_request_id
        self._start = start
        self._stop = stop
        self._base_url = base_url
        self._report = report
        self._waits = waits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._serve_other(scope["type"], receive, send)
            return
        context = scope[SCOPE_KEY] = RequestContext(self._base_url, self._new_request_id, scope)
        # Where the client reached us, for links it is to follow: of its ``Host``, if that is valid.
        context.base_url = (
            _base_url(scope["scheme"], context.headers.get(b"host", b"")) or self._base_url
        )
        log = RequestLog(context, send, self._report)
        try:
            await self._app_for(context.path)(scope, receive, self._sending(context, log.send))
        except ClientDisconnect:
            return  # nobody waits for a response
        except (Exception, asyncio.CancelledError) as error:
            if log.status:  # a response that has started cannot be replaced by another
                raise
            await send_response(context.error_response(as_api_error(context, error)), log.send)

    def malformed(self, reason: str, status: int) -> tuple[str, bytes]:
        """Return id and body of the response to an unacceptable HTTP request (B-11)."""
        context = RequestContext(self._base_url, self._new_request_id)
        return context.request_id, context.body_of(
            ApiError("VALIDATION_ERROR", http_status=status, message=reason)
        )

    async def _serve_other(self, type: str, receive: Receive, send: Send) -> None:
        if type != "lifespan":
            # Closing before accepting rejects a WebSocket; the emulator has none.
            await send({"type": "websocket.close", "code": 1000})
            return
        for phase, act in (("startup", self._start), ("shutdown", self._stop)):
            await receive()
            await act()
            await send({"type": f"lifespan.{phase}.complete"})

    def _sending(self, context: RequestContext, send: Send) -> Send:
        """Return ``send``, once all that was done in the world of the request is stored."""
        if not self._waits:
            return send

        async def send_durable(message: Message) -> None:
            # The body of a response that is no stream was complete before its head was sent.
            if context.runtime and (
                message["type"] == "http.response.start" or message.get("more_body")
            ):
                await context.runtime.durable()
            await send(message)

        return send_durable

    def _app_for(self, path: str) -> ASGIApp:
        for prefix, app in self._apps:
            if path.startswith(prefix):
                return app
        raise LookupError("the last prefix is not empty")


_HOST = re.compile(
    r"([A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(:(?P<port>[0-9]{1,5}))?", re.ASCII
)


@lru_cache(maxsize=256)
def _base_url(scheme: str, header: bytes) -> str | None:
    """Return the URL of what a ``Host`` header names; None for an invalid one."""
    host = header.decode("latin-1")
    return f"{scheme}://{host}" if is_host(host) else None


@lru_cache(maxsize=256)
def is_host(text: str) -> bool:
    """Return whether a ``Host`` header is a name or address, perhaps with a port."""
    form = _HOST.fullmatch(text)
    return form is not None and int(form["port"] or 0) <= 65535
