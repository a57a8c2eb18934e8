"""Effects: values that say what to send out of the world. The engine performs them after the commit."""

from __future__ import annotations

import msgspec

from emulator.core.records import Record


class Effect(msgspec.Struct, frozen=True, kw_only=True):
    """Something to send. It is performed only if the unit of work that enqueued it is committed."""


class DeliverWebhook(Effect, frozen=True, kw_only=True):
    """Attempt this webhook delivery now. Attempts at one endpoint are made in the order they were enqueued.

    A command that yields it continues once the attempt and its outcome are recorded.
    """

    webhook: str
    delivery: str


class PingEndpoint(Effect, frozen=True, kw_only=True):
    """Send the validation ping to a webhook endpoint; the command that yields it needs the outcome (B-82).

    ``endpoint`` is the endpoint with its new values, ``event`` the id of the event in ``body``.
    """

    endpoint: Record
    event: str
    body: bytes


class SendEmail(Effect, frozen=True, kw_only=True):
    """Send this email, if an SMTP server is configured. A world's emails are sent in the order they were enqueued."""

    email: str


class HttpResult(msgspec.Struct, frozen=True, kw_only=True):
    """The response to an HTTP request of ours: its status code, or in ``error`` why there is none."""

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
        """Why it failed, for people to read."""
        return self.error or f"status {self.status_code}"
