"""Worlds in a TinyDB file: a JSON document to read, compare and edit, written as a whole soon after each change."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
from tinydb.storages import Storage

from emulator.core.unit_of_work import Change
from emulator.core.world import World
from emulator.resources.app.keys import Key
from emulator.state import serialization
from emulator.state.lock import locked
from emulator.state.serialization import StoredWorld, WorldHeader
from emulator.state.store import CorruptStore, LeasedElsewhere, StorageError

logger = logging.getLogger("emulator")

GATHERED = 0.5
"""Seconds of changes that go into one writing; so nothing waits longer than a second."""

AGAIN = 1.0
"""Seconds until a file that could not be written is tried again."""

Kept = dict[str, dict[str, tuple[int, Any]]]
"""The records of a world: by kind and id, each with its number."""


class AtomicStorage(Storage):
    """TinyDB's storage in a JSON file that is always whole: ``TinyDB("shop.json", storage=AtomicStorage)``."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def read(self) -> dict[str, dict[str, Any]] | None:
        """The tables, or None while there is no file. Raises ``OSError`` and ``ValueError``."""
        try:
            text = self.path.read_bytes()
        except FileNotFoundError:
            return None
        try:
            found: dict[str, dict[str, Any]] = msgspec.json.decode(text)
        except msgspec.DecodeError as fault:
            raise ValueError(f"is not JSON: {fault}") from None
        return found

    def write(self, data: Mapping[str, Any]) -> None:
        """Put these tables in the place of the file: written beside it, made sure of, renamed."""
        part = self.path.with_name(f".{self.path.name}.part")
        try:
            with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
                file.write(msgspec.json.format(msgspec.json.encode(data), indent=1))
                file.flush()
                os.fsync(file.fileno())
            part.replace(self.path)
        except OSError:
            part.unlink(missing_ok=True)
            raise
        fsync_folder(self.path.parent)


def fsync_folder(folder: Path) -> None:
    """Make sure of a renaming; a system that cannot open folders does so by itself."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


class TinyStore:
    """Worlds in one file. A thread writes it; once that failed, changes are refused until it works again."""

    shared = False

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = locked(path)
        self._storage = AtomicStorage(path)
        try:
            found = read(path)
        except BaseException:
            self._lock.release()
            raise
        self._heads = {key: saved.head for key, saved in found.worlds.items()}
        self._kept = {key: _kept(saved) for key, saved in found.worlds.items()}
        self._snapshots = found.snapshots
        self._fault: str | None = None
        self._guard = threading.Lock()
        self._wake, self._hurry = threading.Event(), threading.Event()
        self._changed = self._closing = False
        self._writer = threading.Thread(target=self._work, name="state", daemon=True)
        self._writer.start()

    def unleased(self) -> list[Key]:
        return list(self._heads)

    def load(self, key: Key) -> StoredWorld | None:
        return self._saved(key) if key in self._heads else None

    def snapshots(self, key: Key) -> dict[str, StoredWorld]:
        return {name: saved for (owner, name), saved in self._snapshots.items() if owner == key}

    def write(self, key: Key, world: World, changes: Iterable[Change], head: WorldHeader) -> None:
        if key not in self._kept:
            raise LeasedElsewhere(key)
        with self._changing():
            kept = self._kept[key]
            for each in serialization.row_change(world, changes):
                if each.record is None:
                    kept.get(each.kind, {}).pop(each.id, None)
                else:
                    kept.setdefault(each.kind, {})[each.id] = (each.number, each.record)
            self._heads[key] = head

    def replace(self, saved: StoredWorld) -> None:
        with self._changing():
            self._heads[saved.key], self._kept[saved.key] = saved.head, _kept(saved)

    def remove(self, key: Key) -> None:
        with self._changing():
            self._heads.pop(key, None)
            self._kept.pop(key, None)
            for each in [each for each in self._snapshots if each[0] == key]:
                del self._snapshots[each]

    def keep_snapshot(self, key: Key, name: str, saved: StoredWorld | None) -> None:
        with self._changing():
            self._snapshots.pop((key, name), None)
            if saved is not None:
                self._snapshots[key, name] = saved

    def release(self, key: Key) -> None:
        """Nobody else is let in: the whole file is this process's."""

    def lease_requests(self, busy: Collection[Key]) -> list[Key]:
        return []

    def save(self) -> None:
        self._hurry.set()

    def compact(self) -> None:
        # Written anew it is as small as it can be.
        with self._guard:
            self._changed = True
        self._wake.set()

    def close(self) -> None:
        self._closing = True
        self._hurry.set()
        self._wake.set()
        self._writer.join()
        self._lock.release()

    # -- the file

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """The time of a change: nobody writes meanwhile, and somebody does afterwards."""
        if self._fault is not None:
            raise StorageError(self._fault)
        with self._guard:
            yield
            self._changed = True
        self._wake.set()

    def _saved(self, key: Key) -> StoredWorld:
        rows = {kind: sorted(rows.values(), key=_number) for kind, rows in self._kept[key].items() if rows}
        return StoredWorld(key, self._heads[key], rows)

    def _work(self) -> None:
        while not self._closing:
            self._wake.wait()
            self._hurry.wait(AGAIN if self._fault else GATHERED)
            self._hurry.clear()
            self._wake.clear()
            self._write_down()
        self._write_down()

    def _write_down(self) -> None:
        with self._guard:
            if not self._changed:
                return
            self._changed = False
            worlds = [self._saved(key) for key in self._heads]
            snapshots = dict(self._snapshots)
        try:
            self._storage.write(serialization.tables(worlds, snapshots))
            self._fault = None
        except OSError as fault:
            if self._fault is None:
                logger.error("%s cannot be written: %s", self._path, fault.strerror)
            self._fault = f"{self._path}: {fault.strerror}"
            self._changed = True
            self._wake.set()


def _kept(saved: StoredWorld) -> Kept:
    made: Kept = {}
    for kind, rows in saved.rows.items():
        made[kind] = {serialization.id_of(row): (number, serialization.row_of(row)) for number, row in rows}
    return made


def _number(row: tuple[int, Any]) -> int:
    return row[0]


def read(path: Path) -> serialization.Content:
    """What a file holds; nothing while there is none. Raises :class:`BrokenState`, the file being left as it is."""
    try:
        found = AtomicStorage(path).read()
        return serialization.Content({}, {}) if found is None else serialization.content(found)
    except OSError as fault:
        raise CorruptStore(f"{path}: cannot be read: {fault.strerror}") from None
    except ValueError as fault:
        raise CorruptStore(f"{path}: {fault}") from None
