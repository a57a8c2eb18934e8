"""The comparison: the emulator and its peers side by side, the same loads on each, one after the other."""

from __future__ import annotations

import subprocess
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from itertools import count, cycle, islice
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import NamedTuple

import msgspec

from contract_tests.quality.benchmarks import load
from contract_tests.quality.benchmarks.measures import Size
from contract_tests.quality.benchmarks.peers import PEERS, Ask, Peer, Running, bytes_of, customer, install, started
from contract_tests.quality.benchmarks.servers import EMULATOR, HEADERS, running

OURS = Peer(
    "this emulator",
    "",
    (),
    lambda folder, port: (),
    lambda number: ("POST", "/v1/customers/", msgspec.json.encode(customer(number)), HEADERS),
    lambda known: ("GET", f"/v1/customers/{known}/", b"", HEADERS),
    ("GET", "/v1/customers/?page_size=20", b"", HEADERS),
)

ASKED = ("create", "get", "list")
KNOWN = 50
"""Customers that are asked for one by one."""

PACE = 50
"""Requests that show how fast a server is."""

_numbers = count(1)


class Standing(NamedTuple):
    """How one server did: answers per second to each kind of request, or why there are none."""

    name: str
    rates: dict[str, float]
    fault: str = ""


def compare(size: Size, pool: ProcessPoolExecutor, peers: Iterable[Peer] = PEERS) -> list[Standing]:
    """Install, start, measure and stop them. A peer that cannot be installed is reported and left out."""
    faults: list[Standing] = []
    with TemporaryDirectory(prefix="peers-") as place, ExitStack() as stack:
        (ours,) = stack.enter_context(running(EMULATOR))
        servers = [Running(OURS, ours.port)]
        for number, peer in enumerate(peers):
            folder = Path(place) / str(number)
            folder.mkdir()
            try:
                install(peer, folder)
                servers.append(stack.enter_context(started(peer, folder)))
            except (OSError, RuntimeError, subprocess.CalledProcessError) as fault:
                faults.append(Standing(peer.name, {}, str(fault)))
        return [*_measured(servers, size, pool), *faults]


def _measured(servers: Sequence[Running], size: Size, pool: ProcessPoolExecutor) -> Iterator[Standing]:
    known = {server.name: [server.make(next(_numbers)) for _ in range(KNOWN)] for server in servers}
    rates: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for server in servers:
        _send(pool, server, _asks(server, "create", known, size.present - KNOWN))
    for _ in range(size.peer_rounds):
        for what in ASKED:
            for server in servers:
                # Their first answers show how many there will be in time, and wake a server that was idle for long.
                pace = _send(pool, server, _asks(server, what, known, PACE)).rate
                asks = _asks(server, what, known, max(PACE, int(pace * size.peer_seconds)))
                rates[server.name][what].append(_send(pool, server, asks).rate)
    for name, each in rates.items():
        yield Standing(name, {what: median(figures) for what, figures in each.items()})


def _asks(server: Running, what: str, known: dict[str, list[str]], how_many: int) -> list[Ask]:
    peer = server.peer
    if what == "create":
        return [peer.create(number) for number in islice(_numbers, how_many)]
    if what == "get":
        return [peer.get(id) for id in islice(cycle(known[server.name]), how_many)]
    return [peer.index] * how_many


def _send(pool: ProcessPoolExecutor, server: Running, asks: Sequence[Ask]) -> load.Result:
    return pool.submit(load.run, server.port, [bytes_of(ask) for ask in asks]).result()


def markdown(standings: Sequence[Standing]) -> str:
    """Return the table: how many times as many answers the emulator gives as each peer."""
    ours = standings[0].rates
    lines = [f"| server | {' | '.join(ASKED)} |", "|---|" + "--:|" * len(ASKED)]
    for standing in standings[1:]:
        cells = [_cell(standing, what, ours) for what in ASKED]
        lines.append(f"| {standing.name} | {' | '.join(cells)} |")
    lines += [f"\n{standing.name}: not measured ({standing.fault})" for standing in standings if standing.fault]
    return "\n".join(lines)


def _cell(standing: Standing, what: str, ours: dict[str, float]) -> str:
    rate = standing.rates.get(what)
    if rate is None:
        return "–"
    return f"{ours[what] / rate:,.1f} ×"
