"""Worlds in PostgreSQL: stored as in a file, in a schema that one server at a time holds."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import psycopg
import pytest

from contract_tests.contract.engine.state.conftest import STORED, records_after_replacing
from contract_tests.simulator.crashes.rounds import HEADERS
from contract_tests.support import postgres
from contract_tests.support.client import http_client
from contract_tests.support.receiver import Receiver
from contract_tests.support.sandbox import RunningServer, Sandbox
from contract_tests.support.servers import CLIENT, ServerProcess
from emulator.engine.storage.postgres import PostgresStore
from emulator.engine.storage.serialization import StoredWorld, rows_of
from emulator.engine.storage.store import WORLD, CorruptStore, Edition, Unknown
from emulator.server.sandbox import Options
from emulator.server.sandbox import Sandbox as Parts

# A database that is away leads to 503: the service, which has no such days, has no such
# response in its document.
pytestmark = [pytest.mark.needs("postgresql"), pytest.mark.breaks_the_document]

KEY = "sk_test_shared"


@pytest.fixture
def place(database: str) -> str:
    return database


@pytest.fixture
def alone(place: str) -> Iterator[Sandbox]:
    """A server of its own, in a schema of its own, which it has begun to hold.

    On a busy machine the start may take longer than a server relies on its lock.
    """
    with (
        RunningServer(state=f"{place}?schema=worlds_1") as server,
        closing(Sandbox(server.url, KEY)) as sandbox,
    ):
        until(lambda: sandbox.api.http.get("/customers/"), 200)
        yield sandbox


# -- who holds a schema


HTTP = http_client(headers=HEADERS, limits=httpx.Limits(max_keepalive_connections=0))


def create(emulator: ServerProcess, number: int, **headers: str) -> httpx.Response:
    """The response to one attempt at creating a customer."""
    body = {"email": f"{number}@example.com", "name": "Awa"}
    return HTTP.post(f"{emulator.url}/v1/customers/", json=body, headers=headers)


def emails(emulator: ServerProcess) -> list[str]:
    """Return the emails of the customers, oldest first."""
    response = HTTP.get(f"{emulator.url}/v1/customers/", params={"ordering": "created_at"})
    return [row["email"] for row in response.raise_for_status().json()["data"]]


def customers(sandbox: Sandbox) -> list[str]:
    """Return a world's customers' emails, oldest first, once the server has its database back."""
    response = until(
        lambda: sandbox.api.http.get("/customers/", params={"ordering": "created_at"}), 200
    )
    return [row["email"] for row in response.json()["data"]]


def attempt(sandbox: Sandbox, name: str) -> Callable[[], httpx.Response]:
    """Return an attempt at creating the customer of this name."""
    return lambda: sandbox.api.http.post(
        "/customers/", json={"email": f"{name}@example.com", "name": "Awa"}
    )


def until(ask: Callable[[], httpx.Response], status: int) -> httpx.Response:
    """Return the first response of this status; only those of a missing database precede it."""
    deadline = time.monotonic() + 60
    while (response := ask()).status_code != status:
        assert response.status_code in (500, 503), response.text
        assert response.json()["code"] == "DATABASE_ERROR"
        assert (response.headers.get("retry-after") == "1") == (response.status_code == 503)
        assert time.monotonic() < deadline, response.text
        time.sleep(0.02)
    return response


@contextmanager
def two(place: str, *options: str) -> Iterator[tuple[ServerProcess, ServerProcess]]:
    """Two servers started on one schema, the first one first."""
    at = ("--state", f"{place}?schema=worlds_1", *options)
    with ServerProcess(*at) as first, ServerProcess(*at) as second:
        yield first, second


@pytest.mark.long
def test_a_second_server_takes_over_no_sooner_than_the_first_dies(place: str) -> None:
    """Until then it responds with 503 and does nothing. Due jobs then run without a request."""
    with two(place, "--clock", "running") as (first, second):
        assert create(first, 1).status_code == 201
        rejected = create(second, 2)
        assert (rejected.status_code, rejected.headers["retry-after"]) == (503, "1")
        assert rejected.json()["type"] == "API_ERROR"
        assert HTTP.get(f"{second.url}/_emulator/health").json()["apps"] == 0
        first.kill()
        while HTTP.get(f"{second.url}/_emulator/health").json()["apps"] == 0:
            pass
        assert create(second, 3).status_code == 201
        assert emails(second) == ["1@example.com", "3@example.com"]


@pytest.mark.long
def test_a_server_that_was_frozen_serves_its_schema_only_with_the_lock(place: str) -> None:
    """Woken, it responds with 503 until the other one is gone, then as that one has stored."""
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


def test_hosted_pages_name_the_app(alone: Sandbox) -> None:
    """A proxy finds a page's server by it: in objects' links, in the page's, and after its form."""
    invoice = alone.invoice()
    assert invoice["payment_url"].endswith(f"/invoice/{invoice['id']}?app=shared")
    assert CLIENT.get(invoice["pdf_url"]).headers["content-type"] == "application/pdf"
    assert "&app=shared" in invoice["pdf_url"]
    assert (
        f'action="/invoice/{invoice["id"]}?app=shared"' in CLIENT.get(invoice["payment_url"]).text
    )
    for made in (alone.session(), alone.link()):
        assert made["url"].endswith("?app=shared")


# -- a database that is away


AT_ONCE = 2.0
"""Seconds in which a busy machine responds to what waits for nobody; 50 ms on one that is not."""


@pytest.mark.long
def test_a_database_that_hangs_holds_up_nothing_but_what_waits_for_it(
    place: str, tmp_path: Path
) -> None:
    """After five seconds the outcome is unknown. Later the same key gets the stored response."""
    log = tmp_path / "log"

    def answered(path: str, key: str = "sk_test_crash") -> tuple[int, float]:
        began = time.monotonic()
        response = HTTP.get(emulator.url + path, headers={"Authorization": f"Bearer {key}"})
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


@pytest.mark.long
def test_a_buyer_is_asked_for_patience_while_the_database_is_away(
    alone: Sandbox, place: str
) -> None:
    """In words, in their language; a program gets the code."""
    url = alone.link()["url"]
    with postgres.frozen(place):
        until(attempt(alone, "a"), 503)
        page = CLIENT.get(url, headers={"Accept-Language": "fr"})
        assert (page.status_code, page.headers["retry-after"]) == (503, "1")
        assert "rien n’est débité deux fois" in page.text
        read = CLIENT.get(url, headers={"Accept": "application/json"})
        assert (read.status_code, read.json()["code"]) == (503, "DATABASE_ERROR")


def administrator(place: str) -> psycopg.Connection:
    """A session beside those of the emulators."""
    return psycopg.connect(place, autocommit=True)


def test_a_read_only_database_is_read(place: str, alone: Sandbox) -> None:
    """A managed service makes it so on a full disk."""
    until(attempt(alone, "a"), 201)
    with postgres.read_only(place):
        assert customers(alone) == ["a@example.com"]
        until(attempt(alone, "b"), 500)
        assert customers(alone) == ["a@example.com"]


def test_a_read_only_database_is_written_again_once_it_can_be(place: str, alone: Sandbox) -> None:
    """A session keeps its first setting."""
    until(attempt(alone, "a"), 201)
    with postgres.read_only(place):
        until(attempt(alone, "b"), 500)
    until(attempt(alone, "c"), 201)
    assert customers(alone) == ["a@example.com", "c@example.com"]


def test_a_lost_session_loses_no_write(place: str, alone: Sandbox) -> None:
    """Worlds are read again once the database is back, without a restart, even after a failover."""
    until(attempt(alone, "a"), 201)
    with administrator(place) as connection:
        connection.execute(postgres.SESSIONS)
    until(attempt(alone, "b"), 201)
    assert customers(alone) == ["a@example.com", "b@example.com"]


def test_an_empty_database_is_begun_anew(place: str, alone: Sandbox) -> None:
    until(attempt(alone, "a"), 201)
    with administrator(place) as connection:
        connection.execute("DROP SCHEMA worlds_1 CASCADE")
        connection.execute(postgres.SESSIONS)
    until(attempt(alone, "c"), 201)
    assert customers(alone) == ["c@example.com"]


LOSES_ITS_SESSION = "PERFORM pg_terminate_backend(pg_backend_pid())"
FAILS = "RAISE EXCEPTION 'no room' USING DETAIL = NEW.data"


@contextmanager
def whenever_a_record_is_stored(
    place: str, statement: str, table: str = "emulator_records"
) -> Iterator[None]:
    """While the context lasts, the database runs a statement of PL/pgSQL with each record."""
    with administrator(place) as connection:
        body = f"AS $$BEGIN {statement}; RETURN NEW; END$$"
        connection.execute(f"CREATE FUNCTION spoil() RETURNS trigger LANGUAGE plpgsql {body}")
        moment = f"BEFORE INSERT ON worlds_1.{table} FOR EACH ROW"
        connection.execute(f"CREATE TRIGGER spoil {moment} EXECUTE FUNCTION spoil()")
        try:
            yield
        finally:
            connection.execute("DROP FUNCTION spoil CASCADE")


@pytest.mark.parametrize("failure", [LOSES_ITS_SESSION, FAILS], ids=["session lost", "rejected"])
def test_what_could_not_be_stored_is_undone(
    alone: Sandbox, place: str, failure: str, caplog: pytest.LogCaptureFixture
) -> None:
    """In a world that is open or just opening. No row is quoted, and no traceback is logged."""
    until(attempt(alone, "a"), 201)
    other = {"Authorization": "Bearer sk_test_another"}
    with whenever_a_record_is_stored(place, failure):
        rejected = until(attempt(alone, "b"), 500)
        until(lambda: alone.api.http.get("/customers/", headers=other), 500)
        assert customers(alone) == ["a@example.com"]
    until(lambda: alone.api.http.get("/customers/", headers=other), 200)
    assert customers(alone) == ["a@example.com"]
    assert not [record for record in caplog.records if record.exc_info]
    assert all(
        "example.com" not in text and "\n" not in text
        for text in (*caplog.messages, rejected.json()["message"])
    )


HEADS = "emulator_worlds"
REJECTED = "RAISE EXCEPTION 'no room'"


def ask(sandbox: Sandbox, path: str, body: Any) -> Callable[[], httpx.Response]:
    """Return an attempt at an operation of the control API."""
    return lambda: sandbox.control.http.post(path, json=body)


def clock(sandbox: Sandbox) -> tuple[str, str]:
    """Return where the clock of a world is, as soon as the server has its database again."""
    view = until(lambda: sandbox.control.http.get("/clock"), 200).json()
    return view["now"], view["mode"]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/clock/advance", {"by": "30d"}),
        pytest.param("/clock/freeze", {"at": "2026-02-01T00:00:00Z"}, marks=pytest.mark.long),
        pytest.param("/clock/run", {"rate": 0.001}, marks=pytest.mark.long),
        pytest.param("/rewind", {"steps": 1}, marks=pytest.mark.long),
    ],
)
def test_a_change_of_the_clock_alone_is_stored_before_its_response(
    place: str, alone: Sandbox, path: str, body: Any
) -> None:
    """If the database rejects it, the response is an error and the clock is where it was."""
    until(attempt(alone, "a"), 201)
    alone.advance("1d")
    if path == "/rewind":  # of a request that changed nothing
        alone.api.http.get("/customers/")
    before = clock(alone)
    with whenever_a_record_is_stored(place, REJECTED, HEADS):
        assert ask(alone, path, body)().status_code == 500
        assert clock(alone) == before
    assert ask(alone, "/clock/advance", {"by": "1h"})().status_code == 200
    changed = clock(alone)
    with administrator(place) as connection:
        connection.execute(postgres.SESSIONS)
        until(attempt(alone, "b"), 201)
    assert clock(alone) == changed != before


@pytest.mark.long
def test_a_change_that_a_locked_table_prevents_is_an_error(place: str, alone: Sandbox) -> None:
    """By another client, such as a migration: no clock goes back after a 200 that moved it."""
    until(attempt(alone, "a"), 201)
    before = clock(alone)
    with administrator(place) as connection:
        with connection.transaction():
            connection.execute("LOCK TABLE worlds_1.emulator_worlds IN EXCLUSIVE MODE")
            assert ask(alone, "/clock/advance", {"by": "30d"})().status_code == 500
        assert clock(alone) == before
        connection.execute(postgres.SESSIONS)
    assert clock(alone) == before


class Silent:
    """A proxy before a database that stops forwarding while it ``is_silent``: nothing is closed."""

    def __init__(self, place: str) -> None:
        self.is_silent = False
        self._to = urlsplit(place)
        self._listener = socket.create_server(("127.0.0.1", 0))
        port = self._listener.getsockname()[1]
        self.place = self._to._replace(netloc=f"{self._to.username}@127.0.0.1:{port}").geturl()
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):  # the listener was closed
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection((self._to.hostname, self._to.port))
                for ends in ((client, server), (server, client)):
                    threading.Thread(target=self._forward, args=ends, daemon=True).start()

    def _forward(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):  # the other direction has closed both
            while data := source.recv(65536):
                if not self.is_silent:
                    target.sendall(data)
        for end in (source, target):
            end.close()


@pytest.mark.long
def test_while_the_database_is_silent_no_change_of_the_clock_succeeds(place: str) -> None:
    """As behind a firewall that drops what comes: the change is lost, and so is the 200."""
    with (
        closing(Silent(place)) as proxy,
        RunningServer(state=f"{proxy.place}?schema=worlds_1") as server,
        closing(Sandbox(server.url, KEY)) as sandbox,
    ):
        attempt(sandbox, "a")().raise_for_status()
        before = clock(sandbox)
        proxy.is_silent = True
        assert ask(sandbox, "/clock/advance", {"by": "30d"})().status_code == 500
        proxy.is_silent = False
        assert clock(sandbox) == before
        assert ask(sandbox, "/clock/advance", {"by": "1d"})().status_code == 200
        assert clock(sandbox) != before


STORED_COUNTERS = "SELECT head::json -> 'counters' ->> 'draw' FROM worlds_1.emulator_worlds"


def test_what_nobody_relies_on_is_stored_as_soon_as_it_can_be(
    place: str, alone: Sandbox, caplog: pytest.LogCaptureFixture
) -> None:
    """The ids that reading has drawn. Until then reading goes on, and the log says why."""
    until(attempt(alone, "a"), 201)
    deadline = time.monotonic() + 60
    with administrator(place) as connection:
        with whenever_a_record_is_stored(place, REJECTED, HEADS):
            before = connection.execute(STORED_COUNTERS).fetchone()
            assert alone.api.http.get("/customers/").status_code == 200
            while "no room" not in caplog.text:
                assert time.monotonic() < deadline
            assert alone.control.http.get("/clock").status_code == 200
            assert connection.execute(STORED_COUNTERS).fetchone() == before
        while connection.execute(STORED_COUNTERS).fetchone() == before:
            assert time.monotonic() < deadline


def test_a_world_that_is_replaced_often_takes_no_more_room(place: str) -> None:
    """Who restores a snapshot before each of their tests leaves no pause to tidy in."""
    with closing(PostgresStore(place)) as store:
        assert records_after_replacing(store, times=30) <= 3 * 600


LIVE = (
    "SELECT count(*) FROM worlds_1.emulator_records JOIN worlds_1.emulator_worlds USING (edition)"
)


def test_a_world_is_removed_only_once_another_is_in_its_place(place: str) -> None:
    """Not by a tidying that was to be done before, if the database then rejects the other world."""
    begun, goes_on = threading.Event(), threading.Event()

    def hold(_: object) -> None:
        begun.set()
        goes_on.wait(60)

    def put(saved: StoredWorld) -> None:
        persistence.put(WORLD, Edition(rows_of(saved)), saved.head)

    with (
        closing(PostgresStore(f"{place}?schema=worlds_1")) as store,
        ThreadPoolExecutor(1) as other,
    ):
        persistence = store.persistence(STORED.key)
        put(STORED._replace(rows={"customer": [(1, {"id": "cus_1"})]}))
        put(STORED)
        store.wait()
        with whenever_a_record_is_stored(place, REJECTED, HEADS):
            other.submit(store.query, hold)
            begun.wait(60)
            store.tidy()
            put(STORED)
            goes_on.set()
            with pytest.raises(Unknown, match="no room"):
                asyncio.run(persistence.wait())
    with administrator(place) as connection:
        assert connection.execute(LIVE).fetchone() == (600,)


WAITING = (
    "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND datname ="
    " current_database()"
)


def test_nothing_leaves_before_it_is_on_the_disk(
    place: str, alone: Sandbox, receiver: Receiver
) -> None:
    """Neither a response nor a delivery, while all that waits for the disk waits for a lost one."""
    alone.endpoint(receiver.url, "customer.created")
    with administrator(place) as connection, ThreadPoolExecutor(1) as client:
        try:
            connection.execute("ALTER SYSTEM SET synchronous_standby_names = 'nowhere'")
            connection.execute("SELECT pg_reload_conf()")
            for (
                number
            ) in count():  # the first ones may be quicker than the change of the configuration
                response = client.submit(alone.customer, email=f"{number}@example.com")
                while not response.done() and connection.execute(WAITING).fetchone() != (1,):
                    pass
                if not response.done():
                    break
            sent = [event["data"]["object"]["id"] for event in receiver.events]
            assert not response.done()
        finally:
            connection.execute("ALTER SYSTEM RESET synchronous_standby_names")
            connection.execute("SELECT pg_reload_conf()")
        made = response.result(60)["id"]
    assert made not in sent
    alone.settle()
    assert receiver.events[-1]["data"]["object"]["id"] == made


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("shop:secret@127.0.0.1:1/worlds", "shop@127.0.0.1"),
        *(
            (f"127.0.0.1/worlds?schema={name}", "up to 63 of a-z 0-9 _")
            for name in ("Worlds", "a-b", "1st", "a" * 64)
        ),
    ],
)
def test_a_place_that_is_none_is_reported_without_the_password(url: str, message: str) -> None:
    with pytest.raises(CorruptStore) as raised:
        Parts(Options(state=f"postgresql://{url}"))
    assert message in str(raised.value)
    assert "secret" not in str(raised.value)
