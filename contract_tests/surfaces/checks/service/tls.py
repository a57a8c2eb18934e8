"""TLS in front of a server of this process: a relay with a certificate of an authority that only the test knows."""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple
from urllib.parse import urlsplit

import trustme

PIECE = 64 * 1024
"""Bytes that are relayed at a time."""


class BehindTls(NamedTuple):
    """The https URL of a server, the context of clients that trust it, and its authority."""

    url: str
    trusting: ssl.SSLContext
    authority: trustme.CA


@contextmanager
def behind_tls(url: str) -> Iterator[BehindTls]:
    """The server at a URL behind TLS, during the block."""
    authority = trustme.CA()
    serving, trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    authority.issue_cert("127.0.0.1").configure_cert(serving)
    authority.configure_trust(trusting)
    loop = asyncio.new_event_loop()
    relay = loop.run_until_complete(_listening(urlsplit(url).port or 80, serving))
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield BehindTls(f"https://127.0.0.1:{relay.sockets[0].getsockname()[1]}", trusting, authority)
    finally:
        asyncio.run_coroutine_threadsafe(_closed(relay), loop).result(60)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(60)
        loop.close()


async def _listening(port: int, context: ssl.SSLContext) -> asyncio.Server:
    async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers = [writer]
        try:
            inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", port)
            writers.append(inner_writer)
            await asyncio.gather(_piped(reader, inner_writer), _piped(inner_reader, writer))
        except (OSError, asyncio.CancelledError):
            for each in writers:
                each.transport.abort()

    return await asyncio.start_server(relay, "127.0.0.1", 0, ssl=context)


async def _piped(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(PIECE):
            writer.write(data)
            await writer.drain()
    writer.close()


async def _closed(relay: asyncio.Server) -> None:
    """Stop listening, and end what is still open."""
    relay.close()
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
