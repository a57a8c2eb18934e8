"""The emulator as a test uses it, in ``with`` and in ``async with``, and in many worlds at once.

For asyncio every call is a coroutine, so that an application on the same loop can respond
meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from emulator.checks.runs import AFTERWARDS
from emulator.testing import awaited
from emulator.testing.base_emulator import BaseEmulator, client_options
from emulator.testing.in_process import running_loop

if TYPE_CHECKING:
    from emulator.checks.app.report import AppReport
    from emulator.testing.objects import EventType


class AsyncWebhooks(awaited.AsyncWebhooks):
    async def forward_to(self, target: Any, path: str = "/webhooks") -> None:
        """Forward as :meth:`Webhooks.forward_to`; an ASGI application runs on this event loop."""
        loop = asyncio.get_running_loop()
        await asyncio.to_thread(self.plain.forward_to, target, path, loop=loop)


class AsyncEmulator(awaited.AsyncEmulator):
    """The target of ``async with Emulator()`` and ``async with AsyncEmulator(payments)``.

    It has the helpers and methods of :class:`Emulator`, such as ``await
    emulator.clock.advance("31d")``; ``client`` is an ``httpx.AsyncClient`` with the URL and the
    key, closed at the end of the block.
    """

    def __init__(self, plain: Emulator) -> None:
        import httpx

        super().__init__(plain)
        self.url, self.key = plain.url, plain.key
        self.api, self.ledger = awaited.AsyncApi(plain.api), awaited.AsyncLedger(plain.ledger)
        self.events, self.emails = (
            awaited.AsyncEvents(plain.events),
            awaited.AsyncEmails(plain.emails),
        )
        self.clock, self.webhooks = (
            awaited.AsyncWorldClock(plain.clock),
            AsyncWebhooks(plain.webhooks),
        )
        self.client = httpx.AsyncClient(**client_options(plain))

    @asynccontextmanager
    async def expect(self, *types: EventType) -> AsyncIterator[None]:
        """``async with emulator.expect("invoice.paid"):`` fails on missing or unexpected events."""
        expectation = self.plain.expect(*types)
        await asyncio.to_thread(expectation.__enter__)
        try:
            yield
        except BaseException as error:
            expectation.__exit__(type(error), error, error.__traceback__)
            raise
        await asyncio.to_thread(expectation.__exit__, None, None, None)

    async def __aenter__(self) -> AsyncEmulator:
        if running_loop() is None:
            raise RuntimeError(
                "AsyncEmulator runs on asyncio alone. On trio, call the plain emulator in a thread:"
                " await trio.to_thread.run_sync(payments.clock.advance, '1d')"
            )
        return self

    async def __aexit__(self, *_: object) -> None:
        try:
            await self.webhooks.stop_forwarding()
        finally:
            await self.client.aclose()


class Emulator(BaseEmulator):
    """One world of the service, from ``with Emulator() as emulator:`` to the end of the block.

    ``clock`` (``running``, ``frozen``, or an instant to be frozen at), ``seed``, ``settings`` and
    ``fixtures`` set the initial state of the world. Without ``url`` a server runs in a thread of
    this process. With ``url`` (or with ``PAYMENTS_EMULATOR_URL`` in the environment) the world
    there is used as it is; it is reset only if one of these arguments is given. A ``server`` passed
    in is shared, and only the world is discarded at the end.
    """

    def test_app(
        self,
        scenario: Callable[[Emulator], object],
        /,
        *,
        only: Sequence[str] = (),
        ignore: Sequence[str] = (),
        budget: float | None = None,
        jobs: int = 1,
        whole: bool = False,
        every: bool = False,
        afterwards: str = AFTERWARDS,
    ) -> AppReport:
        """Repeat a scenario with each request and webhook that can go wrong; compare the endings.

        ``scenario(emulator)`` plays what the application does, each time in a new world that starts
        as this one did. It may return a function, which is called after faults have ended and the
        clock was moved by ``afterwards``; what that returns must be the same each time, as must the
        objects and sums of money of the world. If it yields the function instead, that is also
        called whenever ``emulator.clock`` is moved later. ``only`` has patterns of cases (``5:*``,
        ``*:twice``, ``lost``), ``ignore`` rules of the audit that count for nothing. ``budget``
        (seconds, real time) ends the search early: before one case of each kind was tried that is
        an error, later a warning, or with ``whole`` an error.
        ``every`` also tries the cases at places that are like others.
        ``jobs`` is how many runs there are at a time, in threads: then ids differ from run to run,
        and what the function returns must hold none.

        Raises ``AssertionError`` with everything that was found, ``ValueError`` for an unknown rule
        and ``LookupError`` for a pattern that names no case.
        """
        __tracebackhide__ = True
        # Imported here: most tests make no examination, and each run of a command's examination
        # starts anew.
        from emulator.checks.app.scenario import try_scenario
        from emulator.insight.audit.audit import rules

        known = [rule.name for rule in rules()]
        if unknown := [name for name in ignore if name not in known]:
            raise ValueError(
                f"ignore: there is no rule {unknown[0]!r}; there are {', '.join(known)}"
            )
        return try_scenario(
            self,
            scenario,
            only=only,
            ignore=ignore,
            budget=budget,
            jobs=jobs,
            whole=whole,
            every=every,
            afterwards=afterwards,
        )

    async def __aenter__(self) -> AsyncEmulator:
        self._awaited = AsyncEmulator(self)
        return await self._awaited.__aenter__()

    async def __aexit__(self, *_: object) -> None:
        try:
            await self._awaited.client.aclose()
        finally:
            await asyncio.to_thread(self.close)
