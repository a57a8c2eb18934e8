"""A call of an ASGI application in this process, without a socket, as the console calls its API."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from emulator.client.messages import ApiRequest, ApiResponse

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message


async def exchange(app: ASGIApp, base_url: str, request: ApiRequest) -> ApiResponse:
    """Return the response to a request, which the application takes for one to ``base_url``."""
    base = urlsplit(base_url)
    path, _, query = request.target.partition("?")
    length = [(b"content-length", b"%d" % len(request.body))] if request.body else []
    scope: dict[str, Any] = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": request.method,
        "scheme": base.scheme,
        "path": unquote(path),
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [(b"host", base.netloc.encode()), *request.headers, *length],
        "server": (base.hostname, base.port),
        "client": ("127.0.0.1", 0),
    }
    unread = [request.body]
    sent: list[Message] = []
    complete = asyncio.Event()

    async def receive() -> Message:
        if unread:
            return {"type": "http.request", "body": unread.pop()}
        await complete.wait()
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)
        if message["type"] == "http.response.body" and not message.get("more_body"):
            complete.set()

    await app(scope, receive, send)
    start, *parts = sent
    found = {
        name.decode("latin-1"): value.decode("latin-1") for name, value in start.get("headers", ())
    }
    return ApiResponse(
        request, start["status"], found, b"".join(part.get("body", b"") for part in parts)
    )
