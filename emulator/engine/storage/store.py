"""A store: the interface of everything that worlds can be saved in, and its errors."""

from __future__ import annotations

import secrets
from abc import abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from emulator.core.errors import ApiError
from emulator.core.unit_of_work import Change, UnitOfWork
from emulator.core.world import World
from emulator.engine.storage import serialization
from emulator.engine.storage.serialization import RowChange, StoredWorld, WorldHeader
from emulator.resources.app.clients import Key


class CorruptStore(Exception):
    """An unusable state, left as it is; the message names the state and the cause, in one line."""


class NoStore(CorruptStore):
    """No store can be read there: a wrong place, one in use, or a database that does not respond.

    Whether a store is damaged remains unknown.
    """


class StorageError(ApiError):
    """A change could not be stored; it is undone, and the client gets 500 ``DATABASE_ERROR``."""

    def __init__(self, why: str, message: str | None = None, **options: Any) -> None:
        self.why = why
        message = message or f"The state cannot be stored, so nothing was done: {why}"
        super().__init__("DATABASE_ERROR", message=message, **options)


class WorldClosed(StorageError):
    """The world was closed while a request was under way in it."""

    def __init__(self, key: Key) -> None:
        super().__init__(f"the world {key.name} was closed meanwhile")


class Away(StorageError):
    """No database, or another server has its content; the client gets 503 with ``Retry-After``."""

    def __init__(self, name: str) -> None:
        message = (
            "The database is away, or another server holds its schema, so nothing was done. Try"
            " again."
        )
        super().__init__(
            f"{name}: this server does not have it at the moment",
            message,
            http_status=503,
            retry_after=1,
        )


class Unknown(StorageError):
    """The session with the database ended before a change was stored, as far as is known."""

    def __init__(self, why: str) -> None:
        message = (
            "It is not known whether the last changes are stored; send the request again with its"
            f" key: {why}"
        )
        super().__init__(why, message)


WORLD = ""
"""The name of the world itself among those of its snapshots."""


class Loaded(NamedTuple):
    """A key's stored state: world or None, named snapshots, oldest first, editions of all."""

    world: StoredWorld | None
    snapshots: Mapping[str, StoredWorld]
    editions: Mapping[str, int] = {}


NOTHING = Loaded(None, {})

Pause = Callable[[], Awaitable[None]]
"""Called between two parts of work that grows with a world: it lets others run."""


@dataclass
class Edition:
    """All records of a world or snapshot, stored in parts; they count once the whole is put.

    Its ``number`` is drawn at random, so that nobody has to know those there are. ``rows`` are not
    stored yet.
    """

    rows: Iterator[RowChange]
    number: int = field(default_factory=lambda: secrets.randbits(53))


class Writer(Protocol):
    """Takes each change of a world as a whole, or raises ``StorageError`` and takes nothing."""

    @abstractmethod
    def write(self, key: Key, edition: int, rows: Iterable[RowChange], head: WorldHeader) -> None:
        """Store what changed in a world."""

    def store_part(self, key: Key, edition: Edition) -> bool:
        """Store some rows of an edition not yet put; False if the rest will go with the put."""
        return False

    @abstractmethod
    def put(self, key: Key, name: str, edition: Edition | None, head: WorldHeader | None) -> None:
        """Put an edition, with its remaining rows, in the place of the world or snapshot so named.

        A snapshot is the newest then; None deletes the one that there is.
        """

    @abstractmethod
    def remove(self, key: Key) -> None:
        """Delete a world and its snapshots."""

    def free(self, editions: Iterable[int]) -> None:
        """Note that editions count no more: :meth:`tidy` removes their records."""
        return

    def tidy(self) -> None:
        """Remove some records that count no more, at most as many as :meth:`store_part` stores."""
        return


class Store(Protocol):
    """Stores worlds.

    Methods that only a database in another process needs do here what a file needs:
    everything is at hand, and each change is stored at once.
    """

    name: str
    """Its name in messages: the path of the file, or the URL without a password."""

    is_remote: bool = False
    """Whether another process keeps it, which may be away."""

    @abstractmethod
    def stored(self) -> list[Key]:
        """Return the keys of all stored worlds. Raises :class:`CorruptStore`."""

    @abstractmethod
    def load(self, key: Key) -> Loaded:
        """Return what is stored of a key, at once. Raises :class:`CorruptStore`."""

    async def read(self, key: Key, pause: Pause) -> Loaded:
        """Return the same in parts without blocking the event loop. Raises :class:`Away`, too."""
        return self.load(key)

    async def follow(
        self, opened: Callable[[list[Key]], Awaitable[None]], lost: Callable[[], Awaitable[None]]
    ) -> None:
        """Call ``opened`` with the stored worlds when the store is gained, ``lost`` when lost."""
        return

    def tidy(self) -> None:
        """Remove some records that count no more; called twenty times a second."""
        return

    @abstractmethod
    def persistence(self, key: Key) -> WorldPersistence:
        """Return the persistence of the world of a key, which is opened now."""

    def wait(self) -> None:
        """Wait, without an event loop, until all is stored. Raises :class:`CorruptStore`."""
        return

    def unsaved(self) -> str | None:
        """Return the message on changes with a response that are not stored, or None."""
        return None

    @abstractmethod
    def compact(self) -> None:
        """Take no more disk space than needed."""

    @abstractmethod
    def close(self) -> None:
        """Write pending changes and release everything."""


STORED: Future[None] = Future()
"""The outcome of what is stored already."""

STORED.set_result(None)


class WorldPersistence:
    """One world in a store, from its opening to its end: here with a writer that stores each change
    at once.

    Every method raises ``StorageError``, and then has stored nothing.
    """

    def __init__(self, writer: Writer, key: Key) -> None:
        self.editions: dict[str, int] = {}
        self._writer = writer
        self._key = key
        self._ended = False

    def require(self) -> None:
        """Raise :class:`Away` unless the store is surely this process's; call before any work."""

    async def wait(self) -> None:
        """Wait until all is stored. Raises :class:`Unknown` where that is not certain."""

    def add(self, world: World, unit: UnitOfWork, head: WorldHeader) -> None:
        """Store a unit of work; one that cannot be stored is undone."""
        try:
            if unit.cleared:
                kept = serialization.saved(serialization.WorldSnapshot(world, head))
                self.put(WORLD, Edition(serialization.rows_of(kept)), head)
            else:
                self.write(world, unit.changes, head)
        except StorageError:
            world.undo(unit)
            raise

    def write(self, world: World, changes: Iterable[Change], head: WorldHeader) -> None:
        """Store changes that somebody relies on: the response waits for them (B-103)."""
        rows = serialization.row_changes(world, changes)
        self._open_writer.write(self._key, self.editions[WORLD], rows, head)

    def note(self, head: WorldHeader) -> Future[Any]:
        """Store clock and counters that nobody relies on, now or later, and return the outcome."""
        self._open_writer.write(self._key, self.editions[WORLD], (), head)
        return STORED

    @asynccontextmanager
    async def prepared(self, saved: StoredWorld, pause: Pause) -> AsyncIterator[Edition]:
        """Store what is needed to put another world, or a snapshot, at once while the context
        lasts.

        What is not put by then counts no more. With as many records as are stored here, as many are
        removed that count no more, so that those never grow without bound, however often worlds are
        replaced.
        """
        edition = Edition(serialization.rows_of(saved))
        try:
            self._open_writer.tidy()
            while self._open_writer.store_part(self._key, edition):
                await self.wait()
                await pause()
                self._open_writer.tidy()
            yield edition
        finally:
            if edition.number not in self.editions.values():
                self._writer.free([edition.number])

    def put(self, name: str, edition: Edition | None, head: WorldHeader | None) -> None:
        """Store another world or snapshot in place of the name's; None deletes a snapshot."""
        self._open_writer.put(self._key, name, edition, head)
        former = self.editions.pop(name, None)
        self._writer.free([] if former is None else [former])
        if edition is not None:
            self.editions[name] = edition.number

    def remove(self) -> None:
        """Delete the world and its snapshots, and store nothing more."""
        self._open_writer.remove(self._key)
        self._writer.free(self.editions.values())
        self.end()

    def end(self) -> None:
        """Store nothing more: from now on the world may be read again, here or elsewhere."""
        self._ended = True

    @property
    def _open_writer(self) -> Writer:
        if self._ended:
            raise WorldClosed(self._key)
        return self._writer
