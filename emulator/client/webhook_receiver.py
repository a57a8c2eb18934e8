"""A webhook receiver: an HTTP server on a loopback port; a function makes its responses."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple, Self

SHUTDOWN_CHECK_INTERVAL = 0.02
"""Seconds between two checks for a shutdown, so the longest time that closing takes."""

HOP_BY_HOP = frozenset(
    ["host", "connection", "content-length", "transfer-encoding", "accept-encoding"]
)
"""Headers of the connection, which are not forwarded."""


class ReceivedRequest(NamedTuple):
    """One POST as it arrived: headers (found in any case), and the raw body under the signature."""

    path: str
    headers: Message
    body: bytes


class ReceiverReply(NamedTuple):
    """The response to a request."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = {}


Responder = Callable[[ReceivedRequest], ReceiverReply | None]
"""Called in a thread per request; None closes the connection without a response."""


class HttpReceiver(ThreadingHTTPServer):
    """Listens from its construction on; responds from ``start`` to ``close`` (or in ``with``)."""

    daemon_threads = True
    request_queue_size = 1000

    def __init__(self, respond: Responder, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.respond = respond
        self.url: str = f"http://127.0.0.1:{self.server_port}"
        self._thread = threading.Thread(
            target=self.serve_forever,
            args=(SHUTDOWN_CHECK_INTERVAL,),
            name="http-receiver",
            daemon=True,
        )

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Stop listening. It does not wait for requests that are being handled."""
        self.shutdown()
        self._thread.join()
        self.server_close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Handler(BaseHTTPRequestHandler):
    server: HttpReceiver
    wbufsize = -1  # head and body go out in one piece

    def do_POST(self) -> None:  # the library's name
        length = self.headers.get("content-length", "0")
        if not (length.isascii() and length.isdecimal()):
            self.send_error(400, "Content-Length is not a number")
            return
        body = self.rfile.read(int(length))
        if (reply := self.server.respond(ReceivedRequest(self.path, self.headers, body))) is None:
            return
        self.send_response(reply.status)
        for name, value in {"content-length": str(len(reply.body)), **reply.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(reply.body)

    def handle(self) -> None:
        """Serve one connection. The sender may hang up before the response; that is no failure."""
        with suppress(OSError):
            super().handle()

    def finish(self) -> None:
        """Close the connection. What could not be written is tried once more here."""
        with suppress(OSError):
            super().finish()
        self.rfile.close()  # which the library does not reach where writing fails

    def log_message(self, format: str, *args: object) -> None:
        """Do nothing: the output belongs to the command or the test that receives."""
