"""A store in a SQLite file, which one process uses and others may read at the same time."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa

from emulator.engine.storage import serialization
from emulator.engine.storage.rows import FORMAT, format_of, in_json
from emulator.engine.storage.serialization import RowChange
from emulator.engine.storage.sql import UNREADABLE, SqlStore, contents, describe_error
from emulator.engine.storage.store import CorruptStore, lock_file

MAGIC = b"SQLite format 3\0"

SETTINGS = (
    "PRAGMA journal_mode = WAL",
    # A commit survives the death of this process. A power failure may lose the last commits but does not damage the
    # file; FULL would not lose them and takes four times as long.
    "PRAGMA synchronous = NORMAL",
    # A commit waits while the log is copied into the file: every 40 MB instead of every 4 MB halves its cost.
    "PRAGMA wal_autocheckpoint = 10000",
)

DELETE = "DELETE FROM emulator_records WHERE world = ? AND kind = ? AND id = ?"

PUT = """INSERT INTO emulator_records (world, kind, id, number, data) VALUES (?, ?, ?, ?, ?)
 ON CONFLICT (world, kind, id) DO UPDATE SET number = excluded.number, data = excluded.data"""

HEAD = "UPDATE emulator_worlds SET head = ? WHERE id = ?"


class SqliteStore(SqlStore):
    """Worlds in one file, locked for this process."""

    errors = (sa.exc.DBAPIError, sqlite3.Error)

    def __init__(self, path: Path) -> None:
        self._lock = lock_file(path)
        try:
            check_file(path)
            # The file has the secrets of webhook endpoints in it, so only its owner may read it.
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
            super().__init__(opened(path), str(path))
        except BaseException as error:
            self._lock.release()
            if isinstance(error, OSError):
                raise CorruptStore(f"{path}: cannot be opened: {error.strerror}") from None
            raise

    def _write(self, world: int, rows: Sequence[RowChange], head: str) -> None:
        gone = [(world, row.kind, row.id) for row in rows if row.record is None]
        put = [(world, row.kind, row.id, row.number, in_json(row.record)) for row in rows if row.record is not None]
        driver: Any = self._connection.connection.driver_connection
        driver.execute("BEGIN")
        with driver:  # commits, or rolls back what fails
            driver.executemany(DELETE, gone)
            driver.executemany(PUT, put)
            driver.execute(HEAD, (head, world))

    def compact(self) -> None:
        with self._opening():
            self._connection.connection.cursor().execute("VACUUM")

    def close(self) -> None:
        super().close()
        self._lock.release()


def opened(path: Path) -> sa.Engine:
    """Return an engine for a file that was checked; its transactions include changes to the tables themselves."""
    url = sa.URL.create("sqlite", database=str(path))
    engine = sa.create_engine(url, poolclass=sa.pool.StaticPool, connect_args={"check_same_thread": False})

    @sa.event.listens_for(engine, "connect")
    def set_up(connection: Any, _: object) -> None:
        connection.isolation_level = None
        for setting in SETTINGS:
            connection.execute(setting)

    @sa.event.listens_for(engine, "begin")
    def begin(connection: sa.Connection) -> None:
        connection.exec_driver_sql("BEGIN")

    return engine


def check_file(path: Path, check: str = "quick_check") -> None:
    """Read a file without changing it. Raises :class:`CorruptStore` if it is damaged or not the emulator's.

    ``quick_check`` reads every page; ``integrity_check`` also compares the indexes with the rows.
    """
    if not path.exists() or path.stat().st_size == 0:
        return
    with path.open("rb") as file:
        if file.read(len(MAGIC)) != MAGIC:
            raise CorruptStore(f"{path}: is not a SQLite database")
    engine = read_only(path)
    try:
        with engine.connect() as connection:
            if not sa.inspect(connection).has_table(FORMAT.name):
                raise CorruptStore(f"{path}: is a SQLite database, but not one of the emulator")
            format_of(connection)
            verdict = connection.exec_driver_sql(f"PRAGMA {check}(1)").scalar()
            if verdict != "ok":
                raise CorruptStore(f"{path}: is damaged: {' '.join(str(verdict).split())}")
    except sa.exc.DBAPIError as error:
        raise CorruptStore(f"{path}: {describe_error(error)}") from None
    except UNREADABLE as error:
        raise CorruptStore(f"{path}: {serialization.reason(error)}") from None
    finally:
        engine.dispose()


def read(path: Path) -> serialization.Content:
    """Return everything in a file, every page of which is checked. Raises :class:`CorruptStore`."""
    check_file(path, "integrity_check")
    return contents(read_only(path), str(path))


def read_only(path: Path) -> sa.Engine:
    """Return an engine that can only read a file."""
    url = sa.URL.create("sqlite", database=f"file:{quote(str(path))}", query={"mode": "ro", "uri": "true"})
    return sa.create_engine(url, poolclass=sa.pool.StaticPool)
