"""A store in a TinyDB file: a thread takes changes from a list into the tables and saves them.

So a change costs a request nothing but its place in the list. Twice a second all that waits goes
into the tables, in bulk operations on each, and the file is written.
"""

from __future__ import annotations

import errno
import logging
import os
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from filelock import FileLock, Timeout
from tinydb import TinyDB, where
from tinydb.middlewares import CachingMiddleware
from tinydb.storages import Storage
from tinydb.table import Document, Table

from emulator.engine.storage import serialization, state_file
from emulator.engine.storage.serialization import Content, RowChange, StoredWorld, WorldHeader
from emulator.engine.storage.store import (
    NOTHING,
    WORLD,
    CorruptStore,
    Edition,
    Loaded,
    NoStore,
    StorageError,
    Store,
    WorldPersistence,
    Writer,
)
from emulator.resources.app.clients import Key

# -- the file


class AtomicStorage(Storage):
    """TinyDB's storage in an always whole file: ``TinyDB("shop.json", storage=AtomicStorage)``."""

    def __init__(self, path: str | Path) -> None:
        # The file itself: a link is not replaced by it.
        self.path = Path(path).resolve()
        self._identity = state_file.identity(self.path)

    def read(self) -> dict[str, dict[str, Any]] | None:
        """Return the tables, None if there are none. Raises ``OSError`` and ``ValueError``."""
        text = self.path.read_bytes() if self.path.exists() else b""
        try:
            tables: dict[str, dict[str, Any]] | None = msgspec.json.decode(text) if text else None
        except (msgspec.DecodeError, RecursionError) as error:
            raise ValueError(f"is not JSON: {error}") from None
        return tables

    def write(self, data: Mapping[str, Mapping[str, Any]]) -> None:
        """Replace the file by these tables, sorted. Raises ``OSError``, also if it was replaced."""
        if state_file.identity(self.path) != self._identity:
            raise OSError(errno.ESTALE, state_file.REPLACED)
        tables = {
            name: dict(sorted(table.items(), key=lambda item: int(item[0])))
            for name, table in data.items()
        }
        part = self.path.with_name(f".{self.path.name}.part")
        try:
            # A new file: what was left there is removed, so that neither its mode nor a link is
            # taken over.
            part.unlink(missing_ok=True)
            with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(msgspec.json.format(msgspec.json.encode(tables), indent=1))
                file.flush()
                os.fsync(file.fileno())
            made = state_file.identity(part)
            part.replace(self.path)
            self._identity = made
        except OSError:
            part.unlink(missing_ok=True)
            raise
        _make_renames_durable(self.path.parent)


class CachedStorage(CachingMiddleware):
    """TinyDB's cache in front of the file; it writes when it is flushed and never by itself."""

    WRITE_CACHE_SIZE = sys.maxsize


def _make_renames_durable(folder: Path) -> None:
    with suppress(PermissionError):  # Windows opens no folders, and needs no fsync of them
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def read(path: Path) -> Content:
    """Return the contents of a file. Raises :class:`CorruptStore`; the file is left as it is."""
    state_file.checked(path, to_write=False)
    return _opened(path)[1]


def _opened(path: Path) -> tuple[TinyDB, Content]:
    """Return a file's tables, which change it only when flushed, and their present contents."""
    try:
        # it has no types
        base = TinyDB(path, storage=CachedStorage(AtomicStorage))  # type: ignore[no-untyped-call]
        if base.storage.read() is None:
            base.storage.write(serialization.tables([]))
        return base, serialization.content(base.storage.read())
    except OSError as error:
        raise NoStore(f"{path}: cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise CorruptStore(f"{path}: {error}") from None


def _in_order(documents: Iterable[Document]) -> list[Document]:
    return sorted(documents, key=attrgetter("doc_id"))


def _put(table: Table, rows: Mapping[int, Any]) -> None:
    """Add, replace or (None) remove documents by their numbers, in one operation of each sort."""
    if former := [number for number in rows if table.contains(doc_id=number)]:
        table.remove(doc_ids=former)
    if present := [
        Document(msgspec.to_builtins(row), number)
        for number, row in rows.items()
        if row is not None
    ]:
        table.insert_multiple(present)


def lock(file: Path, path: Path) -> FileLock:
    """Lock ``FILE.lock``; a process's end frees the lock. Raises :class:`CorruptStore`."""
    held = FileLock(f"{file}.lock", mode=0o600, thread_local=False)
    try:
        held.acquire(blocking=False)
    except Timeout:
        raise NoStore(f"{path}: {state_file.IN_USE}") from None
    except OSError as error:
        raise NoStore(f"{path}: cannot be locked: {error.strerror or error}") from None
    return held


# -- the store


logger = logging.getLogger("emulator")

BATCH_SECONDS = 0.5
"""Changes of this long go into one save: nothing waits over a second if a save takes half."""

FILE_RETRY_SECONDS = 1.0
"""Time until a file that could not be written is tried again."""


class TableChange(NamedTuple):
    """A document's new value, None if gone; without a number, all of a world's records are gone."""

    table: str
    number: int | None = None
    row: Any = None


class TinyDBStore(Store, Writer):
    """Worlds in one file. It rejects changes while unwritable; a crash may lose the last second."""

    def __init__(self, path: Path) -> None:
        self._path, self.name = path, str(path)
        file = state_file.checked(path)
        self._lock = lock(file, path)
        self._lock_file = Path(f"{file}.lock")
        self._locked = state_file.identity(self._lock_file)
        try:
            self._base, content = _opened(path)
        except BaseException:
            self._lock.release()
            raise
        worlds, snapshots = self._base.table("worlds"), self._base.table("snapshots")
        self._numbers = {serialization.key(row["key"]): row.doc_id for row in _in_order(worlds)}
        self._snapshots = {
            (serialization.key(row["key"]), row["name"]): row.doc_id for row in _in_order(snapshots)
        }
        self._kinds = defaultdict(
            set, {str(key): set(saved.rows) for key, saved in content.worlds.items()}
        )
        self._failure: str | None = None
        self._waiting: list[TableChange] = []
        self._waiting_lock, self._base_lock = threading.Lock(), threading.Lock()
        self._changed, self._hurry = threading.Event(), threading.Event()
        self._closing = False
        self._saved_at = time.monotonic()
        self._save_took = 0.0
        self._writer = threading.Thread(target=self._work, name="state", daemon=True)
        self._writer.start()

    def stored(self) -> list[Key]:
        return list(self._numbers)

    def load(self, key: Key) -> Loaded:
        if key not in self._numbers:
            return NOTHING
        with self._up_to_date() as base:
            rows = {
                kind: [
                    (document.doc_id, document)
                    for document in _in_order(base.table(f"{key}/{kind}"))
                ]
                for kind in sorted(self._kinds[str(key)])
            }
            head: Any = base.table("worlds").get(doc_id=self._numbers[key])
            snapshots = _in_order(base.table("snapshots").search(where("key") == str(key)))
            return Loaded(
                serialization.world_of_row(head, rows),
                {row["name"]: serialization.only_world(row["tables"]) for row in snapshots},
                {WORLD: 0},  # no number is needed: its tables have its key in their names
            )

    def persistence(self, key: Key) -> WorldPersistence:
        return WorldPersistence(self, key)

    def write(self, key: Key, edition: int, rows: Iterable[RowChange], head: WorldHeader) -> None:
        with self._changing() as waiting:
            waiting.extend(self._changes(key, rows, head))

    def put(self, key: Key, name: str, edition: Edition | None, head: WorldHeader | None) -> None:
        with self._changing() as waiting:
            if name == WORLD and edition and head:
                self._numbers.setdefault(key, _next(self._numbers))
                waiting.append(TableChange(str(key)))
                waiting.extend(self._changes(key, edition.rows, head))
                return
            if (former := self._snapshots.pop((key, name), None)) is not None:
                waiting.append(TableChange("snapshots", former))
            if edition and head:
                rows: dict[str, list[tuple[int, Any]]] = {}
                for kind, place, record in edition.rows:
                    rows.setdefault(kind, []).append((place, record))
                tables = serialization.tables([StoredWorld(key, head, rows)])
                number = self._snapshots[key, name] = _next(self._snapshots)
                waiting.append(
                    TableChange(
                        "snapshots", number, {"key": str(key), "name": name, "tables": tables}
                    )
                )

    def _changes(
        self, key: Key, rows: Iterable[RowChange], head: WorldHeader
    ) -> Iterator[TableChange]:
        # Removals come first, for the number of a record that is gone may be that of another one
        # now.
        for kind, number, record in sorted(rows, key=lambda row: row.record is not None):
            yield TableChange(f"{key}/{kind}", number, record)
        yield TableChange("worlds", self._numbers[key], serialization.row_of_world(key, head))

    def remove(self, key: Key) -> None:
        with self._changing() as waiting:
            if (number := self._numbers.pop(key, None)) is not None:
                waiting += [TableChange(str(key)), TableChange("worlds", number)]
                for owner, name in [*self._snapshots]:
                    if owner == key:
                        waiting.append(TableChange("snapshots", self._snapshots.pop((owner, name))))

    def compact(self) -> None:
        # A file that was just written is as small as it can be.
        with self._up_to_date() as base:
            base.storage.write(base.storage.read() or {})
        self._changed.set()

    def unsaved(self) -> str | None:
        if self._failure is None:
            return None
        seconds = time.monotonic() - self._saved_at
        return f"{self._failure}: what was changed in the last {seconds:.0f} seconds is not stored"

    def close(self) -> None:
        self._closing = True
        self._hurry.set()
        self._changed.set()
        self._writer.join()
        self._lock.release()

    # -- the tables and the thread

    @contextmanager
    def _changing(self) -> Iterator[list[TableChange]]:
        """Yield the list that takes changes. Raises :class:`StorageError` if writing fails."""
        try:
            self._require_lock()
        except OSError as error:
            self._failed(error)
        if self._failure is not None:
            raise StorageError(self._failure)
        with self._waiting_lock:
            yield self._waiting
        self._changed.set()

    @contextmanager
    def _up_to_date(self) -> Iterator[TinyDB]:
        """Yield the tables with every change in them."""
        with self._base_lock:
            with self._waiting_lock:
                waiting, self._waiting = self._waiting, []
            self._apply(waiting)
            yield self._base

    def _apply(self, changes: Iterable[TableChange]) -> None:
        tables: defaultdict[str, dict[int, Any]] = defaultdict(dict)
        for name, number, row in changes:
            if number is None:
                for kind in self._kinds.pop(name, ()):
                    tables.pop(f"{name}/{kind}", None)
                    self._base.drop_table(f"{name}/{kind}")
            else:
                owner, _, kind = name.partition("/")
                self._kinds[owner].add(kind)
                tables[name][number] = row
        for name, rows in tables.items():
            _put(self._base.table(name), rows)

    def _work(self) -> None:
        while not self._closing:
            self._changed.wait()
            # From the beginning of one save to that of the next, so that a slow one does not delay
            # what came during it.
            self._hurry.wait(
                FILE_RETRY_SECONDS if self._failure else max(BATCH_SECONDS - self._save_took, 0)
            )
            self._hurry.clear()
            self._changed.clear()
            self.write_down()
        self.write_down()

    def write_down(self) -> None:
        """Write the file if anything changed, as the thread does twice a second."""
        began = time.monotonic()
        try:
            self._require_lock()
            with self._up_to_date() as base:
                base.storage.flush()  # type: ignore[attr-defined]  # it is a CachedStorage
            self._failure = None
            self._saved_at, self._save_took = began, time.monotonic() - began
        except OSError as error:
            self._failed(error)

    def _failed(self, error: OSError) -> None:
        """Log why the file cannot be written, once until it can be, and try again soon."""
        if self._failure is None:
            logger.error("%s cannot be written: %s", self._path, error.strerror)
        self._failure = f"{self._path}: {error.strerror}"
        self._changed.set()

    def _require_lock(self) -> None:
        """Raise ``OSError`` if the lock is gone, so that another process may have the file."""
        if state_file.identity(self._lock_file) != self._locked:
            gone = (
                f"its lock {self._lock_file.name} was deleted or replaced; changes are rejected"
                " until it is back"
            )
            raise OSError(errno.ESTALE, gone)


def _next(numbers: Mapping[Any, int]) -> int:
    return max(numbers.values(), default=0) + 1
