"""Streaming: a response without an end of its own, whose parts are sent as they come."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import NamedTuple

from starlette.types import Receive, Send

from emulator.engine.storage.store import StorageError
from emulator.web.context import ClientConnection

DRAIN_SECONDS = 0.2
"""Seconds (real time) a client has to read the rest once a stream has ended; then its connection is cut."""


class Stream(NamedTuple):
    """The parts, the first of which is made before the response starts; ``ended`` is set when no more will come."""

    parts: Callable[[], AsyncGenerator[bytes, None]]
    ended: asyncio.Event
    media_type: str


async def send_stream(stream: Stream, connection: ClientConnection | None, receive: Receive, send: Send) -> None:
    """Send the stream until it ends or the client disconnects. A client that does not read holds nothing up."""
    if connection is not None:
        connection.begin_stream()
    sending = asyncio.create_task(_send(stream, send))
    ends = [asyncio.create_task(_disconnected(receive)), asyncio.create_task(stream.ended.wait())]
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
    """Whether the stream was sent to its end, and not only until something in it could not be stored."""
    async with aclosing(stream.parts()) as parts:
        part = await anext(parts)
        headers = [(b"content-type", stream.media_type.encode()), (b"cache-control", b"no-store")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        try:
            await send({"type": "http.response.body", "body": part, "more_body": True})
            async for part in parts:
                await send({"type": "http.response.body", "body": part, "more_body": True})
        except StorageError:
            return False
    await send({"type": "http.response.body", "body": b""})
    return True


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
