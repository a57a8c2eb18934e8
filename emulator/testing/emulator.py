"""The emulator as a test uses it, in ``with`` and in ``async with``, and in many worlds at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

from emulator.checks.app.findings import AppReport
from emulator.testing.base_emulator import BaseEmulator
from emulator.testing.stories import AFTERWARDS, try_story

if TYPE_CHECKING:
    from emulator.testing.aio import AsyncEmulator


class Emulator(BaseEmulator):
    """One world of the service, from ``with Emulator() as emulator:`` to the end of the block.

    ``clock`` (``running``, ``frozen``, or an instant to be frozen at), ``seed``, ``settings`` and ``fixtures`` set the
    initial state of the world. Without ``url`` a server runs in a thread of this process. With ``url`` (or with
    ``PAYMENTS_EMULATOR_URL`` in the environment) the world there is used as it is; it is reset only if one of these
    arguments is given. A ``server`` passed in is shared, and only the world is discarded at the end.
    """

    def test_app(
        self,
        story: Callable[[Emulator], Any],
        /,
        *,
        only: Sequence[str] = (),
        budget: float | None = None,
        afterwards: str = AFTERWARDS,
        pairs: bool = False,
    ) -> AppReport:
        """Repeat a story once for each request and webhook that can go wrong in it, and compare how it ends.

        ``story(emulator)`` gets a new world each time, which starts as this one did, and plays what the application
        does in it. It may return a function, which is called after faults have ended and the clock was moved by
        ``afterwards``; what that returns must be the same each time. So must the numbers of objects by kind and status
        and their sums of money and links. ``only`` names single cases, ``budget`` (seconds, real time) ends the search
        early, ``pairs`` tries two faults at once as well.

        Raises ``AssertionError`` with everything that was found.
        """
        __tracebackhide__ = True
        return try_story(self, story, only=only, budget=budget, afterwards=afterwards, pairs=pairs)

    async def __aenter__(self) -> AsyncEmulator:
        # Loaded on first use: most tests await nothing.
        from emulator.testing.aio import AsyncEmulator

        self._awaited = AsyncEmulator(self)
        return self._awaited

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._awaited.client.aclose()
        await asyncio.to_thread(self.close)
