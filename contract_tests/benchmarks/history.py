"""Long histories: years of renewals of which only the latest records are in memory, how much that takes, and reading.

The rules make the renewals without a server, many in one transaction, because each in its own would take hours. The
servers then do the last month. The command runs it only where it is asked for.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from contract_tests.benchmarks.clock import MONTHS
from contract_tests.benchmarks.measures import Row, Size
from contract_tests.benchmarks.servers import FROZEN, Server, running
from contract_tests.rules_harness import RulesHarness
from emulator.core.archive import HistoryLimit
from emulator.core.unit_of_work import UnitOfWork
from emulator.core.world import World
from emulator.engine import snapshots
from emulator.engine.archiving import Archiving
from emulator.engine.snapshots import WorldSnapshot
from emulator.resources.app.keys import Key
from emulator.state.sqlite import SqliteStore

IN_MEMORY = 20_000
"""Records of each kind."""

UNITS = 500
"""Units of work in one transaction."""

TIMES = 9
"""How often each thing is read; the quickest counts, for what else the machine does comes and goes."""

KEY = Key("harness", livemode=False)


class Renewals(NamedTuple):
    """What a file holds: so many monthly subscriptions since ``years``. ``seconds``: how long the rules took."""

    subscriptions: int
    years: int
    seconds: float = 0.0

    @property
    def name(self) -> str:
        return f"{self.subscriptions:,} subscriptions, {self.years} years"


def history(size: Size, pool: ProcessPoolExecutor) -> Iterator[Row]:
    """Memory at its peak and the time of lists and explanations, on a server that starts on a long history."""
    for subscriptions in size.subscriptions:
        with TemporaryDirectory() as folder:
            state = Path(folder, "worlds.db")
            # In a process of its own: what the rules take is not what a server takes.
            with ProcessPoolExecutor(1, get_context("spawn")) as maker:
                made = maker.submit(make, state, Renewals(subscriptions, size.years)).result()
            renewals = subscriptions * MONTHS * size.years
            yield Row(f"{made.name}: renewals by the rules alone", "/s", None, renewals / made.seconds, None)
            yield Row(f"{made.name}: file", "MiB", None, state.stat().st_size / 2**20, None)
            yield from _served(state, made)


def make(state: Path, renewals: Renewals) -> Renewals:
    """Write a file with renewals, most of which have left memory."""
    store = SqliteStore(state, archives=True)
    harness, archiving = RulesHarness(), Archiving(HistoryLimit(records=IN_MEMORY))
    store.load(KEY)
    store.replace(snapshots.saved(_frozen(harness.world)))
    archive = store.archive(KEY)
    assert archive is not None
    harness.world.use_archive(archive)
    pending: list[UnitOfWork] = []

    def store_pending(world: World, unit: UnitOfWork | None = None) -> None:
        pending.extend([unit] if unit else [])
        if unit is None or len(pending) >= UNITS:
            changes = [change for each in pending for change in each.changes]
            store.write(KEY, world, changes, snapshots.header(_frozen(world)))
            pending.clear()
            archiving.trim(world)

    harness.observers.append(store_pending)
    for _ in range(renewals.subscriptions):
        harness.subscribe()
    started = time.perf_counter()
    harness.advance_to(f"{2026 + renewals.years}-01-01T00:00:00.000Z")
    store_pending(harness.world)
    store.close()
    return renewals._replace(seconds=time.perf_counter() - started)


def _frozen(world: World) -> WorldSnapshot:
    return WorldSnapshot(world, world.now, "frozen", 1.0)


def _served(state: Path, made: Renewals) -> Iterator[Row]:
    arguments = (*FROZEN[1], "--state", f"sqlite:///{state}", "--history", str(IN_MEMORY))
    started = time.perf_counter()
    with running((FROZEN[0], arguments)) as (server,):
        yield Row(f"{made.name}: start", "s", None, time.perf_counter() - started, None)
        yield from _read(server, made.name)
        started = time.perf_counter()
        done = server.call("POST", "/_emulator/clock/advance", {"by": "P1M"}, key=str(KEY))
        seconds = time.perf_counter() - started
        yield Row(f"{made.name}: renewals by the server", "/s", None, done["events"]["invoice.paid"] / seconds, None)
        yield from _read(server, f"{made.name} and a month")
        yield Row(f"{made.name}: peak", "MiB", None, server.memory("VmHWM") / 2**20, None, "≤ 2,048 MiB")


def _read(server: Server, name: str) -> Iterator[Row]:
    """The slowest of several answers, in milliseconds."""

    def call(path: str) -> Any:
        return server.call("GET", path, key=str(KEY))

    pages = call("/v1/invoices/?page_size=100")["pagination"]["total_pages"]
    half = -(-pages // 2)
    oldest = call(f"/v1/invoices/?page_size=100&page={pages}")["data"][-1]
    middle = call(f"/v1/invoices/?page_size=100&page={half}")["data"][0]
    asked = {
        "lists": [
            *(f"/v1/invoices/?page_size=100&page={page}" for page in (1, half, pages)),
            f"/v1/invoices/?status=paid&page_size=100&page={half}",
            f"/v1/transactions/?customer={oldest['customer']}",
            f"/v1/transactions/?created_before={middle['created_at']}",
            f"/_emulator/events?type=invoice.paid&page_size=100&page={half}",
            f"/_emulator/emails?to={oldest['customer_email']}",
        ],
        "explain": [f"/_emulator/explain/{each['id']}" for each in (oldest, middle)],
        "one object": [f"/v1/invoices/{each['id']}/" for each in (oldest, middle)],
    }
    for what, paths in asked.items():
        slowest = max(_milliseconds(call, path) for path in paths)
        yield Row(f"{name}: {what}", "ms", None, slowest, None, "≤ 50 ms")


def _milliseconds(call: Callable[[str], Any], path: str) -> float:
    took = []
    for _ in range(TIMES):
        started = time.perf_counter()
        call(path)
        took.append((time.perf_counter() - started) * 1000)
    return min(took)
