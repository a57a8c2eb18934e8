"""The clock: monthly subscriptions advanced by a year, beside a bare loop that makes as many records and no sense."""

from __future__ import annotations

import heapq
import time
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor

import msgspec

from contract_tests.quality.benchmarks import load
from contract_tests.quality.benchmarks.load import request
from contract_tests.quality.benchmarks.measures import Row, Size, beside, creates
from contract_tests.quality.benchmarks.servers import FROZEN, Server, running

MONTHS = 12

NEW, REPLACED = 9, 7
"""Records a renewal makes: job, invoice, intent, transaction, receipt, email and three events are new; invoice and
intent change twice, subscription, customer and transaction once; the job that was done is gone."""


def clock(size: Size, pool: ProcessPoolExecutor) -> Iterator[Row]:
    """Renewals per second and memory per renewal, the number of subscriptions making no difference."""
    for subscriptions in size.subscriptions:
        renewals = subscriptions * MONTHS
        bare = [renewals / pool.submit(bare_loop, renewals).result()]
        with running(FROZEN) as (server,):
            _subscribe(server, subscriptions, pool)
            before = server.memory()
            with ThreadPoolExecutor(1) as thread:
                advance = thread.submit(_advance, server, subscriptions)
                waits = list(_waits(server, advance))
                seconds = advance.result()
            peak = server.memory("VmHWM")
        # Before and after, for what else the machine does comes and goes.
        bare.append(renewals / pool.submit(bare_loop, renewals).result())
        name = f"{subscriptions:,} subscriptions, {MONTHS} months"
        yield beside(f"{name}: renewals", "/s", bare, [renewals / seconds] * 2, "≥ 0.25 ×")
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


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """A frozen record of the size of an invoice."""

    id: str
    object: str = "entry"
    status: str = "open"
    amounts: tuple[int, ...] = (5000, 0, 0, 5000)
    subtotal: int = 5000
    tax_amount: int = 0
    discount_amount: int = 0
    total: int = 5000
    amount_paid: int = 0
    amount_remaining: int = 5000
    customer: str | None = None
    customer_email: str | None = None
    currency: str = "XAF"
    due_date: str | None = None
    description: str | None = None
    footer: str | None = None
    payment_url: str
    pdf_url: str
    metadata: dict[str, str] = msgspec.field(default_factory=dict)
    livemode: bool = False
    created_at: str = "2026-01-01T00:00:00.000Z"
    updated_at: str


def bare_loop(renewals: int) -> float:
    """Seconds to make as many frozen records, file them in dicts and pop a heap."""
    started = time.perf_counter()
    due = [(number, f"job_{number}") for number in range(renewals)]
    heapq.heapify(due)
    rows: dict[str, Entry] = {}
    while due:
        _, job = heapq.heappop(due)
        for number in range(NEW):
            entry = Entry(id=f"{job}_{number}", payment_url=f"/invoice/{job}", pdf_url=f"/pdf/{job}", updated_at=job)
            rows[entry.id] = entry
        for number in range(REPLACED):
            entry = rows[f"{job}_{number}"]
            rows[entry.id] = msgspec.structs.replace(entry, status="paid", amount_paid=5000, updated_at=job)
    return time.perf_counter() - started
