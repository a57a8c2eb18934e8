"""What a start makes of a world that was put away: it goes on where it stopped."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from contextlib import ExitStack, closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tinydb import TinyDB

from contract_tests.contract.engine.state.conftest import Serve
from contract_tests.simulator.population import Walker
from contract_tests.support.receiver import Receiver, Reply
from contract_tests.support.sandbox import RunningServer, Sandbox
from emulator.client.api import Api
from emulator.engine.engine import TICK_SECONDS, Engine
from emulator.engine.storage import urls
from emulator.engine.storage.sqlite import SqliteStore
from emulator.engine.storage.store import Away, Loaded, Pause, WorldClosed
from emulator.engine.storage.tinydb_store import AtomicStorage
from emulator.resources.app.clients import Key
from emulator.server.sandbox import Options
from emulator.server.sandbox import Sandbox as Parts

DAY = 24 * 3600

IN_DATABASE = pytest.param(
    "database",
    marks=[pytest.mark.long, pytest.mark.needs("postgresql"), pytest.mark.breaks_the_document],
)


@pytest.fixture(
    params=["tinydb:{}/worlds.json", "sqlite:{}/worlds.db", IN_DATABASE],
    ids=["tinydb", "sqlite", "postgresql"],
)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A place of each kind."""
    of_kind: str = request.param
    return request.getfixturevalue(of_kind) if of_kind == "database" else of_kind.format(tmp_path)


def put_away_for(days: float, place: str, tmp_path: Path) -> str:
    """Return the same worlds in a TinyDB file, as if they had been put away so long ago."""
    file = tmp_path / f"aged-{days}.json"
    urls.convert(place, f"tinydb:{file}")
    with TinyDB(file, storage=AtomicStorage) as base:
        for world in base.table("worlds"):
            base.table("worlds").update(
                {"since": world["since"] - days * DAY}, doc_ids=[world.doc_id]
            )
    return f"tinydb:{file}"


def test_all_worlds_go_on_as_they_were_after_a_restart(
    serve: Serve, place: str, tmp_path: Path
) -> None:
    """Work due meanwhile runs at the start, at its instants; frozen clocks stand (B-01, B-91)."""
    running = serve(place, clock_mode="running")
    with (
        closing(Sandbox(running.url, "sk_test_frozen")) as frozen,
        closing(Sandbox(running.url, "sk_prod_frozen")) as fast,
    ):
        for day in ("02", "03"):
            running.invoice(due_date=f"2026-01-{day}")
        frozen.customer()
        frozen.control.post("/clock/freeze", {"at": "2026-01-06T00:00:00.000Z"})
        fast.control.post("/clock/run", {"rate": 2})
    serve(None)
    running = serve(put_away_for(100, place, tmp_path), clock_mode="frozen")
    with (
        closing(Sandbox(running.url, "sk_test_frozen")) as frozen,
        closing(Sandbox(running.url, "sk_prod_frozen")) as fast,
    ):
        assert [world.control.get("/clock")["mode"] for world in (running, frozen, fast)] == [
            "running",
            "frozen",
            "running",
        ]
        assert (frozen.now, fast.control.get("/clock")["rate"]) == ("2026-01-06T00:00:00.000Z", 2)
        assert running.now[:10] == "2026-04-11"
        assert fast.now[:10] == "2026-07-20"
        overdue = [
            event["created_at"]
            for event in running.events()
            if event["type"] == "invoice.payment_overdue"
        ]
        assert overdue == ["2026-01-03T00:00:00.000Z", "2026-01-04T00:00:00.000Z"]
        assert [
            world.api.get("/customers/")["pagination"]["count"] for world in (running, frozen, fast)
        ] == [2, 1, 0]


def test_deliveries_go_on_after_a_restart(serve: Serve, place: str, receiver: Receiver) -> None:
    """B-84: one under way is attempted again, and a planned retry waits."""
    sandbox = serve(place)
    endpoint = sandbox.endpoint(receiver.url, "customer.created")
    receiver.statuses = [500]
    retried = sandbox.customer()["id"]
    sandbox.settle()
    arrived = threading.Event()
    receiver.reply = lambda received: Reply(held=True)
    receiver.react = lambda received: arrived.set()
    held = sandbox.customer()["id"]
    assert arrived.wait(30)
    serve(None)
    receiver.reply = lambda received: Reply(200)
    receiver.release()
    sandbox = serve(place)
    sandbox.settle()
    assert [event["data"]["object"]["id"] for event in receiver.events] == [retried, held, held]
    sandbox.advance("1m")
    assert receiver.events[-1]["data"]["object"]["id"] == retried
    outcomes = [
        (delivery["status"], delivery["attempt_count"]) for delivery in sandbox.deliveries(endpoint)
    ]
    assert outcomes == [("succeeded", 2), ("succeeded", 1)]


def test_snapshots_keep_their_order_in_a_restart(serve: Serve, place: str) -> None:
    sandbox = serve(place)
    for name in ("zebra", "apple", "mango"):
        sandbox.control.post("/snapshots", {"name": name})
    before = sandbox.control.get("/snapshots")["data"]
    serve(None)
    assert serve(place).control.get("/snapshots")["data"] == before


@pytest.mark.parametrize("target", ["tinydb:{}/other.json", "sqlite:{}/other.db"])
def test_a_place_is_converted_whole(serve: Serve, place: str, target: str, tmp_path: Path) -> None:
    """Also with a key reused after a day: the new response has replaced the expired one."""
    sandbox = serve(place)
    sandbox.subscribe()
    for number in (1, 2):
        body = {"email": f"again{number}@example.com", "name": "Awa Diop"}
        sandbox.api.post("/customers/", body, **{"Idempotency-Key": "once-a-day"})
        sandbox.advance("25h")
    sandbox.control.post("/snapshots", {"name": "a"})
    sandbox.control.post("/snapshots", {"name": "b"})
    exported = sandbox.control.get("/snapshots/b")
    serve(None)
    urls.convert(place, target.format(tmp_path))
    urls.compact(target.format(tmp_path))
    sandbox = serve(target.format(tmp_path))
    assert [row["name"] for row in sandbox.control.get("/snapshots")["data"]] == ["b", "a"]
    sandbox.control.post("/snapshots", {"name": "c"})
    assert sandbox.control.get("/snapshots/b") == exported == sandbox.control.get("/snapshots/c")


def test_a_world_is_not_written_by_who_still_waits_in_it_after_it_was_released(place: str) -> None:
    """Another may have opened it again since, and a late write would spoil that."""

    async def play() -> None:
        engine, key = Parts(Options(state=place)).engine, Key("lasting", livemode=False)
        former = await engine.open(key)
        await engine.release(key)
        present = await engine.open(key)
        for runtime in (former, present):
            runtime.request_id()
        with pytest.raises(WorldClosed):
            former.flush()
        present.flush()
        await engine.stop()

    asyncio.run(play())


ACTS = 12


def played(place: str, *, restarts: bool) -> str:
    """Return a walk's responses, and the last world; ``restarts`` give each act another server."""
    stand_in: Any = SimpleNamespace()  # what a walker asks, of whatever server there is
    walker, responses = Walker(stand_in, seed=4), []
    with ExitStack() as stack:
        for number in range(ACTS):
            if restarts or not number:
                stack.close()
                server = stack.enter_context(
                    RunningServer("http://127.0.0.1:4747", state=place, seed=7 + number)
                )
                stand_in.api = stack.enter_context(Api(server.url, "sk_test_story"))
                until = time.monotonic() + 60
                with Api(server.url, "sk_test_beside") as beside:
                    while (
                        beside.request("GET", "/v1/customers/").status_code == 503
                    ):  # the schema is not free yet
                        assert time.monotonic() < until
            if number in (0, ACTS - 1):
                once = {"email": "once@example.com", "name": "Awa", "metadata": {"b": 1, "a": 2}}
                responses.append(
                    stand_in.api.post("/v1/customers/", once, **{"Idempotency-Key": "once"})
                )
            elif number in (ACTS // 3, ACTS // 2):
                path = "" if number < ACTS // 2 else "/before/restore"
                responses.append(
                    stand_in.api.post(
                        f"/_emulator/snapshots{path}", {} if path else {"name": "before"}
                    )
                )
            elif number % 5 == 0:
                responses.append(stand_in.api.post("/_emulator/clock/advance", {"by": "5h"}))
            elif number in (2, ACTS - 3):
                if number == 2:
                    stand_in.api.post("/v1/reset", {})
                responses.append(
                    stand_in.api.post(
                        "/v1/customers/", {"email": f"{number}@example.com", "name": "Awa"}
                    )
                )
                if number > 2:
                    stand_in.api.post("/_emulator/rewind", {"steps": 1})
            else:
                assert walker.act() is None
        stand_in.api.post("/_emulator/snapshots", {"name": "end"})
        responses += [
            stand_in.api.get("/_emulator/events?page_size=100"),
            stand_in.api.get("/_emulator/emails"),
        ]
        return repr([*responses, *walker.responses, stand_in.api.get("/_emulator/snapshots/end")])


def test_restarts_change_nothing(place: str) -> None:
    """With another server for every act a walk ends in the same bytes as played through (B-93).

    Ids, numbers, times, remembered responses, snapshots and the clock go on, whatever seed the next
    server has; what was rewound or reset is gone.
    """
    # URLs of pages name the App where servers share a database.
    beside = f"{place}?schema=through" if place.startswith("postgresql") else "memory"
    assert played(place, restarts=True) == played(beside, restarts=False)


class Distant(SqliteStore):
    """A store as on another machine, silent for a moment; it starts with one App's world."""

    is_remote = True
    responses_about = "near"

    async def read(self, key: Key, pause: Pause) -> Loaded:
        if self.responses_about not in (key.name, "all"):
            raise Away(self.name)
        return self.load(key)

    async def follow(
        self, opened: Callable[[list[Key]], Awaitable[None]], lost: Callable[[], Awaitable[None]]
    ) -> None:
        await opened(self.stored())


def test_a_page_is_missing_only_once_all_stored_worlds_are_known(tmp_path: Path) -> None:
    """Until then a buyer has to wait, but not for URLs with the App: its world is read first."""
    path, links = tmp_path / "worlds.db", {}
    with RunningServer(state=f"sqlite:{path}") as server:
        for name in ("far", "near"):
            with closing(Sandbox(server.url, f"sk_test_{name}")) as sandbox:
                links[name] = sandbox.link()["id"]

    async def look() -> None:
        parts, store = Parts(Options()), Distant(path)
        engine = Engine(parts.build_world, parts.reference_data, store=store)
        with pytest.raises(Away):
            await engine.owner(links["near"], "near")
        await engine.start()
        await asyncio.sleep(0)
        near = await engine.owner(links["near"], "near")
        assert near is not None
        assert near.world.name == "near"
        for _ in range(3):
            with pytest.raises(Away):
                await engine.owner(links["far"], None)
            await asyncio.sleep(TICK_SECONDS)
        store.responses_about = "all"
        while await is_away(engine, "pl_unknown"):
            await asyncio.sleep(TICK_SECONDS)
        assert await engine.owner(links["far"], None) is not None
        await engine.stop()

    async def is_away(engine: Engine, id: str) -> bool:
        try:
            return await engine.owner(id, None) is not None
        except Away:
            return True

    asyncio.run(asyncio.wait_for(look(), 30))
