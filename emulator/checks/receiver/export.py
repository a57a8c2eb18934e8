"""Deliveries as plain values, for the unit tests of a verifier: what the checks would send, and what to make of it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from emulator.checks.receiver.checks import ReceiverCheck, checks_of
from emulator.checks.receiver.service_world import ServiceWorld
from emulator.resources.webhooks.signing import SignedRequest


def deliveries(service: ServiceWorld) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every delivery of every check of the endpoint's signing method, each with a name for its file.

    ``at`` is the system's time in seconds when it was signed: by it a JWT is judged, as if it arrived then.
    """
    method = service.endpoint.security_profile
    for check in checks_of(method):
        for number, sent in enumerate(check.make(service), 1):
            yield f"{method.lower()}-{check.name}-{number}", _as_json(service, check, sent)


def _as_json(service: ServiceWorld, check: ReceiverCheck, sent: SignedRequest) -> dict[str, Any]:
    return {
        "check": check.name,
        "sent": check.sent,
        "expected": check.expected,
        "rule": check.rule,
        "method": service.endpoint.security_profile,
        "webhook": service.endpoint.id,
        "at": int(time.time()),
        "headers": sent.headers,
        "body": sent.body.decode(),
    }
