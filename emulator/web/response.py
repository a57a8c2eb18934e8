"""Responses that are complete, with the bytes of their body."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import msgspec
from starlette.types import Send

NO_HEADERS: Mapping[str, str] = MappingProxyType({})


class Response(msgspec.Struct, frozen=True):
    """Status, body and headers beyond content type and length."""

    status: int
    body: bytes
    headers: Mapping[str, str] = NO_HEADERS
    media_type: str = "application/json"


async def send_response(response: Response, send: Send) -> None:
    """Send a response as ASGI messages."""
    headers = [(b"content-length", str(len(response.body)).encode())]
    if response.body:
        headers.append((b"content-type", response.media_type.encode()))
    headers += [(name.lower().encode(), value.encode()) for name, value in response.headers.items()]
    await send({"type": "http.response.start", "status": response.status, "headers": headers})
    await send({"type": "http.response.body", "body": response.body})
