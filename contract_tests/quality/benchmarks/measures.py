"""What is measured. Each measure gives rows of the table."""

from __future__ import annotations

import gc
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from itertools import cycle, islice
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from contract_tests import ROOT
from contract_tests.quality.benchmarks.load import (
    BARE,
    EMULATOR,
    ENVIRONMENT,
    FROZEN,
    KEY,
    Result,
    Server,
    creates,
    request,
    running,
    send,
)
from contract_tests.support import postgres


class Size(NamedTuple):
    """The amount of work. A round is a load of ``requests`` requests on each server in turn.

    ``python`` is the interpreter of the environment in which starts and memory are measured; one
    with more packages takes longer and more.
    """

    starts: int = 7
    rounds: int = 9
    requests: int = 3_000
    customers: int = 10_000
    subscriptions: int = 50_000
    worlds: int = 1_000
    open_worlds: int = 10_000
    one_day: int = 100_000
    deliveries: int = 10_000
    file: int = 50_000
    many_requests: int = 1_000_000
    python: str = sys.executable


QUICK = Size(
    starts=3,
    rounds=3,
    requests=1_000,
    customers=2_000,
    subscriptions=500,
    worlds=200,
    open_worlds=200,
    one_day=500,
    deliveries=200,
    file=1_000,
    many_requests=20_000,
)

FEW = 1_000
"""Customers that are there before requests are measured."""


class Row(NamedTuple):
    """A table's line; ``aim`` is for the ratio or, with a unit, for the emulator's own figure.

    ``spread`` are the least and the greatest of several runs: of the ratio or, where there is none,
    of the emulator's figure.
    """

    measure: str
    unit: str
    bare: float | None
    emulator: float
    ratio: float | None
    aim: str = ""
    spread: tuple[float, float] | None = None


def alone(measure: str, unit: str, figure: float, aim: str = "") -> Row:
    return Row(measure, unit, None, figure, None, aim)


def beside(
    measure: str, unit: str, bare: Sequence[float], emulator: Sequence[float], aim: str = ""
) -> Row:
    """Return all medians; the ratio is the rounds' own median: a busy minute strikes both sides."""
    # So few customers may fit into memory that was there already: nothing to compare with.
    ratios = [ours / theirs for theirs, ours in zip(bare, emulator, strict=True) if theirs]
    return Row(
        measure, unit, median(bare), median(emulator), median(ratios) if ratios else None, aim
    )


def of_runs(runs: Sequence[Sequence[Row]]) -> list[Row]:
    """Return the rows of several runs as one: medians of every figure, and the spread."""
    return [_of_runs(rows) for rows in zip(*runs, strict=True)] if len(runs) > 1 else list(runs[0])


def _of_runs(rows: Sequence[Row]) -> Row:
    judged = [row.emulator if row.ratio is None else row.ratio for row in rows]
    figures = {name: [getattr(row, name) for row in rows] for name in ("bare", "emulator", "ratio")}
    medians = {name: None if None in values else median(values) for name, values in figures.items()}
    return rows[0]._replace(**medians, spread=(min(judged), max(judged)))


@contextmanager
def installed() -> Iterator[str]:
    """The Python of a new environment with only the package, as for users. pip needs an index."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        python = str(Path(folder, "bin", "python"))
        subprocess.run([python, "-m", "pip", "install", "--quiet", str(ROOT)], check=True)
        yield python


def start(size: Size, pool: ProcessPoolExecutor) -> Iterator[Row]:
    """From the command to the first answer, files and bytecode being in the system's cache."""
    times: dict[str, list[float]] = defaultdict(list)
    for _ in range(size.starts + 1):
        for kind in (BARE, EMULATOR):
            with running(kind, python=size.python) as (server,):
                times[server.name].append(server.start_ms)
    yield beside("start to first answer", "ms", times["bare"][1:], times["emulator"][1:], "≤ 2.2 ×")


PLUGIN = """
import time, pytest
started = time.perf_counter()
import payments_emulator_pytest
print(f"took {(time.perf_counter() - started) * 1000}")
"""


def commands(size: Size, pool: ProcessPoolExecutor) -> Iterator[Row]:
    """Measure ``--help``, ``exec -- true`` beside a server's start, the plugin beside pytest."""
    program = (size.python, "-P", "-m", "emulator.cli.main")
    rounds = range(size.starts + 1)
    yield alone(
        "--help", "ms", median([_said(*program, "--help")[0] for _ in rounds][1:]), "≤ 100 ms"
    )
    serves, execs = [], []
    for _ in range(size.starts):
        with running(EMULATOR, python=size.python) as (server,):
            serves.append(server.start_ms)
        execs.append(_said(*program, "exec", "--", "true")[0])
    yield beside("exec -- true, beside a start", "ms", serves, execs, "≤ 1.5 ×")
    plugin = [float(_said(sys.executable, "-c", PLUGIN)[1].rpartition("took ")[2]) for _ in rounds][
        1:
    ]
    yield alone("plugin that is not used", "ms", median(plugin), "≤ 15 ms")


def _said(*command: str) -> tuple[float, str]:
    started = time.perf_counter()
    done = subprocess.run(
        command, cwd=ROOT, env=ENVIRONMENT, check=True, stdout=subprocess.PIPE, text=True
    )
    return (time.perf_counter() - started) * 1000, done.stdout


INSTALLERS = ("pip", "setuptools", "pkg_resources", "_distutils_hack")
"""What a new environment holds already."""


def room(size: Size, pool: ProcessPoolExecutor) -> Iterator[Row]:
    """MiB of a plain installation, without pip and setuptools."""
    (packages,) = Path(size.python).parents[1].glob("lib/python*/site-packages")
    own = [package for package in packages.iterdir() if not package.name.startswith(INSTALLERS)]
    taken = sum(
        file.stat().st_blocks * 512 for package in own for file in [package, *package.rglob("*")]
    )
    yield alone("room of an installation", "MiB", taken / 2**20, "≤ 90 MiB")


def memory(size: Size, pool: ProcessPoolExecutor) -> Iterator[Row]:
    """Resident memory after the first answer, and what each customer adds."""
    from emulator.engine.journal import MAX_UNITS

    at_start, per_request = {}, {}
    with running(BARE, EMULATOR, python=size.python) as servers:
        for server in servers:
            at_start[server.name] = server.memory() / 2**20
            # What a server loads with its first requests, and the requests it stores (so many and
            # no more), are not the customers' doing.
            send(pool, server.port, creates(MAX_UNITS, phone=None))
            before = server.memory()
            send(pool, server.port, creates(size.customers, phone=None))
            per_request[server.name] = (server.memory() - before) / size.customers / 1024
    yield beside("memory at start", "MiB", [at_start["bare"]], [at_start["emulator"]], "≤ 60 MiB")
    yield beside(
        "memory per customer", "KiB", [per_request["bare"]], [per_request["emulator"]], "≤ 1.5 KiB"
    )


def requests(size: Size, pool: ProcessPoolExecutor) -> Iterator[Row]:
    """GET one, list 20 and create; from the emulator without its lines, and with a line for each.

    A rate is answers per second of the server's own processor time: what a load that leaves it no
    pause would get, whatever the load costs and whatever else the machine does. Each server goes
    first as often as the others.
    """
    with running(BARE, EMULATOR, ("emulator",)) as servers:
        for server in servers:
            send(pool, server.port, creates(FEW))
        for name, (make, least) in KINDS.items():
            results: list[list[Result]] = [[] for _ in servers]
            pairs = list(zip(servers, results, strict=True))
            for number in range(size.rounds):
                for server, own in pairs if number % 2 else reversed(pairs):
                    batch = make(server, size.requests)
                    used = server.processor_seconds()
                    result = send(pool, server.port, batch)
                    own.append(
                        result._replace(rate=len(batch) / (server.processor_seconds() - used))
                    )
            for field, unit, aim in (("rate", "/s", least), ("p99", "ms", "≤ 1.2 ×")):
                bare, quiet, plain = (
                    [getattr(result, field) for result in result_fields]
                    for result_fields in results
                )
                yield beside(f"{name}: {field}", unit, bare, quiet, aim)
                yield beside(f"{name}, a line printed: {field}", unit, bare, plain)


def _gets(server: Server, how_many: int) -> list[bytes]:
    requests = [request("GET", f"/v1/customers/{id}/") for id in server.ids("/v1/customers/", 500)]
    return list(islice(cycle(requests), how_many))


def _lists(how_many: int, key: str = KEY) -> list[bytes]:
    return [request("GET", "/v1/customers/?page_size=20", key=key)] * how_many


KINDS: dict[str, tuple[Callable[[Server, int], list[bytes]], str]] = {
    "GET one": (_gets, "≥ 0.8 ×"),
    "list 20": (lambda _, how_many: _lists(how_many), "≥ 0.63 ×"),
    "create": (lambda _, how_many: creates(how_many), "≥ 0.39 ×"),
}
"""A round's requests for one server, and their rate's aim beside the bare application's."""


@contextmanager
def places() -> Iterator[dict[str, str]]:
    """New places for all kinds of state; PostgreSQL, which secures every commit, if from Debian."""
    with ExitStack() as cleanup:
        folder = Path(cleanup.enter_context(tempfile.TemporaryDirectory()))
        stores = {"tinydb": f"tinydb:{folder}/worlds.json", "sqlite": f"sqlite:{folder}/worlds.db"}
        if postgres.programs() is not None:
            stores["postgresql"] = cleanup.enter_context(postgres.running(sync=True))
        yield stores


def stored(size: Size, pool: ProcessPoolExecutor) -> Iterator[Row]:
    """Yield a create with each kind of state beside one in memory (for the bare application)."""
    with (
        places() as stores,
        running(EMULATOR, *((*EMULATOR, "--state", place) for place in stores.values())) as servers,
    ):
        times: dict[str, list[float]] = defaultdict(list)
        for _ in range(size.rounds + 1):
            for name, server in zip(("memory", *stores), servers, strict=True):
                times[name].append(1e6 / send(pool, server.port, creates(size.requests)).rate)
        for name in stores:
            aim = "≤ 2.5 ×" if name == "postgresql" else ""
            yield beside(
                f"create, {name} beside memory", "µs", times["memory"][1:], times[name][1:], aim
            )


MONTHS = 12
PLAN = {"name": "Basic", "amount": 5000, "currency": "XAF", "interval": "month"}


def clock(size: Size, pool: ProcessPoolExecutor) -> Iterator[Row]:
    """Measure subscriptions advanced a year: renewals a second, memory each, others' wait."""
    renewals = size.subscriptions * MONTHS
    with running(FROZEN) as (server,):
        plan = server.call("POST", "/v1/subscription-plans/", PLAN)["id"]
        send(pool, server.port, creates(size.subscriptions, phone="+24177000000"))
        bodies = [
            {"customer": customer, "plan": plan}
            for customer in server.ids("/v1/customers/", size.subscriptions)
        ]
        send(pool, server.port, [request("POST", "/v1/subscriptions/", body) for body in bodies])
        before = server.memory()
        with ThreadPoolExecutor(1) as thread:
            advance = thread.submit(_advance, server, renewals)
            waited = list(waits(server, advance))
            seconds = advance.result()
        peak = server.memory("VmHWM")
    name = f"{size.subscriptions:,} subscriptions, {MONTHS} months"
    yield alone(f"{name}: renewals", "/s", renewals / seconds)
    yield alone(f"{name}: another world's longest wait", "ms", max(waited) * 1000, "≤ 50 ms")
    yield alone(f"{name}: each renewal", "KiB", (peak - before) / renewals / 1024)


def _advance(server: Server, renewals: int) -> float:
    started = time.perf_counter()
    response = server.call("POST", "/_emulator/clock/advance", {"to": "2027-01-01T00:00:00Z"})
    if response["failures"] or response["events"].get("invoice.paid") != renewals:
        raise RuntimeError(f"not {renewals} renewals: {response}")
    return time.perf_counter() - started


def waits(server: Server, until: Future[Any], pause: float = 0.05) -> Iterator[float]:
    """Yield how long requests of another world take until something is done, in seconds.

    There are twenty a second at most: enough to meet a wait of 50 ms, and little work beside the
    advance.
    """
    while True:
        started = time.perf_counter()
        server.call("GET", "/v1/customers/", key="sk_test_neighbour")
        yield time.perf_counter() - started
        if until.done():
            return
        time.sleep(pause)


WARM = 400
"""Worlds opened first: the later ones are not to blame for their modules and full caches."""


def worlds(size: Size, pool: ProcessPoolExecutor) -> Iterator[Row]:
    """Yield a test's world alone and with collected webhooks; the remains of all in the process."""
    plain, webhooks, kib = pool.submit(thrown_away, size.worlds, min(WARM, size.worlds)).result()
    name = f"{size.worlds:,} worlds of tests"
    yield alone(f"{name}: each, one request", "ms", plain, "≤ 10 ms")
    yield alone(f"{name}: each, a webhook too", "ms", webhooks)
    yield alone(f"{name}: memory left, each", "KiB", kib / size.worlds, "≤ 1 KiB")


def thrown_away(how_many: int, warm: int) -> tuple[float, float, int]:
    """Open and discard so many worlds on one server here, half of them with a webhook receiver.

    Returns the median milliseconds of one without and with it, and the KiB that all left behind
    together.
    """
    from emulator.testing import LocalServer

    server = LocalServer()
    try:
        for number in range(warm):
            one(server, f"warm{number}", webhooks=number % 2 == 0)
        before = _held()
        plain, webhooks = (
            median(one(server, f"{listens}{number}", listens) for number in range(how_many // 2))
            for listens in (False, True)
        )
        return plain, webhooks, _held() - before
    finally:
        server.stop()


def one(server: object, name: str, webhooks: bool) -> float:
    """Return a test world's milliseconds: opened, one customer created (one event), discarded."""
    from emulator.testing import Emulator

    started = time.perf_counter()
    # imported late
    with Emulator(key=f"sk_test_world-{name}", server=server) as world:  # type: ignore[arg-type]
        if webhooks:
            world.webhooks.listen()
        world.api.post("/v1/customers/", {"email": "awa@example.com", "name": "Awa Diop"})
        if webhooks:
            world.webhooks.assert_delivered("customer.created")
    return (time.perf_counter() - started) * 1000


def _held() -> int:
    gc.collect()
    line = next(
        line
        for line in Path("/proc/self/status").read_text().splitlines()
        if line.startswith("VmRSS")
    )
    return int(line.split()[1])
