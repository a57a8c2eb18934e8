"""Connections to an emulator in this or any other process, by Python's own ``http.client``.

Tools with which tests fake other services replace the classes of ``http.client`` and ``socket`` in their modules. What is
needed of them is bound here when this module is imported, so requests to the emulator pass by those tools.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPException, HTTPResponse
from socket import IPPROTO_TCP, SOCK_STREAM, TCP_NODELAY, getaddrinfo, socket
from typing import TYPE_CHECKING, NamedTuple, Self
from urllib.parse import urlsplit

from emulator.client.messages import ApiRequest, ApiResponse

if TYPE_CHECKING:
    from ssl import SSLContext

KEPT = 20
"""The most connections that stay open while none is used. Any number may be in use: threads play in as many worlds."""


class ConnectionFailed(OSError):
    """There is no response."""


class NoConnection(ConnectionFailed):
    """Nothing listens there, or it cannot be reached."""


class ConnectionBroke(ConnectionFailed):
    """The connection failed before the response was complete, or the response is not HTTP."""


_CONTROL = re.compile(rb"[\x00-\x1f\x7f]")


class Timeouts(NamedTuple):
    """Seconds (real time) to connect, and between two parts of a response; None is without end."""

    connect: float | None
    response: float | None


class Connections:
    """The connections to one URL, for any number of threads. Those that are closed for one client serve the next one.

    Raises ``ValueError`` for a URL of anything else than HTTP.
    """

    def __init__(self, url: str, timeouts: Timeouts) -> None:
        self._idle: deque[socket] = deque()
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{url!r}: a URL such as http://127.0.0.1:4747")
        self._host = _encoded(parts.hostname)
        self._port = parts.port or (443 if parts.scheme == "https" else 80)
        self._name = _encoded(parts.netloc.rpartition("@")[2])
        self._path = parts.path.rstrip("/")
        self._timeouts = timeouts
        self._tls = _tls() if parts.scheme == "https" else None

    def exchange(self, request: ApiRequest, timeouts: Timeouts | None = None) -> ApiResponse:
        """Send a request and return its response. Raises :class:`NoConnection` and :class:`ConnectionBroke`."""
        with self._answered(request, timeouts or self._timeouts) as (connection, answer):
            response = ApiResponse(request, answer.status, _headers(answer), answer.read())
            if not answer.will_close and len(self._idle) < KEPT:
                self._idle.append(connection)
            else:
                connection.close()
            return response

    @contextmanager
    def stream(self, request: ApiRequest) -> Iterator[tuple[ApiResponse, Iterator[str]]]:
        """Send a request; yield the head of its response and the lines of its body as they arrive.

        The body of an error is read at once.
        """
        with self._answered(request, self._timeouts) as (connection, answer):
            failed = not 200 <= answer.status < 300
            lines = (line.decode(errors="replace").rstrip("\r\n") for line in answer)
            try:
                yield ApiResponse(request, answer.status, _headers(answer), answer.read() if failed else b""), lines
            finally:
                connection.close()

    def disconnect(self) -> None:
        """Close the connections that are not in use."""
        while connection := self._idle_one():
            connection.close()

    def __del__(self) -> None:
        # A test that forgets its emulator is not to fail by the warning of an open socket.
        self.disconnect()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.disconnect()

    @contextmanager
    def _answered(self, request: ApiRequest, timeouts: Timeouts) -> Iterator[tuple[socket, HTTPResponse]]:
        head = self._head(request)
        connection = self._free(timeouts)
        try:
            connection.settimeout(timeouts.response)
            connection.sendall(head + request.body)
            answer = HTTPResponse(connection, method=request.method)
            answer.begin()
            yield connection, answer
        except BaseException as error:
            connection.close()
            if isinstance(error, (HTTPException, OSError)):
                raise ConnectionBroke(str(error) or type(error).__name__) from error
            raise

    def _head(self, request: ApiRequest) -> bytes:
        lines = [
            f"{request.method} {self._in_full(request.target)} HTTP/1.1".encode(),
            b"Host: " + self._name,
        ]
        for name, value in request.headers.items():
            lines.append(name.encode() + b": " + (value if isinstance(value, bytes) else value.encode()))
        if request.body or request.method not in ("GET", "HEAD", "DELETE"):
            lines.append(b"Content-Length: %d" % len(request.body))
        for line in lines:
            if _CONTROL.search(line):
                raise ConnectionBroke(f"a header cannot have control characters: {line!r}")
        return b"\r\n".join([*lines, b"", b""])

    def _in_full(self, target: str) -> str:
        """Return the path of a target below that of the URL, or of a target that is a URL, by whatever name of the server."""
        if target.startswith("/"):
            return self._path + target
        parts = urlsplit(target)
        path = parts.path or "/"
        return f"{path}?{parts.query}" if parts.query else path

    def _free(self, timeouts: Timeouts) -> socket:
        """Return an idle connection that the server has not closed, or a new one. Raises :class:`NoConnection`."""
        while connection := self._idle_one():
            if _is_open(connection):
                return connection
            connection.close()
        try:
            connection = _connected(self._host, self._port, timeouts.connect)
            if self._tls:
                connection = self._tls.wrap_socket(connection, server_hostname=self._host.decode())
        except OSError as error:
            raise NoConnection(*error.args) from error
        return connection

    def _idle_one(self) -> socket | None:
        try:
            return self._idle.pop()
        except IndexError:
            return None


def _is_open(connection: socket) -> bool:
    """Return whether the server has sent nothing since the last response, not even the end of the connection."""
    limit = connection.gettimeout()
    try:
        connection.setblocking(False)
        connection.recv(1)
    except OSError as error:
        # TLS says by an error of its own that there is nothing to read.
        return isinstance(error, BlockingIOError) or type(error).__name__ == "SSLWantReadError"
    finally:
        connection.settimeout(limit)
    return False


def _encoded(name: str) -> bytes:
    # The tables of international names take longer to load than a request takes.
    return name.encode("ascii" if name.isascii() else "idna")


def _connected(host: bytes, port: int, timeout: float | None) -> socket:
    # Not socket.create_connection: it would use the class that a tool has put in its place.
    failure: OSError | None = None
    for family, kind, protocol, _, address in getaddrinfo(host, port, type=SOCK_STREAM):
        connected = socket(family, kind, protocol)
        try:
            connected.settimeout(timeout)
            connected.connect(address)
            connected.setsockopt(IPPROTO_TCP, TCP_NODELAY, 1)
        except BaseException as error:
            connected.close()
            if not isinstance(error, OSError):
                raise
            failure = failure or error
        else:
            return connected
    raise failure or OSError(f"{host.decode()} has no address")


def _tls() -> SSLContext:
    # Few emulators are behind TLS. The authorities are those that webhooks trust.
    import httpx

    context = httpx.create_ssl_context()
    context.load_default_certs()
    return context


def _headers(answer: HTTPResponse) -> dict[str, str]:
    return {name.lower(): value for name, value in answer.getheaders()}
