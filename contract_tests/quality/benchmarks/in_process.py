"""What :mod:`instructions` measures: requests to a server in this process, without a socket.

The bytes go through uvicorn's protocol, on its event loop. What is counted is what runs between
``begin`` and ``end``, two functions in C that tell callgrind. ``python -m
contract_tests.quality.benchmarks.in_process bare|emulator|printing LIBRARY``
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
import re
import sys
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import uvicorn
from uvicorn.server import ServerState

from contract_tests.quality.benchmarks.load import AT_MOST, CUSTOMER, request
from emulator.cli.request_lines import RequestLines
from emulator.core.world import World
from emulator.server.event_loop import new_event_loop
from emulator.server.sandbox import Options, Sandbox
from emulator.server.server import OPTIONS
from emulator.web.connection import protocol_for
from emulator.web.root_app import FinishedRequest, RequestReport

REQUESTS = 200
"""Requests of each measure, after as many that are not counted."""

PLAN = {"name": "Basic", "amount": 5000, "currency": "XAF", "interval": "month"}
START = "2026-01-01T00:00:00.000Z"
MONTH_LATER = "2026-02-01T12:00:00.000Z"

_LENGTH = re.compile(rb"\r\ncontent-length: (\d+)", re.IGNORECASE)


class Transport(asyncio.Transport):
    """The client's side of a connection; ``received`` are the bytes of one response."""

    def __init__(self) -> None:
        super().__init__()
        self.received = b""

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return {"peername": ("127.0.0.1", 50_000), "sockname": ("127.0.0.1", 4747)}.get(
            name, default
        )

    def write(self, data: bytes | bytearray | memoryview[Any]) -> None:
        self.received += bytes(data)

    def is_closing(self) -> bool:
        return False

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass

    def abort(self) -> None:
        pass


class Client:
    """A connection to a server of this process."""

    def __init__(self, config: uvicorn.Config, loop: asyncio.AbstractEventLoop) -> None:
        make: Callable[..., Any] = config.http_protocol_class
        self._protocol = make(config=config, server_state=ServerState(), app_state={}, _loop=loop)
        self._transport = Transport()
        self._protocol.connection_made(self._transport)

    async def send(self, content: bytes) -> bytes:
        """Return the whole response to a request."""
        transport = self._transport
        transport.received = b""
        self._protocol.data_received(content)
        while not self._is_whole():
            await asyncio.sleep(0)
        return transport.received

    def _is_whole(self) -> bool:
        head, end, body = self._transport.received.partition(b"\r\n\r\n")
        length = _LENGTH.search(head) if end else None
        return length is not None and len(body) >= int(length[1])

    async def json(self, content: bytes) -> Any:
        """Return the JSON of a response. Raises ``RuntimeError`` for one that is no success."""
        response = await self.send(content)
        if not response.startswith(b"HTTP/1.1 2"):
            raise RuntimeError(f"{content[:100]!r}: {response[:400]!r}")
        return msgspec.json.decode(response.partition(b"\r\n\r\n")[2])


class Counter:
    """Counts the instructions of requests, each measure into a file of callgrind's.

    ``begin`` and ``end`` are called before and after what is counted; ``end`` is counted as well.
    """

    def __init__(self, client: Client, library: ctypes.CDLL) -> None:
        self.client = client
        self._library = library
        self.begin: Callable[[], None] = lambda: None
        self.end: Callable[[], None] = lambda: None

    async def count(self, measure: str, requests: Sequence[bytes]) -> None:
        """Count the second half of the requests; the first one makes what is made once."""
        half = len(requests) // 2
        client = self.client
        for content in requests[:half]:
            await client.send(content)
        gc.collect()
        self.begin()
        self._library.begin()
        for content in requests[half:]:
            await client.send(content)
        self.end()
        self._library.end(measure.encode())


def creates(begin: int) -> list[bytes]:
    emails = (f"{number}@example.com" for number in range(begin, begin + 2 * REQUESTS))
    return [request("POST", "/v1/customers/", {"email": email, **CUSTOMER}) for email in emails]


async def common(counter: Counter, suffix: str = "") -> list[str]:
    """Count what both applications do; return the ids of as many customers as a measure needs."""
    await counter.count(f"create{suffix}", creates(0))
    ids = [(await counter.client.json(content))["id"] for content in creates(1_000_000)]
    gets = [request("GET", f"/v1/customers/{id}/") for id in ids]
    await counter.count(f"GET one{suffix}", gets)
    lists = [request("GET", "/v1/customers/?page_size=20")] * 2 * REQUESTS
    await counter.count(f"list 20{suffix}", lists)
    return ids


async def bare(library: ctypes.CDLL) -> None:
    from contract_tests.quality.benchmarks.bare import app

    config = uvicorn.Config(
        app, http="httptools", ws="none", lifespan="off", log_config=None, access_log=False
    )
    await common(Counter(client_of(config), library))


async def emulator(library: ctypes.CDLL) -> None:
    counter = Counter(sandbox(None), library)
    ids = await common(counter)
    plan = (await counter.client.json(request("POST", "/v1/subscription-plans/", PLAN)))["id"]
    bodies = [{"customer": id, "plan": plan} for id in ids]
    await counter.count(
        "create subscription", [request("POST", "/v1/subscriptions/", body) for body in bodies]
    )
    # The first one advances by nothing: it imports what an advance needs.
    advances = [
        request("POST", "/_emulator/clock/advance", {"to": to}) for to in (START, MONTH_LATER)
    ]
    await counter.count("renewal", advances)


async def printing(library: ctypes.CDLL) -> None:
    """Count the requests again, with a line for each, which is printed before the count ends."""
    lines = RequestLines(interval=AT_MOST)

    def report(request: FinishedRequest, response: bytes, world: World | None) -> None:
        lines.report(request, response, world)

    def begin() -> None:
        nonlocal lines
        lines = RequestLines(interval=AT_MOST)

    def end() -> None:
        lines.close(AT_MOST)

    counter = Counter(sandbox(report), library)
    counter.begin, counter.end = begin, end
    await common(counter, ", a line printed")


def sandbox(report: RequestReport | None) -> Client:
    """Return a client of a new sandbox, whose clock is frozen and whose seed is 1.

    Its engine does not tick: how often that happens is a matter of real time.
    """
    options = Options(clock_mode="frozen", clock_at=START, seed=1, report=report)
    app = Sandbox(options).application()
    return client_of(uvicorn.Config(app, http=protocol_for(app, 100), **OPTIONS))


def client_of(config: uvicorn.Config) -> Client:
    config.load()
    # When it collects is a matter of all that was allocated before.
    gc.disable()
    return Client(config, asyncio.get_running_loop())


def main(application: str, path: str) -> None:
    library = ctypes.CDLL(path)
    loop = new_event_loop()
    loop.run_until_complete(APPLICATIONS[application](library))


APPLICATIONS = {"bare": bare, "emulator": emulator, "printing": printing}

if __name__ == "__main__":
    main(*sys.argv[1:])
