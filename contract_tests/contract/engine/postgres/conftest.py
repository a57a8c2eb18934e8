"""PostgreSQL for the tests that need it, one server for all of them and a database of its own for each."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import psycopg
import pytest

from contract_tests.support import postgres

NUMBERS = count(1)


@pytest.fixture(scope="session")
def database_server() -> Iterator[str]:
    """The URL of a server's first database."""
    with postgres.running() as url:
        yield url


@pytest.fixture
def place(database_server: str) -> str:
    """A new, empty database."""
    name = f"worlds{next(NUMBERS)}"
    with psycopg.connect(database_server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return f"{database_server.rpartition('/')[0]}/{name}"
