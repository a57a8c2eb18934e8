"""Valid deliveries, which a correct receiver accepts, in all forms they may have."""

from __future__ import annotations

import json

from emulator.checks.receiver.service_world import ServiceWorld
from emulator.core.event_types import EVENTS
from emulator.resources.webhooks.signing import TOKEN_LIFETIME, SignedRequest

THREE_DAYS = 3 * 24 * 3600
"""Seconds; longer than ten retries with exponential backoff take, so only a replay arrives this late (B-84)."""

PARALLEL = 5
"""Deliveries sent at the same time."""


def every_type(service: ServiceWorld) -> list[SignedRequest]:
    """Events of every type, each after the events that lead to it.

    The customer who is deleted is an earlier one: the events about the others find theirs where they read it.
    """
    deleted = {"customer": json.loads(service.valid_event.body)["data"]["object"]["id"]}
    overrides = {"customer.deleted": deleted}
    return [sent for type in EVENTS for sent in service.deliveries_of(type, **overrides.get(type, {}))]


def text(service: ServiceWorld) -> list[SignedRequest]:
    """Non-ASCII characters. The combining accent is lost if a receiver normalizes the text before it verifies."""
    return [service.customer(name="Zoe\u0301 Ñandú 王 🧺", metadata={"note": "« prêt »"})]


def spaced(service: ServiceWorld) -> list[SignedRequest]:
    """The same JSON with different white space."""
    sent = service.customer()
    return [service.signed(sent, body=json.dumps(json.loads(sent.body), indent=2).encode())]


def large(service: ServiceWorld) -> list[SignedRequest]:
    """The most metadata that a customer can have, in characters of four bytes (B-22)."""
    return [service.customer(metadata={f"{number:02}".ljust(40, "k"): "🧺" * 500 for number in range(50)})]


def parallel(service: ServiceWorld) -> list[SignedRequest]:
    """Several events, for one strategy to send at the same time."""
    return [service.customer() for _ in range(PARALLEL)]


def twice(service: ServiceWorld) -> list[SignedRequest]:
    """A delivery, and its retry after the answer was lost."""
    sent = service.customer()
    return [sent, service.again(sent)]


def reordered(service: ServiceWorld) -> list[SignedRequest]:
    """The events of a subscription in reverse order: canceled, created, its customer created."""
    return service.deliveries_of("subscription.canceled")[::-1]


def late(service: ServiceWorld) -> list[SignedRequest]:
    """An event that happened three days ago."""
    return [service.customer(ago=THREE_DAYS)]


def nearly_expired(service: ServiceWorld) -> list[SignedRequest]:
    """A token that is valid for one more minute."""
    return [service.signed(service.customer(), ago=TOKEN_LIFETIME - 60)]
