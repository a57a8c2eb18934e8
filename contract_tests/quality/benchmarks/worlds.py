"""Worlds of tests: what it costs to open one, make a request and throw it away, and the memory that stays of it."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from statistics import median
from typing import NamedTuple

from contract_tests.quality.benchmarks.measures import Row, Size

WARM = 400
"""Worlds that are opened first: what is loaded with them, and the caches they fill, is not the later ones' doing."""


class Cost(NamedTuple):
    """Of so many worlds: the median milliseconds of one, and the memory that they left behind together."""

    plain_ms: float
    webhooks_ms: float
    kib: int


def worlds(size: Size, pool: ProcessPoolExecutor) -> Iterator[Row]:
    """Yield a test's world by itself and with its webhooks collected; what all of them leave in the process."""
    cost = pool.submit(thrown_away, size.worlds, min(WARM, size.worlds)).result()
    name = f"{size.worlds:,} worlds of tests"
    yield Row(f"{name}: each, one request", "ms", None, cost.plain_ms, None, "≤ 10 ms")
    yield Row(f"{name}: each, a webhook too", "ms", None, cost.webhooks_ms, None)
    yield Row(f"{name}: memory left, each", "KiB", None, cost.kib / size.worlds, None, "≤ 1 KiB")


def thrown_away(how_many: int, warm: int) -> Cost:
    """Open and throw away so many worlds on one server in this process, half of them with a webhook receiver."""
    from emulator.testing import LocalServer

    server = LocalServer()
    try:
        for number in range(warm):
            one(server, f"warm{number}", webhooks=number % 2 == 0)
        kib = _held()
        taken = {
            webhooks: [one(server, f"{webhooks}{number}", webhooks) for number in range(how_many // 2)]
            for webhooks in (False, True)
        }
        return Cost(median(taken[False]), median(taken[True]), _held() - kib)
    finally:
        server.stop()


def one(server: object, name: str, webhooks: bool) -> float:
    """Return the milliseconds of one test's world: opened, a customer created (with its event), thrown away."""
    from emulator.testing import Emulator

    started = time.perf_counter()
    with Emulator(key=f"sk_test_world-{name}", server=server) as world:  # type: ignore[arg-type]  # imported late
        if webhooks:
            world.webhooks.listen()
        world.api.post("/v1/customers/", {"email": "awa@example.com", "name": "Awa Diop"})
        if webhooks:
            world.webhooks.assert_delivered("customer.created")
    return (time.perf_counter() - started) * 1000


def _held() -> int:
    """KiB of memory."""
    gc.collect()
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1])
