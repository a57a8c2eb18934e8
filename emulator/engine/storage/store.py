"""A store: the interface of everything that worlds can be saved in, and its errors."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Awaitable, Callable, Collection, Iterable
from typing import Protocol

from emulator.core.errors import ApiError
from emulator.core.unit_of_work import Change
from emulator.core.world import World
from emulator.engine.storage.serialization import StoredWorld, WorldHeader
from emulator.resources.app.clients import Key


class CorruptStore(Exception):
    """A state that cannot be used and was left as it is; the message says which one and why, in one line."""


class StorageError(ApiError):
    """A change could not be stored; it is undone, and the client gets 500 ``DATABASE_ERROR``."""

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__("DATABASE_ERROR", message=f"The state cannot be stored, so nothing was done: {why}")


class LeasedElsewhere(StorageError):
    """Another process runs this world at the moment; the client gets 503 with ``Retry-After``."""

    def __init__(self, key: Key) -> None:
        message = f"The world {key.name} is run by another process; it was asked to hand it over. Try again."
        self.why = message
        ApiError.__init__(self, "DATABASE_ERROR", http_status=503, message=message, retry_after=1)


class NotDurable(StorageError):
    """The database ended before changes were on its disk. The worlds are read again once it is there again."""

    def __init__(self, why: str) -> None:
        self.why = why
        message = f"The connection to the database was lost: it is not known whether the last changes are stored: {why}"
        ApiError.__init__(self, "DATABASE_ERROR", message=message)


Durable = Callable[[], Awaitable[None]]


class Store(Protocol):
    """Stores worlds. Every change is stored as a whole, or raises :class:`StorageError` and nothing of it is stored.

    What only some stores need has the form here that it has for the others: one process, each change stored at once.
    """

    name: str
    """What messages call it: the path of the file, or the URL without a password."""

    shared: bool = False
    """Whether other processes may use it at the same time."""

    @abstractmethod
    def stored(self) -> list[Key]:
        """Return the keys of the stored worlds that no process runs."""

    @abstractmethod
    def load(self, key: Key) -> StoredWorld | None:
        """Return the world of a key, which this process runs from now on; None if it is not stored yet.

        Raises :class:`LeasedElsewhere` if another process runs it, and :class:`CorruptStore`.
        """

    def ask_for(self, key: Key) -> None:
        """Ask the process that runs this world to release it; there is one only where stores are shared."""
        return

    @abstractmethod
    def snapshots(self, key: Key) -> dict[str, StoredWorld]:
        """Return the named snapshots of a world, oldest first."""

    @abstractmethod
    def write(self, key: Key, world: World, changes: Iterable[Change], head: WorldHeader) -> None:
        """Store the changes of one or more units of work."""

    @abstractmethod
    def replace(self, saved: StoredWorld) -> None:
        """Store this world in place of what is stored of it."""

    @abstractmethod
    def remove(self, key: Key) -> None:
        """Delete a world and its snapshots."""

    @abstractmethod
    def put_snapshot(self, key: Key, name: str, saved: StoredWorld | None) -> None:
        """Store a snapshot as the newest; None deletes the one of this name."""

    def release(self, key: Key) -> None:
        """Let other processes run this world, which may be open in part; it stays stored. Raises nothing."""
        return

    def lease_requests(self, busy: Collection[Key]) -> list[Key]:
        """Return the worlds that this process has to release.

        They are those that other processes ask for and that are not ``busy``, and those that it lost the lease of.
        """
        return []

    def durability(self) -> Durable | None:
        """Return a function that waits until all that was stored outlasts a crash of the store; None if it always does.

        It knows what this session of the store has stored, and raises :class:`NotDurable` once the session is lost.
        """
        return None

    def save(self) -> None:
        """Write pending changes at once; only a store that collects changes has any."""
        return

    def unsaved(self) -> str | None:
        """Return the message on answered changes that are not stored; None if there are none."""
        return None

    @abstractmethod
    def compact(self) -> None:
        """Take no more disk space than needed."""

    @abstractmethod
    def close(self) -> None:
        """Write pending changes and release everything."""
