"""A PostgreSQL session in its own thread: it holds a schema by a lock, and stores changes.

The lock is an advisory one, on the very session that writes. The session ends with the process,
with the connection, and by ``idle_session_timeout`` where nothing has come for some seconds: a
frozen server loses its schema by the database alone, once woken it can write nothing more, and it
knows how old its last answer is.
"""

from __future__ import annotations

import logging
import os
import re
import socket
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import closing, contextmanager, suppress
from functools import partial
from itertools import islice, takewhile
from typing import Any, NamedTuple, cast
from urllib.parse import parse_qsl, urlencode, urlsplit

import psycopg

from emulator.engine.real_time import elapsed
from emulator.engine.storage import database_tables, serialization
from emulator.engine.storage.database_tables import (
    DAMAGE,
    PUT_RECORD,
    PUT_WORLD,
    REMOVE_RECORD,
    Readable,
    Statement,
)
from emulator.engine.storage.serialization import Content
from emulator.engine.storage.store import CorruptStore, NoStore
from emulator.resources.app.clients import Key

logger = logging.getLogger("emulator")

DATABASE_TIMEOUT = 5.0
"""Seconds that the database has to answer, or the session is given up."""

ENDED = "the session was ended"

SILENT = f"the database has not answered for {DATABASE_TIMEOUT:.0f} seconds"

LEASE = 5
"""Seconds of this process's silence after which the database ends its session and its lock."""

FRESH = 4.0
"""Seconds after a response for which this process relies on the lock: fewer than ``LEASE``."""

BEAT = 1.0
"""Seconds between two words to the database while there is nothing to store."""

RETRY = 1.0
"""Seconds between the beginnings of two sessions, at least, and of two tidyings if one failed."""

LOOK = 0.1
"""Seconds between two attempts at the lock, and between two looks at the session's state."""

MOST_AT_ONCE = 500
"""Changes in one transaction: enough for quick long advances, few enough for short waits."""

ROWS_AT_ONCE = 5_000
"""Rows of one statement: a world of any size is stored within the session's statement time."""

LOCK = 0x7061_7965
"""The first half of the number of the lock; the second is made of the schema's name."""

SESSION = {
    "idle_session_timeout": LEASE * 1000,
    "idle_in_transaction_session_timeout": LEASE * 1000,
    "tcp_user_timeout": LEASE * 1000,
    "lock_timeout": int(DATABASE_TIMEOUT * 1000),
    "statement_timeout": int(DATABASE_TIMEOUT * 1000),
    # A statement may be planned while the tables are empty, and the session keeps the plan.
    "enable_seqscan": "off",
}


# -- the address


class DatabaseAddress(NamedTuple):
    """Where worlds are: a database, a schema in it, and the name of both in messages."""

    url: str
    schema: str
    name: str

    def connect(self, **session: Any) -> psycopg.Connection[Any]:
        """Return a connection whose tables are those of the schema. Raises ``psycopg.Error``."""
        settings = {**session, "search_path": self.schema}
        return psycopg.connect(
            self.url,
            autocommit=True,
            connect_timeout=int(DATABASE_TIMEOUT),
            options=" ".join(f"-c {name}={value}" for name, value in settings.items()),
            application_name="payments-emulator",
        )


FORM = "postgresql://user@127.0.0.1:5432/database?schema=worlds_1"


def address(url: str) -> DatabaseAddress:
    """Return the parts of a URL. Raises :class:`CorruptStore`, without the password."""
    try:
        parts = urlsplit(url)
    except ValueError:
        raise NoStore(f"postgresql: is no URL such as {FORM}") from None
    query = dict(parse_qsl(parts.query))
    schema = query.pop("schema", "public")
    if not re.fullmatch(r"[a-z_][a-z0-9_]{0,62}", schema):
        raise NoStore(f"postgresql: a schema has up to 63 of a-z 0-9 _, as in {FORM}")
    user, at, hosts = parts.netloc.rpartition("@")
    name = f"postgresql://{user.partition(':')[0]}{at}{hosts}{parts.path}?schema={schema}"
    return DatabaseAddress(parts._replace(query=urlencode(query)).geturl(), schema, name)


SEPARATOR = "\x01"
"""The separator of values in a column: JSON escapes it, and keys and kinds lack it."""

STATEMENTS_OF_MANY_ROWS = {
    PUT_WORLD: (
        r"""INSERT INTO emulator_worlds (key, edition, head) SELECT * FROM unnest(
        string_to_array(%s, E'\x01'), string_to_array(%s, E'\x01')::bigint[],
        string_to_array(%s, E'\x01'))
        ON CONFLICT (key) DO UPDATE SET edition = excluded.edition, head = excluded.head"""
    ),
    PUT_RECORD: (
        r"""INSERT INTO emulator_records (edition, kind, number, data) SELECT * FROM unnest(
        string_to_array(%s, E'\x01')::bigint[], string_to_array(%s, E'\x01'),
        string_to_array(%s, E'\x01')::bigint[], string_to_array(%s, E'\x01'))
        ON CONFLICT (edition, kind, number) DO UPDATE SET data = excluded.data"""
    ),
    REMOVE_RECORD: (
        r"""DELETE FROM emulator_records AS stored USING unnest(
        string_to_array(%s, E'\x01')::bigint[], string_to_array(%s, E'\x01'),
        string_to_array(%s, E'\x01')::bigint[])
        AS gone(edition, kind, number)
        WHERE (stored.edition, stored.kind, stored.number)
        = (gone.edition, gone.kind, gone.number)"""
    ),
}
"""The statements that have many rows, for all rows at once: the values of each column in one text.

psycopg encodes a list value by value, in Python, which takes ten times as long as all the rest.

A pipeline would be as quick. But between two of its statements no time limit of the database
applies, so that a server which is frozen just then would keep the lock.
"""

PUT = (
    f"WITH records AS ({STATEMENTS_OF_MANY_ROWS[PUT_RECORD]}) {STATEMENTS_OF_MANY_ROWS[PUT_WORLD]}"
)
"""Most units of work are this one statement: it takes half of the time of a transaction."""


class DatabaseSession:
    """A connection for :mod:`database_tables`, which notes the times of requests and responses."""

    def __init__(self, raw: psycopg.Connection[Any]) -> None:
        self.raw = raw
        self.asked_at: float | None = None
        self.answered_at = elapsed()

    def execute(self, statement: str, values: Sequence[Any] = (), /) -> psycopg.Cursor[Any]:
        self.asked_at = began = elapsed()
        response = self.raw.execute(cast("Any", statement.replace("?", "%s")), values)
        # The moment before: the database counts from when it has answered.
        self.answered_at, self.asked_at = began, None
        return response

    @contextmanager
    def transaction(self, isolation: str = "READ COMMITTED") -> Iterator[None]:
        self.execute(f"BEGIN ISOLATION LEVEL {isolation}")
        try:
            yield
        except BaseException:
            if not self.raw.closed:
                self.execute("ROLLBACK")
            raise
        self.execute("COMMIT")

    def store(self, statements: Iterable[Statement]) -> None:
        for text, rows in statements:
            if text in STATEMENTS_OF_MANY_ROWS:
                for start in range(0, len(rows), ROWS_AT_ONCE):
                    self.execute(
                        STATEMENTS_OF_MANY_ROWS[text], _columns(rows[start : start + ROWS_AT_ONCE])
                    )
            else:
                for row in rows:
                    self.execute(text, row)

    def cut(self) -> None:
        """End what another thread waits for, which may close the connection at the same time."""
        # A copy of the descriptor: the other one may be another file's by now.
        with (
            suppress(OSError, psycopg.Error),
            socket.socket(fileno=os.dup(self.raw.fileno())) as copy,
        ):
            copy.shutdown(socket.SHUT_RDWR)


def read(url: str) -> Content:
    """Return everything in a schema, read at one moment. Raises :class:`CorruptStore`."""
    place = address(url)
    try:
        with place.connect() as raw:
            connection = DatabaseSession(raw)
            with connection.transaction("REPEATABLE READ"):
                database_tables.check_format(connection)
                return database_tables.content(connection)
    except psycopg.errors.UndefinedTable:
        raise NoStore(f"{place.name}: holds no worlds") from None
    except psycopg.OperationalError as error:
        raise NoStore(f"{place.name}: {describe(error)}") from None
    except (psycopg.Error, *DAMAGE) as error:
        raise CorruptStore(f"{place.name}: {describe(error)}") from None


def describe(error: BaseException | None) -> str:
    """Return an error's message on one line, without the row's data."""
    if isinstance(error, DAMAGE):
        return serialization.reason(error)
    diagnosis = getattr(error, "diag", None)
    message = getattr(diagnosis, "message_primary", None) or str(error)
    if str(getattr(error, "sqlstate", None)).startswith("22"):  # it quotes an invalid value
        message = serialization.QUOTED.sub("…", message)
    return " ".join(message.split())


# -- a session, in a thread of its own


class Task(NamedTuple):
    """Statements to be stored, or else something to be read.

    If it is ``is_vital`` and the database rejects it, that ends the session, because worlds in
    memory have the changes that were to be stored. The outcome of any other is for the task's
    owner, who may try again.
    """

    statements: Sequence[Statement] = ()
    read: Callable[[DatabaseSession], Any] | None = None
    is_vital: bool = True


class Session(threading.Thread):
    """Connects at once, waits for the lock, then does its tasks until it fails or is ended.

    ``tried`` is given whether the lock was free at first, ``held`` the keys of the stored worlds
    once it is. What ends the session is raised by both, by ``ended``, and by all that was to be
    done.
    """

    def __init__(self, place: DatabaseAddress) -> None:
        super().__init__(name="database", daemon=True)
        self._place = place
        self._began = elapsed()
        self._connection: DatabaseSession | None = None
        self._tasks: deque[tuple[Task | None, Future[Any]]] = deque()
        self._changed = threading.Condition()
        self._failing = False
        self.tried: Future[bool] = Future()
        self.held: Future[list[Key]] = Future()
        self.dead: list[int] = []
        self._tidied: Future[Any] | None = None
        self._tidied_at = 0.0
        self.ended: Future[None] = Future()
        self.start()

    # -- for other threads

    @property
    def is_fresh(self) -> bool:
        """Whether the lock is certainly this process's."""
        connection = self._connection
        is_held = connection is not None and self.held.done() and not self.ended.done()
        # it is one then
        return is_held and elapsed() - connection.answered_at < FRESH  # type: ignore[union-attr]

    @property
    def is_silent(self) -> bool:
        """Whether the database has not answered for too long."""
        asked_at = self._connection.asked_at if self._connection else self._began
        return asked_at is not None and elapsed() - asked_at > DATABASE_TIMEOUT

    def put(self, task: Task | None) -> Future[Any]:
        """Queue a task after the earlier ones and return its outcome; None ends the session."""
        outcome: Future[Any] = Future()
        with self._changed:
            if self.ended.done():
                outcome.set_exception(self.ended.exception())
            else:
                self._tasks.append((task, outcome))
                self._changed.notify()
        return outcome

    def tidy(self) -> None:
        """Remove some records that count no more, unless that is under way; soon again if it
        failed.
        """
        before = self._tidied
        failed = before is not None and before.done() and before.exception() is not None
        if failed and elapsed() - self._tidied_at < RETRY:
            return
        if self.dead and self.is_fresh and (before is None or before.done()):
            most = min(len(self.dead), database_tables.EDITIONS)
            remove = partial(self.remove_some, most=most)
            self._tidied = self.put(Task(read=remove, is_vital=False))
            self._tidied_at = elapsed()

    def remove_some(self, connection: Readable, most: int = database_tables.EDITIONS) -> None:
        database_tables.remove_some(connection, self.dead, "ctid", most)

    def give_up(self, error: BaseException) -> None:
        """End now, whatever the thread waits for."""
        with self._changed:
            if self.ended.done():
                return
            futures: list[Future[Any]] = [
                self.tried,
                self.held,
                self.ended,
                *(outcome for _, outcome in self._tasks),
            ]
            self._tasks.clear()
            for future in futures:
                if not future.done():
                    future.set_exception(error)
            self._changed.notify()
        if self._connection is not None:
            self._connection.cut()

    # -- the thread

    def run(self) -> None:
        try:
            with closing(self._place.connect(**SESSION)) as raw:
                self._connection = connection = DatabaseSession(raw)
                self._take_lock(connection)
                while self._work(connection):
                    pass
        except Exception as error:  # whatever it is, it is raised where the session is used
            self.give_up(error)
        self.give_up(InterruptedError(ENDED))

    def _take_lock(self, connection: DatabaseSession) -> None:
        attempt = "SELECT pg_try_advisory_lock(?, hashtext(?))"
        while connection.execute(attempt, (LOCK, self._place.schema)).fetchone() != (True,):
            with self._changed:
                if not self.tried.done():
                    self.tried.set_result(False)
                self._changed.wait(LOOK)
                # Before the lock is held nothing is put but the end.
                if self._tasks or self.ended.done():
                    raise InterruptedError(ENDED)
        keys = _prepare(connection, self._place.schema)
        self.dead = database_tables.dead(connection)
        with self._changed:
            if self.ended.done():
                raise InterruptedError(ENDED)
            self.held.set_result(keys)
            if not self.tried.done():
                self.tried.set_result(True)

    def _log(self, failure: Exception) -> None:
        """Log why something is to be tried again, once until something is stored."""
        if not self._failing:
            logger.error("%s: %s", self._place.name, describe(failure))
        self._failing = True

    def _work(self, connection: DatabaseSession) -> bool:
        """Do the next task: all waiting changes in one transaction, a read, or a sign of life."""
        with self._changed:
            if not self._tasks:
                self._changed.wait(BEAT)
            tasks = [task for task, _ in islice(self._tasks, MOST_AT_ONCE)]
        changes = [*takewhile(lambda task: task is not None and task.read is None, tasks)]
        tasks = changes or tasks[:1]
        if tasks == [None]:
            return False
        result: Any = None
        failure: Exception | None = None
        try:
            result = _carry_out(connection, [task for task in tasks if task])
        except DAMAGE as damage:
            if any(task and task.statements and task.is_vital for task in tasks):
                raise
            failure = damage
        except psycopg.Error as error:
            if connection.raw.closed or not tasks or any(task and task.is_vital for task in tasks):
                raise
            failure = error
            self._log(error)
        else:
            self._failing = self._failing and not changes
        with self._changed:
            if self.ended.done():
                return False
            outcomes = [self._tasks.popleft()[1] for _ in tasks]
        for outcome in outcomes:
            outcome.set_result(result) if failure is None else outcome.set_exception(failure)
        return True


def _prepare(connection: DatabaseSession, schema: str) -> list[Key]:
    """Create the schema and tables if missing; return the keys of the stored worlds."""
    ((tables_are_there, schema_is_there),) = connection.execute(
        "SELECT to_regclass('emulator_format') IS NOT NULL, to_regnamespace(?) IS NOT NULL",
        (schema,),
    )
    if not tables_are_there:
        with connection.transaction():
            if not schema_is_there:
                connection.execute(f"CREATE SCHEMA {schema}")
            connection.store(database_tables.create())
    database_tables.check_format(connection)
    return database_tables.keys(connection)


def _carry_out(connection: DatabaseSession, tasks: Sequence[Task]) -> Any:
    if not tasks:
        connection.execute("SELECT 1")
    elif tasks[0].read is not None:
        return tasks[0].read(connection)
    else:
        statements = [*merged(statement for task in tasks for statement in task.statements)]
        is_small = sum(len(statement.rows) for statement in statements) < ROWS_AT_ONCE
        if is_small and [statement.text for statement in statements] == [PUT_RECORD, PUT_WORLD]:
            connection.execute(
                PUT, [column for statement in statements for column in _columns(statement.rows)]
            )
        else:
            with connection.transaction():
                connection.store(statements)
    return None


def _columns(rows: Sequence[Sequence[Any]]) -> list[str]:
    return [SEPARATOR.join(map(str, column)) for column in zip(*rows, strict=True)]


def merged(statements: Iterable[Statement]) -> Iterator[Statement]:
    """Yield equivalent statements: the last change of each row, and all rows together."""
    together: dict[str, dict[Any, Sequence[Any]]] = {
        REMOVE_RECORD: {},
        PUT_RECORD: {},
        PUT_WORLD: {},
    }

    def so_far() -> Iterator[Statement]:
        for text, rows in together.items():
            if rows:
                yield Statement(text, [*rows.values()])
                rows.clear()

    for text, rows in statements:
        if text not in together:
            yield from so_far()
            yield Statement(text, rows)
            continue
        for row in rows:
            place = row[:1] if text == PUT_WORLD else row[:3]
            together[text][place] = row
            if text == REMOVE_RECORD:
                together[PUT_RECORD].pop(place, None)
    yield from so_far()
