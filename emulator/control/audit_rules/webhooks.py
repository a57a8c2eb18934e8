"""Hooks: how a client has its webhooks signed, and how its receiver takes them."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlsplit

from emulator.control.audit_rules.client_history import ClientHistory, Quote
from emulator.resources.webhooks.deliveries import DeliveryAttempt, WebhookDelivery
from emulator.resources.webhooks.egress_policy import loopback
from emulator.resources.webhooks.endpoints import WebhookEndpoint

SLOW_MS = 5000
"""Milliseconds (real time) after which an answer was dangerously late: at ten seconds it does not count."""

LATE = "no answer within"
"""How the error of an attempt begins that was not answered in time."""


def attempted(evidence: ClientHistory) -> list[WebhookDelivery]:
    """The deliveries somebody was reached with."""
    return [each for each in evidence.deliveries if any(map(_was_answered, each.attempts))]


def _was_answered(attempt: DeliveryAttempt) -> bool:
    return attempt.status_code is not None or _is_late(attempt)


def _is_late(attempt: DeliveryAttempt) -> bool:
    return (attempt.error or "").startswith(LATE) or (attempt.status_code is not None and attempt.duration_ms > SLOW_MS)


def slow(evidence: ClientHistory) -> Quote:
    """Deliveries that were answered too late, or nearly."""
    return [each.id for each in evidence.deliveries if any(map(_is_late, each.attempts))]


def unacknowledged(evidence: ClientHistory) -> Quote:
    """Deliveries whose last answer was another one than that they were received; nobody being there is no answer."""
    return [
        each.id
        for each in evidence.deliveries
        if each.status == "failed" and each.attempts and (each.attempts[-1].status_code or 0) >= 300
    ]


def believed(evidence: ClientHistory) -> Quote:
    """Deliveries that were tampered with on the way and taken all the same."""
    return [each.id for each in evidence.forged if (each.attempts[-1].status_code or 500) < 300]


def endpoints(fault: Callable[[WebhookEndpoint], bool]) -> Callable[[ClientHistory], Quote]:
    """The endpoints that have a fault."""
    return lambda evidence: [each.id for each in evidence.endpoints if fault(each)]


def is_basic(endpoint: WebhookEndpoint) -> bool:
    """Whether it is signed by a password that goes with each delivery."""
    return endpoint.security_profile == "BASIC"


def is_plain(endpoint: WebhookEndpoint) -> bool:
    """Whether it is told over plain HTTP, other than while it is developed."""
    return endpoint.url.startswith("http:") and not _is_developed(endpoint)


def is_unchecked(endpoint: WebhookEndpoint) -> bool:
    """Whether anybody's certificate will do, other than while it is developed."""
    return not endpoint.ssl_verification and not _is_developed(endpoint)


def _is_developed(endpoint: WebhookEndpoint) -> bool:
    return not endpoint.livemode and loopback(urlsplit(endpoint.url).hostname or "")
