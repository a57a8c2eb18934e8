"""A client of httpx that sends plain requests by itself and has httptools read the responses.

Most of what a test's request cost was httpx's own: its pool, its flows of authentication and
redirects, its parser in Python; and the standard library reads headers as those of an email. What
it offers beyond a request and its whole response it still does itself.
"""

from __future__ import annotations

import math
import socket
import time
from contextlib import suppress
from functools import lru_cache
from typing import Any

import httptools
import httpx
from httpx import codes

IDLE_AT_MOST = 8
"""Connections that are kept for the next requests."""

_parsed = lru_cache(4096)(httpx.URL)
"""Addresses by text: httpx parses in Python, three times for a path, a fifth of a request."""


class Connections:
    """Connections to one server, which several clients and threads may share."""

    def __init__(self) -> None:
        self._idle: list[socket.socket] = []

    def take(self, url: httpx.URL, seconds: float | None) -> socket.socket:
        with suppress(IndexError):  # there is no more, or another thread was sooner
            while connection := self._idle.pop():
                if not _has_ended(connection):
                    connection.settimeout(seconds)
                    return connection
                connection.close()
        return socket.create_connection((url.host, url.port or 80), seconds)

    def put_back(self, connection: socket.socket) -> None:
        if len(self._idle) < IDLE_AT_MOST:
            self._idle.append(connection)
        else:
            connection.close()

    def close(self) -> None:
        with suppress(IndexError):
            while connection := self._idle.pop():
                connection.close()


def _has_ended(connection: socket.socket) -> bool:
    """Return whether the server has ended a connection, or said something unasked."""
    connection.settimeout(0)
    try:
        connection.recv(1, socket.MSG_PEEK)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


class QuickClient(httpx.Client):
    """Asks one server, at ``base_url``, over ``connections`` that it may share with others."""

    def __init__(self, connections: Connections | None = None, **options: Any) -> None:
        super().__init__(**options)
        self._connections = connections or Connections()
        self._base = str(self.base_url).rstrip("/")
        self._plain = self.base_url.scheme == "http"

    def build_request(self, method: str, url: httpx.URL | str, **options: Any) -> httpx.Request:
        if isinstance(url, str) and url.startswith("/") and not url.startswith("//"):
            url = _parsed(self._base + url)
        return super().build_request(method, url, **options)

    def send(self, request: httpx.Request, **options: Any) -> httpx.Response:
        if not self._sends(request, options):
            return super().send(request, **options)
        connection = None
        try:
            seconds = request.extensions["timeout"]["read"]
            connection = self._connections.take(request.url, seconds)
            response, stays_open = _exchange(connection, request)
        except BaseException as error:
            failure = _as_of_httpx(error, connected=connection is not None)
            if connection is not None:
                connection.close()
            if failure is None:
                raise
            raise failure(str(error), request=request) from error
        if stays_open and not self.is_closed:  # by another thread
            self._connections.put_back(connection)
        else:
            connection.close()
        if "set-cookie" in response.headers:
            self.cookies.extract_cookies(response)
        redirects = self.follow_redirects and response.has_redirect_location
        return self._followed(request, response) if redirects else response

    def _followed(self, request: httpx.Request, response: httpx.Response) -> httpx.Response:
        assert request.method == "GET" or response.status_code == codes.SEE_OTHER
        place = request.url.join(response.headers["location"])
        kept = [
            (name, value)
            for name, value in request.headers.raw
            if not name.lower().startswith((b"cookie", b"content-"))
        ]
        return self.send(self.build_request("GET", place, headers=kept))

    def _sends(self, request: httpx.Request, options: dict[str, Any]) -> bool:
        default = httpx.USE_CLIENT_DEFAULT
        return (
            self._plain
            and not self.is_closed
            and request.method != "HEAD"  # whose response has no body, which the parser awaits
            and request.url.netloc == self.base_url.netloc
            and "transfer-encoding" not in request.headers
            and not options.get("stream")
            and options.get("auth", default) in (default, None)
            and options.get("follow_redirects", default) == default
        )

    def close(self) -> None:
        self._connections.close()
        super().close()

    def __exit__(self, *failure: Any) -> None:
        self._connections.close()
        super().__exit__(*failure)


class _Reply:
    """A response as httptools reads it."""

    def __init__(self) -> None:
        self.headers: list[tuple[bytes, bytes]] = []
        self.content = bytearray()
        self.is_whole = self.stays_open = False
        self.parser = httptools.HttpResponseParser(self)

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        self.stays_open = self.parser.should_keep_alive()  # which it forgets at the end

    def on_body(self, content: bytes) -> None:
        self.content += content

    def on_message_complete(self) -> None:
        self.is_whole = True


def _exchange(connection: socket.socket, request: httpx.Request) -> tuple[httpx.Response, bool]:
    """Return a request's response, and whether its connection can have the next one."""
    target = (request.method.encode("ascii"), request.url.raw_path)
    lines = [b"%b: %b" % header for header in request.headers.raw]
    head = b"\r\n".join([b"%b %b HTTP/1.1" % target, *lines, b"", b""])
    # A server that takes no more of a body may say so and close while the rest is being sent.
    with suppress(BrokenPipeError, ConnectionResetError):
        connection.sendall(head + request.read())
    reply = _Reply()
    seconds = connection.gettimeout() or math.inf
    ends_at = time.monotonic() + seconds
    while not reply.is_whole:
        received = connection.recv(65536)
        if not received:
            raise httptools.HttpParserError("the server ended the connection within a response")
        reply.parser.feed_data(received)
        # Each part may come within the limit for one read and the last one never, as of a stream.
        if time.monotonic() > ends_at:
            raise TimeoutError(f"the response goes on for more than {seconds} s")
    status = reply.parser.get_status_code()
    content = bytes(reply.content)
    response = httpx.Response(status, headers=reply.headers, content=content, request=request)
    return response, reply.stays_open


def _as_of_httpx(error: BaseException, *, connected: bool) -> type[httpx.TransportError] | None:
    """Return httpx's class of an error, by which tests know it."""
    if isinstance(error, TimeoutError):
        return httpx.ReadTimeout if connected else httpx.ConnectTimeout
    if isinstance(error, httptools.HttpParserError):
        return httpx.RemoteProtocolError
    if isinstance(error, OSError):
        return httpx.ReadError if connected else httpx.ConnectError
    return None
