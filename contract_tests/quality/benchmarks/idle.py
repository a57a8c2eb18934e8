"""Idle worlds: what thousands of keys that made one request cost afterwards."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor

from contract_tests.quality.benchmarks import load
from contract_tests.quality.benchmarks.load import request
from contract_tests.quality.benchmarks.measures import Row, Size
from contract_tests.quality.benchmarks.servers import EMULATOR, HEADERS, running


def idle(size: Size, pool: ProcessPoolExecutor) -> Iterator[Row]:
    """Yield a server on which so many keys made one request."""
    with running((EMULATOR[0], (*EMULATOR[1], "--max-worlds", "1000000"))) as (server,):
        pool.submit(load.run, server.port, [_visit(number) for number in range(size.idle_worlds)]).result()
        name = f"{size.idle_worlds:,} idle worlds"
        yield Row(f"{name}: memory", "MiB", None, server.memory() / 2**20, None, "≤ 400 MiB with 30,000")
        before = server.processor_seconds()
        time.sleep(size.quiet_seconds)
        share = (server.processor_seconds() - before) / size.quiet_seconds
        yield Row(f"{name}: of a core", "%", None, share * 100, None, "≤ 1 %")
        started = time.perf_counter()
        server.stop()
        yield Row(f"{name}: SIGTERM", "ms", None, (time.perf_counter() - started) * 1000, None, "≤ 2000 ms")


def _visit(number: int) -> bytes:
    return request("GET", "/v1/customers/", headers={**HEADERS, "Authorization": f"Bearer sk_test_idle{number}"})
