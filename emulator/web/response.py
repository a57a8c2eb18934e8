"""A reply: an answer that is finished already, bytes and all, where the plan has nothing left to do."""

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


async def send_response(reply: Response, send: Send) -> None:
    """The messages of an answer."""
    headers = [(b"content-length", str(len(reply.body)).encode())]
    if reply.body:
        headers.append((b"content-type", reply.media_type.encode()))
    headers += [(name.lower().encode(), value.encode()) for name, value in reply.headers.items()]
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    await send({"type": "http.response.body", "body": reply.body})
