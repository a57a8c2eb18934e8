"""A line to the server: one TCP connection, for requests that a polite client would never send."""

from __future__ import annotations

import json
import socket
from types import TracebackType
from typing import Any, NamedTuple, Self
from urllib.parse import urlsplit


class Response(NamedTuple):
    """One HTTP response as it came; header names are lower-case."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def code(self) -> str:
        """The code of an error."""
        body: dict[str, Any] = json.loads(self.body)
        return str(body["code"])


class Line:
    """Says bytes and hears responses. Nothing is ever waited for longer than ``timeout`` seconds.

    With ``buffer`` the system takes only about so many bytes before they are read.
    """

    def __init__(
        self, url: str, key: str = "sk_test_line", timeout: float = 60, buffer: int = 0
    ) -> None:
        parts = urlsplit(url)
        self._socket = socket.socket()
        self._socket.settimeout(timeout)
        if buffer:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        self._socket.connect((parts.hostname, parts.port))
        self._heard = self._socket.makefile("rb")
        self.url, self.key = url, key
        self.polite = f"Host: {parts.netloc}\r\nAuthorization: Bearer {key}\r\n".encode()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.close()

    def say(self, data: bytes) -> None:
        """Send these very bytes."""
        self._socket.sendall(data)

    def hears(self, part: bytes) -> bool:
        """Return whether a line that has this part comes, whatever comes before it."""
        return any(part in line for line in self._heard)

    def request(self, start: bytes, *headers: bytes, body: bytes = b"") -> None:
        """Send a request: its first line, Host and key, further headers, and a body as it is."""
        self.say(self.asked(start, *headers) + body)

    def asked(self, start: bytes, *headers: bytes) -> bytes:
        """Return the head of a request."""
        return (
            start
            + b"\r\n"
            + self.polite
            + b"".join(header + b"\r\n" for header in headers)
            + b"\r\n"
        )

    def post(self, body: bytes, *headers: bytes, path: bytes = b"/v1/customers/") -> Response:
        """Return the response to a POST of these bytes as JSON."""
        self.request(
            b"POST " + path + b" HTTP/1.1",
            b"Content-Type: application/json",
            b"Content-Length: %d" % len(body),
            *headers,
            body=body,
        )
        return self.response()

    def hang_up(self) -> None:
        """Say nothing more, but go on listening."""
        self._socket.shutdown(socket.SHUT_WR)

    def response(self, *, bodiless: bool = False) -> Response:
        """Return the next response; ``bodiless`` for that to a HEAD."""
        start = self._heard.readline()
        assert start.startswith(b"HTTP/1.1 "), f"no response but {start!r}"
        status = int(start.split()[1])
        headers = {}
        while (row := self._heard.readline().decode("latin-1").strip()) != "":
            name, _, value = row.partition(":")
            headers[name.lower()] = value.strip()
        length = 0 if bodiless else int(headers.get("content-length", 0))
        return Response(status, headers, self._heard.read(length))

    def everything(self) -> bytes:
        """Return all that is said until the server closes."""
        return self._heard.read()

    def ended(self) -> bool:
        """Return whether the server says nothing more and closes."""
        return self._heard.read(1) == b""

    def close(self) -> None:
        """Go away."""
        self._heard.close()
        self._socket.close()

    def abort(self) -> None:
        """Go away without a word: the server sees a reset."""
        self._socket.setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00"
        )
        self.close()
