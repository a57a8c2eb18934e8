"""What passed through the proxy: requests with their answers, and webhooks, as a recording holds them."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import msgspec


class PassedRequest(msgspec.Struct, frozen=True, kw_only=True, tag="request"):
    """A request and the answer of the service.

    ``app`` is the App in whose world the request is played. ``authorization`` is ``sk`` or ``pk`` for a secret or a
    public key, else the header without its secret. ``date`` is the answer's ``Date`` as an instant (UTC). Bodies are
    texts; ``answer`` is None if it is no text.
    """

    number: int
    app: str
    method: str
    target: str
    authorization: str | None = None
    headers: dict[str, str] = {}
    body: str = ""
    status: int
    request_id: str | None = None
    date: str | None = None
    answer: str | None = None


class PassedWebhook(msgspec.Struct, frozen=True, kw_only=True, tag="webhook"):
    """A webhook of the service, and the status that the application answered; None if it was not passed on."""

    number: int
    body: str
    status: int | None = None


Passed = PassedRequest | PassedWebhook


class PassedAnswer(NamedTuple):
    """A status and a body: JSON, a text if it is not JSON, or None."""

    status: int
    body: Any


def json_or_text(text: str | None) -> Any:
    """The JSON value in a text, or the text if it is no JSON; None for an empty one."""
    if not text:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
