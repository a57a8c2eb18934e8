"""What limits a figure: the bytecode instructions of a request or a renewal, by the part of the program they are in.

Unlike time, instructions are the same on every machine and at every load. What runs as C (the parser of HTTP, JSON,
validation, the event loop) is one instruction of the code that calls it.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from types import FrameType
from typing import Any, NamedTuple

import uvicorn
from uvicorn.server import ServerState

from contract_tests.quality.benchmarks import bare
from contract_tests.quality.benchmarks.load import request
from contract_tests.quality.benchmarks.measures import creates
from contract_tests.support.rules_harness import RulesHarness
from emulator.engine.world_clock import FROZEN
from emulator.server.sandbox import Options, Sandbox
from emulator.server.server import uvicorn_for

COUNTED = 64
"""Requests that are counted: the coverage is brought up to date once in sixteen."""

PRESENT = 64
"""Customers there are before: the coverage is up to date then, and none of them is counted with what follows."""

PARTS = {
    "/uvicorn/": "HTTP server",
    "/asyncio/": "HTTP server",
    "/starlette/": "framework",
    "/connexion/": "framework",
    "/emulator/web/": "request path",
    "/emulator/engine/": "journal, coverage, clock",
    "/emulator/core/": "records, events",
    "/emulator/resources/": "rules",
    "/benchmarks/bare.py": "rules",
}
"""By what is in the path of a module, the part of the program; anything else is a library."""

COLUMNS = (*dict.fromkeys(PARTS.values()), "libraries")


class Profile(NamedTuple):
    """Instructions of one request, or of one renewal, by part."""

    of: str
    server: str
    parts: dict[str, float]


def part_of(path: str) -> str:
    """Return the part of the program a module belongs to."""
    return next((part for within, part in PARTS.items() if within in path), "libraries")


@contextmanager
def counting() -> Iterator[Counter[str]]:
    """Counts the instructions that are executed in the context, by the path of their module."""
    counts: Counter[str] = Counter()

    def trace(frame: FrameType, event: str, _: object) -> Any:
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        if event == "opcode":
            counts[frame.f_code.co_filename] += 1
        return trace

    sys.settrace(trace)
    try:
        yield counts
    finally:
        sys.settrace(None)


def _by_part(counts: Counter[str], acts: int) -> dict[str, float]:
    parts = dict.fromkeys(COLUMNS, 0.0)
    for path, count in counts.items():
        parts[part_of(path)] += count / acts
    return parts


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


async def _requests(name: str) -> list[Profile]:
    async with _connected(name) as send:
        for sent in creates("profile", PRESENT):
            answer = await send(sent)
        one = request("GET", f"/v1/customers/{json.loads(answer)['id']}/")
        kinds: dict[str, Sequence[bytes]] = {
            "GET one": [one] * COUNTED,
            "list 20": [request("GET", "/v1/customers/?page_size=20")] * COUNTED,
            "create": creates("counted", COUNTED),
        }
        found = []
        for kind, batch in kinds.items():
            await send(batch[0])
            rest = batch[1:]
            with counting() as counts:
                for sent in rest:
                    await send(sent)
            found.append(Profile(kind, name, _by_part(counts, len(rest))))
        return found


def _renewals() -> Profile:
    harness = RulesHarness()
    harness.subscribe(interval="day")
    harness.advance(days=2)
    with counting() as counts:
        harness.advance(days=COUNTED)
    return Profile("renewal", "emulator", _by_part(counts, COUNTED))


def profiles() -> list[Profile]:
    """Of each kind of request on each server, and of a renewal."""
    # Imported here: tests that use parts of the benchmarks also run where there is no uvloop.
    import uvloop

    found = [each for name in ("bare", "emulator") for each in uvloop.run(_requests(name))]
    kinds = list(dict.fromkeys(each.of for each in found))
    return [*sorted(found, key=lambda each: kinds.index(each.of)), _renewals()]


def markdown(found: Sequence[Profile]) -> str:
    """Return the table: all instructions, and the share of each part."""
    lines = [f"| | server | all | {' | '.join(COLUMNS)} |", "|---|---|--:|" + "--:|" * len(COLUMNS)]
    for each in found:
        whole = sum(each.parts.values())
        shares = " | ".join(f"{each.parts[part] / whole:.0%}" if each.parts[part] else "–" for part in COLUMNS)
        lines.append(f"| {each.of} | {each.server} | {whole:,.0f} | {shares} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(markdown(profiles()))
