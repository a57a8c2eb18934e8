"""Worlds in PostgreSQL: stored as in a file, and run by one process at a time however many there are."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from itertools import count, islice
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from contract_tests.robustness.crashes import chaos, proxy
from contract_tests.robustness.crashes.chaos import SESSIONS
from contract_tests.robustness.crashes.crash_rounds import play
from contract_tests.robustness.crashes.load import HEADERS
from contract_tests.robustness.crashes.servers import Emulator, started
from contract_tests.robustness.state.story import played_through, with_restarts
from contract_tests.support.contract import Contract
from contract_tests.support.receiver import Receiver
from contract_tests.support.sandbox import RunningServer, Sandbox
from emulator.engine import engine
from emulator.engine.storage import maintenance
from emulator.engine.storage.store import CorruptStore, LeasedElsewhere, NotDurable, StorageError, Store
from emulator.engine.storage.urls import open_store
from emulator.resources.app.clients import Key
from emulator.server.sandbox import Options
from emulator.server.sandbox import Sandbox as Parts

# That another process runs a world is answered with 503: the service, which is one, has no such answer in its document.
pytestmark = pytest.mark.breaks_the_document

KEY = "sk_test_shared"


@contextmanager
def serving(place: str, contracts: tuple[Contract, Contract]) -> Iterator[Sandbox]:
    """The same world, on a server of its own."""
    with RunningServer(state=place) as server, closing(Sandbox(server.url, KEY, *contracts)) as sandbox:
        yield sandbox


@pytest.fixture
def alone(place: str, contracts: tuple[Contract, Contract]) -> Iterator[Sandbox]:
    with serving(place, contracts) as sandbox:
        yield sandbox


@pytest.fixture
def pair(place: str, contracts: tuple[Contract, Contract]) -> Iterator[tuple[Sandbox, Sandbox]]:
    """Two servers over one database, and the same world on each."""
    with serving(place, contracts) as here, serving(place, contracts) as there:
        yield here, there


@pytest.mark.long
def test_the_output_of_the_scenario_is_the_same(place: str) -> None:
    """With another server for every step it ends in the same bytes as played through."""
    assert with_restarts(place) == played_through("memory")


@pytest.mark.long
def test_nothing_is_lost_by_a_kill(place: str, tmp_path: Path) -> None:
    """A few rounds; ``python -m contract_tests.robustness.crashes postgresql`` plays as many as one likes."""
    assert len(list(play(tmp_path, place, 2, random.Random(7)))) == 2


@pytest.mark.long
def test_nothing_is_lost_in_chaos(place: str, tmp_path: Path) -> None:
    """Two rounds; ``python -m contract_tests.robustness.crashes --minutes 10 --store postgres`` plays on."""
    assert len(list(islice(chaos.play(tmp_path, place, random.Random(7)), 2))) == 2


def test_a_world_goes_where_it_is_asked_for(pair: tuple[Sandbox, Sandbox]) -> None:
    """Either server has the whole world, the last write included."""
    here, there = pair
    made = [(here, there)[number % 2].customer(email=f"{number}@example.com")["id"] for number in range(4)]
    assert [row["id"] for row in here.api.get("/customers/", ordering="created_at")["data"]] == made
    assert [row["id"] for row in there.api.get("/customers/", ordering="created_at")["data"]] == made


def test_a_world_stays_while_a_request_is_under_way(pair: tuple[Sandbox, Sandbox], receiver: Receiver) -> None:
    """An operation of several units of work, such as creating an endpoint with its ping: 503, and when to try again."""
    here, there = pair
    here.customer()
    pinged = threading.Event()
    receiver.react = lambda received: (pinged.set(), receiver.wait())
    body = {"name": "Shop", "url": receiver.url, "events": ["*"]}
    creating = threading.Thread(target=here.api.post, args=("/webhooks/", body))
    creating.start()
    assert pinged.wait(30)
    rejected = there.api.http.get("/customers/")
    assert (rejected.status_code, rejected.headers["retry-after"]) == (503, "1")
    assert "is run by another process" in rejected.json()["message"]
    receiver.release()
    creating.join(30)
    assert [row["url"] for row in there.api.get("/webhooks/")["data"]] == [receiver.url]


def test_a_world_stays_with_the_server_that_asked_for_it(place: str) -> None:
    """However late it hears what it said itself while it was waiting."""
    here, there = open_store(place), open_store(place)
    assert here is not None
    assert there is not None
    key = Key("shared", livemode=False)
    with closing(here), closing(there):
        here.load(key)
        for _ in range(3):
            with pytest.raises(LeasedElsewhere):
                there.load(key)
            there.ask_for(key)
        # What is said on one session reaches another one soon, not at once.
        asked: set[Key] = set()
        deadline = time.monotonic() + 30
        while not asked and time.monotonic() < deadline:
            asked = set(here.lease_requests(()))
        assert asked == {key}
        here.release(key)
        there.load(key)
        assert there.lease_requests(()) == []


def test_a_server_leaves_a_world_to_the_one_that_asked_for_it(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It does not take it back as one that is free, also where it is so slow that it looks for those each time."""
    monkeypatch.setattr(engine, "CHECK_SECONDS", 0.0)
    here, there, key = Parts(Options(state=place)).engine, open_store(place), Key("shared", livemode=False)
    assert there is not None

    async def hand_over() -> None:
        here.open(key)
        await here.start()
        try:
            there.ask_for(key)
            until = time.monotonic() + 60
            while key in here.runtimes:
                assert time.monotonic() < until
                await asyncio.sleep(0.01)
            assert there.load(key) is not None
        finally:
            await here.stop()

    try:
        asyncio.run(hand_over())
    finally:
        there.close()


def test_a_start_does_not_wait_for_worlds_that_take_long(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are opened beside requests."""
    body = {"email": "a@example.com", "name": "Awa"}
    with RunningServer(state=place) as server:
        url = f"{server.url}/v1/customers/"
        httpx.post(url, json=body, headers=HEADERS, timeout=60, trust_env=False).raise_for_status()
    monkeypatch.setattr(engine, "START_SECONDS", -1.0)
    here = Parts(Options(state=place)).engine
    assert here.runtimes == {}

    async def take_over() -> None:
        await here.start()
        try:
            until = time.monotonic() + 60
            while not here.runtimes:
                assert time.monotonic() < until
                await asyncio.sleep(0.01)
        finally:
            await here.stop()

    asyncio.run(take_over())


@pytest.mark.long
def test_another_process_takes_over_when_one_dies(place: str, tmp_path: Path) -> None:
    """Without being asked: what falls due is done."""
    first, second = (Emulator(tmp_path, place, "--clock", "running") for _ in range(2))
    with started(first, second):
        body = {"email": "a@example.com", "name": "Awa"}
        url = f"{first.url}/v1/customers/"
        httpx.post(url, json=body, headers=HEADERS, timeout=60, trust_env=False).raise_for_status()
        health = f"{second.url}/_emulator/health"
        assert httpx.get(health, trust_env=False, timeout=60).json()["apps"] == 0
        first.kill()
        until = time.monotonic() + 60
        while httpx.get(health, trust_env=False, timeout=60).json()["apps"] == 0:
            assert time.monotonic() < until
        found = httpx.get(f"{second.url}/v1/customers/", headers=HEADERS, timeout=60, trust_env=False).json()
        assert [row["email"] for row in found["data"]] == ["a@example.com"]


@contextmanager
def administrator(place: str) -> Iterator[psycopg.Connection]:
    """A session beside those of the emulators."""
    with psycopg.connect(place, autocommit=True) as connection:
        yield connection


def test_a_lost_session_loses_no_write(place: str, alone: Sandbox) -> None:
    """No process writes without the lease: the worlds are read again once the database is there again."""
    made = [alone.customer(email="a@example.com")["id"]]
    with administrator(place) as connection:
        connection.execute(SESSIONS)
    answer = alone.api.http.post("/customers/", json={"email": "b@example.com", "name": "B"})
    while not answer.is_success:
        assert answer.json()["code"] == "DATABASE_ERROR"
        answer = alone.api.http.post("/customers/", json={"email": "b@example.com", "name": "B"})
    made.append(answer.json()["id"])
    assert [row["id"] for row in alone.api.get("/customers/", ordering="created_at")["data"]] == made


LOSES_ITS_SESSION = "PERFORM pg_terminate_backend(pg_backend_pid())"
FAILS = "RAISE EXCEPTION 'no room' USING DETAIL = NEW.data"


@contextmanager
def whenever_a_record_is_stored(place: str, statement: str) -> Iterator[None]:
    """While the context lasts, the database runs a statement of PL/pgSQL with each record."""
    with administrator(place) as connection:
        body = f"AS $$BEGIN {statement}; RETURN NEW; END$$"
        connection.execute(f"CREATE FUNCTION spoil() RETURNS trigger LANGUAGE plpgsql {body}")
        each = "BEFORE INSERT ON emulator_records FOR EACH ROW"
        connection.execute(f"CREATE TRIGGER spoil {each} EXECUTE FUNCTION spoil()")
        try:
            yield
        finally:
            connection.execute("DROP FUNCTION spoil CASCADE")


def customers(sandbox: Sandbox) -> list[dict[str, Any]]:
    """Return the customers, as soon as the server has a session with its database again."""
    until = time.monotonic() + 60
    while not (answer := sandbox.api.http.get("/customers/")).is_success:
        assert answer.json()["code"] == "DATABASE_ERROR"
        assert time.monotonic() < until
    listed: list[dict[str, Any]] = answer.json()["data"]
    return listed


@pytest.mark.parametrize("failure", [LOSES_ITS_SESSION, FAILS], ids=["session lost", "rejected"])
def test_a_world_that_could_not_be_opened_is_let_go_of(
    pair: tuple[Sandbox, Sandbox], place: str, failure: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The other server can run it, and this one serves all of its worlds again, the one that it was opening, too."""
    here, there = pair
    with whenever_a_record_is_stored(place, failure):
        rejected = here.api.http.get("/customers/")
        assert rejected.json()["code"] == "DATABASE_ERROR"
    # It may have tried to open the world that no server held, and have lost its session, too.
    assert customers(there) == []
    there.customer(email="a@example.com")
    assert [row["email"] for row in customers(here)] == ["a@example.com"]
    assert not [record for record in caplog.records if record.exc_info]
    assert all("settings" not in text and "\n" not in text for text in (*caplog.messages, rejected.json()["message"]))


def test_what_a_lost_session_committed_is_not_taken_for_durable_by_the_next_one(place: str) -> None:
    """Who did it on the one is not answered with success because the other one can reach the disk."""
    store = open_store(place)
    assert store is not None
    key = Key("shared", livemode=False)
    with closing(store):
        before = store.durability()
        store.load(key)
        with administrator(place) as connection:
            connection.execute(SESSIONS)
        assert not connected(store)
        while not connected(store):
            for each in store.lease_requests(()):
                store.release(each)
        after = store.durability()
        store.load(key)
        assert before is not None
        assert after is not None
        with pytest.raises(NotDurable):
            asyncio.run(before())
        asyncio.run(after())


def test_a_store_connects_again_even_if_it_holds_a_world_that_is_not_open(place: str) -> None:
    parts = Parts(Options(state=place))
    store = parts.engine.store
    assert store is not None
    with closing(store):
        store.load(Key("half", livemode=False))
        with administrator(place) as connection:
            connection.execute(SESSIONS)
        until = time.monotonic() + 60
        while not connected(store):
            assert time.monotonic() < until
            for each in store.lease_requests(()):
                asyncio.run(parts.engine.release(each))


def connected(store: Store) -> bool:
    """Return whether the store has a session."""
    try:
        store.stored()
    except StorageError:
        return False
    return True


@pytest.mark.long
def test_a_crash_of_the_database_loses_nothing_that_was_answered(place: str, alone: Sandbox) -> None:
    """Many requests at once wait for the disk together; those that it did not reach are not answered with success."""
    answered: list[str] = []

    def create(number: int) -> None:
        body = {"email": f"{number}@example.com", "name": "Awa"}
        answer = alone.api.http.post("/customers/", json=body)
        if answer.is_success:
            answered.append(answer.json()["id"])
        else:
            assert answer.json()["code"] == "DATABASE_ERROR"
        if number == 100:
            os.kill(victim, signal.SIGKILL)

    alone.customer()
    with administrator(place) as connection, ThreadPoolExecutor(8) as clients:
        victim = connection.info.backend_pid
        list(clients.map(create, range(200)))
    while not (page := alone.api.http.get("/customers/", params={"page_size": 100, "page": 1})).is_success:
        assert page.json()["code"] == "DATABASE_ERROR"
    pages = [page.json(), *(alone.api.get("/customers/", page_size=100, page=number) for number in (2, 3))]
    assert len(answered) > 100
    assert {row["id"] for each in pages for row in each["data"]} >= set(answered)


WAITING = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND datname = current_database()"


@contextmanager
def commits_held(connection: psycopg.Connection) -> Iterator[None]:
    """While the context lasts, whatever waits for the disk waits: for a second disk, on a host that is not there."""
    try:
        connection.execute("ALTER SYSTEM SET synchronous_standby_names = 'nowhere'")
        connection.execute("SELECT pg_reload_conf()")
        yield
    finally:
        connection.execute("ALTER SYSTEM RESET synchronous_standby_names")
        connection.execute("SELECT pg_reload_conf()")


def test_nothing_leaves_before_it_is_on_the_disk(place: str, alone: Sandbox, receiver: Receiver) -> None:
    """Neither the response nor the delivery; then both."""
    alone.endpoint(receiver.url, "customer.created")
    with administrator(place) as connection, ThreadPoolExecutor(1) as client:
        with commits_held(connection):
            for number in count():  # the first ones may be quicker than the change of the configuration
                response = client.submit(alone.customer, email=f"{number}@example.com")
                while not response.done() and connection.execute(WAITING).fetchone() != (1,):
                    pass
                if not response.done():
                    break
            sent = [event["data"]["object"]["id"] for event in receiver.events]
            assert not response.done()
        made = response.result(60)["id"]
    assert made not in sent
    alone.settle()
    assert receiver.events[-1]["data"]["object"]["id"] == made


def test_it_is_checked_compacted_and_converted(place: str, tmp_path: Path) -> None:
    server = RunningServer(state=place)
    httpx.post(f"{server.url}/v1/customers/", json={"email": "a@example.com", "name": "A"}, headers=HEADERS, timeout=60)
    assert [str(found.key) for found in maintenance.check(place)] == ["sk_test_crash"]
    server.stop()
    maintenance.compact(place)
    maintenance.convert(place, f"tinydb:{tmp_path}/worlds.json")
    assert maintenance.check(f"tinydb:{tmp_path}/worlds.json") == maintenance.check(place)


def test_a_newer_database_is_rejected(place: str) -> None:
    RunningServer(state=place).stop()
    with administrator(place) as connection:
        connection.execute("UPDATE emulator_format SET format = 99")
    with pytest.raises(CorruptStore, match="its format is 99"):
        Parts(Options(state=place))


def test_a_server_that_is_not_there_is_reported_without_the_password() -> None:
    with pytest.raises(CorruptStore, match=r"shop:\*\*\*@127.0.0.1") as raised:
        Parts(Options(state="postgresql://shop:secret@127.0.0.1:1/worlds"))
    assert "secret" not in str(raised.value)


def test_a_row_that_is_removed_and_stored_again_is_the_new_one(pair: tuple[Sandbox, Sandbox]) -> None:
    """In one unit of work, which is one statement: the response to an Idempotency-Key whose last response expired."""
    here, there = pair

    def create(sandbox: Sandbox, name: str) -> httpx.Response:
        body = {"email": f"{name}@example.com", "name": name}
        return sandbox.api.http.post("/customers/", json=body, headers={"Idempotency-Key": "used-twice"})

    assert create(here, "ada").status_code == 201
    here.advance("P2D")
    second = create(here, "awa")
    assert create(there, "awa").content == second.content


@pytest.mark.long
def test_the_death_of_either_loses_nothing(place: str, tmp_path: Path) -> None:
    """Of two servers behind nginx, as docs/guide/state.md configures it, under load.

    ``python -m contract_tests.robustness.crashes proxy`` plays more rounds.
    """
    assert len(list(proxy.play(tmp_path, place, 2, random.Random(7)))) == 2
