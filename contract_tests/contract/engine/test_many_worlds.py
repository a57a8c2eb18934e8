"""Many worlds on a server: their closing, their search without a key, and no mutual delay."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from contract_tests.support.sandbox import RunningServer, Sandbox
from contract_tests.support.servers import CLIENT as HTTP
from emulator.core.world import World
from emulator.resources.app.clients import Key
from emulator.resources.billing.invoices import Invoice
from emulator.resources.customers.customer_records import Customer
from emulator.resources.payments.payment_links import PaymentLink
from emulator.resources.registry import OPERATIONS, make_indexes
from emulator.resources.simulation.emails import Email
from emulator.resources.webhooks.deliveries import WebhookDelivery
from emulator.server import sandbox as server
from emulator.server.sandbox import Options

ORIGIN = "https://shop.example"
PREFLIGHT = {"Origin": ORIGIN, "Access-Control-Request-Method": "GET"}

CART = {
    "currency": "XAF",
    "line_items": [{"description": "Tea", "unit_amount": 500, "quantity": 1}],
}

Worlds = Callable[..., tuple[RunningServer, Callable[[str], Sandbox]]]


@pytest.fixture
def worlds() -> Iterator[Worlds]:
    """Start a server with these options; yield it, and a function for the world of a name."""
    with ExitStack() as cleanup:

        def start(**options: Any) -> tuple[RunningServer, Callable[[str], Sandbox]]:
            server = RunningServer(**options)
            cleanup.callback(server.stop)

            def world(name: str) -> Sandbox:
                sandbox = Sandbox(server.url, f"sk_test_{name}")
                cleanup.callback(sandbox.close)
                return sandbox

            return server, world

        yield start


def open_worlds(server: RunningServer) -> set[str]:
    """Return the names of the worlds that are open."""
    return {
        app["name"] for app in HTTP.get(f"{server.url}/_emulator/apps?page_size=100").json()["data"]
    }


def wait_until_open(server: RunningServer, *names: str) -> None:
    """Wait until just these worlds are open. A tick, twenty times a second, closes worlds."""
    for _ in range(500):
        if open_worlds(server) == set(names):
            return
        time.sleep(0.02)
    raise AssertionError(f"open are {open_worlds(server)}, not {names}")


def count(sandbox: Sandbox) -> int:
    """Return how many customers there are."""
    return int(sandbox.api.get("/customers/")["pagination"]["count"])


# -- too many


def test_the_worlds_that_were_not_used_for_the_longest_time_are_dropped(
    worlds: Worlds, caplog: pytest.LogCaptureFixture
) -> None:
    server, world = worlds(max_worlds=2)
    first, second, third = (world(name) for name in ("first", "second", "third"))
    first.customer()
    second.customer()
    assert count(first) == 1
    with caplog.at_level(logging.WARNING, "emulator"):
        third.customer()
        wait_until_open(server, "first", "third")
    assert "more than 2 worlds are open: 1 were dropped, with all they held: second" in caplog.text
    assert count(first) == 1
    assert count(second) == 0
    HTTP.post(f"{server.url}/_emulator/inbox/shop?app=fourth", json={}).raise_for_status()
    wait_until_open(server, "second", "fourth")


def test_with_a_store_worlds_are_put_away_until_they_are_used_again(
    worlds: Worlds, tmp_path: Path
) -> None:
    server, world = worlds(max_worlds=1, state=f"sqlite:{tmp_path}/worlds.db")
    first, second = world("first"), world("second")
    first.customer()
    session = first.api.post("/checkout-sessions/", CART)
    second.customer()
    wait_until_open(server, "second")
    assert count(first) == 1
    wait_until_open(server, "first")
    second.customer()
    wait_until_open(server, "second")
    assert HTTP.get(f"{server.url}/checkout/{session['id']}").status_code == 200, (
        "a buyer's link opens it, too"
    )
    assert count(second) == 2
    server.stop()
    server, world = worlds(max_worlds=1, state=f"sqlite:{tmp_path}/worlds.db")
    assert len(open_worlds(server)) == 1, "no more are opened at the start"
    assert [count(world(name)) for name in ("first", "second")] == [1, 2]


def test_a_world_with_a_request_under_way_is_not_given_up(
    worlds: Worlds, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stream of messages is such a request; when it has ended, its world goes like any other."""
    monkeypatch.setattr(
        "emulator.control.events.HEARTBEAT", 3600.0
    )  # its end is not noticed by sending something
    server, world = worlds(max_worlds=1)
    followed, other = world("followed"), world("other")
    followed.customer()
    headers = {"Authorization": f"Bearer {followed.key}"}
    with httpx.stream("GET", f"{server.url}/_emulator/stream", headers=headers, timeout=60):
        for _ in range(3):
            other.customer()
            wait_until_open(server, "followed")
        assert count(followed) == 1
    # The server may learn a little later that the stream has ended; until then it closes the other
    # world.
    deadline = time.monotonic() + 60
    while open_worlds(server) != {"other"}:
        count(other)  # any request opens it
        assert time.monotonic() < deadline


# -- empty


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Worlds count as unused as soon as their request has its response."""
    monkeypatch.setattr("emulator.engine.engine.EMPTY_SECONDS", 0.0)
    monkeypatch.setattr("emulator.engine.engine.SWEEP_SECONDS", 0.0)


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize("state", ["memory", "sqlite:{}/worlds.db"])
def test_worlds_that_hold_nothing_are_dropped(worlds: Worlds, state: str, tmp_path: Path) -> None:
    server, world = worlds(state=state.format(tmp_path))
    for number in range(5):
        assert count(world(f"empty{number}")) == 0
    world("customer").customer()
    world("settings").control.patch("/app", {"settings": {"tax_rate": 18}})
    world("snapshot").control.post("/snapshots", {"name": "s"})
    world("clock").advance("1d")
    world("rate").control.post("/clock/run", {"rate": 60})
    HTTP.put(
        f"{server.url}/_emulator/inbox/shop/response?app=inbox", json={"status": 500}
    ).raise_for_status()
    wait_until_open(server, "customer", "settings", "snapshot", "clock", "rate", "inbox")
    if state != "memory":
        server.stop()
        server, world = worlds(state=state.format(tmp_path))
        assert "empty0" not in open_worlds(server)


# -- found without a key


def test_pages_and_preflights_find_their_world_wherever_it_came_from(worlds: Worlds) -> None:
    """After a restore of another world's snapshot, a rewind, a reset, and a world's end."""
    server, world = worlds()
    first, second = world("first"), world("second")
    session = first.api.post("/checkout-sessions/", CART)
    page = f"{server.url}/checkout/{session['id']}"
    first.api.post("/security-profiles/", {"name": "Shop", "allowed_domains": ["shop.example"]})
    first.control.post("/snapshots", {"name": "s"})
    exported = first.control.get("/snapshots/s")

    def statuses() -> tuple[int, int]:
        preflight = HTTP.options(f"{server.url}/v1/customers/", headers=PREFLIGHT)
        return HTTP.get(page).status_code, preflight.status_code

    assert statuses() == (200, 204)
    first.control.post("/reset")
    assert statuses() == (404, 405)
    second.control.request("PUT", "/snapshots/s", json=exported)
    second.control.post("/snapshots/s/restore")
    assert statuses() == (200, 204)
    first.control.post("/snapshots/s/restore")
    server.server.discard(second.key)
    assert statuses() == (200, 204), "the first has them still"
    first.api.post("/reset/")
    assert statuses() == (404, 405)
    first.control.post("/rewind", {"steps": 1})
    assert statuses() == (200, 204)


START = """
import sys, threading
from pathlib import Path
from emulator.server.sandbox import Options
from emulator.server.server import Server

sys.setswitchinterval(1e-6)
ready = threading.Barrier(4)

def start():
    ready.wait()
    Server(Options(fixtures=(Path(sys.argv[1]),)), "127.0.0.1", 0)

threads = [threading.Thread(target=start) for _ in range(4)]
for each in threads:
    each.start()
for each in threads:
    each.join()
"""


@pytest.mark.long
def test_servers_that_start_at_once_do_not_crash(tmp_path: Path) -> None:
    """Commands do so. msgspec prepares a type on first use: two threads at once meant SIGSEGV."""
    fixture = tmp_path / "fixture.json"
    fixture.write_text('{"settings": {"assumptions": {"search_nothing_found": "error"}}}')
    done = subprocess.run(
        [sys.executable, "-c", START, str(fixture)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


# -- No world delays another: one whose jobs take longer than its clock allows lags


MAX_RATE = 31_536_000
DAILY = 20


@pytest.fixture
def busy(sandbox: Sandbox) -> Sandbox:
    """A world with subscriptions that renew each day."""
    for _ in range(DAILY):
        sandbox.subscribe(unit_amount=1000, interval="day")
    return sandbox


def clock_that_lags(sandbox: Sandbox) -> Any:
    """Return the clock once its world is behind."""
    until = time.monotonic() + 60
    while not (clock := sandbox.control.get("/clock"))["lag"]:
        assert time.monotonic() < until
    return clock


def test_a_clock_faster_than_its_jobs_lags_without_holding_up_others(
    busy: Sandbox, other_world: Sandbox
) -> None:
    """Everything responds during the backlog; the clock shows its progress and never goes back."""
    busy.control.post("/clock/run", {"rate": MAX_RATE})
    behind = clock_that_lags(busy)
    assert behind["next_due_at"] == behind["now"]
    for _ in range(5):
        assert other_world.api.get("/customers/")["pagination"]["count"] == 0
        assert other_world.control.get("/clock")["lag"] == 0
        assert other_world.control.get("/health")["status"] == "ok"
    assert busy.api.get("/customers/")["pagination"]["count"] == DAILY
    assert (
        busy.api.get("/subscriptions/")["data"][0]["created_at"] < busy.control.get("/clock")["now"]
    )
    frozen = busy.control.post("/clock/freeze")
    assert (frozen["mode"], frozen["lag"]) == ("frozen", 0)
    assert frozen["now"] >= behind["now"]
    assert busy.control.get("/clock")["now"] == frozen["now"]
    invoices = list(busy.control.pages("/objects", kind="invoice", page_size=100))
    assert len(invoices) > DAILY
    assert {invoice["created_at"][10:] for invoice in invoices} == {"T00:00:00.000Z"}, (
        "each at its own instant"
    )


# -- whatever one world does, others are served in between


async def calls_at_once(act: Awaitable[Any]) -> int:
    """Return the most function calls between two turns of another task during an action."""
    calls = most = 0

    def count(*_: object) -> None:
        nonlocal calls, most
        calls += 1
        most = max(most, calls)

    async def watch() -> None:
        nonlocal calls
        while True:
            calls = 0
            await asyncio.sleep(0)

    watching = asyncio.create_task(watch())
    await asyncio.sleep(0)
    sys.setprofile(count)
    try:
        await act
    finally:
        sys.setprofile(None)
        watching.cancel()
    return most


def fill(world: World, size: int) -> None:
    with world.unit_of_work():
        first = OPERATIONS["createCustomer"](
            world, body={"email": "ada@example.com", "name": "Ada L"}
        )
        (link,) = world.table(PaymentLink)
        invoice = OPERATIONS["createInvoice"](world, body={"customer": first.id, **CART})
        own: dict[str, Any] = {"id": "", "created_at": world.now}
        email = Email(**own, topic="receipt", to="", merchant="Shop", language="en", customer=None)
        sent: dict[str, Any] = {"event": "evt", "event_type": "invoice.paid", "status": "succeeded"}
        delivery = WebhookDelivery(
            **own, **sent, webhook="wh", next_attempt_at=None, updated_at=world.now
        )
        for number in range(size):
            address = f"ada{number * 7919 % size}@example.com"
            world.add(msgspec.structs.replace(first, id=world.new_id(Customer), email=address))
            world.add(msgspec.structs.replace(link, id=world.new_id(PaymentLink)))
            world.add(msgspec.structs.replace(invoice, id=world.new_id(Invoice)))
            world.schedule("2101-01-01T00:00:00.000Z", "invoice.overdue", invoice)
            world.add(msgspec.structs.replace(delivery, id=world.new_id(WebhookDelivery)))
            world.add(msgspec.structs.replace(email, id=world.new_id(Email), to=address))


@pytest.mark.parametrize("state", ["memory", pytest.param("sqlite:{}", marks=pytest.mark.long)])
def test_what_grows_with_a_world_lets_others_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, state: str
) -> None:
    """A search, an order, a snapshot, its export, its restore, a rewind, a reset and an opening do.

    In a larger world they do no more in one go on the event loop, stored or not; benchmarks say how
    long others wait.
    """
    monkeypatch.setattr("emulator.engine.time_slices.SLICE_SECONDS", 0)
    sizes = (1_020, 2_300)
    small, large = (
        asyncio.run(calls_of_acts(size, state.format(tmp_path / f"{size}.db"))) for size in sizes
    )
    assert {
        act: (small[act], calls) for act, calls in large.items() if calls > small[act] + 1_000
    } == {}
    assert min(large.values()) > 100, "each was counted"


async def calls_of_acts(size: int, state: str) -> dict[str, int]:
    sandbox = server.Sandbox(Options(clock_mode="frozen", strict=False, state=state))
    secret, key = Key("large", livemode=False), {"Authorization": "Bearer sk_test_large"}
    reads = (
        *(
            "/v1/customers/?search=ada77",
            "/v1/customers/?ordering=email",
            "/_emulator/search?query=ada77",
        ),
        *(
            "/_emulator/objects?kind=customer&query=ada77",
            "/_emulator/objects/cust_000000000000000000000000/changes",
        ),
        *(
            "/_emulator/schedule?kind=invoice.overdue&grouped=true",
            "/_emulator/emails?to=nobody@example.com",
        ),
        *("/_emulator/audit", "/_emulator/ledger", "/_emulator/metrics"),
    )
    acts: list[tuple[str, Any]] = [
        *((path, None) for path in reads if state == "memory"),
        ("/_emulator/snapshots", {"name": "here"}),
        ("/_emulator/snapshots/here", None),
        ("/v1/customers/", {"email": "last@example.com", "name": "Last"}),
        ("/_emulator/rewind", {"steps": 1}),
        ("/_emulator/schedule?until=2100-01-01T00:00:00Z", None),
        ("/_emulator/snapshots/here/restore", {}),
        ("/v1/customers/", None),
        ("/v1/reset/", {}),
        ("/_emulator/reset", {}),
    ]

    transport = httpx.ASGITransport(sandbox.application())
    async with httpx.AsyncClient(
        transport=transport, base_url="http://localhost", headers=key
    ) as client:
        link = {"payment_link_type": "custom", "currency": "XAF", "amount": 500}
        (await client.post("/v1/payment-links/", json=link)).raise_for_status()
        runtime = sandbox.engine.runtimes[secret]
        fill(runtime.world, size)
        make_indexes(runtime.world)  # otherwise they are made at once, with their first use
        await runtime.history.store()
        # What is imported and built with the first request of its kind.
        for path in ("/v1/customers/", "/_emulator/objects?kind=customer"):
            (await client.get(path)).raise_for_status()
        counted = {
            f"{number} {path}": await calls_at_once(
                client.get(path) if body is None else client.post(path, json=body)
            )
            for number, (path, body) in enumerate(acts)
        }
        await sandbox.engine.release(secret)
        counted["open"] = await calls_at_once(sandbox.engine.open(secret))
        await sandbox.engine.stop()
        return counted
