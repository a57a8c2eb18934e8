"""The HTTP protocol of a connection: uvicorn's, with bounds on what is read and errors in the service's own form."""

from __future__ import annotations

import logging
import re
from functools import partial
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from emulator.web.context import ABORT
from emulator.web.root_app import RootApp
from emulator.web.write_coalescing import CoalescingTransport

MAX_HEAD = 256 * 1024
"""Bytes of a request's head that are read; the parser itself sets no bound."""

MAX_DROPPED = 64 * 1024 * 1024
"""Bytes of a body that are read and dropped after its request was answered; then the connection is closed."""

HEAD_END = b"\r\n\r\n"
UPGRADE = re.compile(rb"(?i)(?<=\n)upgrade[ \t]*:[^\r\n]*\r\n")
"""How Java's ``HttpClient`` and ``curl --http2`` ask for HTTP/2 with the first request of a connection."""

logger = logging.getLogger("emulator.connection")
# What clients do wrong is answered, not logged.
logger.setLevel(logging.ERROR)


class Connection(HttpToolsProtocol):
    """The protocol of one connection. The methods that it overrides are listed in a test of uvicorn's versions."""

    def __init__(self, *args: Any, root_app: RootApp, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.logger = logger
        self._root_app = root_app
        self._reading_head = True
        self._head_bytes = 0
        self._dropped_bytes = 0

    def connection_made(self, transport: Any) -> None:
        super().connection_made(CoalescingTransport(transport))  # type: ignore[arg-type]  # it does all that is used of one

    def data_received(self, data: bytes) -> None:
        if self._reading_head:
            self._head_bytes += len(data)
            data = _without_upgrade(data)
        if self._head_bytes > MAX_HEAD:
            self.send_400_response(f"The head of the request is larger than {MAX_HEAD} bytes.")
        else:
            super().data_received(data)

    def on_message_begin(self) -> None:
        self._dropped_bytes = 0
        super().on_message_begin()
        cast("dict[str, Any]", self.scope)[ABORT] = self.transport.abort

    def on_headers_complete(self) -> None:
        self._reading_head = False
        self._head_bytes = 0
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        super().on_body(body)
        if self.cycle.response_complete:
            self._dropped_bytes += len(body)
            if self._dropped_bytes > MAX_DROPPED:
                self.transport.close()

    def on_message_complete(self) -> None:
        self._reading_head = True
        super().on_message_complete()

    def eof_received(self) -> bool:  # type: ignore[override]  # asyncio's protocols may answer; uvicorn's does not
        """A client that ends its side may still read, as ``nc`` does: what it asked for is answered first."""
        waiting = self.cycle is not None and not self.cycle.more_body and not self.cycle.response_complete
        if waiting:
            self.cycle.keep_alive = False
        else:
            # Without this asyncio closes the transport beneath ours, which has not yet sent what waits in it.
            self.transport.close()
        return waiting

    def send_400_response(self, msg: str) -> None:
        """Answer bytes that are no HTTP request, in the form of all errors, and close the connection."""
        request_id, body = self._root_app.malformed(msg)
        head = (
            "HTTP/1.1 400 Bad Request\r\n"
            "content-type: application/json\r\n"
            f"content-length: {len(body)}\r\n"
            f"request-id: {request_id}\r\n"
            "connection: close\r\n\r\n"
        )
        self.transport.write(head.encode() + body)
        self.transport.close()


def _without_upgrade(data: bytes) -> bytes:
    """Part of a request without the header ``Upgrade``, which a server may ignore (RFC 9110, 7.8).

    The parser would take what follows the head for another protocol, and lose the body.
    """
    if not UPGRADE.search(data):
        return data
    end = data.find(HEAD_END) + len(HEAD_END) if HEAD_END in data else len(data)
    return UPGRADE.sub(b"", data[:end]) + data[end:]


def protocol_for(root_app: RootApp) -> type[Connection]:
    """The protocol factory of a server, as uvicorn takes it for its option ``http``."""
    return cast("type[Connection]", partial(Connection, root_app=root_app))
