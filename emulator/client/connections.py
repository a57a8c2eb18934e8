"""Connections to an emulator in any process, by sockets: HTTP/1.1 as our servers or proxies speak.

Not by ``http.client``: what it imports to parse e-mail takes longer than a command has for one
request. Tools with which tests fake other services replace the classes of ``socket`` in its module.
What is needed of them is bound here when this module is imported, so requests to the emulator pass
by those tools.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from socket import IPPROTO_TCP, SOCK_STREAM, TCP_NODELAY, getaddrinfo, socket
from typing import TYPE_CHECKING, NamedTuple, Self
from urllib.parse import urlsplit

from emulator.client.messages import ApiRequest, ApiResponse

if TYPE_CHECKING:
    from io import BufferedReader
    from ssl import SSLContext

KEPT = 20
"""The most idle connections that stay open. Any number may be in use: threads play many worlds."""


class ConnectionFailed(OSError):
    """There is no response."""


class NoConnection(ConnectionFailed):
    """Nothing listens there, or it cannot be reached."""


class ConnectionBroke(ConnectionFailed):
    """The connection failed before the response was complete, or the response is not HTTP."""


class Timeouts(NamedTuple):
    """Seconds (real time) to connect, and between two parts of a response; None is without end."""

    connect: float | None
    response: float | None


class Connections:
    """The connections to one URL, for any number of threads. Those of one client serve the next.

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
        """Send a request. Raises :class:`NoConnection` and :class:`ConnectionBroke`."""
        with self._response(request, timeouts or self._timeouts) as (connection, incoming):
            response = ApiResponse(
                request, incoming.status, incoming.headers, b"".join(incoming.body())
            )
            if incoming.stays_open and len(self._idle) < KEPT:
                self._idle.append(connection)
            else:
                connection.close()
            return response

    @contextmanager
    def stream(self, request: ApiRequest) -> Iterator[tuple[ApiResponse, Iterator[str]]]:
        """Yield a response's head, and lines as they arrive; read an error's body at once."""
        with self._response(request, self._timeouts) as (connection, response):
            failed = not 200 <= response.status < 300
            content = b"".join(response.body()) if failed else b""
            try:
                yield (
                    ApiResponse(request, response.status, response.headers, content),
                    _lines(response.body()),
                )
            finally:
                connection.close()

    def disconnect(self) -> None:
        with suppress(IndexError):
            while True:
                self._idle.pop().close()

    def __del__(self) -> None:
        # A test that forgets its emulator is not to fail by the warning of an open socket.
        self.disconnect()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.disconnect()

    @contextmanager
    def _response(
        self, request: ApiRequest, timeouts: Timeouts
    ) -> Iterator[tuple[socket, IncomingResponse]]:
        head = self._head(request)
        connection = self._free(timeouts)
        try:
            connection.settimeout(timeouts.response)
            connection.sendall(head + request.body)
            # Closed here and not by the garbage collector: a socket stays open until its file is.
            with connection.makefile("rb") as file:
                yield connection, IncomingResponse(file, request.method)
        except BaseException as error:
            connection.close()
            if isinstance(error, OSError) and not isinstance(error, ConnectionBroke):
                raise ConnectionBroke(str(error) or type(error).__name__) from error
            raise

    def _head(self, request: ApiRequest) -> bytes:
        lines = [
            f"{request.method} {self._in_full(request.target)} HTTP/1.1".encode(),
            b"Host: " + self._name,
        ]
        lines += [name + b": " + value for name, value in request.headers]
        if request.body or request.method not in ("GET", "HEAD", "DELETE"):
            lines.append(b"Content-Length: %d" % len(request.body))
        return b"\r\n".join([*lines, b"", b""])

    def _in_full(self, target: str) -> str:
        """Return a target's path below the URL's. A target may be a URL of any server name."""
        if target.startswith("/"):
            return self._path + target
        parts = urlsplit(target)
        return parts._replace(scheme="", netloc="", path=parts.path or "/", fragment="").geturl()

    def _free(self, timeouts: Timeouts) -> socket:
        """Return an idle connection still open, or a new one. Raises :class:`NoConnection`."""
        with suppress(IndexError):
            while not _is_open(connection := self._idle.pop()):
                connection.close()
            return connection
        try:
            connection = _connected(self._host, self._port, timeouts.connect)
            if self._tls:
                connection = self._tls.wrap_socket(connection, server_hostname=self._host.decode())
        except OSError as error:
            raise NoConnection(*error.args) from error
        return connection


def _is_open(connection: socket) -> bool:
    """Return whether the server has sent nothing, not even an end, since the last response."""
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
            return connected
        except OSError as error:
            connected.close()
            failure = failure or error
    raise failure or OSError(f"{host.decode()} has no address")


def _tls() -> SSLContext:
    # Few emulators are behind TLS. The authorities are those that webhooks trust.
    import httpx

    context = httpx.create_ssl_context()
    context.load_default_certs()
    return context


LONGEST_LINE, MOST_HEADERS = 65_536, 100
"""The most bytes in a line of a response's head, and the most lines."""


class IncomingResponse:
    """A connection's response; raises :class:`ConnectionBroke` if not HTTP or cut short."""

    def __init__(self, file: BufferedReader, method: str) -> None:
        self._file = file
        self.status, self.headers = self._head()
        while self.status < 200:  # the server says that the response is coming
            self.status, self.headers = self._head()
        length = self.headers.get("content-length", "")
        self._is_chunked = "chunked" in self.headers.get("transfer-encoding", "").lower()
        self._length = int(length) if length.isdecimal() else None
        if method == "HEAD" or self.status in (204, 304):
            self._is_chunked, self._length = False, 0

    @property
    def stays_open(self) -> bool:
        """Whether the connection can carry another request."""
        is_bounded = self._is_chunked or self._length is not None
        return is_bounded and "close" not in self.headers.get("connection", "").lower()

    def body(self) -> Iterator[bytes]:
        """Yield the parts of the body as they arrive."""
        if self._is_chunked:
            while size := self._size_of_chunk():
                yield self._exactly(size)
                self._line()
            while self._line():
                pass  # headers after the body
        elif self._length is not None:
            yield self._exactly(self._length)
        else:
            while part := self._file.read1(LONGEST_LINE):
                yield part

    def _head(self) -> tuple[int, dict[str, str]]:
        version, _, status = self._line().partition(" ")
        if not version.startswith("HTTP/1.") or not status[:3].isdecimal():
            raise ConnectionBroke(f"the response is not HTTP: {version[:20]!r}")
        headers = {"connection": "close"} if version == "HTTP/1.0" else {}
        for _ in range(MOST_HEADERS):
            if not (line := self._line()):
                return int(status[:3]), headers
            name, _, value = line.partition(":")
            headers[name.strip().lower()] = value.strip()
        raise ConnectionBroke(f"the response has more than {MOST_HEADERS} headers")

    def _line(self) -> str:
        line = self._file.readline(LONGEST_LINE + 1)
        if len(line) > LONGEST_LINE:
            raise ConnectionBroke(f"a line of the response is longer than {LONGEST_LINE} bytes")
        if not line.endswith(b"\n"):
            raise ConnectionBroke("the connection was closed before the response was complete")
        return line.rstrip(b"\r\n").decode("latin-1")

    def _size_of_chunk(self) -> int:
        text = self._line().partition(";")[0].strip()
        try:
            return int(text, 16)
        except ValueError:
            raise ConnectionBroke(
                f"the response is not HTTP: a chunk of {text[:20]!r} bytes"
            ) from None

    def _exactly(self, size: int) -> bytes:
        content = self._file.read(size)
        if len(content) != size:
            raise ConnectionBroke(f"the connection was closed after {len(content)} of {size} bytes")
        return content


def _lines(parts: Iterator[bytes]) -> Iterator[str]:
    rest = b""
    for part in parts:
        *lines, rest = (rest + part).split(b"\n")
        yield from (line.decode(errors="replace").rstrip("\r") for line in lines)
    if rest:
        yield rest.decode(errors="replace")
