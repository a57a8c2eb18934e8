"""The edge, the outermost layer: every request gets its id here, is sent to the face it is for, and gets an answer."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable
from functools import lru_cache

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from emulator.errors import ApiError
from emulator.web.authentication import header
from emulator.web.context import SCOPE_KEY, RequestContext
from emulator.web.request_log import RequestLog
from emulator.web.response import send_response

logger = logging.getLogger("emulator")


class RootApp:
    """An ASGI application in front of others, chosen by prefix; the last one takes whatever is left.

    ``base_url`` is where the sandbox is reached, for requests that do not say how they reached it.
    """

    def __init__(
        self,
        faces: list[tuple[str, ASGIApp]],
        new_request_id: Callable[[], str],
        start: Callable[[], Awaitable[None]],
        stop: Callable[[], Awaitable[None]],
        base_url: str,
    ) -> None:
        self._apps = faces
        self._new_request_id = new_request_id
        self._start = start
        self._stop = stop
        self._base_url = base_url

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self._serve(scope, receive, send)
        elif scope["type"] == "lifespan":
            await self._live(receive, send)
        else:
            # Not accepting is how a WebSocket is refused; the emulator has none.
            await send({"type": "websocket.close", "code": 1000})

    def malformed(self, reason: str) -> tuple[str, bytes]:
        """Request id and body of the answer to bytes that make no request: 400, as any other error (B-11)."""
        call = RequestContext(self._base_url, self._new_request_id)
        return call.request_id, call.body_of(ApiError("VALIDATION_ERROR", http_status=400, message=reason))

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        call = scope[SCOPE_KEY] = RequestContext(self._base_url, self._new_request_id, scope)
        call.base_url = self._reached_at(scope)
        recorder = RequestLog(call, scope)
        started = False

        async def send_with_id(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                message["headers"] = [*message.get("headers", ()), (b"request-id", call.request_id.encode())]
            recorder.note(message)
            await send(message)

        path = scope["path"]
        try:
            await self._app_for(path)(scope, receive, send_with_id)
        except asyncio.CancelledError:
            # Only a server that stops cancels a request. What began an answer cannot begin another one.
            if started:
                raise
            await send_response(
                call.prepared_response(ApiError("INTERNAL_ERROR", message="The sandbox is stopping.")), send_with_id
            )
        except Exception as error:
            if started:
                raise
            logger.error("%s %s failed", scope["method"], path, exc_info=error)
            await send_response(call.prepared_response(ApiError("INTERNAL_ERROR")), send_with_id)

    def _app_for(self, path: str) -> ASGIApp:
        for prefix, app in self._apps:
            if path.startswith(prefix):
                return app
        raise LookupError("the last face takes whatever is left")

    async def _live(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                await self._start()
                await send({"type": "lifespan.startup.complete"})
            else:
                await self._stop()
                await send({"type": "lifespan.shutdown.complete"})
                return

    def _reached_at(self, scope: Scope) -> str:
        """Where the client found us, for links it is to follow: the host it called, if that is one."""
        host = header(scope, b"host")
        return f"{scope['scheme']}://{host}" if host and is_host(host) else self._base_url


_HOST = re.compile(r"([A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(:(?P<port>[0-9]{1,5}))?", re.ASCII)


@lru_cache(maxsize=256)
def is_host(text: str) -> bool:
    """Whether a ``Host`` header can stand in a URL: a name or an address, and perhaps a port."""
    form = _HOST.fullmatch(text)
    return form is not None and int(form["port"] or 0) <= 65535
