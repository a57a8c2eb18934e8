"""The other workers of a server, as one of them reaches them: over Unix sockets in a folder of this user alone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
from starlette.types import Message, Receive, Scope, Send

from emulator.engine.share import Share

CLIENT, INNER = b"worker-client", b"worker-inner"
"""Headers of a forwarded request: the address of its client, and whether it comes from the console."""

APPS, FIND, APP, OPENS = "/apps", "/find", "/app", "/opens"
"""Paths at which a worker answers what other workers ask."""

HOP_BY_HOP = frozenset(
    [b"connection", b"keep-alive", b"transfer-encoding", b"upgrade", b"te", b"trailer", b"expect", CLIENT, INNER]
)
"""Headers of one connection, and ours, which no client may set."""


def socket_of(folder: Path, worker: int) -> Path:
    """Where a worker listens for the others."""
    return folder / f"{worker}.sock"


class WorkerUnreachable(Exception):
    """A worker does not answer: it has ended and is about to be replaced."""


class Peers:
    """The other workers. Implements :class:`~emulator.engine.share.Neighbours`."""

    def __init__(self, folder: Path, share: Share) -> None:
        self._share = share
        self._transports = {
            number: httpx.AsyncHTTPTransport(uds=str(socket_of(folder, number)), limits=httpx.Limits())
            for number in range(share.workers)
            if number != share.worker
        }

    async def apps(self) -> list[dict[str, Any]]:
        """The Apps whose worlds are open in the other workers; a worker that just ended has none."""
        answers = await asyncio.gather(*(self._ask(number, APPS) for number in self._transports))
        return [app for answer in answers for app in answer or ()]

    async def find(self, question: str, value: str) -> int | None:
        """The first worker that says yes to a question, such as whether it has the object of an id."""
        numbers = list(self._transports)
        answers = await asyncio.gather(*(self._ask(number, question, value) for number in numbers))
        return next((number for number, answer in zip(numbers, answers, strict=True) if answer), None)

    async def _ask(self, worker: int, path: str, value: str = "") -> Any:
        url = httpx.URL("http://worker", path=path, params={"value": value})
        try:
            answer = await self._transports[worker].handle_async_request(httpx.Request("GET", url))
            await answer.aread()
        except httpx.TransportError:
            return None
        return answer.json()

    async def forward(self, worker: int, scope: Scope, receive: Receive, send: Send, *, inner: bool) -> None:
        """Have another worker answer a request. Raises :class:`WorkerUnreachable` if it has ended."""
        complete = asyncio.Event()
        answering = asyncio.ensure_future(self._answer(worker, _request(scope, receive, complete, inner=inner), send))
        leaving = asyncio.ensure_future(_gone(receive, complete))
        try:
            await asyncio.wait([answering, leaving], return_when=asyncio.FIRST_COMPLETED)
            if answering.done():
                answering.result()
        finally:
            answering.cancel()
            leaving.cancel()

    async def _answer(self, worker: int, request: httpx.Request, send: Send) -> None:
        try:
            answer = await self._transports[worker].handle_async_request(request)
        except httpx.TransportError as error:
            raise WorkerUnreachable from error
        try:
            headers = [(name.lower(), value) for name, value in answer.headers.raw if name.lower() not in HOP_BY_HOP]
            await send({"type": "http.response.start", "status": answer.status_code, "headers": headers})
            async for part in answer.aiter_raw():
                await send({"type": "http.response.body", "body": part, "more_body": True})
            await send({"type": "http.response.body", "body": b""})
        finally:
            await answer.aclose()

    async def close(self) -> None:
        """Close the connections."""
        for transport in self._transports.values():
            await transport.aclose()


def _request(scope: Scope, receive: Receive, complete: asyncio.Event, *, inner: bool) -> httpx.Request:
    query = scope.get("query_string", b"")
    target = scope["raw_path"] + (b"?" + query if query else b"")
    headers = [(name, value) for name, value in scope["headers"] if name not in HOP_BY_HOP]
    host, port = scope.get("client") or ("", 0)
    headers += [(CLIENT, f"{host} {port}".encode()), *([(INNER, b"1")] if inner else [])]
    has_body = any(name in (b"content-length", b"transfer-encoding") for name, _ in scope["headers"])
    if not has_body:
        complete.set()
    url = httpx.URL("http://worker").copy_with(raw_path=target)
    return httpx.Request(scope["method"], url, headers=headers, content=_body(receive, complete) if has_body else None)


async def _body(receive: Receive, complete: asyncio.Event) -> AsyncIterator[bytes]:
    more = True
    while more:
        message: Message = await receive()
        if message["type"] == "http.disconnect":
            raise httpx.WriteError("the client left")
        more = message.get("more_body", False)
        yield message.get("body", b"")
    complete.set()


async def _gone(receive: Receive, complete: asyncio.Event) -> None:
    """Wait until the client has left, once its request was read."""
    await complete.wait()
    while (await receive())["type"] != "http.disconnect":
        pass
