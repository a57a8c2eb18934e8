"""A world's webhooks as a merchant's receiver gets them: collected, verified, forwarded."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from emulator.client.api import Api
from emulator.testing import world_parts
from emulator.testing.collector import (
    UNSIGNED,
    Delivery,
    DeliveryResult,
    Forwarding,
    Receiver,
    SigningEndpoint,
    WebhookCollector,
)
from emulator.testing.database import Database
from emulator.testing.in_process import target_of
from emulator.testing.world_parts import Events, WorldClock, identity

if TYPE_CHECKING:
    from emulator.testing import objects


class Webhooks:
    """The webhook receiver of one world. Its endpoint is registered on first use, for all events.

    Earlier events are not delivered, so use ``payments.webhooks`` before the events of interest. A
    delivery with a wrong signature counts as not delivered. It gets a 401, unless deliveries are
    forwarded: then the application has to reject it.
    """

    def __init__(
        self,
        api: Api,
        clock: WorldClock,
        events: Events,
        receiver: Receiver,
        name: str,
        *,
        database: Database,
    ) -> None:
        self._api = api
        self._clock = clock
        self._events = events
        self._receiver = receiver
        self._name = name
        self._collector: WebhookCollector | None = None
        self._endpoint: objects.WebhookEndpointWithSecret
        self._forwarding: Forwarding | None = None
        self._statuses: list[int] = []
        self._seen: set[str] = set()
        self._database = database

    def listen(self, /, *events: objects.EventSelector, **fields: object) -> Webhooks:
        """Replace the endpoint by one for these events or other ``fields``; drop past deliveries.

        Such fields are ``security_profile`` (``HMAC_SHA256``, ``BASIC``, ``JWT``) and
        ``retry_policy``.
        """
        if self._collector is not None:
            self._api.delete(f"/v1/webhooks/{self._endpoint['id']}/")
            self._discard()
        url, collector = self._receiver.open(self._name)
        collector.reply = self._reply
        body = {"name": "Test suite", "url": url, "events": list(events) or ["*"], **fields}
        self._endpoint = self._api.post("/v1/webhooks/", body)
        collector.verify_with(SigningEndpoint.of(self._endpoint))
        self._collector = collector
        return self

    @property
    def endpoint(self) -> objects.WebhookEndpointWithSecret:
        """The webhook endpoint, its ``secret`` included."""
        self._listening()
        return self._endpoint

    @property
    def secret(self) -> str:
        """The secret that signs the deliveries, for the application under test."""
        return str(self.endpoint["secret"])

    @property
    def deliveries(self) -> list[Delivery]:
        """All deliveries so far in order of arrival, also wrongly signed ones; more may come."""
        collector = self._listening()
        with collector.changed:
            return list(collector.deliveries)

    @property
    def events(self) -> list[objects.Event]:
        """Events delivered so far, each once, in order of arrival; pending deliveries end first."""
        self._settle()
        return list(self._genuine().values())

    def wait_for(
        self, type: objects.EventType, object: objects.Ref | None = None, timeout: float = 10
    ) -> objects.Event:
        """Wait for the next event of a type (about an object or id); return each event only once.

        ``timeout`` in real seconds. Raises ``AssertionError`` with the deliveries so far.
        """
        __tracebackhide__ = True
        collector = self._listening()
        with self._database.waiting(), collector.changed:
            event = collector.changed.wait_for(lambda: self._next(type, object), timeout)
        if not event:
            raise AssertionError(
                f"no webhook {type} arrived within {timeout:g} s.\n{self.summary()}"
            )
        self._seen.add(event["id"])
        return event

    def assert_delivered(
        self, type: objects.EventType, object: objects.Ref | None = None, times: int | None = None
    ) -> list[objects.Event]:
        """Assert that events of a type (about an object) were delivered, and return them.

        At least one, or exactly ``times``. Waits for pending deliveries; does not move the clock.
        """
        __tracebackhide__ = True
        self._settle()
        events = self._matching(type, object)
        if not events if times is None else len(events) != times:
            wanted = (
                "was not delivered"
                if times is None
                else f"was delivered {len(events)} times, not {times}"
            )
            raise AssertionError(f"{type} {wanted}.\n{self.summary()}")
        return events

    def refute_delivered(self, type: objects.EventType, object: objects.Ref | None = None) -> None:
        """Assert that no event of a type (about an object) came. Waits for pending deliveries."""
        __tracebackhide__ = True
        self._settle()
        if events := self._matching(type, object):
            raise AssertionError(f"{type} was delivered, {len(events)} times.\n{self.summary()}")

    def answer(self, *statuses: int) -> Webhooks:
        """Respond to the next deliveries with these statuses without forwarding them."""
        self._listening()
        self._statuses.extend(statuses)
        return self

    def forward_to(
        self, target: Any, path: str = "/webhooks", *, loop: asyncio.AbstractEventLoop | None = None
    ) -> Webhooks:
        """Forward deliveries to a URL, an application or its test client; respond with its status.

        A WSGI application (Flask, Django) is called in a thread. An ASGI application runs on an
        event loop of its own, with its lifespan, until the world ends; on ``loop``, if one is
        given, where the test runs the lifespan. The test client of an ASGI application (FastAPI,
        Starlette) is called on its own loop until it is closed, with its base URL, headers and
        cookies. The application has ten seconds for its response. In the transaction of a Django
        test it uses the test's database connections, while the test waits for the emulator.
        """
        self._listening()
        self.stop_forwarding()
        forwarder = target_of(target, path, loop, self._database)
        self._forwarding = Forwarding(forwarder, self._name)
        return self

    def stop_forwarding(self) -> None:
        """Respond to deliveries here again, after those under way; shut down an ASGI target."""
        forwarding, self._forwarding = self._forwarding, None
        if forwarding:
            with self._database.waiting():
                forwarding.close()

    def summary(self) -> str:
        """Return deliveries, undelivered events and the next job, as text for error messages."""
        delivered = self._genuine()
        missing = [event for event in self._events if event["id"] not in delivered]
        undelivered = (
            world_parts.event_lines(missing, "that were not delivered to this receiver")
            if missing
            else ""
        )
        hint = (
            f"The endpoint has existed since {self._endpoint['created_at']}, for"
            f" {', '.join(self._endpoint['events'])}."
        )
        parts = [
            world_parts.received(self.deliveries),
            undelivered,
            hint if undelivered else "",
            world_parts.next_job(self._clock),
        ]
        return "\n".join(part for part in parts if part)

    @property
    def so_far(self) -> list[Delivery]:
        """The deliveries so far; does not register an endpoint if there is none."""
        return [] if self._collector is None else self.deliveries

    def close(self) -> None:
        """Discard the deliveries and stop forwarding; the endpoint is deleted with its world."""
        self.stop_forwarding()
        self._discard()

    def _discard(self) -> None:
        self._receiver.discard(self._name)
        self._collector = None

    def _listening(self) -> WebhookCollector:
        if self._collector is None:
            self.listen()
        assert self._collector is not None
        return self._collector

    def _settle(self) -> None:
        self._listening()
        self._clock.settle()

    def _genuine(self) -> dict[str, objects.Event]:
        return {item.event["id"]: item.event for item in self.deliveries if item.genuine}

    def _matching(self, type: objects.EventType, object: objects.Ref | None) -> list[objects.Event]:
        id = identity(object)
        return [
            event
            for event in self._genuine().values()
            if event["type"] == type and id in (None, event["data"]["object"].get("id"))
        ]

    def _next(self, type: objects.EventType, object: objects.Ref | None) -> objects.Event | None:
        return next(
            (event for event in self._matching(type, object) if event["id"] not in self._seen), None
        )

    def _reply(self, delivery: Delivery) -> DeliveryResult:
        forwarding = self._forwarding
        if not delivery.genuine and not forwarding:
            return UNSIGNED
        if self._statuses:
            return DeliveryResult(self._statuses.pop(0))
        return forwarding.result(delivery) if forwarding else DeliveryResult(200)
