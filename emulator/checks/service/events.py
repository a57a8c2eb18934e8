"""The webhook receiver of probes: the end of a path is the status it answers with, after the ping."""

from __future__ import annotations

import hmac
import json
import threading
from base64 import b64encode
from hashlib import sha256
from typing import Any
from urllib.parse import urlsplit

from emulator.checks.service.service import NoAnswer
from emulator.checks.webhook_receiver import HttpReceiver, ReceivedRequest, ReceiverReply

PATIENCE = 60.0
"""Seconds that an event may take to arrive."""


class EventReceiver:
    """Receives the events of probes; ``url`` is where the service reaches it."""

    def __init__(self, url: str | None = None, port: int = 0) -> None:
        self._server = HttpReceiver(self._answer, port)
        self._received: dict[str, list[ReceivedRequest]] = {}
        self._arrived = threading.Condition()
        self.url = (url or self._server.url).rstrip("/")

    def __enter__(self) -> EventReceiver:
        self._server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.close()

    def last(self, url: str, secret: str) -> dict[str, Any]:
        """The last event that arrived at a URL: its fields, ``headers`` and ``signature`` (hex, base64 or other).

        The ping does not count. Raises :class:`NoAnswer` if none arrives in time.
        """
        path = urlsplit(url).path
        with self._arrived:
            if not self._arrived.wait_for(lambda: len(self._of(path)) > 1, PATIENCE):
                raise NoAnswer(f"no event arrived at {url}")
            request = self._of(path)[-1]
        headers = {name.lower(): value for name, value in request.headers.items()}
        signature = _signature(headers.get("service-signature", ""), secret, request.body)
        return {**json.loads(request.body), "headers": headers, "signature": signature}

    def _of(self, path: str) -> list[ReceivedRequest]:
        """What arrived at a path; in front of the receiver there may be a tunnel with a path of its own."""
        return next((found for at, found in self._received.items() if path.endswith(at)), [])

    def _answer(self, request: ReceivedRequest) -> ReceiverReply:
        with self._arrived:
            before = self._received.setdefault(request.path, [])
            before.append(request)
            self._arrived.notify_all()
            last = request.path.rpartition("/")[2]
            return ReceiverReply(int(last) if len(before) > 1 and last.isdigit() else 200)


def _signature(given: str, secret: str, body: bytes) -> str:
    digest = hmac.digest(secret.encode(), body, sha256)
    forms = {digest.hex(): "hex", digest.hex().upper(): "capitals", b64encode(digest).decode(): "base64"}
    return forms.get(given, "other")
