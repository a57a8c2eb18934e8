"""Safety: whether keys stay where they belong, and what is used that the service does not have."""

from __future__ import annotations

import re
from functools import cache
from urllib.parse import urlsplit

from emulator.control.audit_rules.client_history import ClientHistory, Quote, Request
from emulator.document import bundles
from emulator.web.service_app import sandbox_only

SECRET = re.compile(r"\b(sk_(test|prod)_|whsec_)")
"""How a secret begins; the rest is masked."""


def exposed_secrets(evidence: ClientHistory) -> Quote:
    """A secret key, or an endpoint's secret, in a URL or a body."""
    return [each.id for each in evidence.requests if SECRET.search(each.text)]


def from_browsers(evidence: ClientHistory) -> Quote:
    """A secret key sent by the page of another site; the emulator's own explorer is none."""
    return [each.id for each in evidence.requests if _is_foreign(each)]


def _is_foreign(request: Request) -> bool:
    origin, host = (request.headers.get(name, b"").decode("latin-1") for name in (b"origin", b"host"))
    return bool(origin) and _netloc(origin) != host.lower()


def _netloc(origin: str) -> str | None:
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return None


def beyond(evidence: ClientHistory) -> Quote:
    """Operations that the service's specification does not have."""
    return [each.id for each in evidence.of(*_beyond())]


@cache
def _beyond() -> frozenset[str]:
    return sandbox_only(bundles.load("service"))
