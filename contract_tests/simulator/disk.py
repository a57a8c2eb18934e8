"""The disk: where worlds are stored; it may fail at any write, and a crash loses what was not written."""

from __future__ import annotations

import asyncio
import errno
import os
import shutil
import sqlite3
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from emulator.engine.storage import state_file, tinydb_store
from emulator.engine.storage.tinydb_store import BATCH_SECONDS, TinyDBStore

KINDS = ("memory", "tinydb", "sqlite")

INSTRUCTIONS = 5
"""Instructions of SQLite's machine between two places where a write may fail."""

_NO_LOCK = SimpleNamespace(release=lambda: None)

_connect = sqlite3.connect


class Disk:
    """One kind of state. In ``fails_in`` writes it fails, until it is repaired; None: not at all.

    ``on_save`` is called when a TinyDB file is about to be written, and what it returns once it was.
    """

    def __init__(self, kind: str, folder: Path) -> None:
        self.kind = kind
        self.folder = str(folder)
        self.url = {
            "memory": "memory",
            "tinydb": f"tinydb:{folder}/worlds.json",
            "sqlite": f"sqlite:{folder}/worlds.db",
        }[kind]
        self.fails_in: int | None = None
        self.on_save: Callable[[], Callable[[], None]] = lambda: lambda: None
        self._connections: list[sqlite3.Connection] = []
        self._writer: _Writer | None = None

    @property
    def is_failing(self) -> bool:
        """Whether it fails, or will soon."""
        return self.fails_in is not None

    def fail(self, writes: int) -> None:
        """Fail after so many more writes."""
        self.fails_in = writes
        self._handle(self._interrupts)

    def repair(self) -> None:
        """Write again."""
        self.fails_in = None
        self._handle(None)

    def _handle(self, handler: Callable[[], int] | None) -> None:
        for connection in self._connections:
            with suppress(sqlite3.ProgrammingError):  # it was closed
                connection.set_progress_handler(handler, INSTRUCTIONS)

    def crash(self) -> None:
        """Write nothing more for the process that has the files open; another one may open them."""
        self.repair()
        for connection in self._connections:
            connection.close()
        self._connections.clear()
        if self._writer is not None:
            self._writer.is_dead = True

    def _count(self) -> bool:
        """Return one more write: whether it fails."""
        if self.fails_in is None:
            return False
        self.fails_in = max(self.fails_in - 1, 0)
        return self.fails_in == 0

    def _interrupts(self) -> int:
        return int(self._count())

    def fsync(self, file: int) -> None:
        """In place of ``os.fsync``."""
        if self._count():
            raise OSError(errno.ENOSPC, "No space left on device")

    def connect(self, *place: Any, **options: Any) -> sqlite3.Connection:
        """In place of ``sqlite3.connect``."""
        self._connections.append(_connect(*place, **options))
        return self._connections[-1]

    def thread(self, target: Callable[[], None], **_: object) -> _Writer:
        self._writer = _Writer(self, target.__self__)  # type: ignore[attr-defined]  # a method of the store
        return self._writer


class _Writer:
    """In place of the thread that writes a TinyDB file: a timer on the event loop."""

    def __init__(self, disk: Disk, store: TinyDBStore) -> None:
        self._disk = disk
        self._store = store
        self.is_dead = False

    def start(self) -> None:
        asyncio.get_running_loop().call_later(BATCH_SECONDS, self._write)

    def join(self) -> None:
        self._save()
        self.is_dead = True

    def _write(self) -> None:
        if not self.is_dead:
            self._save()
            self.start()

    def _save(self) -> None:
        saved = self._disk.on_save()
        self._store.write_down()
        if self._store.unsaved() is None:
            saved()


@contextmanager
def simulated_disk(kind: str) -> Iterator[Disk]:
    """A disk in a folder of its own; while the context lasts, state is stored there, without locks and threads."""
    shared_memory = Path("/dev/shm")  # files in memory, where there is such a folder
    folder = Path(tempfile.mkdtemp(dir=shared_memory if shared_memory.is_dir() else None))
    disk = Disk(kind, folder)
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, folder)
        if kind == "tinydb":
            threads = SimpleNamespace(
                Thread=disk.thread, **{name: getattr(threading, name) for name in ("Lock", "Event")}
            )
            stack.enter_context(patch.object(tinydb_store, "threading", threads))
            stack.enter_context(patch.object(state_file, "lock", lambda file, path: _NO_LOCK))
            stack.enter_context(patch.object(os, "fsync", disk.fsync))
        if kind == "sqlite":
            stack.enter_context(patch.object(sqlite3, "connect", disk.connect))
        yield disk
