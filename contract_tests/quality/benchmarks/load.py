"""The load: requests sent over keep-alive connections as fast as they are answered, timed one by one.

It runs in a process of its own (:func:`generator`), so that it shares no interpreter with what it measures.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import NamedTuple

import msgspec

from contract_tests.quality.benchmarks.servers import HEADERS

CONNECTIONS = 16

AT_MOST = 600.0
"""Seconds after which a load is given up."""

_LENGTH = re.compile(rb"\r\ncontent-length: (\d+)", re.IGNORECASE)


class Result(NamedTuple):
    """How a load went: answers per second, and milliseconds that half and 99 % of the answers took at most."""

    rate: float
    p50: float
    p99: float


def request(method: str, path: str, body: Mapping[str, object] | None = None) -> bytes:
    """Return the bytes of one request."""
    content = b"" if body is None else msgspec.json.encode(body)
    fields = {"Host": "127.0.0.1", **HEADERS, "Content-Length": len(content)}
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode() + content


def generator() -> ProcessPoolExecutor:
    """Return a process to run loads in: ``generator().submit(run, port, requests).result()``."""
    return ProcessPoolExecutor(1, get_context("spawn"))


def run(port: int, requests: Sequence[bytes]) -> Result:
    """Send all requests, each once; raises for an answer that is no success."""
    # Imported here: tests that use parts of the benchmarks also run where there is no uvloop.
    import uvloop

    return uvloop.run(_run(port, requests))


async def _run(port: int, requests: Sequence[bytes]) -> Result:
    loop = asyncio.get_running_loop()
    latencies: list[float] = []
    waiting = iter(requests)
    started = time.perf_counter()
    async with asyncio.timeout(AT_MOST):
        lines = [
            (await loop.create_connection(lambda: _Line(port, waiting, latencies), "127.0.0.1", port))[1]
            for _ in range(min(CONNECTIONS, len(requests)))
        ]
        await asyncio.gather(*(line.finished for line in lines))
    seconds = time.perf_counter() - started
    latencies.sort()
    return Result(len(latencies) / seconds, _share(latencies, 0.5), _share(latencies, 0.99))


def _share(latencies: list[float], share: float) -> float:
    return latencies[min(int(len(latencies) * share), len(latencies) - 1)] * 1000


def _is_whole(head: bytes, body: bytes) -> bool:
    length = _LENGTH.search(head)
    return length is not None and len(body) >= int(length[1])


class _Line(asyncio.Protocol):
    """One client: it takes the next request when the last one is answered."""

    def __init__(self, port: int, requests: Iterator[bytes], latencies: list[float]) -> None:
        self.finished: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._port = port
        self._requests = requests
        self._latencies = latencies
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: asyncio.Transport = transport  # type: ignore[assignment]  # of a stream connection
        self._next()

    def _next(self) -> None:
        following = next(self._requests, None)
        if following is None:
            self.finished.set_result(None)
            self._transport.close()
            return
        self._sent = time.perf_counter()
        self._transport.write(following)

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, end, body = self._received.partition(b"\r\n\r\n")
        if not end or not _is_whole(head, body):
            return
        self._latencies.append(time.perf_counter() - self._sent)
        if not head.startswith(b"HTTP/1.1 2"):
            self.finished.set_exception(RuntimeError(f"{self._received[:400]!r}"))
            self._transport.close()
            return
        self._received = b""
        self._next()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.finished.done():
            self.finished.set_exception(exc or ConnectionError("the server closed the connection"))
