"""One world for a test, with its clock, events, emails, webhooks and injected failures."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from datetime import datetime
from functools import cached_property
from http import HTTPStatus
from os import PathLike
from typing import TYPE_CHECKING, Any, Self

from emulator.client import api
from emulator.client.api import API_TIMEOUTS, RACING, Api, RequestRefused
from emulator.engine.clock import FROZEN
from emulator.testing import time_travel, world_parts
from emulator.testing.factories import Factories
from emulator.testing.in_process import database_of_this_thread, running_loop
from emulator.testing.servers import AnyServer, LocalServer, RemoteServer, WorldOptions, app
from emulator.testing.webhooks import Webhooks
from emulator.testing.world_parts import Emails, Events, Ledger, WorldClock

if TYPE_CHECKING:
    import httpx

    from emulator.testing.objects import (
        ClockAdvance,
        Event,
        EventType,
        Fault,
        Outcome,
        PaymentIntent,
        Ref,
        Settings,
    )

DEFAULT_KEY = "sk_test_demo"


class Snapshot:
    """A saved state of a world."""

    def __init__(self, api: Api, name: str) -> None:
        self._api = api
        self.name = name

    def restore(self) -> None:
        """Restore the world, including its clock. Webhooks already sent are not recalled."""
        self._api.post(f"/_emulator/snapshots/{self.name}/restore")


class BaseEmulator(Factories):
    """The part that :class:`Emulator` and its async twin share; see there."""

    def __init__(
        self,
        url: str | None = None,
        key: str | None = None,
        *,
        clock: str | datetime | None = None,
        seed: int | None = None,
        settings: Mapping[str, object] | None = None,
        fixtures: str | PathLike[str] | Iterable[str | PathLike[str]] = (),
        server: AnyServer | None = None,
    ) -> None:
        self._start = start = WorldOptions.of(clock or FROZEN, seed, settings, fixtures)
        url = url or os.environ.get("PAYMENTS_EMULATOR_URL")
        self._shared = server is not None
        self.server: AnyServer = server or (RemoteServer(url) if url else LocalServer())
        self.url: str = self.server.url
        self.key: str = key or os.environ.get("PAYMENTS_EMULATOR_KEY", DEFAULT_KEY)
        if self._shared or not url or (clock, seed, settings, fixtures) != (None, None, None, ()):
            self._begin(start)
        # Of the test's thread: where asyncio is used, other methods are called in another one.
        database = database_of_this_thread()
        self.api: Api = database.api(
            self.url, self.key, lambda: self.server.follow(self.key), self.server.connections
        )
        self.clock: WorldClock = WorldClock(self.api)
        self.events: Events = Events(self.api, self.clock)
        self.emails: Emails = Emails(self.api)
        self.ledger: Ledger = Ledger(self.api)
        self.webhooks: Webhooks = Webhooks(
            self.api,
            self.clock,
            self.events,
            self.server.receiver,
            app(self.key),
            database=database,
        )
        self._snapshots = 0
        self._not_followed = ""
        self.recorded_as: str | None = None
        time_travel.followers.append(self._follow_move)

    def _follow_move(self) -> None:
        """After a move of freezegun or time-machine: let the world follow, and settle.

        Not on an event loop, which would stand still and could not respond to webhooks: there the
        next call follows. Nor inside a delivery that is waited for already. A move that the world
        cannot follow is an error of the next call, and is reported with a test that fails without
        one.
        """
        if running_loop():
            return
        if passed := self.server.passed(self.key):
            self._not_followed = str(passed)
        elif self.server.follows(self.key):
            try:
                self.settle()
            except RequestRefused as error:
                if error.status != HTTPStatus.CONFLICT:
                    raise

    def _begin(self, start: WorldOptions) -> None:
        try:
            self.server.begin(self.key, start)
        except BaseException:
            if not self._shared:
                self.server.stop()
            raise

    @cached_property
    def client(self) -> httpx.Client:
        """An HTTP client with URL and key: ``emulator.client.post("/v1/customers/", json={…})``."""
        import httpx

        check = {"request": [lambda request: self.server.follow(self.key)]}
        timeout = httpx.Timeout(API_TIMEOUTS.connect, read=API_TIMEOUTS.response)
        return httpx.Client(**client_options(self), timeout=timeout, event_hooks=check)

    def pay(
        self,
        target: Ref,
        /,
        *,
        phone: str | None = None,
        card: str | Mapping[str, object] | None = None,
        iban: str | None = None,
        email: str | None = None,
        wait: bool = True,
        **fields: object,
    ) -> PaymentIntent:
        """Pay a checkout session, payment link or invoice (object, id or page's URL) as a buyer.

        By mobile money (``phone``), ``card`` (its number), bank transfer (``iban``) or PayPal
        (``email``); without any of them with a method that works. ``fields``: ``quantity``,
        ``amount`` (minor units), ``product``, ``customer``. Returns the payment intent, also if the
        payment failed: see its ``status`` and ``last_error``. On a frozen clock it returns when the
        webhooks of the payment have their outcome; ``wait=False`` returns at once.
        """
        method = api.method(phone=phone, card=card, iban=iban, email=email)
        return self._act(api.pay_path(target), {**method, **fields}, wait)

    def settle(self) -> ClockAdvance:
        """Wait until everything caused so far has its outcome: webhooks and what is due now.

        For what the application did by itself under ``/v1``. Raises ``AssertionError`` if a job
        failed.
        """
        return self.clock.settle()

    def fail_next(
        self,
        /,
        operation: str = "payment",
        code: str | None = None,
        *,
        times: int = 1,
        wait: bool = True,
        **match: object,
    ) -> Outcome:
        """Make the next ``payment``, ``refund`` or webhook ``delivery`` fail, or ``times`` of them.

        ``match``: only with this ``customer``, ``amount`` or ``payment_method_type``. On a frozen
        clock what was caused before is settled first; with ``wait=False`` deliveries under way may
        be among the next ones.
        """
        body = {"operation": operation, "result": "failed", "times": times, "match": match}
        coded = {**body, **({"code": code} if code else {})}
        return self._act("/_emulator/outcomes", coded, wait)

    def fault(
        self,
        then: Mapping[str, object],
        /,
        *,
        times: int | None = None,
        probability: float | None = None,
        starts_at: str | None = None,
        ends_at: str | None = None,
        wait: bool = True,
        **match: object,
    ) -> Fault:
        """Inject a fault into the next requests, or webhook deliveries, that ``match``.

        ``fault({"drop": "after"}, method="POST", path="/customers/")``; all fields are those of
        ``POST /_emulator/faults``. A fault applies once, ``times`` times, or each time with a
        ``probability``; an outage lasts from ``starts_at`` until ``ends_at``, instants or durations
        from now. ``wait`` as in :meth:`fail_next`.
        """
        extent = {
            "times": times,
            "probability": probability,
            "starts_at": starts_at,
            "ends_at": ends_at,
        }
        given = {name: value for name, value in extent.items() if value is not None}
        return self._act("/_emulator/faults", {"then": then, "match": match, **given}, wait)

    def trigger(self, event: EventType, /, *, wait: bool = True, **overrides: object) -> Event:
        """Trigger an event by real state changes, create the objects it needs, and return it.

        On a frozen clock it returns when the webhooks have their outcome; ``wait=False`` returns at
        once.
        """
        body = {"event": event, "overrides": overrides}
        return self._act("/_emulator/trigger", body, wait)

    def _act(self, path: str, body: object, wait: bool) -> Any:
        """Call the control API; ``wait`` or not for the outcome of the webhooks it causes."""
        return self.api.post(path, body, **({} if wait else RACING))

    def configure(self, /, **settings: object) -> Settings:
        """Change settings of the App, such as ``tax_rate=18``, and return all settings."""
        changed: Settings = self.api.patch("/_emulator/app", {"settings": settings})["settings"]
        return changed

    def expect(self, *types: EventType) -> AbstractContextManager[None]:
        """``with emulator.expect("invoice.paid"):`` fails on a missing or an unexpected event."""
        return self.events.expect(*types)

    def snapshot(self, name: str | None = None) -> Snapshot:
        """Save the current state of the world, to be restored later."""
        self._snapshots += 1
        made = self.api.post(
            "/_emulator/snapshots", {"name": name or f"snapshot-{self._snapshots}"}
        )
        return Snapshot(self.api, made["name"])

    def record(self, name: str, /) -> None:
        """Have a failed test's world recorded in ``payments-recordings/NAME.py``.

        The pytest plugin writes it; ``pytest NAME.py`` does the same again. Raises ``ValueError``
        for a name that is no name of a file: letters, digits, ``.``, ``_`` and ``-``.
        """
        if not re.fullmatch(r"\w[\w.-]{0,100}", name):
            raise ValueError(f"{name!r}: letters, digits, '.', '_' and '-'")
        self.recorded_as = name

    def recording(self, form: str = "pytest", /) -> str:
        """Return a recording of this world so far, in a form of ``GET /_emulator/recording``."""
        return self._unchecked().send("GET", "/_emulator/recording", query={"as": form}).text

    def another(self, name: str, *, start: str = "") -> Self:
        """Return a new world on the server, of this one's initial state; the caller closes it.

        Its clock is frozen at ``start`` (an instant), where one is given.
        """
        key = f"sk_test_{app(self.key)[:45]}-{name}"
        options = {**vars(self._start), **({"clock": start} if start else {})}
        return type(self)(key=key, server=self.server, **options)

    def story(self) -> str:
        """Return a report of the world's history so far, as shown with a failed test."""
        unchecked = self._unchecked()
        report = world_parts.report(unchecked, WorldClock(unchecked), self.webhooks.so_far)
        return "\n".join(
            filter(None, [f"world {self.key} at {self.url}", self._not_followed, report])
        )

    def _unchecked(self) -> Api:
        """Return a client without the check before requests: a failed world's story is readable."""
        return Api(self.url, self.key, connections=self.server.connections)

    def close(self, *, keep: bool = False) -> None:
        """Discard a shared server's world (unless ``keep``), or stop this object's own server."""
        if self._follow_move in time_travel.followers:
            time_travel.followers.remove(self._follow_move)
        self.webhooks.close()
        if "client" in vars(self):
            self.client.close()
        if not self._shared:
            self.server.stop()
        elif not keep:
            self.server.discard(self.key)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def client_options(emulator: BaseEmulator) -> dict[str, Any]:
    """Return the options of a client of httpx, plain or asynchronous, for a world."""
    return {
        "base_url": emulator.url,
        "headers": [(name.encode(), value) for name, value in emulator.api.headers.items()],
        # Loopback needs no proxy and, without TLS, no certificates, which take 20 ms to load.
        "trust_env": False,
        "verify": emulator.url.startswith("https:"),
    }


def story_or_reason(emulator: BaseEmulator) -> str:
    """Return a world's report, or the reason for none: no error may hide the test's failure."""
    try:
        return emulator.story()
    except Exception as error:
        return f"(no report of the world: {type(error).__name__}: {error})"
