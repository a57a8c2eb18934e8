"""A TinyDB file that holds worlds: its storage, its tables, and what can be asked of them."""

from __future__ import annotations

import errno
import os
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping
from operator import attrgetter
from pathlib import Path
from typing import Any

import msgspec
from tinydb import TinyDB, where
from tinydb.middlewares import CachingMiddleware
from tinydb.storages import Storage
from tinydb.table import Document, Table

from emulator.engine.storage import serialization, state_file
from emulator.engine.storage.serialization import Content, InvalidState, StoredWorld
from emulator.engine.storage.store import CorruptStore
from emulator.resources.app.clients import Key


class AtomicStorage(Storage):
    """TinyDB's storage in a JSON file that is always whole: ``TinyDB("shop.json", storage=AtomicStorage)``."""

    def __init__(self, path: str | Path) -> None:
        # The file itself: a link is not replaced by it.
        self.path = Path(path).resolve()
        self._identity = state_file.identity(self.path)

    def read(self) -> dict[str, dict[str, Any]] | None:
        """Return the tables, or None while there is nothing. Raises ``OSError`` and ``ValueError``."""
        try:
            text = self.path.read_bytes()
        except FileNotFoundError:
            return None
        if not text:
            return None
        try:
            tables: dict[str, dict[str, Any]] = msgspec.json.decode(text)
        except (msgspec.DecodeError, RecursionError) as error:
            raise ValueError(f"is not JSON: {error}") from None
        return tables

    def write(self, data: Mapping[str, Mapping[str, Any]]) -> None:
        """Replace the file by these tables, in the order of their numbers. Raises ``OSError``, also if somebody replaced it."""
        if state_file.identity(self.path) != self._identity:
            raise OSError(errno.ESTALE, state_file.REPLACED)
        tables = {name: dict(sorted(table.items(), key=lambda item: int(item[0]))) for name, table in data.items()}
        part = self.path.with_name(f".{self.path.name}.part")
        try:
            # A new file: what was left there is removed, so that neither its mode nor a link is taken over.
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
        _fsync_folder(self.path.parent)


class CachedStorage(CachingMiddleware):
    """TinyDB's cache in front of the file; it writes when it is flushed and never by itself."""

    WRITE_CACHE_SIZE = sys.maxsize


def _fsync_folder(folder: Path) -> None:
    """Make a rename durable; a system that cannot open folders does so by itself."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


class Database:
    """The tables of a file, read at once; it changes with :meth:`save` only. Raises :class:`CorruptStore`."""

    def __init__(self, path: Path) -> None:
        self._storage = CachedStorage(AtomicStorage)  # type: ignore[no-untyped-call]  # TinyDB's middleware has no types
        self._tinydb = TinyDB(path, storage=self._storage)
        self._kinds: dict[str, set[str]] = defaultdict(set)
        self.worlds = self._tinydb.table("worlds")
        self.snapshots = self._tinydb.table("snapshots")
        try:
            self._read()
        except OSError as error:
            raise CorruptStore(f"{path}: cannot be read: {error.strerror}") from None
        except ValueError as error:
            raise CorruptStore(f"{path}: {error}") from None

    def _read(self) -> None:
        stored = self._tinydb.storage.read()
        tables = serialization.tables([]) if stored is None else serialization.checked(stored)
        if tables is not stored:
            self._tinydb.storage.write(tables)
        self._check_keys([str(key) for key in self.content().worlds])
        for name in tables:
            owner, _, kind = name.partition("/")
            self._kinds[owner].add(kind)

    def _check_keys(self, keys: list[str]) -> None:
        """Raise :class:`InvalidState` for a world that is there twice, and for a snapshot without its world."""
        if len(keys) < len(self.worlds):
            twice = next(key for key in keys if self.worlds.count(where("key") == key) > 1)
            raise InvalidState(f"the world {twice} is there twice")
        for snapshot in self.snapshots.search(~where("key").one_of(keys)):
            raise InvalidState(f"there is a snapshot of {snapshot['key']}, but no such world")

    # -- what it holds

    def content(self) -> Content:
        """Return everything. Raises :class:`InvalidState`."""
        return serialization.content(self._tinydb.storage.read())

    def numbers(self) -> dict[Key, int]:
        """Return the number of each world in the table of worlds, in its order."""
        return {serialization.key(row["key"]): row.doc_id for row in in_order(self.worlds)}

    def world(self, number: int) -> StoredWorld:
        """Return the world of this number. Raises :class:`InvalidState`."""
        row = self.worlds.get(doc_id=number)
        if not isinstance(row, Document):
            raise InvalidState(f"there is no world {number}")
        rows = {
            kind: [(each.doc_id, each) for each in in_order(self._tinydb.table(f"{row['key']}/{kind}"))]
            for kind in sorted(self._kinds[row["key"]])
        }
        return serialization.world_of_row(row, rows)

    def snapshots_of(self, key: Key) -> dict[str, StoredWorld]:
        """Return the named snapshots of a world, oldest first. Raises :class:`InvalidState`."""
        rows = in_order(self.snapshots.search(where("key") == str(key)))
        return {row["name"]: serialization.only_world(row["tables"]) for row in rows}

    # -- changes

    def put_records(self, key: Key, kind: str, rows: Mapping[int, Any]) -> None:
        """Add, replace or (None) remove records of a world by their numbers."""
        self._kinds[str(key)].add(kind)
        put_documents(self._tinydb.table(f"{key}/{kind}"), rows)

    def drop_records(self, key: Key) -> None:
        for kind in self._kinds.pop(str(key), ()):
            self._tinydb.drop_table(f"{key}/{kind}")

    def rewrite(self) -> None:
        """Have the file written by the next :meth:`save`, changed or not."""
        self._tinydb.storage.write(self._tinydb.storage.read() or {})

    def save(self) -> None:
        """Write the file if anything changed. Raises ``OSError``; the changes are still there to be saved."""
        self._storage.flush()  # type: ignore[no-untyped-call]  # as above


def put_documents(table: Table, rows: Mapping[int, Any]) -> None:
    """Add, replace or (None) remove documents by their numbers, in one operation of each sort."""
    former = [number for number in rows if table.contains(doc_id=number)]
    if former:
        table.remove(doc_ids=former)
    present = [Document(msgspec.to_builtins(row), number) for number, row in rows.items() if row is not None]
    if present:
        table.insert_multiple(present)


def in_order(documents: Iterable[Document]) -> list[Document]:
    return sorted(documents, key=attrgetter("doc_id"))


def read(path: Path) -> Content:
    """Return the contents of a file. Raises :class:`CorruptStore`; the file is left as it is."""
    state_file.checked(path, to_write=False)
    return Database(path).content()
