"""A webhook receiver for tests: one loopback server for all worlds, a box for each, signatures checked on arrival."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from emulator.resources.webhooks import signing

PATIENCE = 10
"""Seconds (real time) after which the emulator gives up on a receiver; nothing is worth holding longer."""


@dataclass(frozen=True)
class Delivery:
    """One webhook as it arrived: headers by lower-case name, the raw body, and whether the signature is genuine.

    ``status`` is what it was answered with, ``error`` what went wrong in the application it was passed on to.
    """

    headers: Mapping[str, str]
    body: bytes
    genuine: bool
    status: int = 200
    error: str | None = None

    @property
    def event(self) -> dict[str, Any]:
        """The event in the body; empty if that is no JSON object."""
        try:
            event = json.loads(self.body)
        except ValueError:
            return {}
        return event if isinstance(event, dict) else {}

    @property
    def attempt(self) -> int:
        """Which try it is, from 1."""
        return int(self.headers.get("emulator-attempt", 1))


class Signer(NamedTuple):
    """What an endpoint signs with."""

    id: str
    secret: str
    security_profile: str


class ReceiverReply(NamedTuple):
    """How a delivery is answered."""

    status: int
    error: str | None = None


UNKNOWN = ReceiverReply(404)
FORGED = ReceiverReply(401)


@dataclass
class Inbox:
    """What came in for one world. Whoever changes or reads it holds ``news``, which is notified of each delivery."""

    reply: Callable[[Delivery], ReceiverReply] = lambda delivery: ReceiverReply(200)
    deliveries: list[Delivery] = field(default_factory=list)
    news: threading.Condition = field(default_factory=threading.Condition)
    signer: Signer | None = None

    def sign_as(self, signer: Signer) -> None:
        """Judge by this secret from now on."""
        with self.news:
            self.signer = signer
            self.news.notify_all()

    def receive(self, headers: Mapping[str, str], body: bytes) -> ReceiverReply:
        """Judge, answer and keep one delivery. The validation ping comes before anybody knows the secret."""
        if Delivery(headers, body, genuine=False).event.get("type") == "webhook.ping":
            return ReceiverReply(200)
        with self.news:
            # The secret is in an answer that this process may not have read yet.
            self.news.wait_for(lambda: self.signer, PATIENCE)
            signer = self.signer
        delivery = Delivery(headers, body, signer is not None and signing.verify(signer, headers, body))
        reply = self.reply(delivery) if delivery.genuine else FORGED
        with self.news:
            self.deliveries.append(Delivery(headers, body, delivery.genuine, *reply))
            self.news.notify_all()
        return reply


class Receiver:
    """The loopback server; it listens from the first box on."""

    def __init__(self) -> None:
        self._inboxes: dict[str, Inbox] = {}
        self._server: _Server | None = None

    def open(self, name: str) -> tuple[str, Inbox]:
        """A new box and the URL it is reached at."""
        if self._server is None:
            self._server = _Server(self._inboxes)
        self._inboxes[name] = box = Inbox()
        return f"http://127.0.0.1:{self._server.server_port}/{name}", box

    def discard(self, name: str) -> None:
        """Forget a box."""
        self._inboxes.pop(name, None)

    def close(self) -> None:
        """Stop listening."""
        if self._server is not None:
            self._server.close()
            self._server = None


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, boxes: Mapping[str, Inbox]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.boxes = boxes
        self._thread = threading.Thread(target=self.serve_forever, args=(0.05,), name="payments-webhooks", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self.shutdown()
        self._thread.join()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_POST(self) -> None:
        box = self.server.boxes.get(self.path.strip("/"))
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        reply = UNKNOWN if box is None else box.receive(headers, body)
        self.send_response(reply.status)
        self.send_header("content-length", "0")
        self.end_headers()

    def handle(self) -> None:
        try:
            super().handle()
        except OSError:
            self.close_connection = True  # the emulator hung up, as it may when its patience is at an end

    def log_message(self, format: str, *args: object) -> None:
        """Silence: a failing test tells what came in."""
