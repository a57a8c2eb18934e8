"""What is measured: start, memory, requests and the clock. Each measure gives rows of the table."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import count, cycle, islice
from statistics import median
from typing import Any, NamedTuple

from contract_tests.benchmarks import load
from contract_tests.benchmarks.load import Result, request
from contract_tests.benchmarks.servers import BARE, EMULATOR, Server, running
from emulator.engine.journal import MAX_UNITS


class Size(NamedTuple):
    """How much is done. A round is one load of ``requests`` requests on each server, one after the other.

    ``seconds`` is how long a world is overloaded, ``quiet_seconds`` how long idle worlds are watched.
    ``subscriptions`` are advanced by a year, ``lives`` are those whose ``years`` are walked in different steps.
    Peers, some of which are slow, get fewer loads, each as many requests as it answers in ``peer_seconds``, with
    ``present`` objects in each at first. ``blocks`` of units of work are done with and without the ledger.
    """

    starts: int = 7
    rounds: int = 9
    requests: int = 3_000
    few: int = 1_000
    many: int = 100_000
    customers: int = 10_000
    subscriptions: tuple[int, ...] = (1_000, 10_000, 50_000)
    lives: int = 1_000
    years: int = 10
    present: int = 500
    peer_rounds: int = 5
    peer_seconds: float = 0.5
    worlds: int = 1_000
    blocks: int = 100
    idle_worlds: int = 30_000
    seconds: float = 60
    quiet_seconds: float = 10
    kills: int = 10
    objects_on_overview: int = 20_000


QUICK = Size(
    starts=3,
    rounds=3,
    requests=1_000,
    many=5_000,
    customers=2_000,
    subscriptions=(500,),
    lives=100,
    years=2,
    worlds=200,
    blocks=30,
    idle_worlds=10_000,
    seconds=10,
    kills=3,
    peer_rounds=3,
)


class Row(NamedTuple):
    """One line of the table; ``aim`` is what the ratio, or where it names a unit the emulator's figure, ought to be."""

    measure: str
    unit: str
    bare: float | None
    emulator: float
    ratio: float | None
    aim: str = ""


def beside(measure: str, unit: str, bare: Sequence[float], emulator: Sequence[float], aim: str = "") -> Row:
    """The medians of both; the ratio is the median of the rounds' own, so that a busy minute counts on both sides."""
    # So few customers may fit into memory that was there already: nothing to compare with.
    ratios = [ours / theirs for theirs, ours in zip(bare, emulator, strict=True) if theirs]
    return Row(measure, unit, median(bare), median(emulator), median(ratios) if ratios else None, aim)


def start(size: Size, pool: ProcessPoolExecutor) -> Iterator[Row]:
    """From the command to the first answer, files and bytecode being in the system's cache."""
    times: dict[str, list[float]] = defaultdict(list)
    for number in range(-1, size.starts):
        for kind in (BARE, EMULATOR):
            with running(kind) as (server,):
                if number >= 0:
                    times[server.name].append(server.start_ms)
    yield beside("start to first answer", "ms", times["bare"], times["emulator"], "≤ 2.2 ×")


def memory(size: Size, pool: ProcessPoolExecutor) -> Iterator[Row]:
    """Resident memory after the first answer, and what each customer adds."""
    at_start, each = {}, {}
    with running(BARE, EMULATOR) as servers:
        for server in servers:
            at_start[server.name] = server.memory() / 2**20
            # What a server loads with its first requests, and the requests it stores (so many and no more), are not the
            # customers' doing.
            _send(pool, server, creates("warm", MAX_UNITS))
            before = server.memory()
            _send(pool, server, creates("kept", size.customers))
            each[server.name] = (server.memory() - before) / size.customers / 1024
    yield beside("memory at start", "MiB", [at_start["bare"]], [at_start["emulator"]], "≤ 60 MiB")
    yield beside("memory per customer", "KiB", [each["bare"]], [each["emulator"]], "≤ 1.5 KiB")


def requests(size: Size, pool: ProcessPoolExecutor) -> Iterator[Row]:
    """GET one, list 20 and create, with few objects present and with many."""
    with running(BARE, EMULATOR) as servers:
        present = 0
        for objects in (size.few, size.many):
            for server in servers:
                _send(pool, server, creates(f"fill{objects}", objects - present))
            present = objects
            for name, make in KINDS.items():
                results = _compare(servers, make, size, pool)
                for field, unit, aim in (("rate", "/s", "≥ 0.6 ×"), ("p50", "ms", ""), ("p99", "ms", "≤ 2 ×")):
                    figures = [[getattr(result, field) for result in each] for each in results]
                    yield beside(f"{name}, {objects:,} objects: {field}", unit, *figures, aim)


def sizes(size: Size, pool: ProcessPoolExecutor) -> Iterator[Row]:
    """The same requests to two emulators: the first, in the place of the bare application, has few objects."""
    with running(EMULATOR, EMULATOR) as servers:
        for server, objects in zip(servers, (size.few, size.many), strict=True):
            _send(pool, server, creates("fill", objects))
        for name, make in KINDS.items():
            few, many = ([result.rate for result in each] for each in _compare(servers, make, size, pool))
            yield beside(f"{name}: {size.many:,} objects beside {size.few:,}", "/s", few, many, "≥ 0.9 ×")


Make = Callable[[Server, int, int], list[bytes]]
"""The requests of one round for one server: server, number of the round, how many."""


def _compare(servers: Sequence[Server], make: Make, size: Size, pool: ProcessPoolExecutor) -> list[list[Result]]:
    """How each of the servers did in every round; each goes first as often as the others."""
    results: list[list[Result]] = [[] for _ in servers]
    pairs = list(zip(servers, results, strict=True))
    for number in range(size.rounds):
        for server, own in pairs if number % 2 else reversed(pairs):
            own.append(_send(pool, server, make(server, number, size.requests)))
    return results


def _send(pool: ProcessPoolExecutor, server: Server, batch: Sequence[bytes]) -> Result:
    return pool.submit(load.run, server.port, batch).result()


_numbers = count()


def creates(name: str, how_many: int, **fields: Any) -> list[bytes]:
    """Creates of customers that do not exist yet."""
    return [
        request(
            "POST",
            "/v1/customers/",
            {
                "email": f"{name}-{number}@example.com",
                "name": "Awa Diop",
                "metadata": {"loyalty": "gold", "number": number},
                **fields,
            },
        )
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
