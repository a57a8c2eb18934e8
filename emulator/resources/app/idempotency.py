"""Idempotency: stored responses to requests with an Idempotency-Key, to be sent again (B-16)."""

from __future__ import annotations

from typing import ClassVar

from emulator.core import calendar
from emulator.core.errors import ApiError
from emulator.core.records import Record
from emulator.core.world import World

LIFETIME_HOURS = 24
"""Hours of the world's clock after which a stored response expires."""


class StoredResponse(Record, frozen=True, kw_only=True):
    """A response by Idempotency-Key (its id). ``fingerprint`` covers method, path and body."""

    kind: ClassVar[str] = "remembered_answer"
    prefix: ClassVar[str] = "key"

    fingerprint: str
    status: int
    body: bytes
    created_at: str
    expires_at: str


def lookup(world: World, key: str, fingerprint: str) -> StoredResponse | None:
    """Return this request's stored response, if any; a key reused: 409 ``IDEMPOTENCY_CONFLICT``."""
    stored = world.get(StoredResponse, key)
    if stored is None or stored.expires_at <= world.now:
        return None
    if stored.fingerprint != fingerprint:
        raise ApiError("IDEMPOTENCY_CONFLICT")
    return stored


def store(world: World, key: str, fingerprint: str, status: int, body: bytes) -> None:
    """Store a response. Expired ones are removed here, so that no job is needed for it."""
    table = world.table(StoredResponse)
    while table.order and (oldest := table.order[0].record).expires_at <= world.now:
        world.remove(oldest)
    world.add(
        StoredResponse(
            id=key,
            fingerprint=fingerprint,
            status=status,
            body=body,
            created_at=world.now,
            expires_at=calendar.plus(world.now, hours=LIFETIME_HOURS),
        )
    )
