"""Forwards webhooks from this machine to another URL, and shows each delivery with its answer."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import click

if TYPE_CHECKING:
    import httpx

    from emulator.checks.webhook_receiver import ReceivedRequest, ReceiverReply

PATIENCE = 10.0
"""Seconds that the receiver has to answer (Limits)."""

HOP_BY_HOP = frozenset(["host", "connection", "content-length", "transfer-encoding", "accept-encoding"])
"""Headers of the connection, which are not forwarded."""

SIGNATURE = "Service-Signature"


class ForwardResult(NamedTuple):
    """The answer to one forwarded delivery, or why there is none."""

    status: int | None
    error: str | None
    duration_ms: int
    body: bytes = b""
    content_type: str = "text/plain"


class Forwarder:
    """Answers webhooks with what another server answers to them, and prints each delivery.

    The emulator gives each endpoint a secret of its own. So that the server behind can have one that stays, genuine
    deliveries are signed again with ``secret``; any other is forwarded as it came. With ``about`` only events about
    this object are forwarded.
    """

    def __init__(self, client: httpx.Client, target: str, secret: str, *, about: str | None, as_json: bool) -> None:
        self._client = client
        self._target = target
        self._secret = secret
        self._about = about
        self._as_json = as_json
        self._endpoint_secret = ""
        self._registered = threading.Event()

    def verify_with(self, endpoint_secret: str) -> None:
        """From now on deliveries are signed with this secret."""
        self._endpoint_secret = endpoint_secret
        self._registered.set()

    def awaiting_registration(self) -> None:
        """Hold deliveries until the secret of the next endpoint is known."""
        self._registered.clear()

    def answer(self, request: ReceivedRequest) -> ReceiverReply:
        """Forward one request. Pings are answered here: they only test that this endpoint exists."""
        # Imported here: the help of a command line needs no web server.
        from emulator.checks.webhook_receiver import ReceiverReply

        event = event_in(request.body)
        if event.get("type") == "webhook.ping":
            return ReceiverReply()
        if self._about not in (None, about(event)):
            return ReceiverReply()
        self._registered.wait(PATIENCE)
        self._sign_again(request)
        result = self.forward(event, request)
        status = result.status or (504 if result.error == TIMED_OUT else 502)
        return ReceiverReply(status, result.body, {"content-type": result.content_type})

    def send(self, event: Mapping[str, Any]) -> None:
        """Forward a past event as a delivery of it would have been."""
        # Imported here: the help of a command line needs no web server and no headers.
        from email.message import Message

        from emulator.checks.webhook_receiver import ReceivedRequest

        if self._about in (None, about(event)):
            body = json.dumps(event, separators=(",", ":"), ensure_ascii=False).encode()
            headers = Message()
            headers["Content-Type"] = "application/json"
            headers[SIGNATURE] = signature(self._secret, body)
            self.forward(event, ReceivedRequest("/", headers, body))

    def forward(self, event: Mapping[str, Any], request: ReceivedRequest) -> ForwardResult:
        """Forward one request and print what became of it."""
        result = forward(self._client, self._target, request)
        shown = summary(event, request, result)
        click.echo(json.dumps(shown) if self._as_json else line(shown))
        sys.stdout.flush()
        return result

    def _sign_again(self, request: ReceivedRequest) -> None:
        import hmac  # like signature()

        given = request.headers.get(SIGNATURE, "")
        if hmac.compare_digest(given.encode(), signature(self._endpoint_secret, request.body).encode()):
            request.headers.replace_header(SIGNATURE, signature(self._secret, request.body))


def signature(secret: str, body: bytes) -> str:
    """The signature of a body."""
    # Imported here: the help of a command line needs no signatures.
    from emulator.resources.webhooks import signing

    return signing.signature(secret, body)


def about(event: Mapping[str, Any]) -> Any:
    """The id of the object that an event is about; None if the body is no event."""
    return event.get("data", {}).get("object", {}).get("id")


def forward(client: httpx.Client, url: str, request: ReceivedRequest) -> ForwardResult:
    """Send the same bytes under the same headers to another URL, so that the signature stays valid."""
    import httpx

    headers = {name: value for name, value in request.headers.items() if name.lower() not in HOP_BY_HOP}
    started = time.perf_counter()
    try:
        answer = client.post(url, headers=headers, content=request.body)
    except httpx.TimeoutException:
        return ForwardResult(None, TIMED_OUT, _since(started))
    except httpx.HTTPError as error:
        return ForwardResult(None, str(error) or type(error).__name__, _since(started))
    content_type = answer.headers.get("content-type", "text/plain")
    return ForwardResult(answer.status_code, None, _since(started), answer.content, content_type)


TIMED_OUT = "no answer in time"


def _since(started: float) -> int:
    return round((time.perf_counter() - started) * 1000)


def summary(event: Mapping[str, Any], request: ReceivedRequest, result: ForwardResult) -> dict[str, Any]:
    """What is shown of a delivery, as plain values."""
    return {
        "delivery": request.headers.get("Emulator-Delivery"),
        "attempt": int(request.headers.get("Emulator-Attempt", 1)),
        "event": event.get("id"),
        "type": event.get("type"),
        "created_at": event.get("created_at"),
        "status": result.status,
        "error": result.error,
        "duration_ms": result.duration_ms,
    }


def line(shown: Mapping[str, Any]) -> str:
    """A delivery on one line."""
    again = f" (attempt {shown['attempt']})" if shown["attempt"] > 1 else ""
    answer = shown["status"] or shown["error"]
    return f"{shown['created_at']}  {shown['type']}  {shown['event']}{again} -> {answer}  {shown['duration_ms']} ms"


def event_in(body: bytes) -> dict[str, Any]:
    """The event in a body; empty if that is no JSON object."""
    try:
        event = json.loads(body)
    except ValueError:
        return {}
    return event if isinstance(event, dict) else {}
