"""A store in a SQLite file, by Python's ``sqlite3``; an open file belongs to one server.

``locking_mode = EXCLUSIVE`` locks the file itself, through whatever path or mount it is found.
POSIX frees the locks of a process as soon as that process closes any descriptor of the file. So the
file is opened by SQLite alone, which knows of this, and never read by our own code.
"""

from __future__ import annotations

import logging
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from urllib.parse import quote

from emulator.engine.storage import database_tables, serialization, state_file
from emulator.engine.storage.database_tables import (
    DatabaseStore,
    DatabaseWriter,
    Readable,
    Statement,
    T,
)
from emulator.engine.storage.serialization import Content
from emulator.engine.storage.store import CorruptStore, NoStore, StorageError, WorldPersistence
from emulator.resources.app.clients import Key

logger = logging.getLogger("emulator")

SETTINGS = (
    "PRAGMA journal_mode = WAL",
    # A commit survives the death of this process. A power failure may lose the last commits but
    # does not damage the file; FULL would not lose them and takes four times as long.
    "PRAGMA synchronous = NORMAL",
    # A commit waits while the log is copied into the file: every 10 MB, for every 4 costs more, and
    # 40 make it wait 50 ms.
    "PRAGMA wal_autocheckpoint = 2500",
)


class SqliteStore(DatabaseStore, DatabaseWriter):
    def __init__(self, path: Path) -> None:
        self._path, self.name = path, str(path)
        self._file = state_file.checked(path)
        # The file has the secrets of webhook endpoints in it, so only its owner may read it.
        with _opening(path), suppress(FileExistsError):
            os.close(os.open(self._file, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        self._connection = opened(self._file, path)
        try:
            with _opening(path):
                for setting in SETTINGS:
                    self._connection.execute(setting)
                if _is_new(self._connection):
                    self._execute(database_tables.create())
                self.dead = database_tables.dead(self._connection)
        except BaseException:
            self._connection.close()
            raise
        self._identity = state_file.identity(self._file)
        self._log = self._file.with_name(f"{self._file.name}-wal")
        self._log_identity = state_file.identity(self._log)
        # Until something was stored, opening it says what fails.
        self._failing = True

    def query(self, read: Callable[[Readable], T]) -> T:
        with _opening(self._path):
            try:
                return read(self._connection)
            except sqlite3.Error as error:
                raise self._failure(f"{self.name}: {describe(error)}") from None

    def persistence(self, key: Key) -> WorldPersistence:
        return WorldPersistence(self, key)

    def execute(self, statements: list[Statement]) -> None:
        if (why := self.unsaved()) is not None:
            raise self._failure(why)
        try:
            self._execute(statements)
        except sqlite3.Error as error:
            raise self._failure(f"{self.name}: {describe(error)}") from None
        self._failing = False

    def unsaved(self) -> str | None:
        return (
            None
            if state_file.identity(self._file) == self._identity
            else f"{self.name}: {state_file.REPLACED}"
        )

    def tidy(self) -> None:
        if self.dead and self.unsaved() is None:
            with suppress(StorageError):  # it is tried again at the next tick
                self.query(partial(database_tables.remove_some, dead=self.dead, row="rowid"))

    def compact(self) -> None:
        with _opening(self._path):
            while self.dead:
                database_tables.remove_some(self._connection, self.dead, "rowid")
            self._connection.execute("VACUUM")

    def close(self) -> None:
        self._connection.close()
        # SQLite leaves the log of a file that it no longer finds, and would carry it out on
        # whatever has its name now.
        if self.unsaved() is not None and state_file.identity(self._log) == self._log_identity:
            self._log.unlink(missing_ok=True)

    def _failure(self, why: str) -> StorageError:
        """Log why something failed, once until something is stored."""
        if not self._failing:
            logger.error("%s", why)
        self._failing = True
        return StorageError(why)

    def _execute(self, statements: list[Statement]) -> None:
        self._connection.execute("BEGIN")
        with self._connection:  # commits, or rolls back what fails
            for statement in statements:
                self._connection.executemany(statement.text, statement.rows)


# -- the file


def opened(file: Path, path: Path) -> sqlite3.Connection:
    """Return a connection, now exclusive, to a file with the emulator's tables or none at all.

    Raises :class:`CorruptStore`, with the ``path`` that led to the file. Then the file is as it
    was.
    """
    with _opening(path):
        can_be_written = bool(file.stat().st_mode & 0o222)
        url = f"file:{quote(str(file))}?mode={'rw' if can_be_written else 'ro'}"
        connection = sqlite3.connect(
            url, uri=True, timeout=0, isolation_level=None, check_same_thread=False
        )
        try:
            if can_be_written:  # SQLite cannot do so with others
                connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            if not _is_new(connection):
                if not list(
                    connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'emulator_format'")
                ):
                    raise CorruptStore(f"{path}: is a SQLite database, but not one of the emulator")
                database_tables.check_format(connection)
                _check_pages(connection, path, "quick_check")
        except BaseException:
            connection.close()
            raise
    return connection


def _is_new(connection: sqlite3.Connection) -> bool:
    return not list(connection.execute("SELECT 1 FROM sqlite_master"))


def _check_pages(connection: sqlite3.Connection, path: Path, check: str) -> None:
    """Read every page; ``integrity_check`` also compares the indexes with the rows."""
    ((verdict,),) = connection.execute(f"PRAGMA {check}(1)")
    if verdict != "ok":
        raise CorruptStore(f"{path}: is damaged: {' '.join(str(verdict).split())}")


def read(path: Path) -> Content:
    """Check every page of a file and return everything in it. Raises :class:`CorruptStore`."""
    with (
        closing(opened(state_file.checked(path, to_write=False), path)) as connection,
        _opening(path),
    ):
        if _is_new(connection):
            return Content({}, {})
        _check_pages(connection, path, "integrity_check")
        return database_tables.content(connection)


@contextmanager
def _opening(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise NoStore(f"{path}: cannot be opened: {error.strerror}") from None
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0)
        if code == sqlite3.SQLITE_BUSY:
            raise NoStore(f"{path}: {state_file.IN_USE}") from None
        why = "is not a SQLite database" if code == sqlite3.SQLITE_NOTADB else describe(error)
        raise CorruptStore(f"{path}: {why}") from None
    except database_tables.DAMAGE as error:
        raise CorruptStore(f"{path}: {serialization.reason(error)}") from None


def describe(error: Exception) -> str:
    """Return SQLite's message on one line, without quoted text that is no UTF-8."""
    return " ".join(str(error).partition(" with text ")[0].split())
