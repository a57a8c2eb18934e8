"""The HTTP client that sends webhooks: requests over HTTP/1.1, never to a forbidden address.

It is our own on httptools, after a try with httpx's transport (httpcore) and a network backend that
connects to the address that was checked: a delivery took 2.2 times the processor time (1.14 ms to
0.52 ms, both ends), a connection that failed had its cause no longer, and a receiver that responds
before it has read a long body (413) counted as one, too.
"""

from __future__ import annotations

import asyncio
import os
import re
import socket
import ssl
import string
import threading
import time
from asyncio import StreamReader, StreamWriter
from codecs import getincrementaldecoder
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from functools import cached_property
from ipaddress import ip_address
from typing import Any, NamedTuple, Self
from urllib.parse import quote, urlsplit

import httptools

from emulator.core.limits import RECEIVER_SECONDS, RESPONSE_BODY, RESPONSE_HEAD
from emulator.core.unit_of_work import DeliverWebhook, HttpResult
from emulator.core.world import World
from emulator.resources.webhooks import deliveries
from emulator.resources.webhooks.deliveries import SignedRequest
from emulator.resources.webhooks.endpoints import forbidden

# -- a connection to a host that a user named


LOCALHOST = ("::1", "127.0.0.1")
"""The addresses of ``localhost`` and ``*.localhost``, whatever a name server knows (RFC 6761)."""

MOST_LOOK_UPS = 32
"""Names that are looked up at once for one world; the next one waits."""

LOOK_UP_SECONDS = 8.0
"""Seconds (real time) that a name server has, of those that a receiver has."""

NEXT_ADDRESS_SECONDS = 2.0
"""How long one address of a host may take to connect before its next one is tried."""


class Unreachable(Exception):
    """There is no connection. The message says why, without the URL, which may hold secrets."""


LookUps = dict[str, asyncio.Future[list[str] | Exception]]
"""The names that are looked up for one world, each once at a time for all who wait for it."""


async def addresses_of(host: str, look_ups: LookUps) -> Sequence[str]:
    """Return the addresses of a host. Raises :class:`Unreachable`."""
    with suppress(ValueError):
        ip_address(host)
        return [host]
    if host == "localhost" or host.endswith(".localhost"):
        return LOCALHOST
    try:
        async with asyncio.timeout(LOOK_UP_SECONDS):
            addresses = await _looked_up(host, look_ups)
    except TimeoutError:
        raise Unreachable(f"the name server did not answer within {LOOK_UP_SECONDS:g} s") from None
    if isinstance(addresses, Exception):
        raise addresses
    if not addresses:
        raise Unreachable("the host name is not known")
    return addresses


async def _looked_up(host: str, look_ups: LookUps) -> list[str] | Exception:
    """Return the addresses that the name server knows, or its error.

    A look-up has no limit of its own and cannot be interrupted. In a pool of threads, those that
    nobody answers would hold up others, and the end of the process would wait for them. So each has
    a daemon thread of its own.
    """
    while (pending := look_ups.get(host)) is None and len(look_ups) >= MOST_LOOK_UPS:
        await asyncio.wait(look_ups.values(), return_when=asyncio.FIRST_COMPLETED)
    if pending is None:
        loop = asyncio.get_running_loop()
        pending = look_ups[host] = loop.create_future()

        def end(result: list[str] | Exception) -> None:
            look_ups.pop(host).set_result(result)

        def look_up() -> None:
            result = _known_addresses(host)
            with suppress(RuntimeError):  # the server, and its loop, have ended
                loop.call_soon_threadsafe(end, result)

        threading.Thread(target=look_up, name="look-up", daemon=True).start()
    return await asyncio.shield(pending)


def _known_addresses(host: str) -> list[str] | Exception:
    try:
        address_infos = socket.getaddrinfo(
            host, None, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG
        )
    except (OSError, UnicodeError):
        return []
    # Of an audit hook, such as that of a test which may not reach the real service.
    except Exception as error:
        return error
    return [str(address[0]) for *_, address in address_infos]


async def connect(addresses: Sequence[str], port: int) -> socket.socket:
    """Return a connection to the first address in reach. Raises the last :class:`Unreachable`."""
    *others, last = addresses
    for address in others:
        with suppress(OSError):
            async with asyncio.timeout(NEXT_ADDRESS_SECONDS):
                return await _connected(address, port)
    try:
        return await _connected(last, port)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else "no connection"
        raise Unreachable(f"cannot connect: {reason}") from None


async def _connected(address: str, port: int) -> socket.socket:
    connection = socket.socket(
        socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM
    )
    connection.setblocking(False)
    try:
        await asyncio.get_running_loop().sock_connect(connection, (address, port))
    except BaseException:
        connection.close()
        raise
    return connection


# -- a request


Pace = Callable[[bytes], AsyncIterator[bytes]]
"""Yields a request in pieces, in its own time; without one it is sent at once."""

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
        path = quote(
            (parts.path or "/") + (f"?{parts.query}" if parts.query else ""),
            safe=string.punctuation,
        )
        authority = (f"[{host}]" if ":" in host else host) + (f":{port}" if port else "")
        return cls(tls, host, port or (443 if tls else 80), authority, path)


class WebhookSender:
    """Sends POSTs in isolation: a connection each, without cookies, redirects or proxies.

    A connection that is used again may be closed by the receiver just as the next request goes out,
    and a POST that may have arrived must not be sent twice. With a connection each, every attempt
    on record is exactly one request, at a cost of a third of the speed on loopback.
    """

    def __init__(self, response_time: float = RECEIVER_SECONDS) -> None:
        self.response_time = response_time

    def request(self, world: World, post: DeliverWebhook, epoch: int) -> SignedRequest | None:
        """Return the request to send for a delivery; None if there is nothing to send."""
        return deliveries.outgoing(world, post, epoch)

    async def send(
        self, url: str, headers: dict[str, str], body: bytes, **options: Any
    ) -> HttpResult:
        """Return one attempt (options of :meth:`exchange`), if need be without a status code."""
        started = time.perf_counter()
        status: int | None = None
        text: str | None = None
        reason: str | None = None
        try:
            async with asyncio.timeout(self.response_time):
                status, text = await self.exchange(url, headers, body, **options)
        except TimeoutError:
            reason = f"no response within {self.response_time:g} s"
        except Unreachable as error:
            reason = str(error)
        # Whatever a receiver or an address triggers is a result, not our failure.
        except Exception as error:
            reason = type(error).__name__
        duration = round((time.perf_counter() - started) * 1000)
        return HttpResult(status_code=status, body=text, error=reason, duration_ms=duration)

    async def exchange(
        self,
        url: str,
        headers: dict[str, str],
        body: bytes,
        *,
        verify: bool = True,
        look_ups: LookUps | None = None,
        method: str = "POST",
        pace: Pace | None = None,
    ) -> tuple[int, str]:
        """Return the response's status and the body's beginning. Raises :class:`Unreachable`.

        ``verify`` demands a certificate that the system trusts. Requests that share ``look_ups``
        look a name up once at a time.
        """
        target = UrlParts.of(url)
        known = await addresses_of(target.host, {} if look_ups is None else look_ups)
        if any(map(forbidden, {target.host, *known})):
            raise Unreachable("link-local and cloud metadata addresses are never called")
        reader, writer = await self._open(target, await connect(known, target.port), verify)
        try:
            request = _head(method, target, headers, body) + body
            if pace is None:
                # Written and not waited for: a receiver may respond before it has read the body.
                writer.write(request)
            else:
                await _write_in_pieces(writer, pace(request))
            response = await _receive(reader)
            return response.status, response.text
        finally:
            writer.close()

    async def _open(
        self, target: UrlParts, connection: socket.socket, verify: bool
    ) -> tuple[StreamReader, StreamWriter]:
        if not target.tls:
            return await asyncio.open_connection(sock=connection)
        tls = self._verifying if verify else self._unverifying
        try:
            return await asyncio.open_connection(
                sock=connection, ssl=tls, server_hostname=target.host
            )
        except ssl.SSLCertVerificationError:
            raise Unreachable("the certificate is not trusted") from None
        except (ssl.SSLError, OSError):
            raise Unreachable("the TLS handshake failed") from None

    @cached_property
    def _verifying(self) -> ssl.SSLContext:
        """Trust the authorities of the system or, for systems without any, those of a browser."""
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
    with suppress(ConnectionError):  # it may have responded already
        async for piece in pieces:
            writer.write(piece)
            await writer.drain()


def _head(method: str, target: UrlParts, headers: dict[str, str], body: bytes) -> bytes:
    fields = {
        "Host": target.authority,
        **COMMON_HEADERS,
        **headers,
        "Content-Length": str(len(body)),
    }
    lines = [
        f"{method} {target.path} HTTP/1.1",
        *(f"{name}: {value}" for name, value in fields.items()),
    ]
    return "\r\n".join([*lines, "", ""]).encode()


# -- a response


READ_BYTES = 64 * 1024

_CHARSET = re.compile(
    rb";\s*charset=\"?(iso-8859-1|iso-8859-15|latin1|windows-1252)\b", re.IGNORECASE
)
"""The charsets beside UTF-8 in which receivers still respond, as Content-Type has them."""


class Response:
    """A response in parsing: httptools calls ``on_…``; ``status`` is 0 until the headers end.

    Bytes that wrongly follow the end of a response, such as a body after a 204, do not undo it.
    """

    def __init__(self) -> None:
        self.status = 0
        self.body = b""
        self.complete = False
        self._charset = "utf-8"
        self._ends_with_connection = True
        self._parser = httptools.HttpResponseParser(self)

    def feed(self, data: bytes) -> None:
        """Parse received data, empty at the connection's end. Raises :class:`Unreachable`."""
        if data:
            try:
                self._parser.feed_data(data)
            except (httptools.HttpParserError, httptools.HttpParserUpgrade):
                if not self.complete:
                    raise Unreachable("the response is not HTTP") from None
        elif self.status and self._ends_with_connection:
            self.complete = True
        else:
            raise _closed(self)

    @property
    def text(self) -> str:
        """The body in the declared charset, without a character that the limit cut in two."""
        return getincrementaldecoder(self._charset)("replace").decode(
            self.body, len(self.body) < RESPONSE_BODY.most
        )

    def on_header(self, name: bytes, value: bytes) -> None:
        if name.lower() == b"content-type" and (declared := _CHARSET.search(value)):
            self._charset = declared[1].decode()
        if name.lower() in (b"content-length", b"transfer-encoding"):
            self._ends_with_connection = False

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if not self.complete and status >= 200:  # lower ones precede the response
            self.status = status

    def on_body(self, body: bytes) -> None:
        if not self.complete:
            self.body += body[: RESPONSE_BODY.most - len(self.body)]
            self.complete = len(self.body) == RESPONSE_BODY.most

    def on_message_complete(self) -> None:
        self.complete = self.complete or self.status > 0


async def _receive(reader: StreamReader) -> Response:
    response, head_bytes = Response(), 0
    while not response.complete:
        try:
            # Of a head no more than its limit, so that it is the same wherever the network cuts it.
            data = await reader.read(
                READ_BYTES if response.status else RESPONSE_HEAD.most + 1 - head_bytes
            )
        except OSError:
            raise _closed(response) from None
        response.feed(data)
        head_bytes += 0 if response.status else len(data)
        if head_bytes > RESPONSE_HEAD.most:
            raise Unreachable("the response is not HTTP")
    return response


def _closed(response: Response) -> Unreachable:
    return Unreachable(
        f"the connection was closed {'within' if response.status else 'before'} the response"
    )
