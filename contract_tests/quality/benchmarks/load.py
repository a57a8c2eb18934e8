"""The servers under comparison, as processes, and the load: keep-alive requests, timed singly.

The load runs in a process of its own (:func:`generator`), so that it shares no interpreter with
what it measures.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection
from itertools import count, islice
from multiprocessing import get_context
from typing import Any, NamedTuple

import msgspec

from contract_tests.support.servers import SERVE, ServerProcess

KEY = "sk_test_benchmark"
HEADERS = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}

# -P: the installed package and not this folder, which would bring the bundles up to date first.
PROGRAMS = {"emulator": ("-P", *SERVE), "bare": ("-m", "contract_tests.quality.benchmarks.bare")}

BARE, EMULATOR = ("bare",), ("emulator", "--quiet")
FROZEN = (*EMULATOR, "--clock", "frozen@2026-01-01T00:00:00Z")

# An installed package has its bytecode, and here the first start leaves it for those that are
# measured.
ENVIRONMENT = {
    name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"
}

CONNECTIONS = 16

AT_MOST = 600.0
"""Seconds after which a load is given up."""

_LENGTH = re.compile(rb"\r\ncontent-length: (\d+)", re.IGNORECASE)


class Server(ServerProcess):
    """One of the programs. ``call`` is a request outside the measurements."""

    def __init__(self, name: str, *options: str, python: str = sys.executable) -> None:
        super().__init__(*options, program=PROGRAMS[name], python=python, environment=ENVIRONMENT)
        self.name = name

    def call(self, method: str, path: str, body: Any = None, key: str = KEY) -> Any:
        return call(self.port, method, path, body, key)

    def ids(self, path: str, count: int) -> list[str]:
        pages = range(1, -(-count // 100) + 1)
        data = [
            item
            for page in pages
            for item in self.call("GET", f"{path}?page_size=100&page={page}")["data"]
        ]
        return [item["id"] for item in data[:count]]


def call(port: int, method: str, path: str, body: Any = None, key: str = KEY) -> Any:
    """Return the JSON of a request. Raises ``RuntimeError`` for a response that is no success."""
    response = b"".join(pieces(port, method, path, body, key))
    return msgspec.json.decode(response) if response else None


def pieces(port: int, method: str, path: str, body: Any = None, key: str = KEY) -> Iterator[bytes]:
    """Yield the same piece by piece; raises :class:`RuntimeError`, too."""
    connection = HTTPConnection("127.0.0.1", port, timeout=1800)
    try:
        content = None if body is None else msgspec.json.encode(body)
        connection.request(method, path, content, {**HEADERS, "Authorization": f"Bearer {key}"})
        response = connection.getresponse()
        if response.status >= 300:
            raise RuntimeError(f"{method} {path} -> {response.status} {response.read(300)!r}")
        while piece := response.read(PIECE):
            yield piece
    finally:
        connection.close()


PIECE = 64 * 1024
"""Bytes of an answer that are read at a time."""


@contextmanager
def running(*kinds: tuple[str, ...], python: str = sys.executable) -> Iterator[list[Server]]:
    """Servers side by side, stopped at the end; ``python`` is their environment's interpreter."""
    with ExitStack() as stack:
        yield [stack.enter_context(Server(*kind, python=python)) for kind in kinds]


class Result(NamedTuple):
    """A load's result: responses per second, and the most milliseconds of the fastest 99 %."""

    rate: float
    p99: float


def request(
    method: str, path: str, body: Mapping[str, object] | None = None, key: str = KEY
) -> bytes:
    content = b"" if body is None else msgspec.json.encode(body)
    own = {"Authorization": f"Bearer {key}", "Content-Length": len(content)}
    fields = {"Host": "127.0.0.1", **HEADERS, **own}
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode() + content


_numbers = count()

CUSTOMER = {
    "name": "Awa Diop",
    "phone": "+24106001234",
    "metadata": {"order_id": "6735", "plan": "gold", "source": "bench"},
}
"""A shop's data on a customer, beside the email. The phone makes a payment method."""


def creates(how_many: int, key: str = KEY, **fields: Any) -> list[bytes]:
    """Creates of customers that do not exist yet; a field that is None is not sent."""
    customer_fields = {
        name: value for name, value in {**CUSTOMER, **fields}.items() if value is not None
    }
    numbers = islice(_numbers, how_many)
    return [
        request(
            "POST", "/v1/customers/", {"email": f"{number}@example.com", **customer_fields}, key
        )
        for number in numbers
    ]


def generator() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(1, get_context("spawn"))


def send(pool: ProcessPoolExecutor, port: int, batch: Sequence[bytes]) -> Result:
    """Send all requests, each once; raises for a response that is no success."""
    return pool.submit(_run, port, batch).result()


def _run(port: int, requests: Sequence[bytes]) -> Result:
    # Imported here: tests that use parts of the benchmarks also run where there is no uvloop.
    import uvloop

    return uvloop.run(_load(port, requests))


async def _load(port: int, requests: Sequence[bytes]) -> Result:
    loop = asyncio.get_running_loop()
    latencies: list[float] = []
    waiting = iter(requests)
    started = time.perf_counter()
    async with asyncio.timeout(AT_MOST):
        lines = [
            (await loop.create_connection(lambda: _Line(waiting, latencies), "127.0.0.1", port))[1]
            for _ in range(min(CONNECTIONS, len(requests)))
        ]
        await asyncio.gather(*(line.finished for line in lines))
    seconds = time.perf_counter() - started
    return Result(len(latencies) / seconds, sorted(latencies)[int(len(latencies) * 0.99)] * 1000)


class _Line(asyncio.Protocol):
    """One client: it takes the next request when the last one is answered."""

    def __init__(self, requests: Iterator[bytes], latencies: list[float]) -> None:
        self.finished: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._requests = requests
        self._latencies = latencies
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # of a stream connection
        self._transport: asyncio.Transport = transport  # type: ignore[assignment]
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
        length = _LENGTH.search(head)
        if not end or length is None or len(body) < int(length[1]):
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
