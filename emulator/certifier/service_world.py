"""The service towards one receiver: a throw-away world in which events really happen, and their signed deliveries."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from msgspec.structs import replace

from emulator.control.trigger import trigger_event
from emulator.core import calendar
from emulator.core.effects import DeliverWebhook, HttpResult, PingEndpoint
from emulator.core.events import EventData
from emulator.core.records import to_wire
from emulator.core.unit_of_work import UnitOfWork
from emulator.core.world import World, encode
from emulator.errors import ApiError
from emulator.resources.app.keys import Key
from emulator.resources.webhooks import deliveries, signing
from emulator.resources.webhooks.endpoints import EVERY_EVENT, RetryPolicy, WebhookEndpoint, permitted_url
from emulator.resources.webhooks.signing import SignedRequest
from emulator.sandbox import Sandbox

APP = Key("certify", livemode=False)
"""The App whose events these are."""

PLACES = {
    "HMAC_SHA256": ("Service-Signature", ""),
    "JWT": ("Authorization", "Bearer "),
    "BASIC": ("Authorization", "Basic "),
}
"""The header in which each method has its proof, and what stands before it."""

LOST = HttpResult(status_code=None, error="the answer was lost")


class NotPermitted(ValueError):
    """A URL that no webhook is sent to; the message says why (B-82)."""


class ServiceWorld:
    """What happens in a world of its own, on its way to one endpoint; nothing is sent from here.

    ``method`` is one of ``HMAC_SHA256``, ``JWT`` and ``BASIC``, ``webhook`` the endpoint's id (made up, if None).
    Raises :class:`NotPermitted`.
    """

    def __init__(
        self, url: str, secret: str, method: str, *, webhook: str | None = None, ssl_verification: bool = True
    ) -> None:
        self._world, self._clock = Sandbox().build_world(APP)
        with self._world.unit_of_work():
            fields = {"secret": secret, "security_profile": method, "ssl_verification": ssl_verification}
            self.endpoint = self._world.add(_endpoint(self._world, url, webhook, fields))

    def ping(self) -> SignedRequest:
        """The validation ping."""
        with self._turn():
            event = self._world.event("webhook.ping", EventData(to_wire(self.endpoint)))
        return signing.ping(PingEndpoint(endpoint=self.endpoint, event=event.id, body=encode(event)), int(time.time()))

    def test(self) -> SignedRequest:
        """What the test operation sends (B-85)."""
        with self._turn() as turn:
            self._world.emit("webhook.test", self.endpoint)
        return self._sent(turn)[-1]

    def unheard_of(self) -> SignedRequest:
        """An event of a type that is in no catalogue yet, about a customer."""
        with self._turn() as turn:
            known = trigger_event(self._world, "customer.created", {})
            self._world.emit("customer.certified", known.data.object)
        return self._sent(turn)[-1]

    def story(self, type: str, *, ago: float = 0, **overrides: Any) -> list[SignedRequest]:
        """All deliveries of what it takes to bring an event about, itself the last, in order; ``ago`` in seconds."""
        with self._turn(ago) as turn:
            trigger_event(self._world, type, overrides)
        return self._sent(turn)

    def customer(self, **told: Any) -> SignedRequest:
        """The delivery of a new customer's ``customer.created``; ``told`` as for :meth:`story`."""
        return self.story("customer.created", **told)[-1]

    @cached_property
    def good(self) -> SignedRequest:
        """A delivery with nothing special about it; always the same one."""
        return self.customer()

    def again(self, sent: SignedRequest) -> SignedRequest:
        """The same delivery as it is sent once more when its answer was lost (B-84)."""
        post = DeliverWebhook(webhook=self.endpoint.id, delivery=sent.headers["Emulator-Delivery"])
        with self._turn():
            deliveries.record_attempt(self._world, post, sent, LOST, self._world.now)
        return self._outgoing(post)

    def signed(
        self, sent: SignedRequest, *, body: bytes | None = None, by: Mapping[str, str] | None = None, ago: int = 0
    ) -> SignedRequest:
        """The same delivery signed otherwise: with another body, ``by`` an endpoint that differs so, seconds ago."""
        again = signing.signed(
            self.endpoint.replace(**by or {}),
            sent.body if body is None else body,
            delivery=sent.headers["Emulator-Delivery"],
            event=json.loads(sent.body)["id"],
            epoch=int(time.time()) - ago,
        )
        return replace(again, headers={**unsigned(sent).headers, **again.headers})

    def _turn(self, ago: float = 0) -> Any:
        self._world.now = calendar.plus(self._clock.now(), seconds=-ago)
        return self._world.unit_of_work()

    def _sent(self, turn: UnitOfWork) -> list[SignedRequest]:
        return [self._outgoing(wish) for wish in turn.effects if isinstance(wish, DeliverWebhook)]

    def _outgoing(self, post: DeliverWebhook) -> SignedRequest:
        sent = deliveries.outgoing(self._world, post, int(time.time()))
        assert sent is not None
        return sent


def unsigned(sent: SignedRequest) -> SignedRequest:
    """The same delivery without what says who sent it."""
    proofs = {header for header, _ in PLACES.values()}
    return replace(sent, headers={name: sent.headers[name] for name in sent.headers if name not in proofs})


def _endpoint(world: World, url: str, id: str | None, fields: dict[str, Any]) -> WebhookEndpoint:
    return WebhookEndpoint(
        id=id or world.new_id(WebhookEndpoint),
        app=world.app,
        name="payments-emulator certify",
        url=_permitted(world, url),
        events=(EVERY_EVENT,),
        retry_policy=RetryPolicy(),
        metadata={},
        livemode=world.livemode,
        created_at=world.now,
        updated_at=world.now,
        **fields,
    )


def _permitted(world: World, url: str) -> str:
    try:
        return permitted_url(world, url)
    except ApiError as fault:
        raise NotPermitted((fault.errors or {})["url"][0]) from None
