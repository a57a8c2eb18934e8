"""A temporary world in which events happen, and their signed deliveries to one receiver."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from typing import Any

from msgspec.structs import replace

from emulator.control.trigger import trigger_event
from emulator.core import calendar
from emulator.core.errors import ApiError
from emulator.core.records import to_wire
from emulator.core.unit_of_work import (
    DeliverWebhook,
    Event,
    EventData,
    HttpResult,
    PingEndpoint,
    UnitOfWork,
)
from emulator.core.world import World, encode
from emulator.resources.app.clients import Key
from emulator.resources.webhooks import deliveries
from emulator.resources.webhooks.deliveries import SignedRequest
from emulator.resources.webhooks.endpoints import (
    EVERY_EVENT,
    RetryPolicy,
    WebhookEndpoint,
    permitted_url,
)
from emulator.server.sandbox import Sandbox

APP = Key("receiver", livemode=False)
"""The App that the events belong to if they happen nowhere else."""

PROOF_HEADERS = {
    "HMAC_SHA256": ("Service-Signature", ""),
    "JWT": ("Authorization", "Bearer "),
    "BASIC": ("Authorization", "Basic "),
}
"""The header that carries the signature of each method, and the prefix of its value."""


class NotPermitted(ValueError):
    """A URL to which the service sends no webhooks; the message says why (B-82)."""


class ServiceWorld:
    """Creates the deliveries of a world of its own to one endpoint; it does not send them.

    ``method`` is ``HMAC_SHA256``, ``JWT`` or ``BASIC``, ``webhook`` the endpoint's id (generated if
    None). With ``elsewhere`` the events happen at a service from which the receiver can read their
    objects: it causes one of a type with overrides, and returns it as the last of all that came of
    it; ``app`` is the App there. Raises :class:`NotPermitted`.
    """

    def __init__(
        self,
        url: str,
        secret: str,
        method: str,
        *,
        webhook: str | None = None,
        ssl_verification: bool = True,
        elsewhere: Callable[[str, Mapping[str, object]], Sequence[Mapping[str, Any]]] | None = None,
        app: Key = APP,
    ) -> None:
        self._elsewhere = elsewhere
        self.is_readable: bool = elsewhere is not None
        """Whether there is a service from which the objects of the events can be read."""
        self._world, self._clock = Sandbox().build_world(app)
        with self._world.unit_of_work():
            fields = {
                "secret": secret,
                "security_profile": method,
                "ssl_verification": ssl_verification,
            }
            self.endpoint: WebhookEndpoint = self._world.add(
                _endpoint(self._world, url, webhook, fields)
            )

    def ping(self) -> SignedRequest:
        with self._unit_of_work():
            event = self._world.event("webhook.ping", EventData(to_wire(self.endpoint)))
        return deliveries.ping(
            PingEndpoint(endpoint=self.endpoint, event=event.id, body=encode(event)),
            int(time.time()),
        )

    def test(self) -> SignedRequest:
        """Return the event that the test operation sends (B-85)."""
        with self._unit_of_work() as work:
            self._world.emit("webhook.test", self.endpoint)
        return self._sent(work)[-1]

    def unknown_type(self) -> SignedRequest:
        """Return an event about a customer, of a type that is not in the catalogue."""
        with self._unit_of_work() as work:
            self._report("customer.certified", self._cause("customer.created", {}).data)
        return self._sent(work)[-1]

    def deliveries_of(
        self, type: str, *, ago: float = 0, **overrides: object
    ) -> list[SignedRequest]:
        """Return the deliveries of all events needed for one, that one last. ``ago``: seconds."""
        with self._unit_of_work(ago) as work:
            self._cause(type, overrides)
        return self._sent(work)

    def customer(self, *, ago: float = 0, **overrides: object) -> SignedRequest:
        """Return a delivery of ``customer.created``; arguments as of :meth:`deliveries_of`."""
        return self.deliveries_of("customer.created", ago=ago, **overrides)[-1]

    @cached_property
    def valid_event(self) -> SignedRequest:
        """A plain valid delivery; always the same one."""
        return self.customer()

    def again(self, sent: SignedRequest) -> SignedRequest:
        """Return the retry of a delivery whose response was lost (B-84)."""
        effect = DeliverWebhook(
            webhook=self.endpoint.id, delivery=sent.headers["Emulator-Delivery"]
        )
        lost = HttpResult(status_code=None, error="the response was lost")
        with self._unit_of_work():
            deliveries.record_attempt(self._world, effect, sent, lost, self._world.now)
        return self._outgoing(effect)

    def signed(
        self,
        sent: SignedRequest,
        *,
        body: bytes | None = None,
        by: Mapping[str, str] | None = None,
        ago: int = 0,
    ) -> SignedRequest:
        """Return the delivery signed anew: other ``body``, ``by`` other fields, ``ago`` seconds."""
        again = deliveries.signed(
            self.endpoint.replace(**by or {}),
            sent.body if body is None else body,
            delivery=sent.headers["Emulator-Delivery"],
            event=json.loads(sent.body)["id"],
            epoch=int(time.time()) - ago,
        )
        return replace(again, headers={**unsigned(sent).headers, **again.headers})

    def _cause(self, type: str, overrides: Mapping[str, object]) -> Event:
        if self._elsewhere is None:
            return trigger_event(self._world, type, overrides)
        reported = [
            self._report(event["type"], EventData(**event["data"]))
            for event in self._elsewhere(type, overrides)
        ]
        return reported[-1]

    def _report(self, type: str, data: EventData) -> Event:
        """Record an event about an object and deliver it, and have nothing else come of it."""
        event = self._world.record_event(type, data)
        deliveries.enqueue_deliveries(self._world, event)
        return event

    def _unit_of_work(self, ago: float = 0) -> AbstractContextManager[UnitOfWork]:
        self._world.now = calendar.plus(self._clock.now(), seconds=-ago)
        return self._world.unit_of_work()

    def _sent(self, work: UnitOfWork) -> list[SignedRequest]:
        return [
            self._outgoing(effect) for effect in work.effects if isinstance(effect, DeliverWebhook)
        ]

    def _outgoing(self, effect: DeliverWebhook) -> SignedRequest:
        sent = deliveries.outgoing(self._world, effect, int(time.time()))
        assert sent is not None
        return sent


def unsigned(sent: SignedRequest) -> SignedRequest:
    proofs = {header for header, _ in PROOF_HEADERS.values()}
    return replace(
        sent, headers={name: sent.headers[name] for name in sent.headers if name not in proofs}
    )


def _endpoint(world: World, url: str, id: str | None, fields: dict[str, Any]) -> WebhookEndpoint:
    try:
        permitted = permitted_url(world, url)
    except ApiError as error:
        raise NotPermitted((error.errors or {})["url"][0]) from None
    return WebhookEndpoint(
        id=id or world.new_id(WebhookEndpoint),
        app=world.app,
        name="payments-emulator test receiver",
        url=permitted,
        events=(EVERY_EVENT,),
        retry_policy=RetryPolicy(),
        metadata={},
        livemode=world.livemode,
        created_at=world.now,
        updated_at=world.now,
        **fields,
    )
