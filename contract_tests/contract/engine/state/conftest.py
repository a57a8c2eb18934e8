"""Servers whose worlds last in a file or in a database."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
import pytest

from contract_tests.support import postgres
from contract_tests.support.sandbox import RunningServer, Sandbox

Serve = Callable[..., Sandbox]


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
