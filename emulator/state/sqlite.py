"""Worlds in a SQLite file, which one process works on and others may read meanwhile."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa

from emulator.state import serialization
from emulator.state.lock import lock_file
from emulator.state.rows import FORMAT, format_of
from emulator.state.serialization import InvalidState
from emulator.state.sql import SqlStore, contents, describe_error
from emulator.state.store import CorruptStore

MAGIC = b"SQLite format 3\0"

SETTINGS = (
    "PRAGMA journal_mode = WAL",
    # A commit is safe from the death of this process as soon as it is made. Only when the whole machine loses its
    # power may the last ones be gone, the file being in order; FULL outlasts that too, at four times the time.
    "PRAGMA synchronous = NORMAL",
    # The log is worked into the file, for which a turn waits, every 40 MB and not every 4: half the cost of a turn.
    "PRAGMA wal_autocheckpoint = 10000",
)


class SqliteStore(SqlStore):
    """A file, locked for this process."""

    def __init__(self, path: Path) -> None:
        self._lock = lock_file(path)
        try:
            look(path)
            # What it holds, the secrets of webhook endpoints included, is for its owner alone.
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
            super().__init__(opened(path), str(path))
        except BaseException as fault:
            self._lock.release()
            if isinstance(fault, OSError):
                raise CorruptStore(f"{path}: cannot be opened: {fault.strerror}") from None
            raise

    def compact(self) -> None:
        with self._opening():
            self._connection.connection.cursor().execute("VACUUM")

    def close(self) -> None:
        super().close()
        self._lock.release()


def opened(path: Path) -> sa.Engine:
    """An engine for a file that was looked at; its transactions include changes of the tables themselves."""
    place = sa.URL.create("sqlite", database=str(path))
    engine = sa.create_engine(place, poolclass=sa.pool.StaticPool, connect_args={"check_same_thread": False})

    @sa.event.listens_for(engine, "connect")
    def set_up(connection: Any, _: object) -> None:
        connection.isolation_level = None
        for setting in SETTINGS:
            connection.execute(setting)

    @sa.event.listens_for(engine, "begin")
    def begin(connection: sa.Connection) -> None:
        connection.exec_driver_sql("BEGIN")

    return engine


def look(path: Path) -> None:
    """Look at a file without touching it. Raises :class:`BrokenState` for one that is not ours to open."""
    if not path.exists() or path.stat().st_size == 0:
        return
    with path.open("rb") as file:
        if file.read(len(MAGIC)) != MAGIC:
            raise CorruptStore(f"{path}: is not a SQLite database")
    engine = reading(path)
    try:
        with engine.connect() as connection:
            if not sa.inspect(connection).has_table(FORMAT.name):
                raise CorruptStore(f"{path}: is a SQLite database, but not one of the emulator")
            format_of(connection)
            told = connection.exec_driver_sql("PRAGMA quick_check(1)").scalar()
            if told != "ok":
                raise CorruptStore(f"{path}: is damaged: {' '.join(str(told).split())}")
    except sa.exc.DBAPIError as fault:
        raise CorruptStore(f"{path}: {describe_error(fault)}") from None
    except InvalidState as fault:
        raise CorruptStore(f"{path}: {fault}") from None
    finally:
        engine.dispose()


def read(path: Path) -> serialization.Content:
    """Everything a file holds, which is looked at down to the last page. Raises :class:`BrokenState`."""
    look(path)
    with reading(path).connect() as connection:
        told = connection.exec_driver_sql("PRAGMA integrity_check(1)").scalar()
    if told != "ok":
        raise CorruptStore(f"{path}: is damaged: {' '.join(str(told).split())}")
    return contents(reading(path), str(path))


def reading(path: Path) -> sa.Engine:
    """An engine that only reads a file."""
    place = sa.URL.create("sqlite", database=f"file:{quote(str(path))}", query={"mode": "ro", "uri": "true"})
    return sa.create_engine(place, poolclass=sa.pool.StaticPool)
