"""The clock: monthly subscriptions advanced by a year, and how long another world waits meanwhile."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor

from contract_tests.quality.benchmarks import load
from contract_tests.quality.benchmarks.load import request
from contract_tests.quality.benchmarks.measures import Row, Size, creates
from contract_tests.quality.benchmarks.servers import FROZEN, Server, running

MONTHS = 12


def clock(size: Size, pool: ProcessPoolExecutor) -> Iterator[Row]:
    """Renewals per second and memory per renewal, the number of subscriptions making no difference."""
    for subscriptions in size.subscriptions:
        renewals = subscriptions * MONTHS
        with running(FROZEN) as (server,):
            _subscribe(server, subscriptions, pool)
            before = server.memory()
            with ThreadPoolExecutor(1) as thread:
                advance = thread.submit(_advance, server, subscriptions)
                waits = list(_waits(server, advance))
                seconds = advance.result()
            peak = server.memory("VmHWM")
        name = f"{subscriptions:,} subscriptions, {MONTHS} months"
        yield Row(f"{name}: renewals", "/s", None, renewals / seconds, None)
        yield Row(f"{name}: another world's longest wait", "ms", None, max(waits) * 1000, None, "≤ 50 ms")
        yield Row(f"{name}: each renewal", "KiB", None, (peak - before) / renewals / 1024, None)


def _subscribe(server: Server, subscriptions: int, pool: ProcessPoolExecutor) -> None:
    """So many customers with a mobile money account, each with a monthly subscription that was charged once."""
    plan = server.call("POST", "/v1/subscription-plans/", PLAN)["id"]
    pool.submit(load.run, server.port, creates("clock", subscriptions, phone="+24177000000")).result()
    customers = server.ids("/v1/customers/", subscriptions)
    bodies = [{"customer": customer, "plan": plan} for customer in customers]
    pool.submit(load.run, server.port, [request("POST", "/v1/subscriptions/", body) for body in bodies]).result()


def _waits(server: Server, advance: Future[float]) -> Iterator[float]:
    """Yield how long requests of another world take during an advance, in seconds.

    There are twenty a second at most: enough to meet a wait of 50 ms, and little work beside the advance.
    """
    while True:
        started = time.perf_counter()
        server.call("GET", "/v1/customers/", key="sk_test_neighbour")
        yield time.perf_counter() - started
        if advance.done():
            return
        time.sleep(0.05)


PLAN = {"name": "Basic", "amount": 5000, "currency": "XAF", "interval": "month"}


def _advance(server: Server, subscriptions: int) -> float:
    started = time.perf_counter()
    answer = server.call("POST", "/_emulator/clock/advance", {"to": "2027-01-01T00:00:00Z"})
    seconds = time.perf_counter() - started
    if answer["failures"] or answer["events"].get("invoice.paid") != subscriptions * MONTHS:
        raise RuntimeError(f"not {subscriptions * MONTHS} renewals: {answer}")
    return seconds
