"""Servers whose worlds last in a file or in a database."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
import pytest

from contract_tests.support import postgres
from contract_tests.support.sandbox import START, RunningServer, Sandbox
from emulator.engine.storage.database_tables import DatabaseStore
from emulator.engine.storage.serialization import StoredWorld, WorldHeader
from emulator.engine.storage.store import WORLD
from emulator.resources.app.clients import Key

Serve = Callable[..., Sandbox]

STORED = StoredWorld(
    Key("lasting", livemode=False),
    WorldHeader(now=START, mode="frozen", rate=1, counters={}),
    {"customer": [(number, {"id": f"cus_{number}"}) for number in range(600)]},
)
"""A world that is stored in several parts."""


def records(store: DatabaseStore) -> int:
    """Return how many records a database has, of whatever edition."""
    count = "SELECT count(*) FROM emulator_records"
    [(number,)] = store.query(lambda connection: [*connection.execute(count)])
    return int(number)


def records_after_replacing(store: DatabaseStore, times: int) -> int:
    """Replace a world again and again without a pause; return how many records the database has."""

    async def pause() -> None:
        pass

    async def replace() -> None:
        persistence = store.persistence(STORED.key)
        for _ in range(times):
            async with persistence.prepared(STORED, pause) as edition:
                persistence.put(WORLD, edition, STORED.head)
            await persistence.wait()

    asyncio.run(replace())
    return records(store)


@pytest.fixture(params=["tinydb:{}/worlds.json", "sqlite:{}/worlds.db"], ids=["tinydb", "sqlite"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A place of each kind that needs no server."""
    return str(request.param).format(tmp_path)


@pytest.fixture(scope="session")
def database_server() -> Iterator[str]:
    """The URL of the first database of a server for all tests that need one."""
    with postgres.running() as url:
        yield url


NUMBERS = count(1)


@pytest.fixture
def database(database_server: str) -> str:
    """A new, empty database."""
    name = f"worlds{next(NUMBERS)}"
    with psycopg.connect(database_server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return f"{database_server.rpartition('/')[0]}/{name}"


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Serves a place with a new server; the one before goes first. ``None`` only ends it."""
    with ExitStack() as cleanup:
        ends = ExitStack()
        cleanup.callback(ends.close)

        def start(place: str | None, **options: Any) -> Sandbox | None:
            ends.close()
            if place is None:
                return None
            server = RunningServer(state=place, **options)
            ends.callback(server.stop)
            sandbox = Sandbox(server.url, "sk_test_lasting")
            ends.callback(sandbox.close)
            return sandbox

        yield start  # type: ignore[misc]  # a caller that gives None does not look at the result
