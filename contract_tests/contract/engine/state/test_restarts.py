"""What a start makes of a world that was put away: it goes on where it stopped."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tinydb import TinyDB

from contract_tests.contract.engine.state.conftest import Serve
from contract_tests.contract.engine.test_smtp import Mailbox
from contract_tests.simulator.population import Walker
from contract_tests.support.receiver import Receiver, Reply
from contract_tests.support.sandbox import RunningServer
from emulator.client.api import Api
from emulator.engine.outbox import SmtpServer
from emulator.engine.storage import maintenance
from emulator.engine.storage.store import WorldClosed
from emulator.engine.storage.tinydb_file import AtomicStorage
from emulator.resources.app.clients import Key
from emulator.server.sandbox import Options
from emulator.server.sandbox import Sandbox as Parts

DAY = 24 * 3600


IN_DATABASE = pytest.param(
    "database", marks=[pytest.mark.long, pytest.mark.needs("postgresql"), pytest.mark.breaks_the_document]
)


@pytest.fixture(
    params=["tinydb:{}/worlds.json", "sqlite:{}/worlds.db", IN_DATABASE], ids=["tinydb", "sqlite", "postgresql"]
)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A place of each kind."""
    of_kind: str = request.param
    return request.getfixturevalue(of_kind) if of_kind == "database" else of_kind.format(tmp_path)


def put_away_for(days: float, place: str, tmp_path: Path) -> str:
    """Return the same worlds in a TinyDB file, as if they had been put away so long ago."""
    file = tmp_path / f"aged-{days}.json"
    maintenance.convert(place, f"tinydb:{file}")
    with TinyDB(file, storage=AtomicStorage) as base:
        worlds = base.table("worlds")
        worlds.update({"since": worlds.all()[0]["since"] - days * DAY})
    return f"tinydb:{file}"


def test_a_running_clock_goes_on_during_a_restart(serve: Serve, place: str, tmp_path: Path) -> None:
    """What fell due during the restart is done at the start, each at its own instant (B-91)."""
    sandbox = serve(place, clock_mode="running")
    sandbox.subscribe()
    serve(None)
    sandbox = serve(put_away_for(100, place, tmp_path))
    assert sandbox.control.get("/clock")["mode"] == "running"
    assert sandbox.now > "2026-04-11T00:00:00.000Z"
    days = [row["created_at"][:10] for row in sandbox.api.get("/invoices/")["data"]]
    assert days == ["2026-04-01", "2026-03-01", "2026-02-01", "2026-01-01"]


def test_a_frozen_clock_stands_still(serve: Serve, place: str, tmp_path: Path) -> None:
    sandbox = serve(place)
    sandbox.subscribe()
    sandbox.advance("5d")
    serve(None)
    sandbox = serve(put_away_for(100, place, tmp_path), clock_mode="running")
    assert sandbox.control.get("/clock")["mode"] == "frozen"
    assert sandbox.now == "2026-01-06T00:00:00.000Z"


def test_the_rate_and_the_offset_of_a_clock_stay(serve: Serve, place: str, tmp_path: Path) -> None:
    """A minute each second, for a day: two months."""
    sandbox = serve(place)
    sandbox.advance("30d")
    sandbox.control.post("/clock/run", {"rate": 60})
    serve(None)
    sandbox = serve(put_away_for(1, place, tmp_path))
    assert sandbox.control.get("/clock")["rate"] == 60
    assert "2026-04-01" <= sandbox.now[:10] <= "2026-04-03"


def test_a_delivery_under_way_is_attempted_again(serve: Serve, place: str, receiver: Receiver) -> None:
    sandbox = serve(place)
    sandbox.api.post("/webhooks/", {"name": "Shop", "url": receiver.url, "events": ["customer.created"]})
    arrived = threading.Event()
    receiver.reply = lambda received: Reply(held=True)
    receiver.react = lambda received: arrived.set()
    customer = sandbox.customer()
    assert arrived.wait(30)
    serve(None)
    receiver.reply = lambda received: Reply(200)
    receiver.release()
    sandbox = serve(place)
    sandbox.settle()
    assert [event["data"]["object"]["id"] for event in receiver.events] == [customer["id"]] * 2
    (endpoint,) = sandbox.api.get("/webhooks/")["data"]
    (delivery,) = sandbox.api.get(f"/webhooks/{endpoint['id']}/deliveries/")["data"]
    assert (delivery["status"], delivery["attempt_count"]) == ("succeeded", 1)


def test_a_retry_that_is_planned_waits_for_its_time(serve: Serve, place: str, receiver: Receiver) -> None:
    """B-84."""
    sandbox = serve(place)
    sandbox.api.post("/webhooks/", {"name": "Shop", "url": receiver.url, "events": ["customer.created"]})
    receiver.statuses = [500]
    sandbox.customer()
    sandbox.settle()
    sandbox = serve(place)
    sandbox.settle()
    assert len(receiver.events) == 1
    sandbox.advance("1m")
    assert len(receiver.events) == 2


def test_an_email_that_was_not_handed_in_is_handed_in(serve: Serve, place: str) -> None:
    sandbox = serve(place)
    sandbox.pay()
    (mail,) = sandbox.control.get("/emails")["data"]
    mailbox = Mailbox()
    try:
        sandbox = serve(place, smtp=SmtpServer("127.0.0.1", mailbox.port, False, None, None))
        sandbox.settle()
        assert [message["To"] for message in mailbox.messages] == [mail["to"]]
        sandbox = serve(place, smtp=SmtpServer("127.0.0.1", mailbox.port, False, None, None))
        sandbox.settle()
        assert len(mailbox.messages) == 1
    finally:
        mailbox.close()


def test_a_reset_lasts(serve: Serve, place: str) -> None:
    sandbox = serve(place)
    sandbox.customer()
    sandbox.api.post("/reset")
    assert serve(place).api.get("/customers/")["data"] == []


def test_a_seed_stays_with_its_world(serve: Serve, place: str) -> None:
    """Whatever seed the next server is started with: ids go on in the same row (B-93)."""
    through = serve("memory", seed=7)
    expected = [through.customer(email=f"{name}@example.com")["id"] for name in ("a", "b")]
    made = [serve(place, seed=seed).customer(email=f"{name}@example.com")["id"] for seed, name in ((7, "a"), (8, "b"))]
    assert made == expected


def test_worlds_and_sides_stay_apart(serve: Serve, place: str) -> None:
    """B-01."""
    sandbox = serve(place)
    sandbox.customer()
    live = sandbox.api.http.get("/customers/", headers={"Authorization": "Bearer sk_prod_lasting"})
    assert live.json()["data"] == []
    sandbox = serve(place)
    keys = ("sk_test_lasting", "sk_prod_lasting", "sk_test_other")
    lists = [sandbox.api.http.get("/customers/", headers={"Authorization": f"Bearer {key}"}).json() for key in keys]
    assert [len(found["data"]) for found in lists] == [1, 0, 0]


def test_a_file_is_written_within_a_second(serve: Serve, tmp_path: Path) -> None:
    """And at once when it is asked for."""
    file = tmp_path / "worlds.json"
    sandbox = serve(f"tinydb:{file}")
    customer = sandbox.customer()
    until = time.monotonic() + 30
    while customer["id"] not in (file.read_text() if file.exists() else ""):
        assert time.monotonic() < until
        time.sleep(0.02)
    found: Any = json.loads(file.read_text())
    assert found["emulator"] == {"1": {"format": 2}}
    with TinyDB(file) as base:
        assert [row["id"] for row in base.table("sk_test_lasting/customer").all()] == [customer["id"]]


def test_a_server_starts_with_worlds_as_fixtures(serve: Serve, tmp_path: Path) -> None:
    """An exported snapshot, a whole file and YAML may stand side by side."""
    sandbox = serve("memory")
    customer = sandbox.customer()
    sandbox.control.post("/snapshots", {"name": "a"})
    file, settings = tmp_path / "shop.json", tmp_path / "all.yaml"
    file.write_text(json.dumps(sandbox.control.get("/snapshots/a")))
    settings.write_text("settings: {tax_rate: 5}")
    sandbox = serve("memory", fixtures=(settings, file))
    assert [row["id"] for row in sandbox.api.get("/customers/")["data"]] == [customer["id"]]
    other = sandbox.control.http.get("/app", headers={"Authorization": "Bearer sk_test_other"}).json()
    assert other["settings"]["tax_rate"] == 5
    sandbox.customer(email="more@example.com")
    kept = f"tinydb:{tmp_path / 'state.json'}"
    sandbox = serve(kept, fixtures=(file,))
    sandbox.customer(email="lasting@example.com")
    sandbox = serve(kept, fixtures=(file,))
    assert next(row["email"] for row in sandbox.api.get("/customers/")["data"]) == "lasting@example.com"


@pytest.mark.parametrize("target", ["tinydb:{}/other.json", "sqlite:{}/other.db"])
def test_a_place_is_converted_whole(serve: Serve, place: str, target: str, tmp_path: Path) -> None:
    sandbox = serve(place)
    sandbox.subscribe()
    sandbox.control.post("/snapshots", {"name": "a"})
    sandbox.control.post("/snapshots", {"name": "b"})
    exported = sandbox.control.get("/snapshots/b")
    serve(None)
    maintenance.convert(place, target.format(tmp_path))
    maintenance.compact(target.format(tmp_path))
    sandbox = serve(target.format(tmp_path))
    assert [row["name"] for row in sandbox.control.get("/snapshots")["data"]] == ["b", "a"]
    sandbox.control.post("/snapshots", {"name": "c"})
    assert sandbox.control.get("/snapshots/b") == exported == sandbox.control.get("/snapshots/c")


def test_what_was_rewound_is_not_there_after_a_restart(serve: Serve, place: str) -> None:
    """Also of what was added and then changed by the request that is rewound; what was before it is there."""
    sandbox = serve(place)
    method = sandbox.method()
    sandbox.pay(method)
    sandbox.control.post("/rewind", {"steps": 2})
    sandbox = serve(place)
    assert sandbox.api.get("/payment-intents/")["data"] == []
    assert sandbox.api.get("/transactions/")["data"] == []
    assert sandbox.api.get(f"/payment-methods/{method['id']}/") == method


def test_a_key_that_is_used_again_after_a_day_does_not_damage_the_state(serve: Serve, place: str) -> None:
    """The expired answer gives way to the new one, under the same key."""
    sandbox = serve(place)
    for number in (1, 2):
        body = {"email": f"buyer{number}@example.com", "name": "Awa Diop"}
        sandbox.api.post("/customers/", body, **{"Idempotency-Key": "once-a-day"})
        sandbox.advance("25h")
    sandbox = serve(place)
    assert len(sandbox.api.get("/customers/")["data"]) == 2


def test_a_world_is_not_written_by_who_still_waits_in_it_after_it_was_released(place: str) -> None:
    """It may have been opened again, here or elsewhere: what was meant for the one would spoil the other."""

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


ACTS = 30


def played(place: str, *, restarts: bool) -> str:
    """Return what a walk was answered, with another server for each act if there are ``restarts``, and the world at last."""
    seen: Any = SimpleNamespace()  # what a walker asks, of whatever server there is
    walker, answers = Walker(seen, seed=4), []
    with ExitStack() as stack:
        for number in range(ACTS):
            if restarts or not number:
                stack.close()
                server = stack.enter_context(RunningServer("http://127.0.0.1:4747", state=place))
                seen.api = stack.enter_context(Api(server.url, "sk_test_story"))
                until = time.monotonic() + 60
                with Api(server.url, "sk_test_beside") as beside:
                    while beside.request("GET", "/v1/customers/").status_code == 503:  # the schema is not free yet
                        assert time.monotonic() < until
            if number in (0, ACTS - 1):
                once = {"email": "once@example.com", "name": "Awa", "metadata": {"b": 1, "a": 2}}
                answers.append(seen.api.post("/v1/customers/", once, **{"Idempotency-Key": "once"}))
            elif number in (ACTS // 3, ACTS // 2):
                path = "" if number < ACTS // 2 else "/before/restore"
                answers.append(seen.api.post(f"/_emulator/snapshots{path}", {} if path else {"name": "before"}))
            elif number % 5 == 0:
                answers.append(seen.api.post("/_emulator/clock/advance", {"by": "5h"}))
            else:
                assert walker.act() is None
        seen.api.post("/_emulator/snapshots", {"name": "end"})
        answers += [seen.api.get("/_emulator/events?page_size=100"), seen.api.get("/_emulator/emails")]
        return repr([*answers, *walker.answers, seen.api.get("/_emulator/snapshots/end")])


def test_restarts_change_nothing(place: str) -> None:
    """With another server for every act a walk ends in the same bytes as played through (B-93).

    Ids, numbers, times, remembered answers, snapshots and the clock go on.
    """
    # URLs of pages name the App where servers share a database.
    beside = f"{place}?schema=through" if place.startswith("postgresql") else "memory"
    assert played(place, restarts=True) == played(beside, restarts=False)
