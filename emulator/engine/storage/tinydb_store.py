"""A store in a TinyDB file: changes go into a batch, and a thread puts the batch into the tables and saves the file.

So a change costs a request nothing but its place in the batch. Twice a second the batch goes into the tables, in bulk
operations on each, and the file is written.
"""

from __future__ import annotations

import errno
import logging
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
from tinydb import where

from emulator.core.unit_of_work import Change
from emulator.core.world import World
from emulator.engine.storage import serialization, state_file
from emulator.engine.storage.serialization import StoredWorld, WorldHeader
from emulator.engine.storage.store import NOTHING, Loaded, StorageError, Store
from emulator.engine.storage.tinydb_file import Database, put_documents
from emulator.resources.app.clients import Key

logger = logging.getLogger("emulator")

BATCH_SECONDS = 0.5
"""Changes of this long go into one save. Nothing waits longer than a second, as long as a save takes half of one."""

RETRY_SECONDS = 1.0
"""Time until a file that could not be written is tried again."""


class Batch:
    """Changes that are not in the tables yet; a later change of the same thing replaces the earlier one."""

    def __init__(self) -> None:
        self._dropped: set[Key] = set()
        self._removed: set[Key] = set()
        self._worlds: dict[int, Any] = {}
        self._records: dict[tuple[Key, str], dict[int, Any]] = {}
        self._snapshots: dict[tuple[Key, str], StoredWorld | None] = {}

    def put_header(self, number: int, key: Key, head: WorldHeader) -> None:
        self._worlds[number] = serialization.row_of_world(key, head)

    def put_record(self, key: Key, kind: str, number: int, row: Any) -> None:
        self._records.setdefault((key, kind), {})[number] = row

    def drop_records(self, key: Key) -> None:
        self._dropped.add(key)
        self._records = {name: rows for name, rows in self._records.items() if name[0] != key}

    def remove_world(self, number: int, key: Key) -> None:
        self.drop_records(key)
        self._removed.add(key)
        self._worlds[number] = None
        self._snapshots = {name: saved for name, saved in self._snapshots.items() if name[0] != key}

    def put_snapshot(self, key: Key, name: str, saved: StoredWorld | None) -> None:
        """Add a snapshot as the newest, in place of the one of this name; None only removes that one."""
        self._snapshots.pop((key, name), None)
        self._snapshots[key, name] = saved

    def apply(self, database: Database) -> None:
        """Change the tables: first what is dropped, then what is there now."""
        for key in self._dropped:
            database.drop_records(key)
        for key in self._removed:
            database.snapshots.remove(where("key") == str(key))
        put_documents(database.worlds, self._worlds)
        for (key, kind), rows in self._records.items():
            database.put_records(key, kind, rows)
        for (key, name), saved in self._snapshots.items():
            database.snapshots.remove((where("key") == str(key)) & (where("name") == name))
            if saved is not None:
                database.snapshots.insert(msgspec.to_builtins(serialization.row_of_snapshot(key, name, saved)))


class TinyDBStore(Store):
    """Worlds in one file. It rejects changes while the file cannot be written; those of the last second may be lost."""

    def __init__(self, path: Path) -> None:
        self._path, self.name = path, str(path)
        file = state_file.checked(path)
        self._lock = state_file.lock(file, path)
        self._lock_file = Path(f"{file}.lock")
        self._locked = state_file.identity(self._lock_file)
        try:
            self._database = Database(path)
        except BaseException:
            self._lock.release()
            raise
        self._numbers = self._database.numbers()
        self._failure: str | None = None
        self._batch = Batch()
        self._batch_lock, self._database_lock = threading.Lock(), threading.Lock()
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
        with self._up_to_date() as database:
            return Loaded(database.world(self._numbers[key]), database.snapshots_of(key))

    def write(self, key: Key, world: World, changes: Iterable[Change], head: WorldHeader) -> None:
        # Removals come first, for the number of a record that is gone may be that of another one now.
        rows = sorted(serialization.row_changes(world, changes), key=lambda each: each.record is not None)
        with self._changing() as batch:
            for each in rows:
                batch.put_record(key, each.kind, each.number, each.record)
            batch.put_header(self._numbers[key], key, head)

    def replace(self, saved: StoredWorld) -> None:
        with self._changing() as batch:
            number = self._numbers.setdefault(saved.key, max(self._numbers.values(), default=0) + 1)
            batch.drop_records(saved.key)
            for kind, rows in saved.rows.items():
                for position, row in rows:
                    batch.put_record(saved.key, kind, position, serialization.row_of(row))
            batch.put_header(number, saved.key, saved.head)

    def remove(self, key: Key) -> None:
        with self._changing() as batch:
            number = self._numbers.pop(key, None)
            if number is not None:
                batch.remove_world(number, key)

    def put_snapshot(self, key: Key, name: str, saved: StoredWorld | None) -> None:
        with self._changing() as batch:
            batch.put_snapshot(key, name, saved)

    def save(self) -> None:
        self._hurry.set()

    def compact(self) -> None:
        # A file that was just written is as small as it can be.
        with self._database_lock:
            self._database.rewrite()
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

    # -- the file

    @contextmanager
    def _changing(self) -> Iterator[Batch]:
        """Yield the batch that takes changes. Raises :class:`StorageError` while the file cannot be written."""
        try:
            self._require_lock()
        except OSError as error:
            self._failed(error)
        if self._failure is not None:
            raise StorageError(self._failure)
        with self._batch_lock:
            yield self._batch
        self._changed.set()

    @contextmanager
    def _up_to_date(self) -> Iterator[Database]:
        """Return the tables with every change in them."""
        with self._database_lock:
            with self._batch_lock:
                batch, self._batch = self._batch, Batch()
            batch.apply(self._database)
            yield self._database

    def _work(self) -> None:
        while not self._closing:
            self._changed.wait()
            # From the beginning of one save to that of the next, so that a slow one does not delay what came during it.
            self._hurry.wait(RETRY_SECONDS if self._failure else max(BATCH_SECONDS - self._save_took, 0))
            self._hurry.clear()
            self._changed.clear()
            self.write_down()
        self.write_down()

    def write_down(self) -> None:
        """Write the file if anything changed, as the thread does twice a second."""
        began = time.monotonic()
        try:
            self._require_lock()
            with self._up_to_date() as database:
                database.save()
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
        """Raise ``OSError`` if the lock is no longer there, so that another process may have the file."""
        if state_file.identity(self._lock_file) != self._locked:
            gone = f"its lock {self._lock_file.name} was deleted or replaced; changes are rejected until it is back"
            raise OSError(errno.ESTALE, gone)
