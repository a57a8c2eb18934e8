"""The share of a process in the worlds of a server that has several (``serve --workers``)."""

from __future__ import annotations

import zlib
from typing import Any, NamedTuple, Protocol

from emulator.resources.app.keys import Key


class Share(NamedTuple):
    """The number of this process, from 0, and how many there are. Each runs the worlds of its keys."""

    worker: int = 0
    workers: int = 1

    def worker_of(self, key: Key) -> int:
        """The process that runs the world of a key: always the same among as many."""
        return zlib.crc32(str(key).encode()) % self.workers

    def has(self, key: Key) -> bool:
        """Whether this process runs the world of a key."""
        return self.worker_of(key) == self.worker


class Neighbours(Protocol):
    """The other processes of the server."""

    async def apps(self) -> list[dict[str, Any]]:
        """The Apps whose worlds are open there, as in a list of the control API."""


ALONE = Share()
"""The share of a server that is one process: everything."""


class NoNeighbours:
    """The neighbours of a server that is one process."""

    async def apps(self) -> list[dict[str, Any]]:
        """None."""
        return []
