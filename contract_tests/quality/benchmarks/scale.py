"""Measures at a size beyond a day's work. Each gives rows of the table "At a large size"."""

from __future__ import annotations

import re
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any

import msgspec

from contract_tests import ROOT
from contract_tests.quality.benchmarks import load
from contract_tests.quality.benchmarks.load import (
    ENVIRONMENT,
    FROZEN,
    KEY,
    Server,
    creates,
    request,
    running,
    send,
)
from contract_tests.quality.benchmarks.measures import PLAN, Row, Size, alone, places, waits

SHOP = ROOT / "docs/examples/python-shop"
CUSTOMERS = "/v1/customers/"
BATCH = 20_000
"""Requests of one load, which has a limit of time."""

EXAMINED = {
    "app": ("run", ("story.py",)),
    "suite": ("mutant", ("-m", "pytest", "-q", "-p", "no:cacheprovider")),
}
"""By examination the thing that is counted in its report, and COMMAND."""

ENOUGH_RETRIES = {"by": "3d"}
"""Time in which a failed delivery is attempted again for the last time (section Webhooks)."""


def filled(pool: ProcessPoolExecutor, server: Server, customers: int) -> None:
    """Create so many customers without payment methods."""
    for start in range(0, customers, BATCH):
        send(pool, server.port, creates(min(BATCH, customers - start), phone=None))


def longest_wait(server: Server, act: Callable[[], Any]) -> tuple[float, float]:
    """Return the seconds of an act, and the longest response time of another world meanwhile."""
    began = time.perf_counter()
    with ThreadPoolExecutor(1) as thread:
        done = thread.submit(act)
        waited = max(waits(server, done))
        done.result()
    return time.perf_counter() - began, waited


def many_worlds(size: Size, pool: ProcessPoolExecutor) -> Iterator[Row]:
    """Worlds of one customer each: kept in memory, and found again by a start."""
    requests = [
        request("POST", CUSTOMERS, {"email": "awa@example.com", "name": "Awa"}, f"{KEY}_{number}")
        for number in range(size.open_worlds)
    ]
    name = f"{size.open_worlds:,} worlds"
    with places() as stores:
        options = (*FROZEN, "--state", stores["sqlite"])
        with running(FROZEN, options) as servers:
            for kind, server in zip(("in memory", "in SQLite"), servers, strict=True):
                before, began = server.memory(), time.perf_counter()
                send(pool, server.port, requests)
                taken = (time.perf_counter() - began) / size.open_worlds
                yield alone(f"{name}, {kind}: each opened", "ms", taken * 1000)
                kib = (server.memory() - before) / size.open_worlds / 1024
                yield alone(f"{name}, {kind}: memory, each", "KiB", kib)
            servers[1].stop()
        with running(options) as (server,):
            yield alone(f"{name}, in SQLite: start", "ms", server.start_ms)


def one_day(size: Size, pool: ProcessPoolExecutor) -> Iterator[Row]:
    """All subscriptions are renewed on one day."""
    with running(FROZEN) as (server,):
        plan = server.call("POST", "/v1/subscription-plans/", PLAN)["id"]
        for start in range(0, size.one_day, BATCH):
            count = min(BATCH, size.one_day - start)
            send(pool, server.port, creates(count, phone="+24177000000"))
        bodies = [
            {"customer": customer, "plan": plan} for customer in server.ids(CUSTOMERS, size.one_day)
        ]
        for start in range(0, len(bodies), BATCH):
            batch = bodies[start : start + BATCH]
            send(pool, server.port, [request("POST", "/v1/subscriptions/", body) for body in batch])

        def renew() -> None:
            response = server.call("POST", "/_emulator/clock/advance", {"by": "31d"})
            if response["events"].get("invoice.paid") != size.one_day:
                raise RuntimeError(f"not {size.one_day} renewals: {response}")

        seconds, waited = longest_wait(server, renew)
    name = f"{size.one_day:,} renewals on one day"
    yield alone(f"{name}: renewals", "/s", size.one_day / seconds)
    yield alone(f"{name}: another world's longest wait", "ms", waited * 1000)


def waiting(size: Size, pool: ProcessPoolExecutor) -> Iterator[Row]:
    """Deliveries to a receiver that is down; then it is up, and they are attempted again."""
    with running(FROZEN) as (server,):
        address = f"http://127.0.0.1:{server.port}/_emulator/inbox/shop"
        webhook = {"name": "Shop", "url": address, "events": ["customer.created"]}
        server.call("POST", "/v1/webhooks/", webhook)
        server.call("PUT", "/_emulator/inbox/shop/response", {"status": 503})
        before = server.memory()
        send(pool, server.port, creates(size.deliveries, phone=None))
        server.call("POST", "/_emulator/clock/advance", {"by": "0s"})
        name = f"{size.deliveries:,} deliveries that wait"
        kib = (server.memory() - before) / size.deliveries / 1024
        yield alone(f"{name}: memory, each with its customer", "KiB", kib)
        server.call("PUT", "/_emulator/inbox/shop/response", {"status": 200})

        def retry() -> None:
            response = server.call("POST", "/_emulator/clock/advance", ENOUGH_RETRIES)
            if response["deliveries"]["succeeded"] != size.deliveries:
                raise RuntimeError(f"not {size.deliveries} deliveries: {response['deliveries']}")

        seconds, waited = longest_wait(server, retry)
    yield alone(f"{name}: attempts", "/s", size.deliveries / seconds)
    yield alone(f"{name}: another world's longest wait", "ms", waited * 1000)


def files(size: Size, pool: ProcessPoolExecutor) -> Iterator[Row]:
    """A snapshot as a file, out of one server and into another one."""
    snapshot = "/_emulator/snapshots/large"
    with running(FROZEN, FROZEN) as (server, other):
        filled(pool, server, size.file)
        server.call("POST", "/_emulator/snapshots", {"name": "large"})
        content: list[bytes] = []
        seconds, waited = longest_wait(
            server, lambda: content.extend(load.pieces(server.port, "GET", snapshot))
        )
        name = f"snapshot of {size.file:,} customers"
        file = b"".join(content)
        yield alone(f"{name}: its file", "MiB", len(file) / 2**20)
        yield alone(f"{name}: export", "ms", seconds * 1000)
        yield alone(f"{name}: export, another world's longest wait", "ms", waited * 1000)
        raw = msgspec.Raw(file)
        seconds, waited = longest_wait(other, lambda: other.call("PUT", snapshot, raw))
        yield alone(f"{name}: import", "ms", seconds * 1000)
        yield alone(f"{name}: import, another world's longest wait", "ms", waited * 1000)


def examinations(size: Size, pool: ProcessPoolExecutor) -> Iterator[Row]:
    """Processor time of each run of ``test app`` and each mutant of ``test suite``, whole.

    They examine the shop in Python: its story, and its test suite under pytest.
    """
    for examination, (noun, command) in EXAMINED.items():
        options = ("test", examination, "--jobs", "1", "--", sys.executable, *command)
        program = (sys.executable, "-P", "-m", "emulator.cli.main", *options)
        used, began = _children(), time.perf_counter()
        done = subprocess.run(  # findings are no failure of the measurement
            program, cwd=SHOP, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True, check=False
        )
        used, seconds = _children() - used, time.perf_counter() - began
        counted = re.search(rf"(\d+) {noun}s", done.stdout)
        if counted is None:
            raise RuntimeError(f"test {examination}: {done.stdout[:400]}")
        name = f"test {examination} of the shop in Python"
        yield alone(f"{name}: {noun}s", "", int(counted[1]))
        yield alone(f"{name}: processor time of each {noun}", "ms", used / int(counted[1]) * 1000)
        yield alone(f"{name}: one job", "s", seconds)


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def many_requests(size: Size, pool: ProcessPoolExecutor) -> Iterator[Row]:
    """Memory that a server takes over many requests that change nothing."""
    with running(FROZEN) as (server,):
        filled(pool, server, 1_000)
        gets = [request("GET", f"{CUSTOMERS}{id}/") for id in server.ids(CUSTOMERS, 1_000)]
        batch = gets * (BATCH // len(gets))
        send(pool, server.port, batch)
        before = server.memory()
        for _ in range(size.many_requests // BATCH):
            send(pool, server.port, batch)
        grown = (server.memory() - before) / 2**20
        yield alone(f"{size.many_requests:,} requests: memory", "MiB", grown)
