"""The story's surroundings: time that never waits, a disk that fails, receivers of webhooks."""

from __future__ import annotations

import asyncio
import errno
import os
import selectors
import shutil
import sqlite3
import tempfile
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from emulator.engine.http_client import Unreachable
from emulator.engine.real_time import RealTime
from emulator.engine.storage import tinydb_store
from emulator.engine.storage.tinydb_store import BATCH_SECONDS, TinyDBStore
from emulator.engine.time_slices import TimeSlice

# -- time: an event loop that never waits, and clocks of this process that show its time


EPOCH = 1767225600.0
"""Real time at the beginning of every story (Unix time): 2026-01-01."""

UNIT_SECONDS = 0.002
"""What a unit of work costs, about four times what it costs in fact."""

LONGEST_STRETCH = 0.25
"""Seconds that a task may work while all wait; also the last chance to end an endless one."""


class Stalled(BaseException):
    """A task held all others up too long. Not an ``Exception``: nothing handles it on its way."""


class VirtualTime:
    """Seconds since the start: work makes them pass; if all tasks wait, time jumps to a timer.

    ``stalled`` says what was wrong once a task held up all others.
    """

    def __init__(self) -> None:
        self.now = 0.0
        self.stalled: str | None = None
        self._last_pause = 0.0

    def read(self) -> float:
        return self.now

    def work(self) -> None:
        """A unit of work was done. Raises :class:`Stalled`."""
        self.now += UNIT_SECONDS
        if self.now - self._last_pause > LONGEST_STRETCH:
            self.stalled = f"other worlds waited for {self.now - self._last_pause:.2f} s"
            raise Stalled(self.stalled)

    def pause(self, seconds: float) -> None:
        """Let ready tasks run, or the next timer be due after some seconds."""
        self.now += seconds
        self._last_pause = self.now

    def wall(self) -> float:
        return EPOCH + self.now


class _Selector(selectors.SelectSelector):
    """Waits for nothing: no file is ever ready, and timers are reached at once."""

    def __init__(self, clock: VirtualTime) -> None:
        super().__init__()
        self._clock = clock

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self._clock.pause(max(timeout or 0.0, 0.0))
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop on virtual time, without threads."""

    def __init__(self, clock: VirtualTime) -> None:
        super().__init__(_Selector(clock))
        self._virtual = clock

    def time(self) -> float:
        return self._virtual.now

    def run_in_executor(
        self, executor: Any, func: Callable[..., Any], *args: Any
    ) -> asyncio.Future[Any]:  # type: ignore[override]  # as its base, but for a type variable
        future = self.create_future()

        def call() -> None:
            try:
                result = func(*args)
            except Exception as error:
                future.set_exception(error)
            else:
                future.set_result(result)

        self.call_soon(call)
        return future


@contextmanager
def virtual_time() -> Iterator[tuple[VirtualTime, VirtualLoop]]:
    """A loop on virtual time; while the context lasts, every clock of this process shows it."""
    clock = VirtualTime()
    loop = VirtualLoop(clock)
    with ExitStack() as stack:
        stack.callback(loop.close)
        for name, read in (
            ("time", clock.wall),
            ("monotonic", clock.read),
            ("perf_counter", clock.read),
        ):
            stack.enter_context(patch.object(time, name, read))
        stack.enter_context(patch.object(RealTime, "now", lambda _: clock.wall()))
        stack.enter_context(patch.object(TimeSlice, "_elapsed", staticmethod(clock.read)))
        yield clock, loop


# -- the disk, which stores worlds: any write may fail, and a crash loses what was not written


KINDS = ("memory", "tinydb", "sqlite")

INSTRUCTIONS = 5
"""Instructions of SQLite's machine between two places where a write may fail."""

_NO_LOCK = SimpleNamespace(release=lambda: None)

_connect = sqlite3.connect


class Disk:
    """One kind of state. In ``fails_in`` writes it fails, until it is repaired; None: not at all.

    ``on_save`` is called when a TinyDB file is about to be written, and what it returns once it
    was.
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
        return self.fails_in is not None

    def fail(self, writes: int) -> None:
        self.fails_in = writes
        self._handle(self._interrupts)

    def repair(self) -> None:
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
        if self.fails_in is None:
            return False
        self.fails_in = max(self.fails_in - 1, 0)
        return self.fails_in == 0

    def _interrupts(self) -> int:
        return int(self._count())

    def fsync(self, file: int) -> None:
        if self._count():
            raise OSError(errno.ENOSPC, "No space left on device")

    def connect(self, *place: Any, **options: Any) -> sqlite3.Connection:
        self._connections.append(_connect(*place, **options))
        return self._connections[-1]

    def thread(self, target: Callable[[], None], **_: object) -> _Writer:
        # a method of the store
        self._writer = _Writer(self, target.__self__)  # type: ignore[attr-defined]
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
    """A disk in its own folder: in the context, state goes there, without locks and threads."""
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
            stack.enter_context(patch.object(tinydb_store, "lock", lambda file, path: _NO_LOCK))
            stack.enter_context(patch.object(os, "fsync", disk.fsync))
        if kind == "sqlite":
            stack.enter_context(patch.object(sqlite3, "connect", disk.connect))
        yield disk


# -- the network: webhook receivers that succeed, fail, answer late, lie or call back


STATUSES = {
    "succeeds": 200,
    "accepts": 202,
    "fails": 503,
    "rejects": 404,
    "answers late": 200,
    "calls back": 200,
}
BEHAVIOURS = (*STATUSES, "hangs", "is down")

WAY = 0.003
"""Seconds for a request there and back."""

LATE = 0.4
RESPONSE_TIME = 1.0
"""Seconds that receivers have to answer."""

MOST_CALLS = 200
"""The most calls back in a story. Their effects are delivered again: it might never end."""


class Network:
    """Stands in the place of the HTTP client that sends webhooks.

    ``received`` are the ids of the deliveries that were answered 200; ``call_back`` is what a
    receiver does that calls the emulator while it handles a delivery.
    """

    def __init__(self) -> None:
        self.behaviours: dict[str, str] = {}
        self.received: set[str] = set()
        self.call_back: Callable[[str], Awaitable[object]]
        self._calls = 0

    async def exchange(
        self, url: str, headers: dict[str, str], body: Any, **others: Any
    ) -> tuple[int, str]:
        """Send as :meth:`WebhookSender.exchange`; simultaneous requests do not wait in line."""
        behaviour = self.behaviours.get(url, "succeeds")
        await asyncio.sleep(LATE if behaviour == "answers late" else WAY)
        if behaviour == "hangs":
            await asyncio.sleep(1000 * RESPONSE_TIME)
        if behaviour == "is down":
            raise Unreachable("cannot connect")
        if behaviour == "calls back" and self._calls < MOST_CALLS:
            self._calls += 1
            # A request of its own, which goes on if the delivery does not wait for it.
            await asyncio.shield(asyncio.ensure_future(self.call_back(url)))
        status = STATUSES[behaviour]
        if status == 200:
            self.received.add(headers.get("Emulator-Delivery", ""))
        return status, "{}"
