"""Genuine deliveries: what a good receiver accepts, in the forms in which it may come."""

from __future__ import annotations

import json

from emulator.certifier.service import Service
from emulator.events import EVENTS
from emulator.resources.signing import TOKEN_LIFETIME, Outgoing

THREE_DAYS = 3 * 24 * 3600
"""Seconds; longer than all ten retries with exponential backoff take, so only a replay comes so late (B-84)."""

AT_ONCE = 5
"""Deliveries that come together."""


def every_type(service: Service) -> list[Outgoing]:
    """Events of every type, each after those that lead to it."""
    return [sent for type in EVENTS for sent in service.story(type)]


def text(service: Service) -> list[Outgoing]:
    """Letters beyond ASCII. An accent that is a letter of its own gets lost where text is put into a normal form."""
    return [service.customer(name="Zoe\u0301 Ñandú 王 🧺", metadata={"note": "« prêt »"})]


def spaced(service: Service) -> list[Outgoing]:
    """The same JSON in other bytes."""
    sent = service.customer()
    return [service.signed(sent, body=json.dumps(json.loads(sent.body), indent=2).encode())]


def large(service: Service) -> list[Outgoing]:
    """All the metadata that a customer can have, in the longest letters (B-22)."""
    return [service.customer(metadata={f"{number:02}".ljust(40, "k"): "🧺" * 500 for number in range(50)})]


def crowd(service: Service) -> list[Outgoing]:
    """Several events."""
    return [service.customer() for _ in range(AT_ONCE)]


def twice(service: Service) -> list[Outgoing]:
    """A delivery, and again since its answer was lost."""
    sent = service.customer()
    return [sent, service.again(sent)]


def backwards(service: Service) -> list[Outgoing]:
    """A subscription that is canceled before it was created, for its customer who comes last."""
    return service.story("subscription.canceled")[::-1]


def late(service: Service) -> list[Outgoing]:
    """Something that happened long ago."""
    return [service.customer(ago=THREE_DAYS)]


def lasting(service: Service) -> list[Outgoing]:
    """A token that is old, and still good for a minute."""
    return [service.signed(service.customer(), ago=TOKEN_LIFETIME - 60)]
