"""The connections to one server, which all worlds on it use."""

from __future__ import annotations

import httpx


class SharedConnections(httpx.BaseTransport):
    """A client that is closed leaves them open for the next one: to connect takes a third of the time of a short test.

    There may be any number at once, since threads may play in as many worlds; 20 stay open while none is used.
    """

    def __init__(self) -> None:
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=20)
        # Loopback needs no proxy and, without TLS, no certificates, which take 20 ms to load.
        self._transport = httpx.HTTPTransport(verify=False, trust_env=False, limits=limits)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request over a free connection."""
        return self._transport.handle_request(request)

    def disconnect(self) -> None:
        """Close all connections."""
        self._transport.close()
