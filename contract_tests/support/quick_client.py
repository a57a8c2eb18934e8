"""A client of httpx that sends plain requests by the standard library's.

Most of what a test's request cost was httpx's own: its pool, its flows of authentication and
redirects, its parser in Python. What it offers beyond a request and its whole response it still
does itself.
"""

from __future__ import annotations

import socket
import time
from contextlib import suppress
from functools import lru_cache
from http.client import HTTPConnection, HTTPException, HTTPResponse
from typing import Any

import httpx
from httpx import codes

IDLE_AT_MOST = 8
"""Connections that are kept for the next requests."""

_parsed = lru_cache(4096)(httpx.URL)
"""Addresses by text: httpx parses in Python, three times for a path, a fifth of a request."""


class Connections:
    """Connections to one server, which several clients and threads may share."""

    def __init__(self) -> None:
        self._idle: list[HTTPConnection] = []

    def take(self, url: httpx.URL) -> HTTPConnection:
        with suppress(IndexError):  # there is no more, or another thread was sooner
            while connection := self._idle.pop():
                if not _has_ended(connection):
                    return connection
                connection.close()
        return HTTPConnection(url.host, url.port)

    def put_back(self, connection: HTTPConnection) -> None:
        if len(self._idle) < IDLE_AT_MOST:
            self._idle.append(connection)
        else:
            connection.close()

    def close(self) -> None:
        with suppress(IndexError):
            while connection := self._idle.pop():
                connection.close()


def _has_ended(connection: HTTPConnection) -> bool:
    """Return whether the server has ended a connection, or said something unasked."""
    if connection.sock is None:
        return True
    connection.sock.settimeout(0)
    try:
        connection.sock.recv(1, socket.MSG_PEEK)
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
        connection = self._connections.take(request.url)
        try:
            response = _exchange(connection, request)
        except BaseException as error:
            failure = _as_of_httpx(error, connected=connection.sock is not None)
            connection.close()
            if failure is None:
                raise
            raise failure(str(error), request=request) from error
        if self.is_closed:  # by another thread
            connection.close()
        elif connection.sock is not None:
            self._connections.put_back(connection)
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


def _exchange(connection: HTTPConnection, request: httpx.Request) -> httpx.Response:
    body = request.read()
    connection.timeout = request.extensions["timeout"]["read"]
    if connection.sock is not None:
        connection.sock.settimeout(connection.timeout)
    target = request.url.raw_path.decode("ascii")
    connection.putrequest(request.method, target, skip_host=True, skip_accept_encoding=True)
    for name, value in request.headers.raw:
        connection.putheader(name, value)
    connection.endheaders(body or None)
    with connection.getresponse() as response:
        content = _whole(response, connection.timeout)
        headers = [
            (name.encode("latin-1"), value.encode("latin-1"))
            for name, value in response.getheaders()
        ]
        return httpx.Response(response.status, headers=headers, content=content, request=request)


def _whole(response: HTTPResponse, seconds: float) -> bytes:
    """Return a body; ``TimeoutError`` for one that goes on, as a stream of events does."""
    ends_at = time.monotonic() + seconds
    parts = []
    while part := response.read1():
        parts.append(part)
        if time.monotonic() > ends_at:
            raise TimeoutError(f"the response goes on for more than {seconds} s")
    return b"".join(parts)


def _as_of_httpx(error: BaseException, *, connected: bool) -> type[httpx.TransportError] | None:
    """Return httpx's class of an error, by which tests know it."""
    if isinstance(error, TimeoutError):
        return httpx.ReadTimeout if connected else httpx.ConnectTimeout
    if isinstance(error, HTTPException):
        return httpx.RemoteProtocolError
    if isinstance(error, OSError):
        return httpx.ReadError if connected else httpx.ConnectError
    return None
