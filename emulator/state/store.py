"""A store: what keeps worlds for as long as no process runs them, and what it can refuse."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Protocol

from emulator.core.unit_of_work import Change
from emulator.core.world import World
from emulator.errors import ApiError
from emulator.resources.app.keys import Key
from emulator.state.serialization import StoredWorld, WorldHeader


class CorruptStore(Exception):
    """A state that cannot be used and was left as it is; the message says which and why, in one line."""


class StorageError(ApiError):
    """What was to be kept could not be; it is undone, and the client told 500 ``DATABASE_ERROR``."""

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__("DATABASE_ERROR", message=f"The state cannot be stored, so nothing was done: {why}")


class LeasedElsewhere(StorageError):
    """Another process runs this world at the moment; the client is told 503 and when to try again."""

    def __init__(self, key: Key) -> None:
        message = f"The world {key.name} is run by another process; it was asked to hand it over. Try again."
        self.why = message
        ApiError.__init__(self, "DATABASE_ERROR", http_status=503, message=message, retry_after=1)


class Store(Protocol):
    """Keeps worlds. Everything raises :class:`NotStored` for what cannot be kept now, and then has kept none of it."""

    shared: bool
    """Whether other processes may use it at the same time."""

    def unleased(self) -> list[Key]:
        """The keys of the worlds that are kept here and that no process runs."""

    def load(self, key: Key) -> StoredWorld | None:
        """The world of a key, which this process runs from now on; None if there is none yet.

        Raises :class:`Elsewhere` where another process runs it, and :class:`BrokenState`.
        """

    def snapshots(self, key: Key) -> dict[str, StoredWorld]:
        """The named snapshots of a world, oldest first."""

    def write(self, key: Key, world: World, changes: Iterable[Change], head: WorldHeader) -> None:
        """Keep what these changes made of a world: all of it or nothing."""

    def replace(self, saved: StoredWorld) -> None:
        """Keep this world in place of what was kept of it."""

    def remove(self, key: Key) -> None:
        """Forget a world and its snapshots."""

    def put_snapshot(self, key: Key, name: str, saved: StoredWorld | None) -> None:
        """Keep a snapshot as the newest; None forgets the one of this name."""

    def release(self, key: Key) -> None:
        """Let others run this world; what is kept of it stays."""

    def lease_requests(self, busy: Collection[Key]) -> list[Key]:
        """The keys of worlds this process has to let go: others ask for them and they are not ``busy``, or it may not
        run them any longer."""

    def save(self) -> None:
        """Write down at once what is not yet; for a store that waits a little."""

    def compact(self) -> None:
        """Take no more room than is needed."""

    def close(self) -> None:
        """Write down what is not yet, and let others in."""
