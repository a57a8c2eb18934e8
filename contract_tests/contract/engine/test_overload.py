"""No world delays another: one whose jobs take longer than its clock allows lags, and a large one works in slices."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import httpx
import msgspec
import pytest

from contract_tests.support.sandbox import Sandbox
from emulator.core.world import World
from emulator.resources.app.clients import Key
from emulator.resources.customers.customer_records import Customer
from emulator.resources.registry import OPERATIONS
from emulator.server import sandbox as server
from emulator.server.sandbox import Options

MAX_RATE = 31_536_000
DAILY = 20
END = "9999-12-31T23:59:59.998Z"


@pytest.fixture
def busy(sandbox: Sandbox) -> Sandbox:
    """A world with subscriptions that renew each day."""
    for _ in range(DAILY):
        sandbox.subscribe(unit_amount=1000, interval="day")
    return sandbox


def clock_that_lags(sandbox: Sandbox) -> Any:
    """Return the clock once its world is behind."""
    while not (clock := sandbox.control.get("/clock"))["lag"]:
        pass
    return clock


def test_a_clock_faster_than_its_jobs_lags_and_others_are_served(busy: Sandbox, other_world: Sandbox) -> None:
    """Everything is answered while the backlog is worked off; the clock shows what was reached, and never goes back."""
    busy.control.post("/clock/run", {"rate": MAX_RATE})
    behind = clock_that_lags(busy)
    assert behind["next_due_at"] == behind["now"]
    for _ in range(5):
        assert other_world.api.get("/customers/")["pagination"]["count"] == 0
        assert other_world.control.get("/clock")["lag"] == 0
        assert other_world.control.get("/health")["status"] == "ok"
    assert busy.api.get("/customers/")["pagination"]["count"] == DAILY
    assert busy.api.get("/subscriptions/")["data"][0]["created_at"] < busy.control.get("/clock")["now"]
    frozen = busy.control.post("/clock/freeze")
    assert (frozen["mode"], frozen["lag"]) == ("frozen", 0)
    assert frozen["now"] >= behind["now"]
    assert busy.control.get("/clock")["now"] == frozen["now"]


def test_a_lagging_clock_can_be_slowed_down_and_its_world_reset(busy: Sandbox) -> None:
    busy.control.post("/clock/run", {"rate": MAX_RATE})
    behind = clock_that_lags(busy)
    slow = busy.control.post("/clock/run", {"rate": 0.001})
    assert slow["now"] >= behind["now"]
    assert busy.api.get("/customers/")["pagination"]["count"] == DAILY  # what was due by then is done
    assert busy.control.get("/clock")["lag"] == 0
    busy.control.post("/clock/run", {"rate": MAX_RATE})
    clock_that_lags(busy)
    assert busy.control.post("/reset", {"clock": "frozen@2026-01-01T00:00:00Z"})["now"] == "2026-01-01T00:00:00.000Z"
    assert busy.control.get("/clock")["pending"] == 0


def test_each_renewal_of_a_lagging_world_is_at_its_own_instant(busy: Sandbox) -> None:
    busy.control.post("/clock/run", {"rate": MAX_RATE})
    clock_that_lags(busy)
    busy.control.post("/clock/freeze")
    invoices = list(busy.control.pages("/objects", kind="invoice", page_size=100))
    assert len(invoices) > DAILY
    assert {invoice["created_at"][10:] for invoice in invoices} == {"T00:00:00.000Z"}


def test_a_snapshot_with_a_late_clock_is_worked_off_in_slices(sandbox: Sandbox, other_world: Sandbox) -> None:
    """Each renewal on the way happens at its own instant; freezing stops the clock where it is."""
    sandbox.subscribe()
    sandbox.control.post("/snapshots", {"name": "late"})
    exported = sandbox.control.get("/snapshots/late")
    exported["worlds"]["1"]["now"] = END
    sandbox.control.request("PUT", "/snapshots/late", json=exported)
    sandbox.control.post("/snapshots/late/restore")
    assert other_world.api.get("/customers/")["pagination"]["count"] == 0
    assert clock_that_lags(sandbox)["mode"] == "frozen"
    assert sandbox.api.get("/customers/")["pagination"]["count"] == 1
    frozen = sandbox.control.post("/clock/freeze")
    assert frozen["now"] < END
    assert frozen["lag"] == 0
    latest = next(iter(sandbox.control.pages("/objects", kind="invoice", page_size=1)))
    assert latest["created_at"] <= frozen["now"]


# -- whatever one world does, others are served in between


LARGE = 40_000
"""Customers of a world whose operations would take 25 to 300 ms in one go."""

LONGEST = 0.025
"""Seconds of processor time that pass between two turns of others; the slices take four milliseconds."""


async def longest_turn(act: Callable[[httpx.AsyncClient], Awaitable[Any]], client: httpx.AsyncClient) -> float:
    """Return the most processor time that passes between two turns of another task while something is done."""
    longest = 0.0

    async def watch() -> None:
        nonlocal longest
        while True:
            began = time.thread_time()
            await asyncio.sleep(0)
            longest = max(longest, time.thread_time() - began)

    watching = asyncio.create_task(watch())
    await asyncio.sleep(0)
    await act(client)
    watching.cancel()
    return longest


def get(path: str) -> Callable[[httpx.AsyncClient], Awaitable[Any]]:
    return lambda client: client.get(path)


def post(path: str, **body: Any) -> Callable[[httpx.AsyncClient], Awaitable[Any]]:
    return lambda client: client.post(path, json=body)


def fill(world: World) -> None:
    with world.unit_of_work():
        first = OPERATIONS["createCustomer"](world, body={"email": "ada@example.com", "name": "Ada L"})
        for number in range(LARGE):
            email = f"ada{number * 7919 % LARGE}@example.com"
            world.add(msgspec.structs.replace(first, id=world.new_id(Customer), email=email))


@pytest.fixture
def no_garbage() -> Iterator[None]:
    """The garbage collector looks at the objects of all tests before this one; a server has its own settings of it."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_garbage")
def test_what_grows_with_a_world_is_done_in_slices() -> None:
    """A search, an order, a snapshot, its export, its restore and a rewind let others run, each time."""
    sandbox = server.Sandbox(Options(clock_mode="frozen", strict=False))
    key = {"Authorization": "Bearer sk_test_large"}
    acts = {
        "search": get("/v1/customers/?search=ada77"),
        "order": get("/v1/customers/?ordering=email"),
        "text": get("/_emulator/objects?kind=customer&query=ada77"),
        "snapshot": post("/_emulator/snapshots", name="here"),
        "export": get("/_emulator/snapshots/here"),
        "change": post("/v1/customers/", email="last@example.com", name="Last"),
        "rewind": post("/_emulator/rewind", steps=1),
        "schedule": get("/_emulator/schedule?until=2100-01-01T00:00:00Z"),
        "restore": post("/_emulator/snapshots/here/restore"),
        "list": get("/v1/customers/"),
    }

    async def run() -> dict[str, float]:
        fill((await sandbox.engine.open(Key("large", livemode=False))).world)
        transport = httpx.ASGITransport(sandbox.application())
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost", headers=key) as client:
            # What is imported and built with the first request of its kind.
            for path in ("/v1/customers/", "/_emulator/objects?kind=customer"):
                (await client.get(path)).raise_for_status()
            return {name: await longest_turn(act, client) for name, act in acts.items()}

    turns = asyncio.run(run())
    assert {name: turn for name, turn in turns.items() if turn > LONGEST} == {}
