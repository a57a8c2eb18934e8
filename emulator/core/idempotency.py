"""Remembered answers: what a request with an Idempotency-Key was told, to be told again (B-16)."""

from __future__ import annotations

from typing import ClassVar

from emulator.core import calendar
from emulator.core.records import Record
from emulator.core.world import World
from emulator.errors import ApiError

KEPT_HOURS = 24
"""How long an answer is remembered, on the world's clock."""


class StoredResponse(Record, frozen=True, kw_only=True):
    """An answer; its id is its key. ``fingerprint`` tells the request apart from others by method, path and body."""

    kind: ClassVar[str] = "remembered_answer"
    prefix: ClassVar[str] = "key"

    fingerprint: str
    status: int
    body: bytes
    created_at: str
    expires_at: str


def lookup(world: World, key: str, fingerprint: str) -> StoredResponse | None:
    """The remembered answer to this request. Raises 409 ``IDEMPOTENCY_CONFLICT`` if the key stands for another one."""
    known = world.get(StoredResponse, key)
    if known is None or known.expires_at <= world.now:
        return None
    if known.fingerprint != fingerprint:
        raise ApiError("IDEMPOTENCY_CONFLICT")
    return known


def store(world: World, key: str, fingerprint: str, status: int, body: bytes) -> None:
    """Keep an answer; what has expired is dropped on the occasion, so there is nothing to be planned."""
    _forget_expired(world)
    world.add(
        StoredResponse(
            id=key,
            fingerprint=fingerprint,
            status=status,
            body=body,
            created_at=world.now,
            expires_at=calendar.plus(world.now, hours=KEPT_HOURS),
        )
    )


def _forget_expired(world: World) -> None:
    table = world.table(StoredResponse)
    while (oldest := table.oldest()) is not None and oldest.expires_at <= world.now:
        world.remove(oldest)
