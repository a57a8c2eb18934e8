"""Passes a request on to another server and takes its answer, whole and bounded."""

from __future__ import annotations

from typing import NamedTuple

import httpx
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Send

from emulator.core import limits
from emulator.core.errors import ApiError
from emulator.web.context import RequestContext

PATIENCE = 60.0
"""Seconds that the service, or the application, has to answer."""

MAX_ANSWER = 16 * limits.MIB
"""Bytes of the longest answer that is passed on."""

HOP_BY_HOP = frozenset(
    (
        *("connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te"),
        *("trailer", "transfer-encoding", "upgrade", "host", "content-length", "expect"),
        *("accept-encoding", "content-encoding"),
    )
)
"""Headers of the connection, and of encodings, which are undone here."""

OWN = frozenset(("cookie", "emulator-token"))
"""Headers of a request that may open an emulator's console and its control API."""


class FetchedAnswer(NamedTuple):
    """An answer, whole; headers as they came, without those of the connection."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes

    def header(self, name: str) -> str | None:
        """The first header of this lower-case name."""
        return next((value for each, value in self.headers if each.lower() == name), None)

    @property
    def text(self) -> str | None:
        """The body, if it is a text."""
        try:
            return self.body.decode()
        except UnicodeDecodeError:
            return None


async def fetched(
    client: httpx.AsyncClient, whom: str, url: httpx.URL, context: RequestContext, body: bytes
) -> FetchedAnswer:
    """The answer of ``whom`` to a request. Raises ``ApiError`` (502) if there is none, or if it is too long."""
    try:
        async with client.stream(context.method, url, headers=_forwarded(context), content=body or None) as answer:
            parts, length = [], 0
            async for part in answer.aiter_bytes():
                length += len(part)
                if length > MAX_ANSWER:
                    raise _failed(whom, f"its answer is longer than {MAX_ANSWER} bytes")
                parts.append(part)
    except httpx.TimeoutException:
        raise _failed(whom, f"it did not answer within {PATIENCE:.0f} seconds") from None
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise _failed(whom, str(error).rstrip(".") or type(error).__name__) from None
    given = [(name, value) for name, value in answer.headers.multi_items() if name.lower() not in HOP_BY_HOP]
    return FetchedAnswer(answer.status_code, given, b"".join(parts))


def _forwarded(context: RequestContext) -> list[tuple[bytes, bytes]]:
    """The headers of a request that are passed on."""
    named = {name.strip().lower() for name in (context.header(b"connection") or "").split(",")}
    dropped = HOP_BY_HOP | OWN | named
    given = [(name, value.strip()) for name, value in context.raw_headers if name.decode("latin-1") not in dropped]
    return [*given, (b"accept-encoding", b"identity")]


def _failed(whom: str, why: str) -> ApiError:
    return ApiError("UPSTREAM_ERROR", http_status=502, message=f"The proxy got no answer from {whom}: {why}.")


async def whole_body(receive: Receive, most: int) -> bytes:
    """The body of a request. Raises ``ApiError`` (400) for one of more than ``most`` bytes.

    Raises ``ClientDisconnect`` where the client went away before its end: half a body is passed on to no one.
    """
    body, more = bytearray(), True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        body += message.get("body", b"")
        if len(body) > most:
            raise ApiError("VALIDATION_ERROR", http_status=400, message=f"The body has more than {most} bytes.")
        more = message.get("more_body", False)
    return bytes(body)


async def send_fetched(answer: FetchedAnswer, send: Send) -> None:
    """Send an answer on, as ASGI messages. The request id is added by the root application."""
    given = [(n.lower().encode(), v.encode("latin-1")) for n, v in answer.headers if n.lower() != "request-id"]
    length = [] if answer.status in (204, 304) else [(b"content-length", str(len(answer.body)).encode())]
    await send({"type": "http.response.start", "status": answer.status, "headers": [*given, *length]})
    await send({"type": "http.response.body", "body": answer.body})
