"""A store in a schema of a PostgreSQL database, which one server at a time holds; a second one waits until it may.

Nothing on the event loop waits for the database. Changes are put in a queue, and the thread of the session stores all
that wait in one transaction; whoever answers a request waits until its changes are stored. A database that fails, or
does not answer in time, costs the session: all worlds are closed, and once the schema is held again they are read as
they are stored.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from concurrent.futures import Future
from typing import Any

from emulator.core.unit_of_work import Change
from emulator.core.world import World
from emulator.engine.storage import database_tables, serialization, state_file
from emulator.engine.storage.database_tables import Statement
from emulator.engine.storage.postgres_session import (
    ENDED,
    LOOK,
    PATIENCE,
    SILENT,
    DatabaseSession,
    Session,
    Task,
    address,
    describe,
    now,
)
from emulator.engine.storage.serialization import StoredWorld, WorldHeader
from emulator.engine.storage.store import Away, CorruptStore, Durability, Loaded, Store, Unknown
from emulator.resources.app.clients import Key

logger = logging.getLogger("emulator")

RETRY = 1.0
"""Seconds from the beginning of a session to that of the next one, at least."""

ENDING = 0.5
"""Seconds for what is under way when the server ends."""


class PostgresStore(Store):
    """Worlds in a schema, for as long as this process holds it."""

    is_remote = True

    def __init__(self, url: str) -> None:
        self._place = address(url)
        self.name = self._place.name
        self.pending: dict[Key, Future[Any]] = {}
        self._session = self._begin()
        try:
            is_free = self._session.tried.result(PATIENCE + LOOK)
        except TimeoutError:
            self._session.give_up(TimeoutError(SILENT))
            raise CorruptStore(f"{self.name}: {SILENT}") from None
        except Exception as error:
            raise CorruptStore(f"{self.name}: {describe(error)}") from None
        if not is_free:
            logger.warning("%s: another server holds this schema; this one takes over when it is free", self.name)

    def _begin(self) -> Session:
        session = Session(self._place)
        session.start()
        return session

    # -- the life of a session

    async def follow(self, opened: Callable[[list[Key]], Awaitable[None]], lost: Callable[[], Awaitable[None]]) -> None:
        while True:
            next_at = now() + RETRY
            await self._look_after(self._session, opened)
            await lost()
            await asyncio.sleep(max(next_at - now(), 0))
            self._session = self._begin()

    async def _look_after(self, session: Session, opened: Callable[[list[Key]], Awaitable[None]]) -> None:
        """Have the worlds of a session opened, and wait until it ends."""
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

    def durability(self, key: Key) -> Durability:
        return _WorldDurability(self, key, self._session)

    # -- reading

    async def read(self, key: Key) -> Loaded:
        session, task = self._session, Task(Future(), read=lambda connection: database_tables.load(connection, key))
        if not session.is_fresh:
            raise Away(self.name)
        session.put(task)
        await _done(task.done)
        if session.ended.done():
            raise Away(self.name)
        loaded: Loaded = self._outcome(task)
        return loaded

    def load(self, key: Key) -> Loaded:
        loaded: Loaded = self._wait_for(lambda connection: database_tables.load(connection, key))
        return loaded

    def stored(self) -> list[Key]:
        keys: list[Key] = self._wait_for(database_tables.keys)
        return keys

    def _wait_for(self, read: Callable[[DatabaseSession], Any]) -> Any:
        """Return what is read; only for those who have no event loop."""
        if not self._session.held.done():
            raise CorruptStore(f"{self.name}: {state_file.IN_USE}")
        task = Task(Future(), read=read)
        self._session.put(task)
        return self._outcome(task)

    def _outcome(self, task: Task) -> Any:
        try:
            return task.done.result()
        except Exception as error:
            raise CorruptStore(f"{self.name}: {describe(error)}") from None

    # -- changes

    def write(self, key: Key, world: World, changes: Iterable[Change], head: WorldHeader) -> None:
        rows = list(serialization.row_changes(world, changes))
        self._put(key, database_tables.write(key, rows, head), is_vital=bool(rows))

    def replace(self, saved: StoredWorld) -> None:
        self._put(saved.key, database_tables.replace(saved))

    def remove(self, key: Key) -> None:
        self._put(key, database_tables.remove(key))

    def put_snapshot(self, key: Key, name: str, saved: StoredWorld | None) -> None:
        self._put(key, database_tables.put_snapshot(key, name, saved))

    def _put(self, key: Key, statements: Sequence[Statement], *, is_vital: bool = True) -> None:
        if not self._session.is_fresh:
            raise self.unknown(self._session)
        task = Task(Future(), statements, is_vital=is_vital)
        if is_vital:
            self.pending[key] = task.done
        self._session.put(task)

    def unknown(self, session: Session) -> Unknown:
        """Return the error for who relied on a session."""
        return Unknown(f"{self.name}: {describe(session.ended.exception()) if session.ended.done() else SILENT}")

    def wait(self) -> None:
        self._wait_for(lambda connection: None)

    def compact(self) -> None:
        self._wait_for(_vacuum)

    def close(self) -> None:
        self._session.put(None)
        self._session.join(ENDING)
        self._session.give_up(InterruptedError(ENDED))


async def _done(future: Future[Any]) -> None:
    """Wait until something is done or has failed."""
    waiting = asyncio.wrap_future(future)
    # Whoever waits may be canceled before; then asyncio would report an error that nobody looked at.
    waiting.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
    await asyncio.wait([waiting])


class _WorldDurability(Durability):
    """The durability of one world in one session; a world that is opened again has that of the later session."""

    def __init__(self, store: PostgresStore, key: Key, session: Session) -> None:
        self._store = store
        self._key = key
        self._session = session

    def require(self) -> None:
        if not self._session.is_fresh:
            raise Away(self._store.name)

    async def wait(self) -> None:
        pending, session = self._store.pending.get(self._key), self._session
        if pending is not None and not pending.done():
            await _done(pending)
        while not session.is_fresh and not session.ended.done():
            await asyncio.sleep(LOOK)
        if session.ended.done():
            raise self._store.unknown(session)


def _vacuum(connection: DatabaseSession) -> None:
    connection.execute("SET statement_timeout = 0")
    for table in ("emulator_worlds", "emulator_records", "emulator_snapshots"):
        connection.execute(f"VACUUM {table}")
