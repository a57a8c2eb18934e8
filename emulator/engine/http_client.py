"""The HTTP client that sends webhooks: POSTs over HTTP/1.1, never to a forbidden address."""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
import string
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncIterable, AsyncIterator
from contextlib import asynccontextmanager
from functools import cached_property
from typing import NamedTuple, Self
from urllib.parse import quote, urlsplit

import certifi
import h11

from emulator.resources.webhooks.egress_policy import forbidden

Body = bytes | AsyncIterable[bytes]
"""What is posted, whole or in pieces; with pieces goes a ``Content-Length`` among the headers."""

READ_BYTES = 64 * 1024

NEXT_ADDRESS_SECONDS = 2.0
"""How long one address of a host may take to connect before its next one is tried."""

COMMON_HEADERS = {
    "User-Agent": "payments-emulator-webhooks",
    "Accept": "*/*",
    "Accept-Encoding": "identity",
    "Connection": "close",
}


class RequestFailed(Exception):
    """There is no answer. The message says why, without the URL: that may hold secrets, which belong in no log."""


class Target(NamedTuple):
    """The parts of a URL that a request is made of."""

    tls: bool
    host: str
    port: int
    authority: str
    path: str

    @classmethod
    def of(cls, url: str) -> Self:
        """Raises :class:`RequestFailed` for a URL that cannot be called."""
        try:
            parts = urlsplit(url)
            port = parts.port
            host = parts.hostname or ""
            host = host if host.isascii() else host.encode("idna").decode()
        except ValueError:
            raise RequestFailed("the URL cannot be called") from None
        if not host or parts.scheme not in ("http", "https"):
            raise RequestFailed("the URL cannot be called")
        tls = parts.scheme == "https"
        path = quote((parts.path or "/") + (f"?{parts.query}" if parts.query else ""), safe=string.punctuation)
        authority = (f"[{host}]" if ":" in host else host) + (f":{port}" if port else "")
        return cls(tls, host, port or (443 if tls else 80), authority, path)


class HttpClient:
    """No cookies, redirects or proxies of the environment, and a connection for each POST: none affects another.

    Built on h11, which parses HTTP/1.1 and leaves the connection to us: what wrongly follows an answer, such as a body
    after a 204, is never read, and addresses are checked between the look-up of a name and the call.
    """

    async def post(
        self, url: str, headers: dict[str, str], body: Body, *, verify: bool, max_bytes: int
    ) -> tuple[int, bytes]:
        """The status of the answer and at most ``max_bytes`` of its body; raises :class:`RequestFailed`.

        ``verify`` demands a certificate that the system trusts.
        """
        target = Target.of(url)
        request, connection = _request(target, headers, body), h11.Connection(h11.CLIENT)
        addresses = await _addresses(target)
        reader, writer = await self._connect(target, addresses, verify)
        try:
            async with _sending(connection, writer, request, body):
                return await _receive(connection, reader, max_bytes)
        finally:
            writer.close()

    async def _connect(self, target: Target, addresses: list[str], verify: bool) -> tuple[StreamReader, StreamWriter]:
        try:
            return await self._first_connection(target, addresses, verify)
        except ssl.SSLCertVerificationError:
            raise RequestFailed("the certificate is not trusted") from None
        except ssl.SSLError:
            raise RequestFailed("the TLS handshake failed") from None
        except OSError as error:
            reason = os.strerror(error.errno) if error.errno else "no connection"
            raise RequestFailed(f"cannot connect: {reason}") from None

    async def _first_connection(
        self, target: Target, addresses: list[str], verify: bool
    ) -> tuple[StreamReader, StreamWriter]:
        tls = (self._verifying if verify else self._unverifying) if target.tls else None
        name = target.host if tls else None
        *others, last = addresses
        for address in others:
            try:
                async with asyncio.timeout(NEXT_ADDRESS_SECONDS):
                    return await asyncio.open_connection(address, target.port, ssl=tls, server_hostname=name)
            except ssl.SSLError:
                raise
            except OSError:
                continue
        return await asyncio.open_connection(last, target.port, ssl=tls, server_hostname=name)

    @cached_property
    def _verifying(self) -> ssl.SSLContext:
        """Trusts the authorities that the system trusts and, for systems that know none, those of a browser."""
        context = ssl.create_default_context()
        context.load_verify_locations(certifi.where())
        return context

    @cached_property
    def _unverifying(self) -> ssl.SSLContext:
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return context


async def _addresses(target: Target) -> list[str]:
    """The addresses of a host, looked up for this very call. Raises :class:`RequestFailed` if one is never called.

    ``*.localhost`` is this machine, whatever the name server knows (RFC 6761).
    """
    name = "localhost" if target.host.endswith(".localhost") else target.host
    try:
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(name, target.port, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)
    except (OSError, UnicodeError):
        raise RequestFailed("the host name is not known") from None
    addresses = [str(address[0]) for *_, address in found]
    if any(map(forbidden, [target.host, *addresses])):
        raise RequestFailed("link-local and cloud metadata addresses are never called")
    return addresses


def _request(target: Target, headers: dict[str, str], body: Body) -> h11.Request:
    length = {"Content-Length": str(len(body))} if isinstance(body, bytes) else {}
    fields = {"Host": target.authority, **COMMON_HEADERS, **headers, **length}
    # The certifier sends signatures beyond ASCII, and empty ones: "Bearer " ends in a space, which h11 rejects.
    encoded = [(name.encode(), value.strip().encode()) for name, value in fields.items()]
    return h11.Request(method="POST", target=target.path, headers=encoded)


@asynccontextmanager
async def _sending(
    connection: h11.Connection, writer: StreamWriter, request: h11.Request, body: Body
) -> AsyncIterator[None]:
    """Send a request; its answer may come, and is read, before the whole body was sent."""
    head = connection.send(request) or b""
    if isinstance(body, bytes):
        # One write, for each is a system call.
        writer.write(head + (connection.send(h11.Data(data=body)) or b""))
        connection.send(h11.EndOfMessage())
        yield
        return
    writer.write(head)
    task = asyncio.create_task(_send_pieces(connection, writer, body))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _send_pieces(connection: h11.Connection, writer: StreamWriter, pieces: AsyncIterable[bytes]) -> None:
    async for piece in pieces:
        writer.write(connection.send(h11.Data(data=piece)) or b"")
        await writer.drain()
    connection.send(h11.EndOfMessage())


async def _receive(connection: h11.Connection, reader: StreamReader, max_bytes: int) -> tuple[int, bytes]:
    status, received, closed = 0, b"", False
    try:
        while len(received) < max_bytes:
            match connection.next_event():
                case h11.NEED_DATA:
                    data = await reader.read(READ_BYTES)
                    connection.receive_data(data)
                    closed = not data
                case h11.Response(status_code=status):
                    pass
                case h11.Data(data=piece):
                    received += piece
                case h11.EndOfMessage():
                    break
    except h11.RemoteProtocolError:
        raise RequestFailed(_closed(status) if closed else "the answer is not HTTP") from None
    except OSError:
        raise RequestFailed(_closed(status)) from None
    return status, received[:max_bytes]


def _closed(status: int) -> str:
    return f"the connection was closed {'within' if status else 'before'} the answer"
