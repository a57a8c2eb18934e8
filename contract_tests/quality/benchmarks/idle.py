"""Idle worlds: what thousands of keys that made one request cost afterwards, and what others wait because of them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from http.client import HTTPConnection
from statistics import median

from contract_tests.quality.benchmarks import load
from contract_tests.quality.benchmarks.load import request
from contract_tests.quality.benchmarks.measures import Row, Size
from contract_tests.quality.benchmarks.servers import EMULATOR, HEADERS, Server, running

ASKED = 50
"""Times that a page is asked for; the figure is the median."""


def idle(size: Size, pool: ProcessPoolExecutor) -> Iterator[Row]:
    """A server on which so many keys made one request, beside one with a single world."""
    crowded = (EMULATOR[0], (*EMULATOR[1], "--max-worlds", "1000000"))
    with running(EMULATOR, crowded) as (single, server):
        pool.submit(load.run, server.port, [_visit(number) for number in range(size.idle_worlds)]).result()
        name = f"{size.idle_worlds:,} idle worlds"
        yield Row(f"{name}: memory", "MiB", None, server.memory() / 2**20, None, "≤ 400 MiB with 30,000")
        before = server.processor_seconds()
        time.sleep(size.quiet_seconds)
        share = (server.processor_seconds() - before) / size.quiet_seconds
        yield Row(f"{name}: of a core", "%", None, share * 100, None, "≤ 1 %")
        bare, ours = (_page_ms(each) for each in (single, server))
        yield Row(f"{name}: a buyer's page that is not there", "ms", bare, ours, ours / bare, "≤ 2 ×")
        started = time.perf_counter()
        server.stop()
        yield Row(f"{name}: SIGTERM", "ms", None, (time.perf_counter() - started) * 1000, None, "≤ 2000 ms")


def _visit(number: int) -> bytes:
    return request("GET", "/v1/customers/", headers={**HEADERS, "Authorization": f"Bearer sk_test_idle{number}"})


def _page_ms(server: Server) -> float:
    line = HTTPConnection("127.0.0.1", server.port, timeout=60)
    taken = []
    for _ in range(ASKED):
        started = time.perf_counter()
        line.request("GET", "/checkout/cs_nothing")
        line.getresponse().read()
        taken.append(time.perf_counter() - started)
    line.close()
    return median(taken) * 1000
