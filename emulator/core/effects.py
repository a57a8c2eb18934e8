"""Effects: what a turn wishes done outside its world. They are values; the engine performs them between turns."""

from __future__ import annotations

import msgspec

from emulator.core.records import Record


class Effect(msgspec.Struct, frozen=True, kw_only=True):
    """A wish of a turn that was kept. A turn that was undone wished nothing."""


class DeliverWebhook(Effect, frozen=True, kw_only=True):
    """Attempt this webhook delivery now. Attempts at one endpoint are made in the order they were wished for.

    A command may also wait for it: its outcome is on record by then.
    """

    webhook: str
    delivery: str


class PingEndpoint(Effect, frozen=True, kw_only=True):
    """Ask an endpoint's URL whether it is a willing receiver: its outcome decides what happens next.

    ``endpoint`` is the endpoint as it will be, ``event`` the id of the event in ``body``.
    """

    endpoint: Record
    event: str
    body: bytes


class SendEmail(Effect, frozen=True, kw_only=True):
    """Send this email, where there is a server that takes it; a world's emails go in the order they were wished for."""

    email: str


class HttpResult(msgspec.Struct, frozen=True, kw_only=True):
    """What came back from the outside: a status code, or why there is none."""

    status_code: int | None
    error: str | None = None
    body: str | None = None
    duration_ms: int = 0

    @property
    def ok(self) -> bool:
        """Any 2xx is success (B-84)."""
        return self.status_code is not None and 200 <= self.status_code < 300

    @property
    def reason(self) -> str:
        """Why it failed, in a few words."""
        return self.error or f"status {self.status_code}"
