"""A test suite's received webhooks: one loopback server, and for each world a collector.

Deliveries go on into an application under test, each for a limited time, and none beyond its end.
"""

from __future__ import annotations

import threading
import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError, Future, wait
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from emulator.client.webhook_receiver import (
    HOP_BY_HOP,
    HttpReceiver,
    ReceivedRequest,
    ReceiverReply,
)
from emulator.core.limits import RECEIVER_SECONDS
from emulator.core.world import json_object
from emulator.resources.webhooks import deliveries

if TYPE_CHECKING:
    from emulator.testing.objects import Event, WebhookEndpointWithSecret

# -- collecting


@dataclass(frozen=True)
class Delivery:
    """A webhook as it arrived: headers by lower-case name, raw body, whether its signature holds.

    ``status`` is that of the response to it. ``error`` is the exception of the application that
    it was forwarded to, or the body of its 500.
    """

    headers: Mapping[str, str]
    body: bytes
    genuine: bool
    status: int = 200
    error: str | None = None

    @property
    def event(self) -> Event:
        """The event in the body; empty if the body is not a JSON object."""
        event: Any = json_object(self.body)
        return event

    @property
    def attempt(self) -> int:
        """The number of the attempt, from 1."""
        return int(self.headers.get("emulator-attempt", 1))


class SigningEndpoint(NamedTuple):
    """The parts of a webhook endpoint that its signatures are computed from."""

    id: str
    secret: str
    security_profile: str

    @classmethod
    def of(cls, endpoint: WebhookEndpointWithSecret | Mapping[str, Any]) -> SigningEndpoint:
        """Return these parts of an endpoint as the service shows it."""
        return cls(endpoint["id"], endpoint["secret"], endpoint["security_profile"])


def verify_webhook(
    body: bytes | str,
    headers: Mapping[str, str],
    secret: str | WebhookEndpointWithSecret | Mapping[str, Any],
) -> bool:
    """Return whether an endpoint signed a webhook. ``body`` is the raw body, as received.

    ``secret`` is the endpoint's secret, with which ``HMAC_SHA256`` signs; of an endpoint with
    another signing method it is the endpoint itself, such as ``payments.webhooks.endpoint``.
    """
    endpoint = (
        SigningEndpoint("", secret, "HMAC_SHA256")
        if isinstance(secret, str)
        else SigningEndpoint.of(secret)
    )
    named = {name.lower(): value for name, value in headers.items()}
    return deliveries.verify(
        endpoint, named, body.encode() if isinstance(body, str) else body, time.time()
    )


class DeliveryResult(NamedTuple):
    """A delivery's response status, and the error of the application it was forwarded to."""

    status: int
    error: str | None = None


UNSIGNED = DeliveryResult(401)
"""The response to a delivery whose signature is missing or wrong."""


@dataclass
class WebhookCollector:
    """One world's deliveries. Hold ``changed`` to read or change them; deliveries notify it."""

    reply: Callable[[Delivery], DeliveryResult] = lambda delivery: DeliveryResult(200)
    deliveries: list[Delivery] = field(default_factory=list)
    changed: threading.Condition = field(default_factory=threading.Condition)
    endpoint: SigningEndpoint | None = None

    def verify_with(self, endpoint: SigningEndpoint) -> None:
        with self.changed:
            self.endpoint = endpoint
            self.changed.notify_all()

    def receive(self, headers: Mapping[str, str], body: bytes) -> DeliveryResult:
        """Verify, acknowledge and store a delivery. The unsigned validation ping is not stored."""
        if Delivery(headers, body, genuine=False).event.get("type") == "webhook.ping":
            return DeliveryResult(200)
        with self.changed:
            # The first event may arrive before this process has read the secret in the response to
            # the registration.
            self.changed.wait_for(lambda: self.endpoint, RECEIVER_SECONDS)
            endpoint = self.endpoint
        genuine = endpoint is not None and deliveries.verify(endpoint, headers, body, time.time())
        delivery = Delivery(headers, body, genuine)
        result = self.reply(delivery)
        with self.changed:
            self.deliveries.append(replace(delivery, status=result.status, error=result.error))
            self.changed.notify_all()
        return result


class Receiver:
    """The loopback server; it listens from the first collector on."""

    def __init__(self) -> None:
        self._collectors: dict[str, WebhookCollector] = {}
        self._server: HttpReceiver | None = None

    def open(self, name: str) -> tuple[str, WebhookCollector]:
        if self._server is None:
            self._server = HttpReceiver(self._respond)
            self._server.start()
        self._collectors[name] = collector = WebhookCollector()
        return f"{self._server.url}/{name}", collector

    def discard(self, name: str) -> None:
        """Drop a collector; deliveries to its URL get a 404 from now on."""
        self._collectors.pop(name, None)

    def close(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None

    def _respond(self, request: ReceivedRequest) -> ReceiverReply:
        collector = self._collectors.get(request.path.strip("/"))
        if collector is None:
            return ReceiverReply(404)
        headers = {name.lower(): value for name, value in request.headers.items()}
        return ReceiverReply(collector.receive(headers, request.body).status)


# -- targets: what forwards one delivery


class AppResponse(NamedTuple):
    status: int
    body: bytes


class ForwardTarget(ABC):
    """Where deliveries are forwarded to."""

    is_running = True
    """Whether deliveries under way can end while the thread that asks waits for them."""

    def __init__(self) -> None:
        self._awaited: set[Future[AppResponse]] = set()

    @abstractmethod
    def send(self, delivery: Delivery) -> AppResponse:
        """Forward a delivery unchanged: its signature stays valid. Raises the application's errors.

        Called in a thread for this delivery alone. Raises ``CancelledError`` after ``cancel``, and
        if the application was shut down.
        """

    def awaited(self, future: Future[AppResponse]) -> AppResponse:
        """Return the response of an application on a loop, until ``cancel``."""
        self._awaited.add(future)
        try:
            return future.result()
        finally:
            self._awaited.discard(future)

    def cancel(self) -> None:
        """Give up the deliveries that a loop has under way; a thread cannot be interrupted."""
        for future in self._awaited.copy():
            future.cancel()

    def close(self) -> None:
        """Release what forwarding needs."""
        return


def response_of(response: Any) -> AppResponse:
    return AppResponse(response.status_code, response.content)


def forwarded_headers(delivery: Delivery) -> dict[str, str]:
    return {name: value for name, value in delivery.headers.items() if name not in HOP_BY_HOP}


# -- forwarding


T = TypeVar("T")

DELIVERY_SECONDS: float = RECEIVER_SECONDS
"""Seconds (real time) an application has to respond to a delivery, as any receiver has (Limits)."""

TARGET_CHECK_INTERVAL = 0.1
"""Seconds between looks at whether the application that deliveries wait for still runs."""

ERROR_LENGTH = 500
"""Characters of the body of a failed response that are shown."""


class Forwarding:
    """Forwards the deliveries of ``world`` until ``close``, from several threads at once."""

    def __init__(self, target: ForwardTarget, world: str) -> None:
        self._target = target
        self._world = world
        self._changed = threading.Condition()
        self._is_closed = False
        self._under_way = 0

    def result(self, delivery: Delivery) -> DeliveryResult:
        """Return the application's response; 500 and its exception, or 504 if none came in time."""
        with self._changed:
            if self._is_closed:
                return DeliveryResult(200)
            self._under_way += 1
        try:
            response = in_thread(lambda: self._target.send(delivery))
            if not wait([response], DELIVERY_SECONDS).not_done:
                return _result(response)
            result = self._late(delivery)
            self._target.cancel()
            return result
        finally:
            with self._changed:
                self._under_way -= 1
                self._changed.notify_all()

    def close(self) -> None:
        """Forward no more, let the deliveries under way end in their time, release the target."""
        with self._changed:
            self._is_closed = True
            while self._under_way:
                if not self._target.is_running:
                    self._target.cancel()
                self._changed.wait(TARGET_CHECK_INTERVAL)
        self._target.close()

    def _late(self, delivery: Delivery) -> DeliveryResult:
        event = delivery.event
        error = (
            f"{event.get('type', 'a delivery')} {event.get('id', '')} (attempt {delivery.attempt})"
            f" of the world {self._world} was forwarded to the application, which has not responded"
            f" within {DELIVERY_SECONDS:g} s"
        )
        # The test may be over. As an error, the warning would end the receiver's thread, and the
        # result is enough.
        with suppress(Warning):
            warnings.warn(error, RuntimeWarning, stacklevel=1)
        return DeliveryResult(504, error)


def in_thread(call: Callable[[], T]) -> Future[T]:
    """Run a call in a thread that does not delay the process's end; return its future."""
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(call())
        except BaseException as error:  # raised again where the result is asked for
            future.set_exception(error)

    threading.Thread(target=run, name="payments-emulator-delivery", daemon=True).start()
    return future


def _result(future: Future[AppResponse]) -> DeliveryResult:
    try:
        response = future.result()
    except CancelledError:
        return DeliveryResult(503, "the application was shut down before it responded")
    except (
        Exception
    ) as error:  # any error of the application is a failed delivery, which the report shows
        return DeliveryResult(500, f"{type(error).__name__}: {error}{_hint(error)}")
    message = (
        response.body.decode(errors="replace")[:ERROR_LENGTH] if response.status >= 500 else None
    )
    return DeliveryResult(response.status, message)


def _hint(error: Exception) -> str:
    if not isinstance(error, RuntimeError) or "loop" not in str(error).lower():
        return ""
    return (
        "; does a test client run the application's lifespan as well? Then give forward_to() that"
        " client"
    )
