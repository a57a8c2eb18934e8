"""A world in this process, without a socket, in which recordings are played hundreds of times a second."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Self
from urllib.parse import unquote, urlsplit

from starlette.types import Message

from emulator.control.inbox import PREFIX
from emulator.core.unit_of_work import HttpResult
from emulator.engine.http_client import RawBody
from emulator.engine.outbox import WebhookSender
from emulator.engine.world_clock import FROZEN
from emulator.resources.app.clients import Key
from emulator.server.sandbox import Options, Parts, Sandbox
from emulator.web.context import CONNECTION_KEY

SendRequest = Callable[[str, str, Mapping[str, str], bytes], Awaitable[tuple[int, bytes]]]
"""Sends a request to the world: method, target, headers and body; the answer's status and body."""


ATTEMPTS = 10
"""How often a request is sent whose connection is cut."""


class SilentSender(WebhookSender):
    """Sends nothing: each webhook counts as delivered, so that playing a recording disturbs no application.

    Those to an inbox of the world itself arrive, and count as what the inbox answers.
    """

    def __init__(self, exchange: SendRequest) -> None:
        super().__init__()
        self._exchange = exchange

    async def send(self, url: str, headers: dict[str, str], body: RawBody, **options: Any) -> HttpResult:
        """Return a success, or the answer of the inbox."""
        parts = urlsplit(url)
        if not parts.path.startswith(PREFIX) or not isinstance(body, bytes):
            return HttpResult(status_code=200, body="", duration_ms=0)
        target = f"{parts.path}?{parts.query}" if parts.query else parts.path
        status, answer = await self._exchange("POST", target, headers, body)
        return HttpResult(status_code=status, body=answer.decode(), duration_ms=0)


class _RequestConnection:
    """The connection of one request, as an injected fault cuts it."""

    def __init__(self) -> None:
        self.is_cut = False

    def abort(self) -> None:
        """Cut the connection."""
        self.is_cut = True

    def begin_stream(self) -> None:
        """Do nothing: a stream ends with its request."""

    def end_stream(self) -> None:
        """Do nothing."""


class FreshWorld:
    """The world of an App in a sandbox of its own, frozen; ``url`` is where it seems to be reached.

    A request that has an ``authorization`` header, which may be empty, is one with that header, or without one.
    """

    def __init__(self, app: str, url: str) -> None:
        options = Options(
            clock_mode=FROZEN, seed=0, base_url=url, parts=Parts(sender=lambda _time: SilentSender(self._exchange))
        )
        self._app = Sandbox(options).application()
        self.url = url
        self._headers = {"host": urlsplit(url).netloc, "authorization": f"Bearer {Key(app, livemode=False)}"}
        self._loop = asyncio.new_event_loop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.close()

    def exchange(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> tuple[int, bytes]:
        """Return the status and the body of the answer to a request, as bytes.

        A request whose connection an injected fault cuts is sent again, as clients do: a journal has only what was
        answered. The status is 0 when it is cut every time.
        """
        for _ in range(ATTEMPTS):
            status, answer = self._loop.run_until_complete(self._exchange(method, target, headers, body))
            if status:
                return status, answer
        return 0, b""

    async def _exchange(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> tuple[int, bytes]:
        path, _, query = target.partition("?")
        given = {**self._headers, **({"content-type": "application/json"} if body else {}), **headers}
        given = {name: value for name, value in given.items() if value or name != "authorization"}
        pairs = [(name.lower().encode(), value.encode("utf-8", "replace")) for name, value in given.items()]
        scope: dict[str, Any] = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": unquote(path),
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": [*pairs, (b"content-length", str(len(body)).encode())],
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 1),
        }
        messages: list[Message] = []
        connection = scope[CONNECTION_KEY] = _RequestConnection()

        async def receive() -> Message:
            if connection.is_cut:
                return {"type": "http.disconnect"}
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: Message) -> None:
            messages.append(message)

        await self._app(scope, receive, send)
        if connection.is_cut:
            return 0, b""
        return messages[0]["status"], b"".join(message.get("body", b"") for message in messages[1:])
