"""A store in a PostgreSQL database that several processes share; each world is run by one of them at a time.

A process holds an advisory lock for every world it runs, and writes on the same database session that holds the locks.
So the session is the lease. It ends when the process dies, its host stops responding or the database restarts; then the
worlds are free, and the process can no longer write. A process that needs a world of another process asks it for the
world, and gets it as soon as no request is in progress there.

A commit does not wait for the disk. Responses, deliveries and emails do, all those of a moment together: a second
session waits for the disk on their behalf. It ends with the first one: after a crash of the database, nothing that was
committed before counts as durable because of a commit after it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, cast

import psycopg
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql
from sqlalchemy.exc import DBAPIError

from emulator.engine.storage import serialization
from emulator.engine.storage.rows import METADATA, NEW, WORLDS, in_json
from emulator.engine.storage.serialization import RowChange, StoredWorld
from emulator.engine.storage.sql import SqlStore, contents, describe_error
from emulator.engine.storage.store import CorruptStore, Durable, LeasedElsewhere, NotDurable, StorageError
from emulator.resources.app.clients import Key

logger = logging.getLogger("emulator")

LOCKS = 0x7061_7965
"""The first half of the number of each advisory lock; the second is the world's. World 0 stands for the tables."""

CHANNEL = "emulator_claims"

LEASE = 8
"""Seconds after which the database ends a session whose host no longer responds."""

PATIENCE = 5
"""Seconds that the database has to respond, or the unit of work is undone. All worlds of the process wait for it."""

RETRY_SECONDS = 1.0
"""Seconds between two attempts to reconnect."""

SESSION = {
    "tcp_keepalives_idle": LEASE // 2,
    "tcp_keepalives_interval": 1,
    "tcp_keepalives_count": LEASE // 2,
    "tcp_user_timeout": LEASE * 1000,
    "lock_timeout": PATIENCE * 1000,
    "statement_timeout": PATIENCE * 1000,
    # A statement may be planned while the tables are empty, and the plan is used for as long as the session lasts.
    "enable_seqscan": "off",
}

PUT = """WITH put AS (
    INSERT INTO emulator_records (world, kind, id, number, data)
    SELECT $1, given.*
    FROM json_to_recordset($2::json) AS given(kind text, id text, number bigint, data text)
    ON CONFLICT (world, kind, id) DO UPDATE SET number = excluded.number, data = excluded.data
)
UPDATE emulator_worlds SET head = $3 WHERE id = $1"""
"""Everything that a unit of work changes, in one statement: several would be waited for one after the other.

Its parameters are the world, the rows that are put, and the head. Rows come as JSON, so the statement is the same for
any number of them.
"""

PUT_AND_REMOVE = f"""WITH gone AS (
    DELETE FROM emulator_records WHERE ctid = ANY (ARRAY(
        SELECT found.ctid FROM json_to_recordset($4::json) AS given(kind text, id text), LATERAL (
            SELECT records.ctid FROM emulator_records AS records
            WHERE records.world = $1 AND records.kind = given.kind AND records.id = given.id OFFSET 0
        ) AS found))
), {PUT.removeprefix("WITH ")}"""  # noqa: S608  # of constants alone
"""The same with a fourth parameter, the rows that are removed; most units of work remove none, and it takes longer.

The lateral query finds each row by the primary key, whatever the planner assumes about the number of rows.
"""

FLUSH = "SELECT pg_logical_emit_message(true, 'payments-emulator', '')"
"""A transaction that writes next to nothing. Its commit waits for the disk, and so for all commits before it."""

IS_FREE = sa.text(
    "NOT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND classid = :locks AND objid = emulator_worlds.id"
    " AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))"
).bindparams(locks=LOCKS)


def opened(url: str) -> sa.Engine:
    """Return an engine whose sessions end with their process."""
    address = parsed(url).set(drivername="postgresql+psycopg")
    options = " ".join(f"-c {name}={value}" for name, value in SESSION.items())
    arguments: dict[str, Any] = {
        "connect_timeout": PATIENCE,
        "options": options,
        "application_name": "payments-emulator",
    }
    return sa.create_engine(address, poolclass=sa.pool.NullPool, connect_args=arguments)


def parsed(url: str) -> sa.URL:
    """Return the parts of a URL. Raises :class:`CorruptStore`, with a message that does not repeat the password."""
    try:
        return sa.make_url(url)
    except (sa.exc.ArgumentError, ValueError):
        raise CorruptStore("postgresql: is no URL such as postgresql://user@127.0.0.1:5432/database") from None


def read(url: str) -> serialization.Content:
    """Return everything in a database. Raises :class:`CorruptStore`."""
    return contents(opened(url), parsed(url).render_as_string(hide_password=True))


class Durability:
    """Knows which commits of a session outlast a crash of the database, where they do not wait for the disk themselves.

    ``flush`` blocks until all that was committed before its call is on the disk. It is called in ``thread``, so that
    the event loop goes on. What it raises is raised to all who wait.
    """

    def __init__(self, flush: Callable[[], object], thread: Executor) -> None:
        self._flush = flush
        self._thread = thread
        self._committed = 0
        self._durable = 0
        self._flushing: asyncio.Task[None] | None = None

    def committed(self) -> None:
        """Something was committed."""
        self._committed += 1

    async def reached(self) -> None:
        """Wait until all that was committed before this call is on the disk."""
        wanted = self._committed
        while self._durable < wanted:
            if self._flushing is None:
                self._flushing = asyncio.create_task(self._run())
            await asyncio.shield(self._flushing)

    async def _run(self) -> None:
        covered = self._committed
        try:
            await asyncio.get_running_loop().run_in_executor(self._thread, self._flush)
            self._durable = covered
        finally:
            self._flushing = None


class PostgresStore(SqlStore):
    """The session of one process."""

    shared = True
    errors = (DBAPIError, psycopg.Error)

    def __init__(self, url: str) -> None:
        self._session_lost = False
        self._tried = 0.0
        self._flushes = ThreadPoolExecutor(1, "durability")
        name = parsed(url).render_as_string(hide_password=True)
        super().__init__(opened(url), name, alone=sa.select(sa.func.pg_advisory_xact_lock(LOCKS, 0)))

    def stored(self) -> list[Key]:
        """Return the worlds whose lock is free."""
        self._require_session()
        # Asked for every second: no response waits for the disk because of it.
        with super()._transaction() as connection:
            chosen = sa.select(WORLDS.c.key).where(IS_FREE).order_by(WORLDS.c.id)
            return [serialization.key(text) for text in connection.execute(chosen).scalars()]

    def load(self, key: Key) -> StoredWorld | None:
        with self._transaction() as connection:
            row = postgresql.insert(WORLDS).values(key=str(key), head=NEW)
            connection.execute(row.on_conflict_do_nothing())
            number = connection.execute(sa.select(WORLDS.c.id).where(WORLDS.c.key == str(key))).scalar_one()
            # Noted first: whatever fails from here on, who asked for the world releases it.
            self._numbers[key] = number
            owned = connection.execute(sa.select(sa.func.pg_try_advisory_lock(LOCKS, number))).scalar()
        if not owned:
            del self._numbers[key]
            raise LeasedElsewhere(key)
        # A new transaction sees what the previous owner committed last.
        return super().load(key)

    def ask_for(self, key: Key) -> None:
        with self._transaction() as connection:
            connection.execute(sa.select(sa.func.pg_notify(CHANNEL, str(key))))

    def _write(self, world: int, rows: Sequence[RowChange], head: str) -> None:
        self._require_session()
        put = [
            {"kind": row.kind, "id": row.id, "number": row.number, "data": in_json(row.record)}
            for row in rows
            if row.record is not None
        ]
        # A record that was removed and added again is one row. PostgreSQL does not define what a statement does that
        # changes a row twice.
        stored = {(row["kind"], row["id"]) for row in put}
        removed = ((row.kind, row.id) for row in rows if row.record is None)
        gone = [{"kind": kind, "id": id} for kind, id in removed if (kind, id) not in stored]
        given = (world, in_json(put), head)
        self._driver.set_autocommit(True)
        try:
            if gone:
                self._writer.execute(PUT_AND_REMOVE, (*given, in_json(gone)), prepare=True)
            else:
                self._writer.execute(PUT, given, prepare=True)
            if rows:  # clock and counters alone are stored later than they are answered
                self._durability.committed()
        finally:
            if self._driver.closed:
                self._connection.invalidate()
            else:
                self._driver.set_autocommit(False)

    def release(self, key: Key) -> None:
        number = self._numbers.pop(key, None)
        if number is not None and not self._is_lost():
            try:
                with self._transaction() as connection:
                    connection.execute(sa.select(sa.func.pg_advisory_unlock(LOCKS, number)))
            except StorageError:
                # The lock ends with the session at the latest.
                self._session_lost = True

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

    def durability(self) -> Durable | None:
        return partial(self._reached, self._durability)

    async def _reached(self, durability: Durability) -> None:
        try:
            await durability.reached()
        except psycopg.Error as error:
            if durability is self._durability:
                self._lose(error)
            raise NotDurable(f"{self.name}: {describe_error(error)}") from None

    def close(self) -> None:
        with suppress(psycopg.Error):
            self._flushes.submit(self._flush).result()
        self._disconnect()
        self._flushes.shutdown()
        super().close()

    # -- the session

    def _connect(self) -> None:
        super()._connect()
        self._driver = cast(Any, self._connection.connection.driver_connection)
        # Made once, and given statements in PostgreSQL's own form: both take psycopg as long as to execute one.
        self._writer = psycopg.RawCursor(self._driver)
        self._connection.execute(sa.text(f"LISTEN {CHANNEL}"))
        self._connection.execute(sa.text("SET synchronous_commit = off"))
        self._connection.commit()
        # Connected after the other one: it would not notice a crash of the database in between.
        self._second = self._engine.raw_connection()
        flusher: Any = self._second.driver_connection
        flusher.set_autocommit(True)
        # Waits until the disk has all that was committed. What was committed on an earlier session it does not know.
        self._flush = partial(flusher.execute, FLUSH, prepare=True)
        self._durability = Durability(self._flush, self._flushes)
        self._session_lost = False

    def _disconnect(self) -> None:
        """End both sessions, and with them every lock, without a word to a database that may be gone."""
        self._session_lost = True
        self._connection.invalidate()
        if self._second.is_valid:
            # In the thread that may be waiting on it.
            self._flushes.submit(self._second.invalidate)

    def _connect_again(self) -> None:
        if time.monotonic() - self._tried < RETRY_SECONDS:
            return
        self._disconnect()
        with suppress(*self.errors):
            self._connect()
            logger.info("%s is connected again", self.name)
        self._tried = time.monotonic()

    def _lose(self, error: Exception) -> None:
        if not self._is_lost():
            logger.error("%s: %s", self.name, describe_error(error))
        self._session_lost = True

    def _asked_for(self) -> list[Key]:
        """Return the worlds that other processes have asked for since the last call; notes whether the session is lost."""
        if self._is_lost():
            return []
        try:
            # Each process hears itself, too, perhaps after it was given the world that it had asked for.
            own, notices = self._driver.info.backend_pid, self._driver.notifies(timeout=0)
            return [serialization.key(notice.payload) for notice in notices if notice.pid != own]
        except psycopg.Error as error:
            self._lose(error)
            return []

    def _is_lost(self) -> bool:
        """Return whether the session ended, and with it every lock. SQLAlchemy would open a new one, which has none."""
        return self._session_lost or self._connection.invalidated or self._connection.closed

    @contextmanager
    def _transaction(self) -> Iterator[sa.Connection]:
        self._require_session()
        with super()._transaction() as connection:
            yield connection
        # Reading counts, too: what is read may have been committed a moment ago, by the previous owner of a world.
        self._durability.committed()

    def _require_session(self) -> None:
        if self._is_lost():
            raise StorageError(f"{self.name}: the connection was lost")
