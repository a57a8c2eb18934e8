"""The takeover of stored worlds that no process runs: their process ended, or this one lost its session."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress

from emulator.engine.clock import TimeSlice
from emulator.engine.storage.store import CorruptStore, StorageError, Store
from emulator.resources.app.keys import Key

CHECK_SECONDS = 1.0
"""Seconds (real time) between two looks for such worlds, where several processes share a store."""

SECONDS = 0.05
"""Seconds (real time) of one run, of as many in between: there may be thousands of worlds, and requests come first."""


class Takeover:
    """Opens such worlds by ``open``, with pauses for requests, which open what they need themselves."""

    def __init__(self, open: Callable[[Key], object], pauses: asyncio.Lock) -> None:
        self._open = open
        self._pauses = pauses
        self._checked_at = 0.0
        self._free: list[Key] = []

    async def run(self, store: Store, room: int) -> None:
        """Open a few, no more than there is ``room`` for; the others with the next calls."""
        began = time.monotonic()
        if began - self._checked_at > CHECK_SECONDS:
            self._checked_at = began
            with suppress(StorageError):
                self._free = store.unleased()[: max(room, 0)]
        time_slice = TimeSlice(self._pauses)
        while self._free and time.monotonic() - began < SECONDS:
            # One that cannot be read must not hold up the others; a request for it says why.
            with suppress(StorageError, CorruptStore):
                self._open(self._free.pop())
            await time_slice.pause_if_over()
