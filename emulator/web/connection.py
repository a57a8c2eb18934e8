"""A connection: uvicorn's, with an answer of our own to bytes that make no request, and an end to what is read."""

from __future__ import annotations

from functools import partial
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from emulator.web.root_app import RootApp
from emulator.web.streaming import ABORT
from emulator.web.write_coalescing import CoalescingTransport

MAX_HEAD = 256 * 1024
"""Bytes of a request's head that are read; the parser itself would go on without end."""

MAX_LEFT_OVER = 64 * 1024 * 1024
"""Bytes of a body that are thrown away once its request is answered; then the connection is closed."""


class Connection(HttpToolsProtocol):
    """One client on the line."""

    def __init__(self, *args: Any, edge: RootApp, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._edge = edge
        self._reading_head = True
        self._head = 0
        self._left_over = 0

    def connection_made(self, transport: Any) -> None:
        super().connection_made(CoalescingTransport(transport))  # type: ignore[arg-type]  # in all it is used for it is one

    def data_received(self, data: bytes) -> None:
        if self._reading_head:
            self._head += len(data)
        if self._head > MAX_HEAD:
            self.send_400_response(f"The head of the request is larger than {MAX_HEAD} bytes.")
        else:
            super().data_received(data)

    def on_message_begin(self) -> None:
        self._left_over = 0
        super().on_message_begin()
        cast("dict[str, Any]", self.scope)[ABORT] = self.transport.abort

    def on_headers_complete(self) -> None:
        self._reading_head = False
        self._head = 0
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        super().on_body(body)
        if self.cycle.response_complete:
            self._left_over += len(body)
            if self._left_over > MAX_LEFT_OVER:
                self.transport.close()

    def on_message_complete(self) -> None:
        self._reading_head = True
        super().on_message_complete()

    def eof_received(self) -> bool:  # type: ignore[override]  # asyncio's protocols may answer; uvicorn's does not
        """A client that has said all it has to say may still listen (``nc``): what it asked for is answered first."""
        waiting = self.cycle is not None and not self.cycle.more_body and not self.cycle.response_complete
        if waiting:
            self.cycle.keep_alive = False
        else:
            # Left to itself the transport closes at once, and forgets what was answered in this turn of the loop.
            self.transport.close()
        return waiting

    def send_400_response(self, msg: str) -> None:
        """The answer to what makes no request, in the form of all errors."""
        request_id, body = self._edge.malformed(msg)
        head = (
            "HTTP/1.1 400 Bad Request\r\n"
            "content-type: application/json\r\n"
            f"content-length: {len(body)}\r\n"
            f"request-id: {request_id}\r\n"
            "connection: close\r\n\r\n"
        )
        self.transport.write(head.encode() + body)
        self.transport.close()

    def _unsupported_upgrade_warning(self) -> None:
        """Nothing is upgraded here, as RFC 9110 allows; the request is answered as it stands and nobody is to worry."""


def connection_to(edge: RootApp) -> type[Connection]:
    """What makes the connections of a server, in the shape uvicorn asks for."""
    return cast("type[Connection]", partial(Connection, edge=edge))
