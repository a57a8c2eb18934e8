"""The emulator as a test uses it, in ``with`` and in ``async with``, and in many worlds at once.

For asyncio every call is a coroutine, so that an application on the same loop can answer during it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar

from emulator.checks.app.driver import Search
from emulator.checks.app.report import AppReport
from emulator.checks.app.scenario import AFTERWARDS, try_scenario
from emulator.client.api import Api
from emulator.testing.base_emulator import BaseEmulator, client_options
from emulator.testing.webhooks import Webhooks
from emulator.testing.world_parts import Emails, Events, Ledger, WorldClock

if TYPE_CHECKING:
    from emulator.testing.objects import Email, EventType

# -- asyncio


P = ParamSpec("P")
S = TypeVar("S")
T = TypeVar("T")


class AsyncProxy(Generic[S]):
    """The asynchronous version of a ``plain`` helper."""

    def __init__(self, plain: S) -> None:
        self.plain = plain


class AsyncMethod(Generic[S, P, T]):
    """A method or a property of a plain helper as a coroutine function, which calls it in a thread."""

    def __init__(self, method: Callable[Concatenate[S, P], T]) -> None:
        self._method = getattr(method, "fget", method)
        self.__doc__ = method.__doc__

    def __get__(self, proxy: AsyncProxy[S], owner: type) -> Callable[P, Coroutine[Any, Any, T]]:
        async def call(*args: P.args, **kwargs: P.kwargs) -> T:
            return await asyncio.to_thread(self._method, proxy.plain, *args, **kwargs)

        return call


def require_asyncio() -> None:
    """Raise ``RuntimeError`` on the loop of another library, such as trio: the calls here run in threads of asyncio."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        raise RuntimeError(
            "AsyncEmulator runs on asyncio alone. On trio, call the plain emulator in a thread: "
            "await trio.to_thread.run_sync(payments.clock.advance, '1d')"
        ) from None


def _all_emails(emails: Emails) -> list[Email]:
    """Return every email so far, oldest first."""
    return list(emails)


class AsyncApi(AsyncProxy[Api]):
    get = AsyncMethod(Api.get)
    post = AsyncMethod(Api.post)
    patch = AsyncMethod(Api.patch)
    delete = AsyncMethod(Api.delete)


class AsyncClock(AsyncProxy[WorldClock]):
    now = AsyncMethod(WorldClock.now)
    datetime = AsyncMethod(WorldClock.datetime)
    show = AsyncMethod(WorldClock.show)
    advance = AsyncMethod(WorldClock.advance)
    freeze = AsyncMethod(WorldClock.freeze)
    run = AsyncMethod(WorldClock.run)
    schedule = AsyncMethod(WorldClock.schedule)
    settle = AsyncMethod(WorldClock.settle)


class AsyncEvents(AsyncProxy[Events]):
    all = of = AsyncMethod(Events.of)
    last = AsyncMethod(Events.last)
    wait_for = AsyncMethod(Events.wait_for)


class AsyncEmails(AsyncProxy[Emails]):
    all = AsyncMethod(_all_emails)
    to = AsyncMethod(Emails.to)
    of = AsyncMethod(Emails.of)
    wait_for = AsyncMethod(Emails.wait_for)
    html = AsyncMethod(Emails.html)
    raw = AsyncMethod(Emails.raw)


class AsyncLedger(AsyncProxy[Ledger]):
    totals = AsyncMethod(Ledger.totals)
    entries = AsyncMethod(Ledger.entries)
    balanced = AsyncMethod(Ledger.balanced)
    assert_balanced = AsyncMethod(Ledger.assert_balanced)


class AsyncWebhooks(AsyncProxy[Webhooks]):
    events = AsyncMethod(Webhooks.events)
    deliveries = AsyncMethod(Webhooks.deliveries)
    secret = AsyncMethod(Webhooks.secret)
    endpoint = AsyncMethod(Webhooks.endpoint)
    listen = AsyncMethod(Webhooks.listen)
    wait_for = AsyncMethod(Webhooks.wait_for)
    assert_delivered = AsyncMethod(Webhooks.assert_delivered)
    refute_delivered = AsyncMethod(Webhooks.refute_delivered)
    answer = AsyncMethod(Webhooks.answer)
    stop_forwarding = AsyncMethod(Webhooks.stop_forwarding)

    async def forward_to(self, target: Any, path: str = "/webhooks", *, lifespan: bool = True) -> None:
        """Forward deliveries as :meth:`Webhooks.forward_to` does; an ASGI application runs on this event loop."""
        loop = asyncio.get_running_loop()
        await asyncio.to_thread(self.plain.forward_to, target, path, lifespan=lifespan, loop=loop)

    @property
    def raise_errors(self) -> bool:
        """Whether errors of the application are raised by the next call of the helpers."""
        return self.plain.raise_errors

    @raise_errors.setter
    def raise_errors(self, value: bool) -> None:
        self.plain.raise_errors = value


class AsyncEmulator(AsyncProxy[BaseEmulator]):
    """The target of ``async with Emulator() as emulator:`` and ``async with AsyncEmulator(payments) as emulator:``.

    ``client`` is an ``httpx.AsyncClient`` with the URL and the key, closed at the end of the block.
    """

    def __init__(self, plain: BaseEmulator) -> None:
        import httpx

        super().__init__(plain)
        self.url, self.key = plain.url, plain.key
        self.api = AsyncApi(plain.api)
        self.clock = AsyncClock(plain.clock)
        self.events = AsyncEvents(plain.events)
        self.emails = AsyncEmails(plain.emails)
        self.ledger = AsyncLedger(plain.ledger)
        self.webhooks = AsyncWebhooks(plain.webhooks)
        self.client = httpx.AsyncClient(**client_options(plain))

    customer = AsyncMethod(BaseEmulator.customer)
    plan = AsyncMethod(BaseEmulator.plan)
    subscription = AsyncMethod(BaseEmulator.subscription)
    session = AsyncMethod(BaseEmulator.session)
    invoice = AsyncMethod(BaseEmulator.invoice)
    pay = AsyncMethod(BaseEmulator.pay)
    settle = AsyncMethod(BaseEmulator.settle)
    fail_next = AsyncMethod(BaseEmulator.fail_next)
    fault = AsyncMethod(BaseEmulator.fault)
    trigger = AsyncMethod(BaseEmulator.trigger)
    configure = AsyncMethod(BaseEmulator.configure)
    snapshot = AsyncMethod(BaseEmulator.snapshot)
    recording = AsyncMethod(BaseEmulator.recording)

    @asynccontextmanager
    async def expect(self, *types: EventType) -> AsyncIterator[None]:
        """``async with emulator.expect("invoice.paid"):`` fails on a missing event and on an unexpected one."""
        expectation = self.plain.expect(*types)
        await asyncio.to_thread(expectation.__enter__)
        yield
        await asyncio.to_thread(expectation.__exit__, None, None, None)

    async def __aenter__(self) -> AsyncEmulator:
        require_asyncio()
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.to_thread(self.plain.webhooks.stop_forwarding)
        await self.client.aclose()


# -- the emulator


class Emulator(BaseEmulator):
    """One world of the service, from ``with Emulator() as emulator:`` to the end of the block.

    ``clock`` (``running``, ``frozen``, or an instant to be frozen at), ``seed``, ``settings`` and ``fixtures`` set the
    initial state of the world. Without ``url`` a server runs in a thread of this process. With ``url`` (or with
    ``PAYMENTS_EMULATOR_URL`` in the environment) the world there is used as it is; it is reset only if one of these
    arguments is given. A ``server`` passed in is shared, and only the world is discarded at the end.
    """

    def test_app(
        self,
        scenario: Callable[[Emulator], Any],
        /,
        *,
        only: Sequence[str] = (),
        ignore: Sequence[str] = (),
        budget: float | None = None,
        jobs: int = 1,
        whole: bool = False,
        afterwards: str = AFTERWARDS,
        pairs: bool = False,
    ) -> AppReport:
        """Repeat a scenario once for each request and webhook that can go wrong in it, and compare how it ends.

        ``scenario(emulator)`` plays what the application does, each time in a new world that starts as this one did. It may
        return a function, which is called after faults have ended and the clock was moved by ``afterwards``; what that
        returns must be the same each time, as must the objects and sums of money of the world. ``only`` has patterns of
        cases (``5:*``, ``*:twice``, ``lost``), ``ignore`` rules of the audit that count for nothing; ``pairs`` tries two
        faults at once as well. ``budget`` (seconds, real time) ends the search early, which is a warning, or with
        ``whole`` an error. ``jobs`` is how many runs there are at a time, in threads: then ids differ from run to run, and
        what the function returns must hold none.

        Raises ``AssertionError`` with everything that was found, ``ValueError`` for an unknown rule and ``LookupError``
        for a pattern that names no case.
        """
        __tracebackhide__ = True
        # Imported here: most tests make no examination.
        from emulator.insight.audit.audit import rules

        known = [rule.name for rule in rules()]
        if unknown := [name for name in ignore if name not in known]:
            raise ValueError(f"ignore: there is no rule {unknown[0]!r}; there are {', '.join(known)}")
        search = Search(only, pairs=pairs, ignore=ignore, in_test=True)
        return try_scenario(self, scenario, search, budget=budget, jobs=jobs, whole=whole, afterwards=afterwards)

    async def __aenter__(self) -> AsyncEmulator:
        require_asyncio()
        self._awaited = AsyncEmulator(self)
        return self._awaited

    async def __aexit__(self, *_: object) -> None:
        await self._awaited.client.aclose()
        await asyncio.to_thread(self.close)
