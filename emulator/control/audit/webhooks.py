"""Rules about webhooks: how a client has them signed, and how its receiver answers."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlsplit

from emulator.control.audit.client_history import ClientHistory, Ids
from emulator.engine.outbox import FORGED
from emulator.resources.webhooks.deliveries import DeliveryAttempt, WebhookDelivery
from emulator.resources.webhooks.egress_policy import loopback
from emulator.resources.webhooks.endpoints import WebhookEndpoint

SLOW_MS = 5000
"""Milliseconds (real time) above which an answer is slow; after 10 s an attempt has failed."""

LATE = "no answer within"
"""The beginning of the error of an attempt that was not answered in time."""


def attempted(history: ClientHistory) -> list[WebhookDelivery]:
    """The deliveries that reached a receiver."""
    return [each for each in history.deliveries if any(map(_was_answered, each.attempts))]


def _was_answered(attempt: DeliveryAttempt) -> bool:
    return attempt.status_code is not None or _is_late(attempt)


def _is_late(attempt: DeliveryAttempt) -> bool:
    return (attempt.error or "").startswith(LATE) or (attempt.status_code is not None and attempt.duration_ms > SLOW_MS)


def slow(history: ClientHistory) -> Ids:
    """Deliveries that were answered slowly or not in time."""
    return [each.id for each in history.deliveries if any(map(_is_late, each.attempts))]


def unacknowledged(history: ClientHistory) -> Ids:
    """Failed deliveries whose last answer was not 2xx; attempts without any answer do not count."""
    return [
        each.id
        for each in history.deliveries
        if each.status == "failed" and each.attempts and (each.attempts[-1].status_code or 0) >= 300
    ]


def accepted_tampered(history: ClientHistory) -> Ids:
    """Deliveries that were tampered with and acknowledged nevertheless, or of which a forged copy was."""
    tampered = [each.id for each in history.tampered if (each.attempts[-1].status_code or 500) < 300]
    return tampered + [
        each.id for each in history.forged if any(one.error == f"{FORGED}accepted" for one in each.attempts)
    ]


def endpoints_that(condition: Callable[[WebhookEndpoint], bool]) -> Callable[[ClientHistory], Ids]:
    """A check that finds the endpoints for which a condition is true."""
    return lambda history: [each.id for each in history.endpoints if condition(each)]


def is_basic(endpoint: WebhookEndpoint) -> bool:
    """Whether each delivery sends the secret as a password."""
    return endpoint.security_profile == "BASIC"


def is_plain(endpoint: WebhookEndpoint) -> bool:
    """Whether events are sent over plain HTTP, other than during development."""
    return endpoint.url.startswith("http:") and not _is_in_development(endpoint)


def is_unchecked(endpoint: WebhookEndpoint) -> bool:
    """Whether certificates are not checked, other than during development."""
    return not endpoint.ssl_verification and not _is_in_development(endpoint)


def _is_in_development(endpoint: WebhookEndpoint) -> bool:
    return not endpoint.livemode and loopback(urlsplit(endpoint.url).hostname or "")
