"""The bytecode instructions of a request or a renewal, which are the same on every machine and at every load.

What runs as C (the parser of HTTP, JSON, validation, the event loop) is one instruction of the code that calls it.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from types import FrameType
from typing import Any

import uvicorn
from uvicorn.server import ServerState

from contract_tests.quality.benchmarks import bare
from contract_tests.quality.benchmarks.load import request
from contract_tests.quality.benchmarks.measures import Row, Size, beside, creates
from contract_tests.support.rules_harness import RulesHarness
from emulator.engine.world_clock import FROZEN
from emulator.server.sandbox import Options, Sandbox
from emulator.server.server import uvicorn_for

COUNTED = 64
"""Requests that are counted: the coverage is brought up to date once in sixteen."""

PRESENT = 64
"""Customers there are before: the coverage is up to date then, and none of them is counted with what follows."""


@contextmanager
def counting() -> Iterator[list[int]]:
    """Counts the instructions that are executed in the context."""
    counted = [0]

    def trace(frame: FrameType, event: str, _: object) -> Any:
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        if event == "opcode":
            counted[0] += 1
        return trace

    sys.settrace(trace)
    try:
        yield counted
    finally:
        sys.settrace(None)


class Wire(asyncio.Transport):
    """A connection's transport without a socket; ``received`` is what the server has sent."""

    def __init__(self) -> None:
        super().__init__({"peername": ("127.0.0.1", 5555), "sockname": ("127.0.0.1", 80)})
        self.received = b""

    def write(self, data: Any) -> None:
        self.received += data

    def is_closing(self) -> bool:
        return False

    def close(self) -> None:
        """There is nothing to close."""

    def pause_reading(self) -> None:
        """Nothing is read from anywhere."""

    def resume_reading(self) -> None:
        """Nothing is read from anywhere."""


Send = Callable[[bytes], Awaitable[bytes]]


async def _exchange(protocol: Any, wire: Wire, sent: bytes) -> bytes:
    """Return the body of the answer to a request."""
    wire.received = b""
    protocol.data_received(sent)
    body = b""
    while not body:
        await asyncio.sleep(0)
        body = wire.received.partition(b"\r\n\r\n")[2]
    if not wire.received.startswith(b"HTTP/1.1 2"):
        raise RuntimeError(f"{wire.received[:300]!r}")
    return body


def _nothing() -> None:
    """Be called when the server starts or ends, which it does not do here."""


@asynccontextmanager
async def _connected(name: str) -> Any:
    """A function that sends a request to the server of this name, in this process."""
    sandbox = Sandbox(Options(clock_mode=FROZEN))
    root_app = sandbox.application()
    configs: dict[str, Callable[[], uvicorn.Config]] = {
        "bare": bare.config,
        "emulator": lambda: uvicorn_for(root_app, _nothing, _nothing).config,
    }
    config = configs[name]()
    config.load()
    wire = Wire()
    protocol: Any = config.http_protocol_class(config=config, server_state=ServerState(), app_state={})
    protocol.connection_made(wire)
    try:
        yield lambda sent: _exchange(protocol, wire, sent)
    finally:
        protocol.connection_lost(None)


async def _requests(name: str) -> dict[str, float]:
    """Return the instructions of each kind of request."""
    async with _connected(name) as send:
        for sent in creates("profile", PRESENT):
            answer = await send(sent)
        one = request("GET", f"/v1/customers/{json.loads(answer)['id']}/")
        kinds: dict[str, Sequence[bytes]] = {
            "GET one": [one] * COUNTED,
            "list 20": [request("GET", "/v1/customers/?page_size=20")] * COUNTED,
            "create": creates("counted", COUNTED),
        }
        found = {}
        for kind, (first, *rest) in kinds.items():
            await send(first)
            with counting() as counted:
                for sent in rest:
                    await send(sent)
            found[kind] = counted[0] / len(rest)
        return found


def _renewal() -> float:
    harness = RulesHarness()
    harness.subscribe(interval="day")
    harness.advance(days=2)
    with counting() as counted:
        harness.advance(days=COUNTED)
    return counted[0] / COUNTED


def instructions(size: Size, pool: ProcessPoolExecutor) -> Iterator[Row]:
    """Yield those of each kind of request on each server, and of a renewal."""
    # Imported here: tests that use parts of the benchmarks also run where there is no uvloop.
    import uvloop

    bare_one, ours = (uvloop.run(_requests(name)) for name in ("bare", "emulator"))
    for kind, count in ours.items():
        yield beside(f"{kind}: instructions", "", [bare_one[kind]], [count])
    yield Row("renewal: instructions", "", None, _renewal(), None)
