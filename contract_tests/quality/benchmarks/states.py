"""Requests a second for each kind of state, side by side in one run, with few objects present and with many.

Run it with ``python -m contract_tests.quality.benchmarks.states [FEW MANY ROUNDS REQUESTS]``, by default 1000 100000 5 3000.
PostgreSQL takes part where Debian's is installed; it makes sure of every commit, as it does in earnest.
"""

from __future__ import annotations

import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from itertools import cycle, islice
from pathlib import Path
from statistics import median

from contract_tests.quality.benchmarks import load
from contract_tests.quality.benchmarks.load import Result, request
from contract_tests.quality.benchmarks.measures import Row, Size, beside, creates
from contract_tests.quality.benchmarks.servers import EMULATOR, Server, running
from contract_tests.support import postgres

Figures = dict[tuple[str, int, str], Result]
"""By state, objects present and operation: the medians of the rounds."""


@contextmanager
def servers() -> Iterator[list[Server]]:
    """A server for each kind of state."""
    with ExitStack() as cleanup:
        folder = Path(cleanup.enter_context(tempfile.TemporaryDirectory()))
        places = {
            "memory": "memory",
            "tinydb": f"tinydb:{folder}/worlds.json",
            "sqlite": f"sqlite:{folder}/worlds.db",
        }
        if postgres.programs() is not None:
            places["postgresql"] = cleanup.enter_context(postgres.running(sync=True))
        kinds = [(name, (*EMULATOR[1], "--state", place)) for name, place in places.items()]
        yield cleanup.enter_context(running(*kinds))


def measure(few: int, many: int, rounds: int, requests: int) -> Figures:
    """GET one and create, each state once within a round."""
    figures: Figures = {}
    with servers() as all_servers, load.generator() as pool:
        present = 0
        for objects in (few, many):
            for server in all_servers:
                _send(pool, server, creates(f"fill{objects}", objects - present))
            present = objects
            for name in ("GET one", "create"):
                figures |= _compare(name, objects, all_servers, rounds, requests, pool)
    return figures


def _compare(
    name: str, objects: int, all_servers: list[Server], rounds: int, requests: int, pool: ProcessPoolExecutor
) -> Figures:
    results: dict[str, list[Result]] = defaultdict(list)
    for _ in range(rounds):
        for server in all_servers:
            batch = creates("round", requests) if name == "create" else _gets(server, requests)
            results[server.name].append(_send(pool, server, batch))
    return {
        (state, objects, name): Result(*(median(values) for values in zip(*found, strict=True)))
        for state, found in results.items()
    }


def stored(size: Size, pool: ProcessPoolExecutor) -> Iterator[Row]:
    """Yield a create with each kind of state beside one in memory, which stands in the place of the bare application."""
    with servers() as (memory, *others):
        for server in (memory, *others):
            _send(pool, server, creates("fill", size.few))
        each: dict[str, list[float]] = defaultdict(list)
        for _ in range(size.rounds):
            for server in (memory, *others):
                each[server.name].append(1e6 / _send(pool, server, creates("round", size.requests)).rate)
        for server in others:
            aim = "≤ 2.5 ×" if server.name == "postgresql" else ""
            yield beside(f"create, {server.name} beside memory", "µs", each["memory"], each[server.name], aim)


def _gets(server: Server, how_many: int) -> list[bytes]:
    each = [request("GET", f"/v1/customers/{id}/") for id in server.ids("/v1/customers/", 100)]
    return list(islice(cycle(each), how_many))


def _send(pool: ProcessPoolExecutor, server: Server, batch: list[bytes]) -> Result:
    return pool.submit(load.run, server.port, batch).result()


def main(few: int = 1_000, many: int = 100_000, rounds: int = 5, requests: int = 3_000) -> None:
    """Print one line for each state, number of objects and operation."""
    print(f"{'state':12}{'operation':>10}{'objects':>10}{'per second':>12}{'p50 ms':>9}{'p99 ms':>9}")
    for (state, objects, name), result in measure(few, many, rounds, requests).items():
        print(f"{state:12}{name:>10}{objects:10,}{result.rate:12,.0f}{result.p50:9.2f}{result.p99:9.2f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
