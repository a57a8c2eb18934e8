"""A world whose clock is too fast for its jobs: what the others wait, beside a bare server that is as busy."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from http.client import HTTPConnection
from typing import NamedTuple

from contract_tests.quality.benchmarks.measures import Row, Size
from contract_tests.quality.benchmarks.servers import BUSY, FROZEN, HEADERS, Server, running

DAILY = 40
"""Subscriptions that renew each day."""

RATE = 31_536_000
"""A year each second."""

PAUSE = 0.05
"""Seconds between two requests."""

NEIGHBOUR = {**HEADERS, "Authorization": "Bearer sk_test_neighbour"}


class Asked(NamedTuple):
    """A server's port and the path of a request that is sent to it again and again, with the neighbour's key."""

    port: int
    path: str


def overload(size: Size, pool: ProcessPoolExecutor) -> Iterator[Row]:
    """Waits while the world is asked, too, and how long it takes to freeze its clock and to end the server."""
    with running(BUSY, FROZEN) as (bare, server):
        _subscribe(server)
        server.call("POST", "/_emulator/clock/run", {"rate": RATE})
        asked = Asked(bare.port, "/v1/customers/"), Asked(server.port, "/v1/customers/"), Asked(server.port, HEALTH)
        with ThreadPoolExecutor(32) as clients:
            waiting = pool.submit(waits, asked, size.seconds)
            while not waiting.done():
                clients.submit(server.call, "GET", "/v1/customers/")
                time.sleep(PAUSE)
            bare_waits, world_waits, health_waits = waiting.result()
            started = time.perf_counter()
            server.call("POST", "/_emulator/clock/freeze", {})
            freeze = time.perf_counter() - started
        name = f"{DAILY} daily subscriptions, a year each second"
        for what, of in (("another world", world_waits), ("health", health_waits)):
            yield _row(f"{name}: {what}, p99", bare_waits, of)
        yield Row(f"{name}: freeze", "ms", None, freeze * 1000, None, "≤ 200 ms")
        server.call("POST", "/_emulator/clock/run", {"rate": RATE})
        started = time.perf_counter()
        server.stop()
        yield Row(f"{name}: SIGTERM", "ms", None, (time.perf_counter() - started) * 1000, None, "≤ 2000 ms")


HEALTH = "/_emulator/health"


def _subscribe(server: Server) -> None:
    for number in range(DAILY):
        body = {"email": f"daily{number}@example.com", "name": "Awa Diop", "phone": "+24177000000"}
        customer = server.call("POST", "/v1/customers/", body)["id"]
        terms = {"customer": customer, "unit_amount": 1000, "interval": "day"}
        server.call("POST", "/v1/subscriptions/", terms)


def waits(asked: Sequence[Asked], seconds: float) -> list[list[float]]:
    """Return how long each of these requests takes, sent one after the other for so many seconds."""
    lines = [HTTPConnection("127.0.0.1", each.port, timeout=60) for each in asked]
    taken: list[list[float]] = [[] for _ in asked]
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for each, line, own in zip(asked, lines, taken, strict=True):
            started = time.perf_counter()
            line.request("GET", each.path, headers=NEIGHBOUR)
            line.getresponse().read()
            own.append(time.perf_counter() - started)
        time.sleep(PAUSE)
    for line in lines:
        line.close()
    return taken


def _row(measure: str, bare: list[float], emulator: list[float]) -> Row:
    theirs, ours = (sorted(each)[int(len(each) * 0.99)] * 1000 for each in (bare, emulator))
    return Row(measure, "ms", theirs, ours, ours / theirs, "≤ 50 ms")
