"""The webhooks of a world as a merchant's receiver gets them: collected, verified, waited for, passed on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from emulator.testing import failure_report
from emulator.testing.api import JSON, Api
from emulator.testing.clock import Clock
from emulator.testing.collector import Delivery, DeliveryResult, Receiver, SigningEndpoint, WebhookCollector
from emulator.testing.events import Events, identity
from emulator.testing.in_process import passing_on


class Webhooks:
    """A receiver of this world alone. Its endpoint is registered on first use, for all events.

    What happened before that is not delivered, so ask for ``payments.webhooks`` before what is to be seen. A
    delivery whose signature is wrong is answered 401 and counts as not delivered.
    """

    def __init__(self, api: Api, clock: Clock, events: Events, receiver: Receiver, name: str) -> None:
        self._api = api
        self._clock = clock
        self._log = events
        self._receiver = receiver
        self._name = name
        self._collector: WebhookCollector | None = None
        self._endpoint: JSON = {}
        self._pass_on: Callable[[Delivery], DeliveryResult] = lambda delivery: DeliveryResult(200)
        self._statuses: list[int] = []
        self._seen: set[str] = set()

    def listen(self, /, *events: str, **fields: Any) -> Webhooks:
        """Register the endpoint anew, for some types of event or with other ``fields``; what came in is forgotten.

        Such fields are ``security_profile`` (``HMAC_SHA256``, ``BASIC``, ``JWT``) and ``retry_policy``.
        """
        self._forget()
        url, collector = self._receiver.open(self._name)
        collector.reply = self._reply
        body = {"name": "Test suite", "url": url, "events": list(events) or ["*"], **fields}
        self._endpoint = endpoint = self._api.post("/v1/webhooks/", body)
        collector.verify_with(SigningEndpoint(endpoint["id"], endpoint["secret"], endpoint["security_profile"]))
        self._collector = collector
        return self

    @property
    def endpoint(self) -> JSON:
        """The webhook endpoint, its ``secret`` included."""
        self._listening()
        return self._endpoint

    @property
    def secret(self) -> str:
        """What the deliveries are signed with, for the application under test."""
        return str(self.endpoint["secret"])

    @property
    def deliveries(self) -> list[Delivery]:
        """All that has come in, the forged included, in order of arrival. Some may still be under way."""
        collector = self._listening()
        with collector.changed:
            return list(collector.deliveries)

    @property
    def events(self) -> list[JSON]:
        """The events delivered so far, each once, in order of arrival; what is under way is waited for."""
        self._settle()
        return list(self._genuine().values())

    def wait_for(self, type: str, object: str | Mapping[str, Any] | None = None, timeout: float = 10) -> JSON:
        """The next delivered event of a type, perhaps about an object (it or its id). Each is given out once.

        ``timeout`` in real seconds. Raises ``AssertionError``, telling what did arrive.
        """
        __tracebackhide__ = True
        collector = self._listening()
        with collector.changed:
            found = collector.changed.wait_for(lambda: self._next(type, object), timeout)
        if not found:
            raise AssertionError(f"no webhook {type} arrived within {timeout:g} s.\n{self.told()}")
        self._seen.add(found["id"])
        return found

    def assert_delivered(
        self, type: str, object: str | Mapping[str, Any] | None = None, times: int | None = None
    ) -> list[JSON]:
        """The delivered events of a type, perhaps about an object; at least one, or just so many ``times``.

        Deliveries under way are waited for; the clock is not moved.
        """
        __tracebackhide__ = True
        self._settle()
        found = self._matching(type, object)
        if not found if times is None else len(found) != times:
            wanted = "was not delivered" if times is None else f"was delivered {len(found)} times, not {times}"
            raise AssertionError(f"{type} {wanted}.\n{self.told()}")
        return found

    def refute_delivered(self, type: str, object: str | Mapping[str, Any] | None = None) -> None:
        """No event of a type, perhaps about an object, was delivered; deliveries under way are waited for."""
        __tracebackhide__ = True
        self._settle()
        if found := self._matching(type, object):
            raise AssertionError(f"{type} was delivered, {len(found)} times.\n{self.told()}")

    def answer(self, *statuses: int) -> Webhooks:
        """Answer the next deliveries with these statuses, and pass them on to nobody."""
        self._listening()
        self._statuses.extend(statuses)
        return self

    def forward_to(self, target: Any, path: str = "/webhooks") -> Webhooks:
        """Pass deliveries on to a URL, or in process to a WSGI or ASGI application at ``path``; its answers count.

        An application's lifespan is not run, and it is called on a thread, or an event loop, of the receiver's own.
        """
        self._listening()
        self._pass_on = passing_on(target, path)
        return self

    def told(self) -> str:
        """What arrived, what happened and what is to come, for a message."""
        delivered = self._genuine()
        missed = [event for event in self._log if event["id"] not in delivered]
        late = failure_report.happened(missed, "that were not delivered to this receiver") if missed else ""
        hint = f"It listens since {self._endpoint['created_at']}, to {', '.join(self._endpoint['events'])}."
        parts = [
            failure_report.received(self.deliveries),
            late,
            hint if late else "",
            failure_report.still_to_come(self._clock),
        ]
        return "\n".join(part for part in parts if part)

    @property
    def so_far(self) -> list[Delivery]:
        """What has come in, without registering an endpoint for the question."""
        return [] if self._collector is None else self.deliveries

    def close(self) -> None:
        """Forget what came in; the endpoint goes with its world."""
        self._receiver.discard(self._name)
        self._collector = None

    def _listening(self) -> WebhookCollector:
        if self._collector is None:
            self.listen()
        assert self._collector is not None
        return self._collector

    def _forget(self) -> None:
        if self._collector is not None:
            self._api.delete(f"/v1/webhooks/{self._endpoint['id']}/")
            self.close()

    def _settle(self) -> None:
        self._listening()
        self._clock.settle()

    def _genuine(self) -> dict[str, JSON]:
        return {item.event["id"]: item.event for item in self.deliveries if item.genuine}

    def _matching(self, type: str, object: str | Mapping[str, Any] | None) -> list[JSON]:
        id = identity(object)
        return [
            event
            for event in self._genuine().values()
            if event["type"] == type and id in (None, event["data"]["object"].get("id"))
        ]

    def _next(self, type: str, object: str | Mapping[str, Any] | None) -> JSON | None:
        return next((event for event in self._matching(type, object) if event["id"] not in self._seen), None)

    def _reply(self, delivery: Delivery) -> DeliveryResult:
        return DeliveryResult(self._statuses.pop(0)) if self._statuses else self._pass_on(delivery)
