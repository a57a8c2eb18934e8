"""Rules about secrets, and about operations that only the sandbox has."""

from __future__ import annotations

import re
from functools import cache
from urllib.parse import urlsplit

from emulator.control.audit.client_history import ClientHistory, Ids, Request
from emulator.document import bundles
from emulator.web.service_app import sandbox_only

SECRET = re.compile(r"(?i)(sk_(test|prod)_|whsec_)\*{4}")
"""The beginnings of secrets, and how the journal masks the rest."""


def exposed_secrets(history: ClientHistory) -> Ids:
    """Requests with a secret key, or an endpoint's secret, in the URL or the body."""
    return [each.id for each in history.requests if SECRET.search(each.text)]


def from_browsers(history: ClientHistory) -> Ids:
    """Requests sent by pages of other sites; the emulator's own API explorer is not one."""
    return [each.id for each in history.requests if _is_foreign(each)]


def _is_foreign(request: Request) -> bool:
    origin, host = (request.headers.get(name, b"").decode("latin-1") for name in (b"origin", b"host"))
    return bool(origin) and _netloc(origin) != host.lower()


def _netloc(origin: str) -> str | None:
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return None


def beyond(history: ClientHistory) -> Ids:
    """Requests for operations that the specification of the service does not have."""
    return [each.id for each in history.of(*_beyond())]


@cache
def _beyond() -> frozenset[str]:
    return sandbox_only(bundles.load("service"))
