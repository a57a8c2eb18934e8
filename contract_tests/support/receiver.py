"""A webhook receiver: a real HTTP server that stores raw bytes and responds as arranged."""

from __future__ import annotations

import hashlib
import hmac
import json
import ssl
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from emulator.client.webhook_receiver import HttpReceiver, ReceivedRequest, ReceiverReply


@dataclass(frozen=True)
class Received:
    """One request as it arrived."""

    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def event(self) -> Any:
        return json.loads(self.body)

    @property
    def is_ping(self) -> bool:
        """Whether it only tries the address."""
        return bool(self.event["type"] == "webhook.ping")

    def signed_with(self, secret: str) -> bool:
        """Return whether ``Service-Signature`` is the raw body's HMAC-SHA256 (Delivery rule 1)."""
        expected = hmac.new(secret.encode(), self.body, hashlib.sha256).hexdigest()
        return hmac.compare_digest(expected, self.headers.get("service-signature", ""))


@dataclass(frozen=True)
class Reply:
    """A request's response: ``held`` until the receiver's release, ``cut`` off, or given."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    held: bool = False
    cut: bool = False


class Receiver:
    """Listens on a free loopback port, with TLS where a context is given.

    ``statuses`` are given one after the other, then always 200. ``reply`` may be replaced to answer
    otherwise, and ``react`` to do something with each request before it is answered, such as
    calling back.
    """

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.received: list[Received] = []
        self.statuses: list[int] = []
        self.react: Callable[[Received], object] = lambda received: None
        self.reply: Callable[[Received], Reply] = self._next_status
        self._released = threading.Event()
        self._server = HttpReceiver(self._respond)
        if tls:
            self._server.socket = tls.wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )
        self.port = self._server.server_port
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self.port}/hook"
        self._server.start()

    def _next_status(self, received: Received) -> Reply:
        return Reply(self.statuses.pop(0) if self.statuses else 200)

    @property
    def deliveries(self) -> list[Received]:
        """The requests received, pings left out, in order of arrival."""
        return [item for item in self.received if not item.is_ping]

    @property
    def events(self) -> list[Any]:
        return [item.event for item in self.deliveries]

    def release(self) -> None:
        self._released.set()

    def wait(self) -> None:
        assert self._released.wait(30), "the receiver was not released"

    def close(self) -> None:
        self.release()
        self._server.close()

    def _respond(self, request: ReceivedRequest) -> ReceiverReply | None:
        headers = {name.lower(): value for name, value in request.headers.items()}
        received = Received(request.path, headers, request.body)
        self.received.append(received)
        self.react(received)
        reply = self.reply(received)
        if reply.held:
            self.wait()
        return None if reply.cut else ReceiverReply(reply.status, reply.body, reply.headers)
