"""A flow: an answer without an end of its own, whose parts are sent as they come."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import NamedTuple

from starlette.types import Receive, Scope, Send

ABORT = "emulator.abort"
"""Key of the scope under which a connection gives the means to cut it."""

LAST_WORDS = 0.2
"""Seconds (real time) a reader has for the rest once a flow is over; one that does not read is cut off."""


class Stream(NamedTuple):
    """The parts, begun before the answer is; ``over`` is set when nothing more is to be said."""

    parts: Callable[[], AsyncGenerator[bytes, None]]
    ended: asyncio.Event
    media_type: str


async def send_stream(flow: Stream, scope: Scope, receive: Receive, send: Send) -> None:
    """Send it until it is over or its reader is gone. A reader that does not read holds up nobody else."""
    sending = asyncio.create_task(_send(flow, send))
    ends = [asyncio.create_task(_gone(receive)), asyncio.create_task(flow.ended.wait())]
    try:
        await asyncio.wait([sending, *ends], return_when=asyncio.FIRST_COMPLETED)
        if flow.ended.is_set():
            await asyncio.wait([sending], timeout=LAST_WORDS)
    finally:
        stuck = not sending.done()
        for task in (sending, *ends):
            task.cancel()
        await asyncio.gather(sending, *ends, return_exceptions=True)
    if stuck and ABORT in scope:
        scope[ABORT]()
    elif not sending.cancelled():
        sending.result()


async def _send(flow: Stream, send: Send) -> None:
    async with aclosing(flow.parts()) as parts:
        part = await anext(parts)
        headers = [(b"content-type", flow.media_type.encode()), (b"cache-control", b"no-store")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": part, "more_body": True})
        async for part in parts:
            await send({"type": "http.response.body", "body": part, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
