"""What is measured: start, memory, requests and the clock. Each measure gives rows of the table."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import count, cycle, islice
from statistics import median
from typing import Any, NamedTuple

from contract_tests.quality.benchmarks import load
from contract_tests.quality.benchmarks.load import Result, request
from contract_tests.quality.benchmarks.servers import BARE, EMULATOR, Server, running
from emulator.engine.journal import MAX_UNITS


class Size(NamedTuple):
    """How much is done. A round is one load of ``requests`` requests on each server, one after the other.

    ``subscriptions`` are advanced by a year.
    wrk loads two processes for ``wrk_seconds`` at a time, ``wrk_rounds`` times. ``python`` is the interpreter of the
    environment in which starts and memory are measured; one with more packages takes longer and more.
    """

    starts: int = 7
    rounds: int = 9
    requests: int = 3_000
    few: int = 1_000
    customers: int = 10_000
    subscriptions: tuple[int, ...] = (50_000,)
    wrk_rounds: int = 5
    wrk_seconds: int = 3
    worlds: int = 1_000
    python: str = sys.executable


QUICK = Size(
    starts=3,
    rounds=3,
    requests=1_000,
    customers=2_000,
    subscriptions=(500,),
    worlds=200,
    wrk_rounds=3,
    wrk_seconds=1,
)


class Row(NamedTuple):
    """One line of the table; ``aim`` is what the ratio, or where it names a unit the emulator's figure, ought to be.

    ``spread`` are the least and the greatest of several runs: of the ratio or, where there is none, of the emulator's
    figure.
    """

    measure: str
    unit: str
    bare: float | None
    emulator: float
    ratio: float | None
    aim: str = ""
    spread: tuple[float, float] | None = None


def beside(
    measure: str,
    unit: str,
    bare: Sequence[float],
    emulator: Sequence[float],
    aim: str = "",
) -> Row:
    """Return the medians of all; the ratio is the median of the rounds' own, so that a busy minute counts on both sides."""
    # So few customers may fit into memory that was there already: nothing to compare with.
    ratios = [ours / theirs for theirs, ours in zip(bare, emulator, strict=True) if theirs]
    ratio = median(ratios) if ratios else None
    return Row(measure, unit, median(bare), median(emulator), ratio, aim)


def of_runs(runs: Sequence[Sequence[Row]]) -> list[Row]:
    """Return the rows of several runs as one: medians of every figure, and the spread."""
    return [_of_runs(rows) for rows in zip(*runs, strict=True)] if len(runs) > 1 else list(runs[0])


def _of_runs(rows: Sequence[Row]) -> Row:
    judged = [row.emulator if row.ratio is None else row.ratio for row in rows]
    figures = {name: [getattr(row, name) for row in rows] for name in ("bare", "emulator", "ratio")}
    medians = {name: None if None in values else median(values) for name, values in figures.items()}
    return rows[0]._replace(**medians, spread=(min(judged), max(judged)))


def start(size: Size, pool: ProcessPoolExecutor) -> Iterator[Row]:
    """From the command to the first answer, files and bytecode being in the system's cache."""
    times: dict[str, list[float]] = defaultdict(list)
    for number in range(-1, size.starts):
        for kind in (BARE, EMULATOR):
            with running(kind, python=size.python) as (server,):
                if number >= 0:
                    times[server.name].append(server.start_ms)
    yield beside("start to first answer", "ms", times["bare"], times["emulator"], "≤ 2.2 ×")


def memory(size: Size, pool: ProcessPoolExecutor) -> Iterator[Row]:
    """Resident memory after the first answer, and what each customer adds."""
    at_start, each = {}, {}
    with running(BARE, EMULATOR, python=size.python) as servers:
        for server in servers:
            at_start[server.name] = server.memory() / 2**20
            # What a server loads with its first requests, and the requests it stores (so many and no more), are not the
            # customers' doing.
            send(pool, server, creates("warm", MAX_UNITS, phone=None))
            before = server.memory()
            send(pool, server, creates("kept", size.customers, phone=None))
            each[server.name] = (server.memory() - before) / size.customers / 1024
    yield beside("memory at start", "MiB", [at_start["bare"]], [at_start["emulator"]], "≤ 60 MiB")
    yield beside("memory per customer", "KiB", [each["bare"]], [each["emulator"]], "≤ 1.5 KiB")


def requests(size: Size, pool: ProcessPoolExecutor) -> Iterator[Row]:
    """GET one, list 20 and create; of the emulator without its lines, and as it is by itself, printing one for each.

    A rate is answers per second of the server's own processor time: what a load that leaves it no pause would get,
    whatever the load costs and whatever else the machine does.
    """
    with running(BARE, EMULATOR, ("emulator",)) as servers:
        for server in servers:
            send(pool, server, creates("fill", size.few))
        for name, make in KINDS.items():
            bare, quiet, plain = _compare(servers, make, size, pool)
            for field, unit, aim in (("rate", "/s", LEAST[name]), ("p99", "ms", "≤ 1.2 ×")):
                figures = [[getattr(result, field) for result in each] for each in (bare, quiet, plain)]
                yield beside(f"{name}: {field}", unit, figures[0], figures[1], aim)
                yield beside(f"{name}, a line printed: {field}", unit, figures[0], figures[2])


Make = Callable[[Server, int, int], list[bytes]]
"""The requests of one round for one server: server, number of the round, how many."""


def _compare(servers: Sequence[Server], make: Make, size: Size, pool: ProcessPoolExecutor) -> list[list[Result]]:
    """Return how each of the servers did in every round; each goes first as often as the others."""
    results: list[list[Result]] = [[] for _ in servers]
    pairs = list(zip(servers, results, strict=True))
    for number in range(size.rounds):
        for server, own in pairs if number % 2 else reversed(pairs):
            batch = make(server, number, size.requests)
            used = server.processor_seconds()
            result = send(pool, server, batch)
            own.append(result._replace(rate=len(batch) / (server.processor_seconds() - used)))
    return results


def send(pool: ProcessPoolExecutor, server: Server, batch: Sequence[bytes]) -> Result:
    return pool.submit(load.run, server.port, batch).result()


_numbers = count()

CUSTOMER = {
    "name": "Awa Diop",
    "phone": "+24106001234",
    "metadata": {"order_id": "6735", "plan": "gold", "source": "bench"},
}
"""What a shop sends of a customer, beside the email. The phone gives the customer a payment method."""

LEAST = {"GET one": "≥ 0.8 ×", "list 20": "≥ 0.63 ×", "create": "≥ 0.39 ×"}
"""The aims of the rates, beside those of the bare application."""


def creates(name: str, how_many: int, **fields: Any) -> list[bytes]:
    """Creates of customers that do not exist yet; a field that is None is not sent."""
    each = {name: value for name, value in {**CUSTOMER, **fields}.items() if value is not None}
    return [
        request("POST", "/v1/customers/", {"email": f"{name}-{number}@example.com", **each})
        for number in islice(_numbers, how_many)
    ]


def _creates(server: Server, number: int, how_many: int) -> list[bytes]:
    return creates("round", how_many)


def _gets(server: Server, number: int, how_many: int) -> list[bytes]:
    each = [request("GET", f"/v1/customers/{id}/") for id in server.ids("/v1/customers/", 500)]
    return list(islice(cycle(each), how_many))


def _lists(server: Server, number: int, how_many: int) -> list[bytes]:
    return [request("GET", "/v1/customers/?page_size=20")] * how_many


KINDS: dict[str, Make] = {"GET one": _gets, "list 20": _lists, "create": _creates}
