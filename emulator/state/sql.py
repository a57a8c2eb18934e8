"""A store in a SQL database: every unit of work is one transaction, committed before its result is visible anywhere."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from emulator.core.archive import Archive
from emulator.core.unit_of_work import Change
from emulator.core.world import World
from emulator.resources.app.keys import Key
from emulator.state import serialization
from emulator.state.rows import (
    RECORDS,
    SNAPSHOTS,
    WORLDS,
    all_rows,
    as_tables,
    in_json,
    prepare,
    put_in,
    saved_in,
    snapshot_row,
    snapshots_in,
)
from emulator.state.serialization import RowChange, Rows, StoredWorld, WorldHeader
from emulator.state.sql_archive import SqlArchive, prepare_archive
from emulator.state.store import CorruptStore, LeasedElsewhere, StorageError

logger = logging.getLogger("emulator")

UNREADABLE = (ValueError, RecursionError, KeyError)
"""What reading a damaged database raises, beside its own errors, for instance for text that is no UTF-8."""


class SqlStore:
    """Worlds in one database, on one connection, which the subclasses open and lock.

    ``alone`` is a statement that keeps other processes from creating the tables at the same time. With ``archives``,
    the records of a world need not all be in memory: :meth:`archive` reads them. ``errors`` are those of the database:
    SQLAlchemy's and, where its driver is called directly, the driver's.
    """

    errors: tuple[type[Exception], ...] = (DBAPIError,)

    shared = False

    def __init__(
        self, engine: sa.Engine, name: str, alone: sa.Executable | None = None, *, archives: bool = False
    ) -> None:
        self._archives = archives
        self._engine = engine
        self.name = name
        self._numbers: dict[Key, int] = {}
        self._failing = False
        try:
            with self._opening():
                self._connect()
                prepare(self._connection, alone)
                if archives:
                    prepare_archive(self._connection, alone)
        except BaseException:
            # A pool of one connection would keep it open.
            engine.dispose()
            raise

    def _connect(self) -> None:
        self._connection = self._engine.connect()

    # -- reading

    def unleased(self) -> list[Key]:
        with self._opening(), self._transaction() as connection:
            found = connection.execute(sa.select(WORLDS.c.key).order_by(WORLDS.c.id)).scalars().all()
        return [serialization.key(text) for text in found]

    def load(self, key: Key) -> StoredWorld | None:
        with self._opening(), self._transaction() as connection:
            self._numbers[key], saved = saved_in(connection, key, self._streamed if self._archives else all_rows)
        return saved

    def archive(self, key: Key) -> Archive | None:
        return SqlArchive(self._transaction, self._number(key)) if self._archives else None

    def holder(self, id: str, kinds: Collection[str]) -> Key | None:
        if not self._archives:
            return None
        chosen = sa.select(WORLDS.c.key).join(RECORDS, RECORDS.c.world == WORLDS.c.id)
        with self._transaction() as connection:
            found = connection.execute(chosen.where(RECORDS.c.kind.in_(kinds), RECORDS.c.id == id)).scalars().first()
        return None if found is None else serialization.key(found)

    def _streamed(self, connection: sa.Connection, number: int) -> Rows:
        """The records of a world, of which few are in memory at a time; they are read after the connection is used."""
        archive = SqlArchive(self._transaction, number)
        return {kind: archive.rows(kind) for kind in archive.kinds(connection)}

    def snapshots(self, key: Key) -> dict[str, StoredWorld]:
        with self._opening(), self._transaction() as connection:
            return snapshots_in(connection, self._numbers.get(key))

    # -- changes

    def write(self, key: Key, world: World, changes: Iterable[Change], head: WorldHeader) -> None:
        number, rows = self._number(key), list(serialization.row_changes(world, changes))
        with self._reporting():
            self._write(number, rows, in_json(head))

    def _write(self, world: int, rows: Sequence[RowChange], head: str) -> None:
        """Store changed records and the head of a world, in one transaction. Raises what the driver raises.

        Every request that changes something waits for it. So the driver is called directly: SQLAlchemy would take more
        time than the database.
        """
        raise NotImplementedError

    def replace(self, saved: StoredWorld) -> None:
        with self._transaction() as connection:
            self._numbers[saved.key] = put_in(connection, saved)

    def remove(self, key: Key) -> None:
        number = self._number(key)
        with self._transaction() as connection:
            connection.execute(sa.delete(RECORDS).where(RECORDS.c.world == number))
            connection.execute(sa.delete(SNAPSHOTS).where(SNAPSHOTS.c.world == number))
            connection.execute(sa.delete(WORLDS).where(WORLDS.c.id == number))

    def put_snapshot(self, key: Key, name: str, saved: StoredWorld | None) -> None:
        number = self._number(key)
        with self._transaction() as connection:
            connection.execute(sa.delete(SNAPSHOTS).where(SNAPSHOTS.c.world == number, SNAPSHOTS.c.name == name))
            if saved is not None:
                connection.execute(snapshot_row(number, name, saved))

    def release(self, key: Key) -> None:
        self._numbers.pop(key, None)

    def lease_requests(self, busy: Collection[Key]) -> list[Key]:
        return []

    async def durable(self) -> None:
        """Does nothing: commits wait for the disk as far as they ever will."""

    def save(self) -> None:
        """Does nothing: every change is committed at once."""

    def unsaved(self) -> str | None:
        """None: what cannot be stored is rejected."""
        return None

    def close(self) -> None:
        self._connection.close()
        self._engine.dispose()

    def _number(self, key: Key) -> int:
        """The number of a world that this process runs. Raises :class:`LeasedElsewhere` once it was released."""
        if key not in self._numbers:
            raise LeasedElsewhere(key)
        return self._numbers[key]

    # -- failures

    @contextmanager
    def _transaction(self) -> Iterator[sa.Connection]:
        """One transaction, undone if it fails. Raises :class:`StorageError`."""
        with self._reporting(), self._connection.begin():
            yield self._connection

    @contextmanager
    def _reporting(self) -> Iterator[None]:
        """Raises :class:`StorageError` for an error of the database. Repeated failures are logged once."""
        try:
            yield
            self._failing = False
        except self.errors as error:
            why = f"{self.name}: {describe_error(error)}"
            if not self._failing:
                logger.error("%s", why)
            self._failing = True
            raise StorageError(why) from None

    @contextmanager
    def _opening(self) -> Iterator[None]:
        try:
            yield
        except self.errors as error:
            raise CorruptStore(f"{self.name}: {describe_error(error)}") from None
        except UNREADABLE as error:
            raise CorruptStore(f"{self.name}: {' '.join(str(error).split())}") from None


def contents(engine: sa.Engine, name: str) -> serialization.Content:
    """Everything in a database, read at one moment. Raises :class:`CorruptStore`."""
    try:
        with engine.connect() as connection:
            return serialization.content(as_tables(connection))
    except DBAPIError as error:
        raise CorruptStore(f"{name}: {describe_error(error)}") from None
    except UNREADABLE as error:
        raise CorruptStore(f"{name}: {' '.join(str(error).split())}") from None
    finally:
        engine.dispose()


def describe_error(error: Exception) -> str:
    """The message of the database, on one line. Its beginning only: it may go on with the text of a damaged row."""
    return " ".join(str(error.orig if isinstance(error, DBAPIError) else error).split())[:200]
