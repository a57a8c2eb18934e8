"""A parser of requests that reads one which asks for another protocol as plain HTTP/1.1, its body included."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httptools


class PlainParser:
    """The parser of httptools, except that no request is upgraded: a server may ignore ``Upgrade`` (RFC 9110, 7.8).

    Java's ``HttpClient`` and ``curl --http2`` ask for HTTP/2 with the first request of a connection. httptools takes
    what follows such a head for the other protocol. ``plain_head`` returns that head without ``Upgrade``, which is read
    in its place; empty bytes for a request that asks for a tunnel by ``CONNECT``.
    """

    def __init__(self, parser: Any, plain_head: Callable[[], bytes]) -> None:
        self._parser = parser
        self._plain_head = plain_head
        # What uvicorn asks of each request.
        self.get_http_version = parser.get_http_version
        self.get_method = parser.get_method
        self.should_upgrade = parser.should_upgrade
        self.should_keep_alive = parser.should_keep_alive

    def __getattr__(self, name: str) -> Any:
        return getattr(self._parser, name)

    def feed_data(self, data: bytes) -> None:
        """Parse a part of the connection's bytes. Raises what the parser of httptools raises."""
        while True:
            try:
                self._parser.feed_data(data)
            except httptools.HttpParserUpgrade as upgrade:
                [read] = upgrade.args
                if not (head := self._plain_head()):
                    raise
                data = head + data[read:]
            else:
                return
