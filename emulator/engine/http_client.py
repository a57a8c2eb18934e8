"""The session: the HTTP client of the postman, which goes nowhere a stranger's URL must not lead it."""

from __future__ import annotations

import os
import socket
import ssl
from collections.abc import AsyncIterable
from functools import cached_property, partial

import aiohttp
import certifi
from aiohttp.abc import ResolveResult
from aiohttp.client_proto import ResponseHandler
from yarl import URL

from emulator.resources.webhooks.egress_policy import forbidden

USER_AGENT = "payments-emulator-webhooks"

Body = bytes | AsyncIterable[bytes]
"""What is posted, or its pieces as they come; with those goes a ``Content-Length``."""


class ForbiddenDestination(OSError):
    """The host is, or its name leads to, an address that is never called."""

    def __init__(self) -> None:
        super().__init__("link-local and cloud metadata addresses are never called")


class Resolver(aiohttp.ThreadedResolver):
    """Looks names up as the system does, and looks at what they lead to: the rule holds when the call is made."""

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """The addresses of a host. ``*.localhost`` is this machine, whatever the name server knows (RFC 6761)."""
        found = await super().resolve("localhost" if host.endswith(".localhost") else host, port, family)
        if any(forbidden(result["host"]) for result in found):
            raise ForbiddenDestination
        return found


class LenientResponseHandler(ResponseHandler):
    """What a connection brings. Its head is read by itself, so that whatever wrongly follows cannot spoil it.

    A body after a 204, or more of it than was announced, would make nonsense of an answer that stands, or not: it
    hangs on how the bytes happen to arrive.
    """

    def data_received(self, data: bytes) -> None:
        head, end, rest = data.partition(b"\r\n\r\n")
        super().data_received(head + end)
        if rest:
            super().data_received(rest)


class Connector(aiohttp.TCPConnector):
    """Connections each for one POST alone."""

    def __init__(self) -> None:
        super().__init__(limit=0, force_close=True, resolver=Resolver())
        handler: type[ResponseHandler] = LenientResponseHandler
        self._factory = partial(handler, loop=self._loop)


class HttpClient:
    """POSTs without cookies, redirects or proxies of the environment, so that no request knows of another."""

    def __init__(self) -> None:
        self._client = aiohttp.ClientSession(
            connector=Connector(),
            timeout=aiohttp.ClientTimeout(total=None, connect=None, sock_connect=None, sock_read=None),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"User-Agent": USER_AGENT, "Accept-Encoding": "identity"},
            auto_decompress=False,
            trust_env=False,
        )

    async def post(
        self, url: str, headers: dict[str, str], body: Body, *, verify: bool, most: int
    ) -> tuple[int, bytes]:
        """The status of the answer and its first bytes, ``most`` of them; raises what goes wrong."""
        target = URL(url)
        if forbidden(target.raw_host or ""):  # an address, which no resolver is asked about
            raise ForbiddenDestination
        checked = self._trusted if verify and target.scheme == "https" else False
        async with self._client.post(target, headers=headers, data=body, ssl=checked, allow_redirects=False) as answer:
            received = b""
            while len(received) < most and (chunk := await answer.content.read(most - len(received))):
                received += chunk
            return answer.status, received

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    @cached_property
    def _trusted(self) -> ssl.SSLContext:
        """The authorities the system trusts, and for systems that know none those of a browser."""
        context = ssl.create_default_context()
        context.load_verify_locations(certifi.where())
        return context


def describe_error(fault: Exception) -> str:
    """What went wrong, without the URL: it may hold what belongs in no log."""
    cause = getattr(fault, "os_error", fault)
    if isinstance(cause, ForbiddenDestination):
        return str(cause)
    sentence = next((sentence for kind, sentence in SENTENCES if isinstance(fault, kind)), type(fault).__name__)
    errno = getattr(cause, "errno", None)
    return sentence.format(reason=os.strerror(errno) if errno else "no connection")


SENTENCES: tuple[tuple[type[Exception], str], ...] = (
    (aiohttp.ClientConnectorCertificateError, "the certificate is not trusted"),
    (aiohttp.ClientSSLError, "the TLS handshake failed"),
    (aiohttp.ClientConnectorDNSError, "the host name is not known"),
    (aiohttp.ClientConnectorError, "cannot connect: {reason}"),
    (aiohttp.InvalidURL, "the URL cannot be called"),
    (aiohttp.ClientPayloadError, "the connection was closed within the answer"),
    (aiohttp.ClientResponseError, "the answer is not HTTP"),
    (aiohttp.ClientConnectionError, "the connection was closed before the answer"),
)
"""The first kind that fits says it; the particular ones come before the general."""
