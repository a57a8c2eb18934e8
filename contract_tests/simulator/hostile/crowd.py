"""A crowd of clients that mean no good: many connections, none of which sends a whole request."""

from __future__ import annotations

import resource
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from urllib.parse import urlsplit

TIMEOUT = 30
"""Seconds that anything may take before it counts as a hang."""

HEAD = b"POST /v1/customers/ HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer sk_test_crowd\r\n"
BODY = HEAD + b"Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"
CHUNKS = HEAD + b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n{"
LAST_CHUNK = HEAD + b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"

BEGINNINGS = {
    "nothing": b"",
    "half a line": b"POST /v1/cus",
    "half a head": HEAD,
    "half a body": BODY,
    "half a chunk": CHUNKS,
    "an answer untaken": HEAD.replace(b"POST", b"GET") + b"\r\n",
}
"""What a client says before it goes silent."""


def allow_open_files(count: int) -> None:
    """Let this process have so many open files, if the system lets it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < count:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(count, hard) if hard >= 0 else count, hard))


def connect(url: str) -> socket.socket:
    """Return a connection to the server."""
    parts = urlsplit(url)
    return socket.create_connection((parts.hostname, parts.port), timeout=TIMEOUT)


@contextmanager
def crowd(url: str, count: int, beginning: bytes) -> Iterator[list[socket.socket]]:
    """So many connections that have begun a request and say no more."""
    with ExitStack() as cleanup:
        lines = [cleanup.enter_context(connect(url)) for _ in range(count)]
        for line in lines:
            line.sendall(beginning)
        yield lines


def hang_up(lines: list[socket.socket]) -> None:
    """Say that nothing more will come, and go on listening (a connection closed half-way)."""
    for line in lines:
        line.shutdown(socket.SHUT_WR)


def heard(line: socket.socket) -> bytes:
    """Return all that the server says until it ends the connection. Raises ``TimeoutError`` if it never does."""
    parts = []
    try:
        while part := line.recv(65536):
            parts.append(part)
    except ConnectionResetError:
        pass  # it ended the connection while there was more to be read; that is an end too
    return b"".join(parts)


def pour(line: socket.socket, start: bytes, part: bytes, most: int) -> bytes:
    """Send without end, up to so many bytes; what the server says once it has had enough."""
    try:
        line.sendall(start)
        for _ in range(0, most, len(part)):
            line.sendall(part)
    except (BrokenPipeError, ConnectionResetError):
        pass  # it had enough
    return heard(line)
