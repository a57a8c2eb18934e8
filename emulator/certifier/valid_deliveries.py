"""Genuine deliveries: what a good receiver accepts, in the forms in which it may come."""

from __future__ import annotations

import json

from emulator.certifier.service_world import ServiceWorld
from emulator.events import EVENTS
from emulator.resources.webhooks.signing import TOKEN_LIFETIME, SignedRequest

THREE_DAYS = 3 * 24 * 3600
"""Seconds; longer than all ten retries with exponential backoff take, so only a replay comes so late (B-84)."""

AT_ONCE = 5
"""Deliveries that come together."""


def every_type(service: ServiceWorld) -> list[SignedRequest]:
    """Events of every type, each after those that lead to it."""
    return [sent for type in EVENTS for sent in service.story(type)]


def text(service: ServiceWorld) -> list[SignedRequest]:
    """Letters beyond ASCII. An accent that is a letter of its own gets lost where text is put into a normal form."""
    return [service.customer(name="Zoe\u0301 Ñandú 王 🧺", metadata={"note": "« prêt »"})]


def spaced(service: ServiceWorld) -> list[SignedRequest]:
    """The same JSON in other bytes."""
    sent = service.customer()
    return [service.signed(sent, body=json.dumps(json.loads(sent.body), indent=2).encode())]


def large(service: ServiceWorld) -> list[SignedRequest]:
    """All the metadata that a customer can have, in the longest letters (B-22)."""
    return [service.customer(metadata={f"{number:02}".ljust(40, "k"): "🧺" * 500 for number in range(50)})]


def crowd(service: ServiceWorld) -> list[SignedRequest]:
    """Several events."""
    return [service.customer() for _ in range(AT_ONCE)]


def twice(service: ServiceWorld) -> list[SignedRequest]:
    """A delivery, and again since its answer was lost."""
    sent = service.customer()
    return [sent, service.again(sent)]


def backwards(service: ServiceWorld) -> list[SignedRequest]:
    """A subscription that is canceled before it was created, for its customer who comes last."""
    return service.story("subscription.canceled")[::-1]


def late(service: ServiceWorld) -> list[SignedRequest]:
    """Something that happened long ago."""
    return [service.customer(ago=THREE_DAYS)]


def lasting(service: ServiceWorld) -> list[SignedRequest]:
    """A token that is old, and still good for a minute."""
    return [service.signed(service.customer(), ago=TOKEN_LIFETIME - 60)]
