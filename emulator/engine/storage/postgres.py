"""A store in a PostgreSQL schema, which one server holds at a time; a second one waits.

Nothing on the event loop waits for the database. Changes are put in a queue, and the thread of the
session stores all that wait in one transaction; the response to a request waits until its changes
are stored. A database that fails, or does not answer in time, costs the session: all worlds are
closed, and once the schema is held again they are read as they are stored.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future
from typing import Any

from emulator.engine.real_time import elapsed
from emulator.engine.storage import state_file
from emulator.engine.storage.database_tables import (
    DatabaseStore,
    DatabaseWriter,
    Readable,
    Statement,
    T,
    put_head,
)
from emulator.engine.storage.postgres_session import (
    DATABASE_TIMEOUT,
    ENDED,
    LOOK,
    RETRY,
    SILENT,
    Session,
    Task,
    address,
    describe,
)
from emulator.engine.storage.serialization import WorldHeader
from emulator.engine.storage.store import (
    WORLD,
    Away,
    CorruptStore,
    Unknown,
    WorldClosed,
    WorldPersistence,
)
from emulator.resources.app.clients import Key

logger = logging.getLogger("emulator")

ENDING = 0.5
"""Seconds for the work under way when the server ends."""


class PostgresStore(DatabaseStore):
    """Worlds in a schema, for as long as this process holds it."""

    is_remote = True

    def __init__(self, url: str) -> None:
        self._place = address(url)
        self.name = self._place.name
        # The session's thread waits for the event loop at each answer, by default 5 ms.
        sys.setswitchinterval(0.0005)
        self._session = Session(self._place)
        try:
            is_free = self._session.tried.result(DATABASE_TIMEOUT + LOOK)
        except TimeoutError:
            self._session.give_up(TimeoutError(SILENT))
            raise CorruptStore(f"{self.name}: {SILENT}") from None
        except Exception as error:
            raise CorruptStore(f"{self.name}: {describe(error)}") from None
        if not is_free:
            logger.warning(
                "%s: another server holds this schema; this one takes over when it is free",
                self.name,
            )

    # -- the life of a session

    async def follow(
        self, opened: Callable[[list[Key]], Awaitable[None]], lost: Callable[[], Awaitable[None]]
    ) -> None:
        while True:
            next_at, session = elapsed() + RETRY, self._session
            opening: asyncio.Future[None] | None = None
            try:
                while not session.ended.done():
                    if opening is None and session.held.done():
                        logger.info("%s: this server holds the schema", self.name)
                        opening = asyncio.ensure_future(opened(session.held.result()))
                    if session.is_silent:
                        session.give_up(TimeoutError(SILENT))
                    await asyncio.sleep(LOOK)
            finally:
                if opening is not None:
                    opening.cancel()
            if opening is not None:
                logger.error("%s: %s", self.name, describe(session.ended.exception()))
            await lost()
            await asyncio.sleep(max(next_at - elapsed(), 0))
            self._session = Session(self._place)

    def persistence(self, key: Key) -> WorldPersistence:
        return _SessionPersistence(_SessionWriter(self.name, self._session), key)

    # -- reading and changing

    async def ask(self, statement: str, values: Sequence[Any]) -> list[Any]:
        session = self._session
        if not session.is_fresh:
            raise Away(self.name)
        outcome = session.put(
            Task(read=lambda connection: list(connection.execute(statement, values)))
        )
        await _done(outcome)
        if session.ended.done():
            raise Away(self.name)
        rows: list[Any] = self._result(outcome)
        return rows

    def query(self, read: Callable[[Readable], T]) -> T:
        """Return what is read; only for those who have no event loop."""
        if not self._session.held.done():
            raise CorruptStore(f"{self.name}: {state_file.IN_USE}")
        result: T = self._result(self._session.put(Task(read=read)))
        return result

    def _result(self, outcome: Future[Any]) -> Any:
        try:
            return outcome.result()
        except Exception as error:
            raise CorruptStore(f"{self.name}: {describe(error)}") from None

    @property
    # those that this process knows of by its present session
    def dead(self) -> list[int]:  # type: ignore[override]
        return self._session.dead

    def tidy(self) -> None:
        self._session.tidy()

    def wait(self) -> None:
        self.query(lambda connection: None)

    def compact(self) -> None:
        while self.dead:
            self.query(self._session.remove_some)
        self.query(_vacuum)

    def close(self) -> None:
        self._session.put(None)
        self._session.join(ENDING)
        self._session.give_up(InterruptedError(ENDED))


async def _done(future: Future[Any]) -> None:
    waiting = asyncio.wrap_future(future)
    # A task that waits may be canceled before; then asyncio would report an error that nobody read.
    waiting.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
    await asyncio.wait([waiting])


class _SessionWriter(DatabaseWriter):
    """Puts changes of a world in the queue of a session. ``last``: the outcome of the last one."""

    def __init__(self, name: str, session: Session) -> None:
        self.name = name
        self.session = session
        self.last: Future[Any] | None = None

    @property
    def dead(self) -> list[int]:  # type: ignore[override]  # those that the session knows of
        return self.session.dead

    def execute(self, statements: list[Statement]) -> None:
        self.last = self.put_task(Task([statement for statement in statements if statement.rows]))

    def tidy(self) -> None:
        self.session.tidy()

    def put_task(self, task: Task) -> Future[Any]:
        if not self.session.is_fresh:
            raise self.unknown()
        return self.session.put(task)

    def unknown(self) -> Unknown:
        """Return the error for who relied on the session."""
        ended = self.session.ended
        return Unknown(f"{self.name}: {describe(ended.exception()) if ended.done() else SILENT}")


class _SessionPersistence(WorldPersistence):
    """One world's persistence in one session; a reopened world has the later session's."""

    _writer: _SessionWriter

    def __init__(self, writer: _SessionWriter, key: Key) -> None:
        super().__init__(writer, key)

    def require(self) -> None:
        if not self._writer.session.is_fresh:
            raise Away(self._writer.name)

    def note(self, head: WorldHeader) -> Future[Any]:
        if self._ended:
            raise WorldClosed(self._key)
        statements = [put_head(self._key, self.editions[WORLD], head)]
        return self._writer.put_task(Task(statements, is_vital=False))

    async def wait(self) -> None:
        last, session = self._writer.last, self._writer.session
        if last is not None:
            await _done(last)
        while not session.is_fresh and not session.ended.done():
            await asyncio.sleep(LOOK)
        # A change that could not be stored has ended the session, and so has one before it.
        if session.ended.done():
            raise self._writer.unknown()


def _vacuum(connection: Readable) -> None:
    connection.execute("SET statement_timeout = 0")
    for table in ("emulator_worlds", "emulator_records", "emulator_snapshots"):
        connection.execute(f"VACUUM {table}")
