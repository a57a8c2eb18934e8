"""The webhooks a test suite receives: one loopback server for all worlds, and for each world a collector."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from emulator.checks.webhook_receiver import HttpReceiver, ReceivedRequest, ReceiverReply
from emulator.resources.webhooks import signing

PATIENCE = 10
"""Seconds (real time) after which the emulator gives up on a receiver (Limits), so no request waits longer here."""


@dataclass(frozen=True)
class Delivery:
    """One webhook as it arrived: headers by lower-case name, the raw body, and whether the signature is genuine.

    ``status`` is what it was answered with, ``error`` the exception of the application it was forwarded to.
    """

    headers: Mapping[str, str]
    body: bytes
    genuine: bool
    status: int = 200
    error: str | None = None

    @property
    def event(self) -> dict[str, Any]:
        """The event in the body; empty if the body is not a JSON object."""
        try:
            event = json.loads(self.body)
        except ValueError:
            return {}
        return event if isinstance(event, dict) else {}

    @property
    def attempt(self) -> int:
        """The number of the attempt, from 1."""
        return int(self.headers.get("emulator-attempt", 1))


class SigningEndpoint(NamedTuple):
    """The parts of a webhook endpoint that its signatures are computed from."""

    id: str
    secret: str
    security_profile: str


class DeliveryResult(NamedTuple):
    """The status a delivery is answered with, and the error of the application it was forwarded to.

    ``exception`` is what a test raises that wants to know of it.
    """

    status: int
    error: str | None = None
    exception: Exception | None = None


UNSIGNED = DeliveryResult(401)
"""The answer to a delivery whose signature is missing or wrong."""


@dataclass
class WebhookCollector:
    """The deliveries of one world. Hold ``changed`` to read or change them; it is notified of each delivery."""

    reply: Callable[[Delivery], DeliveryResult] = lambda delivery: DeliveryResult(200)
    deliveries: list[Delivery] = field(default_factory=list)
    exceptions: list[Exception] = field(default_factory=list)
    changed: threading.Condition = field(default_factory=threading.Condition)
    endpoint: SigningEndpoint | None = None

    def verify_with(self, endpoint: SigningEndpoint) -> None:
        """Check signatures with this endpoint's secret from now on."""
        with self.changed:
            self.endpoint = endpoint
            self.changed.notify_all()

    def receive(self, headers: Mapping[str, str], body: bytes) -> DeliveryResult:
        """Verify, answer and store one delivery. The validation ping is not signed and only answered."""
        if Delivery(headers, body, genuine=False).event.get("type") == "webhook.ping":
            return DeliveryResult(200)
        with self.changed:
            # The first event may arrive before this process has read the secret in the answer to the registration.
            self.changed.wait_for(lambda: self.endpoint, PATIENCE)
            endpoint = self.endpoint
        delivery = Delivery(headers, body, endpoint is not None and signing.verify(endpoint, headers, body))
        result = self.reply(delivery)
        with self.changed:
            self.deliveries.append(replace(delivery, status=result.status, error=result.error))
            if result.exception:
                self.exceptions.append(result.exception)
            self.changed.notify_all()
        return result


class Receiver:
    """The loopback server; it listens from the first collector on."""

    def __init__(self) -> None:
        self._collectors: dict[str, WebhookCollector] = {}
        self._server: HttpReceiver | None = None

    def open(self, name: str) -> tuple[str, WebhookCollector]:
        """A new collector and the URL it is reached at."""
        if self._server is None:
            self._server = HttpReceiver(self._answer)
            self._server.start()
        self._collectors[name] = collector = WebhookCollector()
        return f"{self._server.url}/{name}", collector

    def discard(self, name: str) -> None:
        """Drop a collector; deliveries to its URL are answered 404 from now on."""
        self._collectors.pop(name, None)

    def close(self) -> None:
        """Stop listening."""
        if self._server is not None:
            self._server.close()
            self._server = None

    def _answer(self, request: ReceivedRequest) -> ReceiverReply:
        collector = self._collectors.get(request.path.strip("/"))
        if collector is None:
            return ReceiverReply(404)
        headers = {name.lower(): value for name, value in request.headers.items()}
        return ReceiverReply(collector.receive(headers, request.body).status)
