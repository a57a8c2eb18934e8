"""Many worlds on one server: which are given up, how they are found without a key, and what an idle one costs."""

from __future__ import annotations

import asyncio
import gc
import logging
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from contract_tests.support.client import http_client
from contract_tests.support.contract import Contract
from contract_tests.support.sandbox import RunningServer, Sandbox
from emulator.engine.persistence import WorldPersistence
from emulator.resources.app.clients import Key
from emulator.server import sandbox as emulator_sandbox

ORIGIN = "https://shop.example"
PREFLIGHT = {"Origin": ORIGIN, "Access-Control-Request-Method": "GET"}

CART = {"currency": "XAF", "line_items": [{"description": "Tea", "unit_amount": 500, "quantity": 1}]}

HTTP = http_client(limits=httpx.Limits(max_keepalive_connections=0))

Worlds = Callable[..., tuple[RunningServer, Callable[[str], Sandbox]]]


@pytest.fixture
def worlds(contracts: tuple[Contract, Contract]) -> Iterator[Worlds]:
    """Starts a server with these options; gives it, and a function that gives the world of a name."""
    with ExitStack() as cleanup:

        def start(**options: Any) -> tuple[RunningServer, Callable[[str], Sandbox]]:
            server = RunningServer(**options)
            cleanup.callback(server.stop)

            def world(name: str) -> Sandbox:
                sandbox = Sandbox(server.url, f"sk_test_{name}", *contracts)
                cleanup.callback(sandbox.close)
                return sandbox

            return server, world

        yield start


def open_worlds(server: RunningServer) -> set[str]:
    """Return the names of the worlds that are open."""
    return {app["name"] for app in HTTP.get(f"{server.url}/_emulator/apps?page_size=100").json()["data"]}


def wait_until_open(server: RunningServer, *names: str) -> None:
    """Wait until just these worlds are open. Worlds are closed at a tick, which comes twenty times a second."""
    for _ in range(500):
        if open_worlds(server) == set(names):
            return
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


def test_with_a_store_worlds_are_put_away_until_they_are_used_again(worlds: Worlds, tmp_path: Path) -> None:
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
    assert HTTP.get(f"{server.url}/checkout/{session['id']}").status_code == 200, "a buyer's link opens it, too"
    assert count(second) == 2


def test_only_as_many_worlds_are_opened_at_the_start_as_may_be_open(worlds: Worlds, tmp_path: Path) -> None:
    state = f"sqlite:{tmp_path}/worlds.db"
    server, world = worlds(state=state)
    for name in ("first", "second", "third"):
        world(name).customer()
    server.stop()
    server, world = worlds(state=state, max_worlds=2)
    assert len(open_worlds(server)) == 2
    assert [count(world(name)) for name in ("first", "second", "third")] == [1, 1, 1]


def test_a_world_with_a_request_under_way_is_not_given_up(worlds: Worlds, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stream of messages is such a request; when it has ended, its world goes like any other."""
    monkeypatch.setattr("emulator.control.events.HEARTBEAT", 3600.0)  # its end is not noticed by sending something
    server, world = worlds(max_worlds=1)
    followed, other = world("followed"), world("other")
    followed.customer()
    headers = {"Authorization": f"Bearer {followed.key}"}
    with httpx.stream("GET", f"{server.url}/_emulator/stream", headers=headers, timeout=60):
        for _ in range(3):
            other.customer()
            wait_until_open(server, "followed")
        assert count(followed) == 1
    # The server may learn a little later that the stream has ended; until then it closes the other world.
    deadline = time.monotonic() + 60
    while open_worlds(server) != {"other"}:
        count(other)  # any request opens it
        assert time.monotonic() < deadline


# -- empty


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Worlds count as unused as soon as their request is answered."""
    monkeypatch.setattr("emulator.engine.engine.EMPTY_SECONDS", 0.0)
    monkeypatch.setattr("emulator.engine.engine.SWEEP_SECONDS", 0.0)


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize("state", ["memory", "tinydb:{}/worlds.json", "sqlite:{}/worlds.db"])
def test_worlds_that_hold_nothing_are_dropped(worlds: Worlds, state: str, tmp_path: Path) -> None:
    server, world = worlds(state=state.format(tmp_path))
    for number in range(5):
        assert count(world(f"empty{number}")) == 0
    world("customer").customer()
    world("settings").control.patch("/app", {"settings": {"tax_rate": 18}})
    world("snapshot").control.post("/snapshots", {"name": "s"})
    world("clock").advance("1d")
    world("rate").control.post("/clock/run", {"rate": 60})
    HTTP.put(f"{server.url}/_emulator/inbox/shop/response?app=inbox", json={"status": 500}).raise_for_status()
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

    def found() -> tuple[int, int]:
        preflight = HTTP.options(f"{server.url}/v1/customers/", headers=PREFLIGHT)
        return HTTP.get(page).status_code, preflight.status_code

    assert found() == (200, 204)
    first.control.post("/reset")
    assert found() == (404, 405)
    second.control.request("PUT", "/snapshots/s", json=exported)
    second.control.post("/snapshots/s/restore")
    assert found() == (200, 204)
    first.control.post("/snapshots/s/restore")
    server.server.discard(second.key)
    assert found() == (200, 204), "the first has them still"
    first.api.post("/reset/")
    assert found() == (404, 405)
    first.control.post("/rewind", {"steps": 1})
    assert found() == (200, 204)


# -- idle


def test_an_unused_world_is_small() -> None:
    """One that was opened, and one that answered a request, which its journal holds."""
    sandbox = emulator_sandbox.Sandbox()
    application = sandbox.application()

    async def ask(name: str) -> None:
        transport = httpx.ASGITransport(application)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
            headers = {"Authorization": f"Bearer sk_test_{name}"}
            assert (await http.get("/v1/customers/", headers=headers)).status_code == 200

    async def open_only(name: str) -> None:
        await sandbox.engine.open(Key(name, livemode=False))

    async def size_of(use: Callable[[str], Awaitable[None]]) -> float:
        for number in range(50):
            await use(f"warm{number}")
        gc.collect()
        tracemalloc.start()
        for number in range(200):
            await use(f"{use.__name__}{number}")
        gc.collect()
        size, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return size / 200

    assert asyncio.run(size_of(open_only)) < 6 * 1024
    assert asyncio.run(size_of(ask)) < 9 * 1024


def test_a_tick_visits_no_stored_world_that_was_not_used(
    worlds: Worlds, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, world = worlds(state=f"tinydb:{tmp_path}/worlds.json")
    visited: list[WorldPersistence] = []
    flush = WorldPersistence.flush

    def noted(self: WorldPersistence, *arguments: Any) -> None:
        visited.append(self)
        flush(self, *arguments)

    for number in range(5):
        count(world(f"idle{number}"))
    monkeypatch.setattr(WorldPersistence, "flush", noted)
    for _ in range(50):
        count(world("busy"))
    assert len(set(visited)) <= 1 + 5, "the others at most once, for the request before"
    visited.clear()
    for _ in range(50):
        count(world("busy"))
    assert len(set(visited)) <= 1


# -- Several servers that start in one process at once, as the commands with several runs at a time start them


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


def test_servers_that_start_at_once_do_not_crash(tmp_path: Path) -> None:
    """msgspec prepares a type on its first use: with two threads at once the process ended with SIGSEGV."""
    fixture = tmp_path / "fixture.json"
    fixture.write_text('{"settings": {"assumptions": {"search_nothing_found": "error"}}}')
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", START, str(fixture)], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
