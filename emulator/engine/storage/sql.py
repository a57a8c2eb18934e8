"""A store in a SQL database: every unit of work is one transaction, committed before its result is visible anywhere."""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from emulator.core.unit_of_work import Change
from emulator.core.world import World
from emulator.engine.storage import serialization
from emulator.engine.storage.rows import (
    RECORDS,
    SNAPSHOTS,
    WORLDS,
    as_tables,
    in_json,
    prepare,
    put_in,
    saved_in,
    snapshot_row,
    snapshots_in,
)
from emulator.engine.storage.serialization import RowChange, StoredWorld, WorldHeader
from emulator.engine.storage.store import CorruptStore, LeasedElsewhere, StorageError, Store
from emulator.resources.app.clients import Key

logger = logging.getLogger("emulator")

UNREADABLE = (ValueError, RecursionError, KeyError)
"""What reading a damaged database raises, beside its own errors, for instance for text that is no UTF-8."""


class SqlStore(Store):
    """Worlds in one database, on one connection, which the subclasses open and lock.

    ``alone`` is a statement that keeps other processes from creating the tables at the same time. ``errors`` are those
    of the database: SQLAlchemy's and, where its driver is called directly, the driver's.
    """

    errors: tuple[type[Exception], ...] = (DBAPIError,)

    def __init__(self, engine: sa.Engine, name: str, alone: sa.Executable | None = None) -> None:
        self._engine = engine
        self.name = name
        self._numbers: dict[Key, int] = {}
        # Until something was stored, opening it says what fails.
        self._failing = True
        try:
            with self._opening():
                self._connect()
                prepare(self._connection, alone)
        except BaseException:
            # A pool of one connection would keep it open.
            engine.dispose()
            raise

    def _connect(self) -> None:
        self._connection = self._engine.connect()

    # -- reading

    def stored(self) -> list[Key]:
        with self._opening(), self._transaction() as connection:
            found = connection.execute(sa.select(WORLDS.c.key).order_by(WORLDS.c.id)).scalars().all()
        return [serialization.key(text) for text in found]

    def load(self, key: Key) -> StoredWorld | None:
        with self._opening(), self._transaction() as connection:
            self._numbers[key], saved = saved_in(connection, key)
        return saved

    def snapshots(self, key: Key) -> dict[str, StoredWorld]:
        with self._opening(), self._transaction() as connection:
            return snapshots_in(connection, self._numbers.get(key))

    # -- changes

    def write(self, key: Key, world: World, changes: Iterable[Change], head: WorldHeader) -> None:
        number, rows = self._number(key), list(serialization.row_changes(world, changes))
        with self._reporting():
            self._write(number, rows, in_json(head))
        self._failing = False

    @abstractmethod
    def _write(self, world: int, rows: Sequence[RowChange], head: str) -> None:
        """Store changed records and the head of a world, in one transaction. Raises what the driver raises.

        Every request that changes something waits for it. So the driver is called directly: SQLAlchemy would take more
        time than the database.
        """

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

    def close(self) -> None:
        self._connection.close()
        self._engine.dispose()

    def _number(self, key: Key) -> int:
        """Return the number of a world that this process runs. Raises :class:`LeasedElsewhere` once it was released."""
        if key not in self._numbers:
            raise LeasedElsewhere(key)
        return self._numbers[key]

    # -- failures

    @contextmanager
    def _transaction(self) -> Iterator[sa.Connection]:
        """Give one transaction, undone if it fails. Raises :class:`StorageError`."""
        with self._reporting(), self._connection.begin():
            yield self._connection

    @contextmanager
    def _reporting(self) -> Iterator[None]:
        """Raise :class:`StorageError` for an error of the database. Log it, once until something is stored."""
        try:
            yield
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
            raise CorruptStore(f"{self.name}: {serialization.reason(error)}") from None


def contents(engine: sa.Engine, name: str) -> serialization.Content:
    """Return everything in a database, read at one moment. Raises :class:`CorruptStore`."""
    try:
        with engine.connect() as connection:
            return serialization.content(as_tables(connection))
    except DBAPIError as error:
        raise CorruptStore(f"{name}: {describe_error(error)}") from None
    except UNREADABLE as error:
        raise CorruptStore(f"{name}: {serialization.reason(error)}") from None
    finally:
        engine.dispose()


def describe_error(error: Exception) -> str:
    """Return the message of the database, on one line and without the data of a row that it may go on with."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    # PostgreSQL quotes rows in the details, and values in what it says of an invalid one (class 22); SQLite and its
    # driver quote a text that is not UTF-8.
    message = getattr(getattr(cause, "diag", None), "message_primary", None) or str(cause).partition(" with text ")[0]
    if str(getattr(cause, "sqlstate", None)).startswith("22"):
        message = serialization.QUOTED.sub("…", message)
    return " ".join(message.split())
