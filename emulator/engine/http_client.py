"""The HTTP client that sends webhooks: requests over HTTP/1.1, never to a forbidden address.

It is our own on httptools, after a try with httpx's transport (httpcore) and a network backend that connects to the address
that was checked: a delivery took 2.2 times the processor time (1.14 ms to 0.52 ms, both ends), a connection that failed
had its cause no longer, and a receiver that answers before it has read a long body (413) counted as one, too.
"""

from __future__ import annotations

import asyncio
import re
import socket
import ssl
import string
from asyncio import StreamReader, StreamWriter
from codecs import getincrementaldecoder
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from functools import cached_property
from typing import NamedTuple, Self
from urllib.parse import quote, urlsplit

import httptools

from emulator.core.limits import ANSWER_BODY, ANSWER_HEAD
from emulator.engine.connections import NameLookups, Unreachable, connect
from emulator.resources.webhooks.endpoints import forbidden

Pace = Callable[[bytes], AsyncIterator[bytes]]
"""Yields a request in pieces, in its own time; without one it is sent at once."""

READ_BYTES = 64 * 1024

COMMON_HEADERS = {
    "User-Agent": "payments-emulator-webhooks",
    "Accept": "*/*",
    "Accept-Encoding": "identity",
    "Connection": "close",
}


class UrlParts(NamedTuple):
    tls: bool
    host: str
    port: int
    authority: str
    path: str

    @classmethod
    def of(cls, url: str) -> Self:
        """Raise :class:`Unreachable` for a URL that cannot be called."""
        try:
            parts = urlsplit(url)
            port = parts.port
            host = parts.hostname or ""
            host = host if host.isascii() else host.encode("idna").decode()
        except ValueError:
            raise Unreachable("the URL cannot be called") from None
        if not host or parts.scheme not in ("http", "https"):
            raise Unreachable("the URL cannot be called")
        tls = parts.scheme == "https"
        path = quote((parts.path or "/") + (f"?{parts.query}" if parts.query else ""), safe=string.punctuation)
        authority = (f"[{host}]" if ":" in host else host) + (f":{port}" if port else "")
        return cls(tls, host, port or (443 if tls else 80), authority, path)


class HttpClient:
    """Sends requests, each on a connection of its own, without cookies, redirects or proxies: none affects another."""

    async def send(
        self,
        url: str,
        headers: dict[str, str],
        body: bytes,
        *,
        verify: bool,
        names: NameLookups,
        method: str = "POST",
        pace: Pace | None = None,
    ) -> tuple[int, str]:
        """Return the status of the answer and the beginning of its body as text; raises :class:`Unreachable`.

        ``verify`` demands a certificate that the system trusts.
        """
        target = UrlParts.of(url)
        addresses = await names.addresses(target.host)
        if any(map(forbidden, {target.host, *addresses})):
            raise Unreachable("link-local and cloud metadata addresses are never called")
        reader, writer = await self._open(target, await connect(addresses, target.port), verify)
        try:
            request = _head(method, target, headers, body) + body
            if pace is None:
                writer.write(request)  # and not waited for: a receiver may answer before it has read the body
            else:
                await _write_in_pieces(writer, pace(request))
            answer = await _receive(reader)
            return answer.status, answer.text
        finally:
            writer.close()

    async def _open(
        self, target: UrlParts, connection: socket.socket, verify: bool
    ) -> tuple[StreamReader, StreamWriter]:
        if not target.tls:
            return await asyncio.open_connection(sock=connection)
        tls = self._verifying if verify else self._unverifying
        try:
            return await asyncio.open_connection(sock=connection, ssl=tls, server_hostname=target.host)
        except ssl.SSLCertVerificationError:
            raise Unreachable("the certificate is not trusted") from None
        except (ssl.SSLError, OSError):
            raise Unreachable("the TLS handshake failed") from None

    @cached_property
    def _verifying(self) -> ssl.SSLContext:
        """Trusts the authorities that the system trusts and, for systems that know none, those of a browser."""
        # Loaded on first use: few webhooks go to an address over HTTPS.
        import httpx

        context = httpx.create_ssl_context()
        context.load_default_certs()
        return context

    @cached_property
    def _unverifying(self) -> ssl.SSLContext:
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return context


async def _write_in_pieces(writer: StreamWriter, pieces: AsyncIterator[bytes]) -> None:
    with suppress(ConnectionError):  # it may have answered already
        async for piece in pieces:
            writer.write(piece)
            await writer.drain()


def _head(method: str, target: UrlParts, headers: dict[str, str], body: bytes) -> bytes:
    fields = {"Host": target.authority, **COMMON_HEADERS, **headers, "Content-Length": str(len(body))}
    lines = [f"{method} {target.path} HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items())]
    return "\r\n".join([*lines, "", ""]).encode()


_CHARSET = re.compile(rb";\s*charset=\"?(iso-8859-1|iso-8859-15|latin1|windows-1252)\b", re.IGNORECASE)
"""The charsets beside UTF-8 in which receivers still answer, as Content-Type has them."""


class Answer:
    """What httptools, which calls the methods ``on_…``, has parsed of an answer. ``status`` is 0 before its headers.

    What wrongly follows the end of an answer, such as a body after a 204, does not undo it.
    """

    def __init__(self) -> None:
        self.status = 0
        self.body = b""
        self.complete = False
        self._charset = "utf-8"
        self._ends_with_connection = True
        self._parser = httptools.HttpResponseParser(self)

    def feed(self, data: bytes) -> None:
        """Parse what was received, nothing meaning the end of the connection; raises :class:`Unreachable`."""
        if data:
            try:
                self._parser.feed_data(data)
            except (httptools.HttpParserError, httptools.HttpParserUpgrade):
                if not self.complete:
                    raise Unreachable("the answer is not HTTP") from None
        elif self.status and self._ends_with_connection:
            self.complete = True
        else:
            raise _closed(self)

    @property
    def text(self) -> str:
        """The body in the charset that was declared; a character that the limit cut in two is left out."""
        return getincrementaldecoder(self._charset)("replace").decode(self.body, len(self.body) < ANSWER_BODY.most)

    def on_header(self, name: bytes, value: bytes) -> None:
        if name.lower() == b"content-type" and (declared := _CHARSET.search(value)):
            self._charset = declared[1].decode()
        if name.lower() in (b"content-length", b"transfer-encoding"):
            self._ends_with_connection = False

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if not self.complete and status >= 200:  # lower ones precede the answer
            self.status = status

    def on_body(self, body: bytes) -> None:
        if not self.complete:
            self.body += body[: ANSWER_BODY.most - len(self.body)]
            self.complete = len(self.body) == ANSWER_BODY.most

    def on_message_complete(self) -> None:
        self.complete = self.complete or self.status > 0


async def _receive(reader: StreamReader) -> Answer:
    answer, head_bytes = Answer(), 0
    while not answer.complete:
        try:
            # Of a head no more than its limit, so that it is the same wherever the network cuts it.
            data = await reader.read(READ_BYTES if answer.status else ANSWER_HEAD.most + 1 - head_bytes)
        except OSError:
            raise _closed(answer) from None
        answer.feed(data)
        head_bytes += 0 if answer.status else len(data)
        if head_bytes > ANSWER_HEAD.most:
            raise Unreachable("the answer is not HTTP")
    return answer


def _closed(answer: Answer) -> Unreachable:
    return Unreachable(f"the connection was closed {'within' if answer.status else 'before'} the answer")
