"""Worlds in a PostgreSQL database that several processes share, each world run by one of them at a time.

A process holds an advisory lock for every world it runs, and it writes on the very session that holds them. So a
session is the lease: one that ends, because its process died, its host went silent or the database was restarted, frees
the worlds, and what it might still send is no longer heard. A process that is asked for a world of another one asks
that one for it, and gets it as soon as no request is under way in it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import psycopg
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql
from sqlalchemy.exc import DBAPIError

from emulator.resources.app.keys import Key
from emulator.state import serialization
from emulator.state.rows import METADATA, NEW, WORLDS
from emulator.state.serialization import StoredWorld
from emulator.state.sql import SqlStore, contents
from emulator.state.store import CorruptStore, LeasedElsewhere, StorageError

logger = logging.getLogger("emulator")

LOCKS = 0x7061_7965
"""The first half of the number of each advisory lock; the other is the world's. World 0 stands for the tables."""

CHANNEL = "emulator_claims"

LEASE = 8
"""Seconds after which the database gives up a session whose host has gone silent."""

PATIENCE = 5
"""Seconds the database has for an answer; longer, and the turn is undone. Other worlds wait meanwhile."""

AGAIN = 1.0
"""Seconds between two tries to connect again."""

SESSION = {
    "tcp_keepalives_idle": LEASE // 2,
    "tcp_keepalives_interval": 1,
    "tcp_keepalives_count": LEASE // 2,
    "tcp_user_timeout": LEASE * 1000,
    "lock_timeout": PATIENCE * 1000,
    "statement_timeout": PATIENCE * 1000,
}

IS_FREE = sa.text(
    "NOT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND classid = :locks AND objid = emulator_worlds.id"
    " AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))"
).bindparams(locks=LOCKS)


def opened(url: str) -> sa.Engine:
    """An engine whose sessions end with the process they belong to."""
    place = parsed(url).set(drivername="postgresql+psycopg")
    options = " ".join(f"-c {name}={value}" for name, value in SESSION.items())
    arguments: dict[str, Any] = {
        "connect_timeout": PATIENCE,
        "options": options,
        "application_name": "payments-emulator",
    }
    return sa.create_engine(place, poolclass=sa.pool.NullPool, connect_args=arguments)


def parsed(url: str) -> sa.URL:
    """The parts of a URL. Raises :class:`BrokenState`; what it says does not repeat a password."""
    try:
        return sa.make_url(url)
    except (sa.exc.ArgumentError, ValueError):
        raise CorruptStore("postgresql: is no URL such as postgresql://user@127.0.0.1:5432/database") from None


def read(url: str) -> serialization.Content:
    """Everything a database holds. Raises :class:`BrokenState`."""
    return contents(opened(url), parsed(url).render_as_string(hide_password=True))


class PostgresStore(SqlStore):
    """One session of one process."""

    shared = True

    def __init__(self, url: str) -> None:
        self._lost = False
        self._tried = 0.0
        place = parsed(url).render_as_string(hide_password=True)
        super().__init__(opened(url), place, alone=sa.select(sa.func.pg_advisory_xact_lock(LOCKS, 0)))

    def unleased(self) -> list[Key]:
        """The worlds whose lock nobody holds."""
        with self._turn() as connection:
            chosen = sa.select(WORLDS.c.key).where(IS_FREE).order_by(WORLDS.c.id)
            return [serialization.key(text) for text in connection.execute(chosen).scalars()]

    def load(self, key: Key) -> StoredWorld | None:
        with self._turn() as connection:
            row = postgresql.insert(WORLDS).values(key=str(key), head=NEW)
            connection.execute(row.on_conflict_do_nothing())
            number = connection.execute(sa.select(WORLDS.c.id).where(WORLDS.c.key == str(key))).scalar_one()
        with self._turn() as connection:
            owned = connection.execute(sa.select(sa.func.pg_try_advisory_lock(LOCKS, number))).scalar()
            if not owned:
                connection.execute(sa.select(sa.func.pg_notify(CHANNEL, str(key))))
        if not owned:
            raise LeasedElsewhere(key)
        self._numbers[key] = number
        try:
            # Read in a transaction of its own, so that what the owner before committed last is seen.
            return super().load(key)
        except BaseException:
            self.release(key)
            raise

    def release(self, key: Key) -> None:
        number = self._numbers.pop(key, None)
        if number is not None and not self._is_lost():
            with self._turn() as connection:
                connection.execute(sa.select(sa.func.pg_advisory_unlock(LOCKS, number)))

    def compact(self) -> None:
        with self._opening(), self._engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.exec_driver_sql("SET statement_timeout = 0")
            for table in METADATA.tables:
                connection.exec_driver_sql(f"VACUUM {table}")

    def lease_requests(self, busy: Collection[Key]) -> list[Key]:
        asked = self._asked_for()
        if not self._is_lost():
            return [key for key in asked if key in self._numbers and key not in busy]
        if not self._numbers:
            self._connect_again()
        return list(self._numbers)

    # -- the session

    def _connect(self) -> None:
        super()._connect()
        self._driver: Any = self._connection.connection.driver_connection
        self._connection.execute(sa.text(f"LISTEN {CHANNEL}"))
        self._connection.commit()
        self._lost = False

    def _connect_again(self) -> None:
        if time.monotonic() - self._tried < AGAIN:
            return
        self._tried = time.monotonic()
        with suppress(DBAPIError):
            self._connect()
            logger.info("%s is there again", self._place)

    def _asked_for(self) -> list[Key]:
        """What came in from other processes; on the occasion the session is found to be there, or not."""
        if self._is_lost():
            return []
        try:
            return [serialization.key(notice.payload) for notice in self._driver.notifies(timeout=0)]
        except psycopg.Error as fault:
            logger.error("%s: %s", self._place, " ".join(str(fault).split()))
            self._lost = True
            return []

    def _is_lost(self) -> bool:
        """Whether the session is gone, and with it every lock. SQLAlchemy would go on with a new one, without them."""
        return self._lost or self._connection.invalidated or self._connection.closed

    @contextmanager
    def _turn(self) -> Iterator[sa.Connection]:
        if self._is_lost():
            raise StorageError(f"{self._place}: the connection was lost")
        with super()._turn() as connection:
            yield connection
