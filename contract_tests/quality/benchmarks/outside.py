"""Requests a second of real time under the load of wrk: two servers behind nginx beside one.

Where wrk, nginx or PostgreSQL is not installed there is nothing to measure.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from pathlib import Path

from contract_tests.quality.benchmarks import wrk
from contract_tests.quality.benchmarks.measures import Row, Size, beside
from contract_tests.quality.benchmarks.servers import EMULATOR, Server, running
from contract_tests.simulator.crashes.proxy import nginx
from contract_tests.support import postgres


def two_servers(size: Size, pool: ProcessPoolExecutor) -> Iterator[Row]:
    """Two servers on one PostgreSQL behind nginx, as the guide configures it, beside one server behind it.

    Each is asked for two worlds, by a wrk of its own; of the two servers each runs one. Every commit reaches the disk.
    """
    if not wrk.is_installed() or postgres.programs() is None or postgres.NGINX is None:
        return
    with postgres.running(sync=True) as url, ExitStack() as stack:
        kind = ("emulator", (*EMULATOR[1], "--state", url))
        one, left, right = stack.enter_context(running(kind, kind, kind))
        sides = [_behind_nginx(stack, one, one), _behind_nginx(stack, left, right)]
        for what in ("list", "create"):
            pairs = [
                [wrk.rate(side, what, number, size.wrk_seconds) for side in sides] for number in range(size.wrk_rounds)
            ]
            measure = f"PostgreSQL and nginx, two servers beside one: {what}"
            yield beside(measure, "/s", *zip(*pairs, strict=True), aim="≥ 1.6 ×")


def _behind_nginx(stack: ExitStack, *servers: Server) -> Sequence[wrk.Place]:
    """nginx before these servers, and an App that it sends to each."""
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
    port = int(stack.enter_context(nginx(folder, *(server.port for server in servers))).rpartition(":")[2])
    apps: dict[Server, list[str]] = {server: [] for server in servers}
    # Names of one pair of servers only: each world is to stay where it is.
    for name in (f"shop{port}-{number}" for number in range(100)):
        wrk.ask(port, name, "/v1/customers/")
        running_it = next(server for server in servers if name in _open(server))
        apps[running_it].append(name)
        if all(len(found) >= len(servers) // len(apps) for found in apps.values()):
            break
    return [(port, name) for found in apps.values() for name in found[: len(servers) // len(apps)]]


def _open(server: Server) -> list[str]:
    """Return the names of the Apps whose worlds a server runs."""
    return [app["name"] for app in server.call("GET", "/_emulator/apps?page_size=100")["data"]]
