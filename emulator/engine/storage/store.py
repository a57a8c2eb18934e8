"""A store: the interface of everything that worlds can be saved in, its errors, and the lock on its file."""

from __future__ import annotations

import stat
from abc import abstractmethod
from collections.abc import Awaitable, Callable, Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from emulator.core.errors import ApiError
from emulator.core.unit_of_work import Change
from emulator.core.world import World
from emulator.engine.storage.serialization import StoredWorld, WorldHeader
from emulator.resources.app.clients import Key

if TYPE_CHECKING:
    from filelock import FileLock


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
    def unleased(self) -> list[Key]:
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

    @abstractmethod
    def release(self, key: Key) -> None:
        """Let other processes run this world, which may be open in part; it stays stored. Raises nothing."""

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


# -- the lock on a file: one process at a time uses it


def lock_file(path: Path) -> FileLock:
    """Lock ``FILE.lock`` beside the file itself, whatever links lead to it; the system frees it when the process ends.

    Raises :class:`CorruptStore` if it cannot be locked, is locked already, or has other names that are no links to it.
    """
    # Imported here: most servers have their worlds in memory.
    from filelock import FileLock, Timeout

    try:
        file = path.resolve()
    except (OSError, RuntimeError):
        raise CorruptStore(f"{path}: its links lead nowhere") from None
    if not file.parent.is_dir():
        raise CorruptStore(f"{path}: there is no folder {file.parent}")
    lock = FileLock(f"{file}.lock", mode=0o600, thread_local=False)
    try:
        lock.acquire(blocking=False)
    except Timeout:
        raise CorruptStore(f"{path}: another process works on it") from None
    except OSError as error:
        raise CorruptStore(f"{path}: cannot be locked: {error.strerror or error}") from None
    if (problem := _problem(file)) is not None:
        lock.release()
        raise CorruptStore(f"{path}: {problem}")
    return lock


def _problem(file: Path) -> str | None:
    """Return why worlds cannot be stored in a file of this name; None if they can, or there is none yet."""
    if file.is_dir():
        return "is a directory"
    if not file.exists():
        return None
    found = file.stat()
    if not stat.S_ISREG(found.st_mode):
        return "is not a regular file"
    if found.st_nlink > 1:
        # By another of them it would be another file, with a lock of its own.
        return f"has {found.st_nlink} names (hard links); a file that worlds are stored in has one"
    # The system would let the superuser write to the file.
    return None if found.st_mode & 0o222 else "is read-only"
