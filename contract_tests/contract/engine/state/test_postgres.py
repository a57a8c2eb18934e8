"""Worlds in PostgreSQL: stored as in a file, in a schema that one server at a time holds."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from contract_tests.simulator.crashes.rounds import HEADERS
from contract_tests.support import postgres
from contract_tests.support.contract import Contract
from contract_tests.support.receiver import Receiver
from contract_tests.support.sandbox import RunningServer, Sandbox
from contract_tests.support.servers import ServerProcess
from emulator.engine.storage import postgres_session
from emulator.engine.storage.store import CorruptStore
from emulator.server.sandbox import Options
from emulator.server.sandbox import Sandbox as Parts

# That the database is away is answered with 503: the service, which has no such days, has no such answer in its document.
pytestmark = [pytest.mark.needs("postgresql"), pytest.mark.breaks_the_document]

KEY = "sk_test_shared"


@pytest.fixture
def place(database: str) -> str:
    return database


@pytest.fixture
def alone(place: str, contracts: tuple[Contract, Contract]) -> Iterator[Sandbox]:
    """A server of its own, in a schema of its own."""
    with (
        RunningServer(state=f"{place}?schema=worlds_1") as server,
        closing(Sandbox(server.url, KEY, *contracts)) as sandbox,
    ):
        yield sandbox


def test_a_large_world_is_stored_in_several_statements(
    place: str, contracts: tuple[Contract, Contract], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_session, "ROWS_AT_ONCE", 3)
    for is_first in (True, False):
        with RunningServer(state=place) as server, closing(Sandbox(server.url, KEY, *contracts)) as sandbox:
            if is_first:
                sandbox.api.post("/reset")
                ids = [sandbox.customer(email=f"{number}@example.com")["id"] for number in range(5)]
                sandbox.control.post("/snapshots", {"name": "five"})
                sandbox.api.post("/reset")
                sandbox.control.post("/snapshots/five/restore")
            assert {row["id"] for row in sandbox.api.get("/customers/")["data"]} >= set(ids)


# -- who holds a schema


def create(emulator: ServerProcess, number: int, **headers: str) -> httpx.Response:
    """The response to one attempt at creating a customer."""
    body = {"email": f"{number}@example.com", "name": "Awa"}
    url = f"{emulator.url}/v1/customers/"
    return httpx.post(url, json=body, headers=HEADERS | headers, timeout=60, trust_env=False)


def emails(emulator: ServerProcess) -> list[str]:
    """Return the emails of the customers, oldest first."""
    query = {"page_size": 100, "ordering": "created_at"}
    found = httpx.get(f"{emulator.url}/v1/customers/", params=query, headers=HEADERS, timeout=60, trust_env=False)
    return [row["email"] for row in found.raise_for_status().json()["data"]]


def until(ask: Callable[[], httpx.Response], status: int) -> httpx.Response:
    """Return the first response of this status. Until then there are only those of a database that is away."""
    deadline = time.monotonic() + 60
    while (response := ask()).status_code != status:
        assert response.status_code in (500, 503), response.text
        assert response.json()["code"] == "DATABASE_ERROR"
        assert (response.headers.get("retry-after") == "1") == (response.status_code == 503)
        assert time.monotonic() < deadline, response.text
    return response


@contextmanager
def two(place: str, *options: str) -> Iterator[tuple[ServerProcess, ServerProcess]]:
    """Two servers started on one schema, the first one first."""
    at = ("--state", f"{place}?schema=worlds_1", *options)
    with ServerProcess(*at) as first, ServerProcess(*at) as second:
        yield first, second


@pytest.mark.long
def test_a_second_server_waits_and_takes_over_when_the_first_dies(place: str) -> None:
    """Until then it answers 503, and nothing is done. Jobs that fall due run without being asked."""
    with two(place, "--clock", "running") as (first, second):
        assert create(first, 1).status_code == 201
        rejected = create(second, 2)
        assert (rejected.status_code, rejected.headers["retry-after"]) == (503, "1")
        assert rejected.json()["type"] == "API_ERROR"
        assert httpx.get(f"{second.url}/_emulator/health", trust_env=False, timeout=60).json()["apps"] == 0
        first.kill()
        while httpx.get(f"{second.url}/_emulator/health", trust_env=False, timeout=60).json()["apps"] == 0:
            pass
        assert create(second, 3).status_code == 201
        assert emails(second) == ["1@example.com", "3@example.com"]


@pytest.mark.long
def test_a_frozen_server_loses_its_schema_and_serves_it_again_only_with_the_lock(place: str) -> None:
    """Woken, it answers 503 until the other one is gone, and then what the other one has stored."""
    with two(place) as (first, second):
        assert create(first, 1).status_code == 201
        with first.frozen():
            until(lambda: create(second, 2), 201)
        assert create(first, 3).status_code in (500, 503)
        assert create(first, 4).status_code == 503
        assert create(second, 5).status_code == 201
        second.kill()
        until(lambda: create(first, 6), 201)
        assert emails(first) == [f"{number}@example.com" for number in (1, 2, 5, 6)]


def test_servers_of_different_schemas_have_nothing_in_common(place: str, alone: Sandbox) -> None:
    alone.customer()
    with RunningServer(state=f"{place}?schema=worlds_2") as server:
        found = httpx.get(f"{server.url}/v1/customers/", headers={"Authorization": f"Bearer {KEY}"}, trust_env=False)
        assert found.json()["data"] == []


LINE = {"description": "Delivery", "quantity": 1, "unit_amount": 700}


def test_hosted_pages_name_the_app(alone: Sandbox) -> None:
    """A proxy finds the server of a page by it: in links of objects, in those of the page, and after its form."""
    invoice = alone.api.post(
        "/invoices/", {"customer": alone.customer()["id"], "currency": "XAF", "line_items": [LINE]}
    )
    invoice = alone.api.post(f"/invoices/{invoice['id']}/finalize/", {})
    assert invoice["payment_url"].endswith(f"/invoice/{invoice['id']}?app=shared")
    assert httpx.get(invoice["pdf_url"], trust_env=False).headers["content-type"] == "application/pdf"
    assert "&app=shared" in invoice["pdf_url"]
    page = httpx.get(invoice["payment_url"], trust_env=False).text
    assert f'action="/invoice/{invoice["id"]}?app=shared"' in page
    for made in (alone.session(), alone.link()):
        assert made["url"].endswith("?app=shared")


# -- a database that is away


AT_ONCE = 2.0
"""Seconds in which a busy machine answers what waits for nobody; 50 ms on one that is not."""


@pytest.mark.long
def test_a_database_that_hangs_holds_up_nothing_but_what_waits_for_it(place: str, tmp_path: Path) -> None:
    """After five seconds the outcome is unknown. Once the database is there again, the same key gets what was stored."""
    log = tmp_path / "log"

    def answered(path: str, key: str = "sk_test_crash") -> tuple[int, float]:
        began = time.monotonic()
        headers = {"Authorization": f"Bearer {key}"}
        response = httpx.get(emulator.url + path, headers=headers, timeout=60, trust_env=False)
        return response.status_code, time.monotonic() - began

    with ServerProcess("--state", place, log=log) as emulator, ThreadPoolExecutor(1) as client:
        assert create(emulator, 1).status_code == 201
        assert answered("/v1/customers/", "sk_test_other")[0] == 200
        with postgres.frozen(place):
            began = time.monotonic()
            writing = client.submit(create, emulator, 2, **{"Idempotency-Key": "once"})
            while not writing.done():
                assert answered("/_emulator/health") < (201, AT_ONCE)
                assert answered("/v1/customers/", "sk_test_other")[1] < AT_ONCE
            assert writing.result().status_code == 500
            assert 4.5 < time.monotonic() - began < 15
            status, seconds = answered("/v1/customers/")
            assert status == 503
            assert seconds < AT_ONCE
        stored = until(lambda: create(emulator, 2, **{"Idempotency-Key": "once"}), 201)
        assert create(emulator, 2, **{"Idempotency-Key": "once"}).content == stored.content
        assert emails(emulator) == ["1@example.com", "2@example.com"]
        with postgres.frozen(place):
            client.submit(create, emulator, 3)
            began = time.monotonic()
            assert emulator.stop() == 0
            assert time.monotonic() - began < 5
        assert "Traceback" not in log.read_text()


def test_a_buyer_is_asked_for_patience_while_the_database_is_away(alone: Sandbox, place: str) -> None:
    """In words, in their language; a program gets the code."""
    url = alone.link()["url"]
    with postgres.frozen(place):
        until(lambda: alone.api.http.post("/customers/", json={"email": "a@example.com", "name": "A"}), 503)
        page = httpx.get(url, headers={"Accept-Language": "fr"}, trust_env=False, timeout=60)
        assert (page.status_code, page.headers["retry-after"]) == (503, "1")
        assert "rien n’est débité deux fois" in page.text
        read = httpx.get(url, headers={"Accept": "application/json"}, trust_env=False, timeout=60)
        assert (read.status_code, read.json()["code"]) == (503, "DATABASE_ERROR")


@contextmanager
def administrator(place: str) -> Iterator[psycopg.Connection]:
    """A session beside those of the emulators."""
    with psycopg.connect(place, autocommit=True) as connection:
        yield connection


def test_a_read_only_database_is_read_and_written_again_once_it_can_be(place: str, alone: Sandbox) -> None:
    """As a managed service makes it while the disk is full; a session keeps the setting that it began with."""
    first = alone.customer(email="a@example.com")["id"]
    with postgres.read_only(place):
        until(lambda: alone.api.http.get(f"/customers/{first}/"), 200)
        until(lambda: alone.api.http.post("/customers/", json={"email": "b@example.com", "name": "B"}), 500)
        until(lambda: alone.api.http.get(f"/customers/{first}/"), 200)
    until(lambda: alone.api.http.post("/customers/", json={"email": "c@example.com", "name": "C"}), 201)
    assert [row["email"] for row in customers(alone)] == ["c@example.com", "a@example.com"]


def test_an_empty_database_is_begun_anew(place: str, alone: Sandbox) -> None:
    """After a failover to one that has nothing: no restart is needed."""
    alone.customer()
    with administrator(place) as connection:
        connection.execute("DROP SCHEMA worlds_1 CASCADE")
        connection.execute(postgres.SESSIONS)
    until(lambda: alone.api.http.post("/customers/", json={"email": "b@example.com", "name": "B"}), 201)
    assert [row["email"] for row in customers(alone)] == ["b@example.com"]


def test_a_lost_session_loses_no_write(place: str, alone: Sandbox) -> None:
    """The worlds are read again once the database is there again."""
    made = [alone.customer(email="a@example.com")["id"]]
    with administrator(place) as connection:
        connection.execute(postgres.SESSIONS)
    answer = until(lambda: alone.api.http.post("/customers/", json={"email": "b@example.com", "name": "B"}), 201)
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
        each = "BEFORE INSERT ON worlds_1.emulator_records FOR EACH ROW"
        connection.execute(f"CREATE TRIGGER spoil {each} EXECUTE FUNCTION spoil()")
        try:
            yield
        finally:
            connection.execute("DROP FUNCTION spoil CASCADE")


def customers(sandbox: Sandbox) -> list[dict[str, Any]]:
    """Return the customers, as soon as the server has a session with its database again."""
    listed: list[dict[str, Any]] = until(lambda: sandbox.api.http.get("/customers/"), 200).json()["data"]
    return listed


@pytest.mark.parametrize("failure", [LOSES_ITS_SESSION, FAILS], ids=["session lost", "rejected"])
def test_what_could_not_be_stored_is_undone(
    alone: Sandbox, place: str, failure: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Of a world that is open, and of one that is only being opened. No row is quoted, and no traceback is logged."""
    first = alone.customer(email="a@example.com")["id"]
    other = {"Authorization": "Bearer sk_test_another"}
    with whenever_a_record_is_stored(place, failure):
        rejected = until(lambda: alone.api.http.post("/customers/", json={"email": "b@example.com", "name": "B"}), 500)
        until(lambda: alone.api.http.get("/customers/", headers=other), 500)
        assert [row["id"] for row in customers(alone)] == [first]
    until(lambda: alone.api.http.get("/customers/", headers=other), 200)
    assert [row["id"] for row in customers(alone)] == [first]
    assert not [record for record in caplog.records if record.exc_info]
    assert all(
        "example.com" not in text and "\n" not in text for text in (*caplog.messages, rejected.json()["message"])
    )


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
    page = until(lambda: alone.api.http.get("/customers/", params={"page_size": 100, "page": 1}), 200)
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


def test_a_newer_database_is_rejected(place: str) -> None:
    RunningServer(state=place).stop()
    with administrator(place) as connection:
        connection.execute("UPDATE emulator_format SET format = 99")
    with pytest.raises(CorruptStore, match="its format is 99"):
        Parts(Options(state=place))


def test_a_server_that_is_not_there_is_reported_without_the_password() -> None:
    with pytest.raises(CorruptStore, match=r"shop@127.0.0.1") as raised:
        Parts(Options(state="postgresql://shop:secret@127.0.0.1:1/worlds"))
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize("schema", ["Worlds", "a-b", "1st", "a" * 64])
def test_a_name_that_is_none_of_a_schema_is_rejected(place: str, schema: str) -> None:
    with pytest.raises(CorruptStore, match="a schema has up to 63 of a-z 0-9 _"):
        Parts(Options(state=f"{place}?schema={schema}"))
