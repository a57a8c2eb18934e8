"""An emulator in a test's hand: one world, with its clock, what happened in it, and what is to go wrong."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Mapping
from datetime import datetime
from os import PathLike
from types import TracebackType
from typing import TYPE_CHECKING, Any

from emulator.engine.clock import FROZEN
from emulator.testing import failure_report, payments
from emulator.testing.api import JSON, RACING, Api
from emulator.testing.clock import Clock
from emulator.testing.emails import Emails
from emulator.testing.events import Events, Expectation
from emulator.testing.options import WorldOptions
from emulator.testing.servers import AnyServer, LocalServer, RemoteServer, app
from emulator.testing.webhooks import Webhooks

if TYPE_CHECKING:
    import httpx

    from emulator.testing.aio import AsyncEmulator

DEFAULT_KEY = "sk_test_demo"


class Snapshot:
    """A world as it was, to come back to."""

    def __init__(self, api: Api, name: str) -> None:
        self._api = api
        self.name = name

    def restore(self) -> None:
        """Put the world back, its clock included. Webhooks that went out stay out."""
        self._api.post(f"/_emulator/snapshots/{self.name}/restore")


def _headers(wait: bool) -> dict[str, str]:
    return {} if wait else RACING


class Emulator:
    """One world of the service, from ``with Emulator() as emulator:`` to the end of the block.

    ``clock`` (``running``, ``frozen``, or an instant to stand still at), ``seed``, ``settings`` and ``fixtures`` say
    how the world starts. Without ``url`` a server runs in a thread of this process. With one (or with
    ``PAYMENTS_EMULATOR_URL`` in the environment) it is used as it is, and the world is started anew only if something
    of that is said. A ``server`` that is handed in is shared, and the world thrown away at the end.
    """

    def __init__(
        self,
        url: str | None = None,
        key: str | None = None,
        *,
        clock: str | datetime | None = None,
        seed: int | None = None,
        settings: Mapping[str, Any] | None = None,
        fixtures: str | PathLike[str] | Iterable[str | PathLike[str]] = (),
        server: AnyServer | None = None,
    ) -> None:
        start = WorldOptions.of(clock or FROZEN, seed, settings, fixtures)
        url = url or os.environ.get("PAYMENTS_EMULATOR_URL")
        self._shared = server is not None
        self.server: AnyServer = server or (RemoteServer(url) if url else LocalServer())
        self.url: str = self.server.url
        self.key: str = key or os.environ.get("PAYMENTS_EMULATOR_KEY", DEFAULT_KEY)
        if self._shared or not url or (clock, seed, settings, fixtures) != (None, None, None, ()):
            self._begin(start)
        self.api = Api(self.url, self.key, lambda: self.server.check(self.key))
        self.clock = Clock(self.api)
        self.events = Events(self.api, self.clock)
        self.emails = Emails(self.api)
        self.webhooks = Webhooks(self.api, self.clock, self.events, self.server.receiver, app(self.key))
        self._snapshots = 0

    def _begin(self, start: WorldOptions) -> None:
        try:
            self.server.begin(self.key, start)
        except BaseException:
            if not self._shared:
                self.server.stop()
            raise

    @property
    def client(self) -> httpx.Client:
        """An HTTP client with the address and the key: ``emulator.client.post("/v1/customers/", json={…})``."""
        return self.api.client

    def pay(
        self,
        target: str | Mapping[str, Any],
        /,
        *,
        phone: str | None = None,
        card: str | Mapping[str, Any] | None = None,
        iban: str | None = None,
        email: str | None = None,
        wait: bool = True,
        **fields: Any,
    ) -> JSON:
        """Pay a checkout session, a payment link or an invoice (it or its id) as a buyer would on its page.

        By mobile money (``phone``), ``card`` (its number), bank transfer (``iban``) or PayPal (``email``); if nothing
        is said by something that works. ``fields``: ``quantity``, ``amount`` (minor units), ``product``, ``customer``.
        The payment intent, also where the payment failed: its ``status`` and ``last_error`` tell. On a frozen clock it
        returns when the webhooks and emails of the payment have their outcome; ``wait=False`` returns at once.
        """
        method = payments.method(phone=phone, card=card, iban=iban, email=email)
        intent: JSON = self.api.post(payments.place(target), {**method, **fields}, **_headers(wait))
        return intent

    def settle(self) -> JSON:
        """Wait until everything caused so far has its outcome: webhooks, emails and what is due now.

        For what the application did by itself under ``/v1``. Raises ``AssertionError`` if a job failed.
        """
        return self.clock.settle()

    def fail_next(
        self, /, operation: str = "payment", code: str | None = None, *, times: int = 1, **match: Any
    ) -> JSON:
        """Let the next ``payment``, ``refund`` or webhook ``delivery`` fail, or so many ``times``.

        ``match``: only those with this ``customer``, ``amount`` or ``payment_method_type``.
        """
        body = {"operation": operation, "result": "failed", "times": times, "match": match}
        outcome: JSON = self.api.post("/_emulator/outcomes", {**body, **({"code": code} if code else {})})
        return outcome

    def fault(self, then: Mapping[str, Any], /, *, times: int = 1, **match: Any) -> JSON:
        """Let the next requests, or webhook deliveries, that ``match`` go wrong.

        ``fault({"drop": "after"}, method="POST", path="/customers/")``; what ``then`` and ``match`` may hold is in the
        document of ``POST /_emulator/faults``.
        """
        arranged: JSON = self.api.post("/_emulator/faults", {"then": then, "times": times, "match": match})
        return arranged

    def trigger(self, event: str, /, *, wait: bool = True, **overrides: Any) -> JSON:
        """Cause an event for real, with whatever objects that needs; the event.

        On a frozen clock it returns when the webhooks and emails have their outcome; ``wait=False`` returns at once.
        """
        body = {"event": event, "overrides": overrides}
        triggered: JSON = self.api.post("/_emulator/trigger", body, **_headers(wait))
        return triggered

    def configure(self, /, **settings: Any) -> JSON:
        """Change settings of the App, such as ``tax_rate=18``; all of them as they are now."""
        changed: JSON = self.api.patch("/_emulator/app", {"settings": settings})["settings"]
        return changed

    def expect(self, *types: str) -> Expectation:
        """``with emulator.expect("invoice.paid"):`` fails on a missing event and on one that was not expected."""
        return self.events.expect(*types)

    def snapshot(self, name: str | None = None) -> Snapshot:
        """The world as it is now, to be restored later."""
        self._snapshots += 1
        made = self.api.post("/_emulator/snapshots", {"name": name or f"snapshot-{self._snapshots}"})
        return Snapshot(self.api, made["name"])

    def story(self) -> str:
        """What happened so far, in words; what a failed test shows."""
        # Asked for without a check, for what is wrong with the world belongs to its story.
        api = Api(self.url, self.key)
        try:
            return f"world {self.key} at {self.url}\n{failure_report.whole(api, Clock(api), self.webhooks.so_far)}"
        finally:
            api.close()

    def close(self) -> None:
        """End: a world on a shared server is thrown away, a server of one's own is stopped."""
        self.webhooks.close()
        self.api.close()
        if self._shared:
            self.server.discard(self.key)
        else:
            self.server.stop()

    def __enter__(self) -> Emulator:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> AsyncEmulator:
        # Imported here, for it is made of this class.
        from emulator.testing.aio import AsyncEmulator

        self._awaited = AsyncEmulator(self)
        return self._awaited

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._awaited.client.aclose()
        await asyncio.to_thread(self.close)
