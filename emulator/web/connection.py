"""A connection's HTTP protocol: uvicorn's, with bounds on reading and the service's own errors."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from http.client import responses
from typing import Any, cast

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from emulator.core import limits
from emulator.web.context import CONNECTION_KEY, PIECE, Response
from emulator.web.root_app import RootApp

# -- what is written within one iteration of the event loop leaves in one system call


class CoalescingTransport:
    """A transport that collects writes and sends all in the next iteration of the event loop."""

    def __init__(self, transport: Any) -> None:
        self._transport = transport
        self.is_closing = transport.is_closing
        self._loop = asyncio.get_running_loop()
        self._parts: list[bytes] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Send the data in the next iteration of the event loop."""
        if not self._parts:
            self._loop.call_soon(self._send)
        self._parts.append(data)

    def close(self) -> None:
        """Send what waits, then close."""
        self._send()
        self._transport.close()

    def _send(self) -> None:
        if self._parts and not self.is_closing():
            self._transport.write(b"".join(self._parts))
        self._parts.clear()


# -- a request for another protocol is read as plain HTTP/1.1, its body included


class PlainParser:
    """The parser of httptools, without upgrades: a server may ignore ``Upgrade`` (RFC 9110, 7.8).

    Java's ``HttpClient`` and ``curl --http2`` ask for HTTP/2 with the first request of a
    connection. httptools takes what follows such a head for the other protocol. ``plain_head``
    returns that head without ``Upgrade``, which is read in its place; empty bytes for a request
    that asks for a tunnel by ``CONNECT``.
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


# -- the protocol


SLICE = 4 * 1024
"""Bytes that are parsed at a time, so that no bound is exceeded by more."""

FRAMING_PER_BYTE = 8
"""Bytes of framing per byte of a body: a body sent in one-byte chunks has five."""

logger = logging.getLogger("emulator.connection")
# Mistakes of clients get a response; the log has none of them.
logger.setLevel(logging.ERROR)


OTHER_PROTOCOLS = {
    b"\x16\x03": "TLS; use http:// in its URL",
    b"PRI * HTTP/2.0": "HTTP/2 by prior knowledge; have it begin with HTTP/1.1",
}
"""First bytes of connections that are not HTTP/1.1, with the line of the log for them."""


class Refused(Exception):
    """A request exceeds a limit or lacks a mandatory part; raised to stop the parser."""


STATUS_LINES = {
    status: f"HTTP/1.1 {status} {responses.get(status, '')}\r\n".encode()
    for status in range(100, 600)
}


class StreamingConnection:
    """A connection as requests control it. ``is_ended``: the client has ended its side."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self.abort: Callable[[], None] = transport.abort
        self.is_streaming: bool = False
        self.is_ended = False
        self._close = transport.close
        self._limit_waiting = transport.set_write_buffer_limits

    def takes_whole(self, send: Any) -> bool:
        """Return whether ``send`` is of a cycle of uvicorn that would write at once."""
        cycle = getattr(send, "__self__", None)
        return type(cycle) is RequestResponseCycle and not (
            cycle.disconnected
            or cycle.default_headers
            or cycle.flow.write_paused
            or cycle.waiting_for_100_continue
        )

    def send_whole(self, send: Any, response: Response, request_id: str) -> None:
        """Write a response as uvicorn does, but its head with its body."""
        cycle, status, body = send.__self__, response.status, response.body
        cycle.response_started = cycle.response_complete = True
        head = (
            STATUS_LINES[status]
            if cycle.keep_alive
            else STATUS_LINES[status] + b"connection: close\r\n"
        )
        if body:
            head += b"content-length: %d\r\ncontent-type: %b\r\n" % (len(body), response.media_type)
        elif status != HTTPStatus.NO_CONTENT:
            head += b"content-length: 0\r\n"
        head += b"request-id: %b\r\n\r\n" % request_id.encode()
        cycle.transport.write(head if cycle.scope["method"] == "HEAD" else head + body)
        cycle.message_event.set()
        if not cycle.keep_alive:
            cycle.transport.close()
        cycle.on_response()

    def begin_stream(self) -> None:
        """From now on, close it once the client has closed its side.

        A client that is gone looks like one that only reads until something was sent to it, twice.
        """
        self.is_streaming = True
        self._limit_waiting(high=PIECE)
        if self.is_ended:
            self._close()

    def end_stream(self) -> None:
        """End the stream; other requests may follow."""
        self.is_streaming = False


class Connection(HttpToolsProtocol):
    """One connection's protocol. A test of uvicorn's versions lists the overridden methods.

    ``_head_bytes`` and ``_framing_bytes`` count the request that is being read: its head, and what
    follows the head without being part of the body. ``_deadline`` runs while a request has begun to
    arrive and is not complete. With ``_ends`` nothing more is read, and ``_last_response`` is sent
    after those to the requests that were read. ``_previous`` is the request before the newest one.
    ``_read_again`` is the head of a request that asked for another protocol, without ``Upgrade``.
    """

    def __init__(
        self, *args: Any, root_app: RootApp, connections_allowed: int, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.logger = logger
        self._root_app = root_app
        self._connections_allowed = connections_allowed
        self._reading_head = True
        self._head_bytes = 0
        self._framing_bytes = 0
        self._unread_bytes = 0
        self._problem: str | None = None
        self._ends = False
        self._last_response = b""
        self._previous = self.cycle
        self._deadline: asyncio.TimerHandle | None = None
        self._read_again = b""
        self.parser = cast("Any", PlainParser(self.parser, lambda: self._read_again))

    def connection_made(self, transport: Any) -> None:
        # it does all that is used of one
        super().connection_made(CoalescingTransport(transport))  # type: ignore[arg-type]
        self._controlled = StreamingConnection(self.transport)
        most = min(self._connections_allowed, limits.CONNECTIONS.most)
        if len(self.connections) > most:
            self._end(503, f"The server has {most} connections already.")
        else:
            self._set_deadline()

    def connection_lost(self, exc: Exception | None) -> None:
        self._unset_deadline()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        slices = (
            [data]
            if len(data) <= SLICE
            else [data[at : at + SLICE] for at in range(0, len(data), SLICE)]
        )
        for part in slices:
            if self._ends or self.transport.is_closing():
                return
            self._parse(part)
        if not self._reading_head or self._head_bytes:
            if self._deadline is None:
                self._set_deadline()
        elif self._deadline is not None:
            self._unset_deadline()

    def _parse(self, data: bytes) -> None:
        if self._reading_head:
            if not self._head_bytes:
                self._notice_other_protocol(data)
            self._head_bytes += len(data)
        else:
            self._framing_bytes += len(data)
        super().data_received(data)
        if self._head_bytes > limits.HEAD.most:
            self.send_400_response(
                f"The head of the request is larger than {limits.HEAD.most} bytes."
            )
        elif self._framing_bytes > limits.FRAMING.most:
            self.send_400_response(
                f"Trailers and chunk extensions have more than {limits.FRAMING.most} bytes."
            )

    def _notice_other_protocol(self, data: bytes) -> None:
        for beginning, sentence in OTHER_PROTOCOLS.items():
            if data.startswith(beginning):
                logging.getLogger("emulator").warning(
                    "This port speaks plain HTTP/1.1, and a client began %s.", sentence
                )

    def on_message_begin(self) -> None:
        self._unread_bytes = 0
        self._read_again = b""
        super().on_message_begin()
        scope: Any = self.scope
        scope[CONNECTION_KEY] = self._controlled

    def on_headers_complete(self) -> None:
        if len(self.headers) > limits.HEADERS.most:
            self._problem = f"The request has more than {limits.HEADERS.most} headers."
            raise Refused
        if (
            self.parser.get_http_version() == "1.1"
            and sum(name == b"host" for name, _ in self.headers) != 1
        ):
            self._problem = "A request of HTTP/1.1 must have one Host header."
            raise Refused
        if self.parser.should_upgrade() and any(name == b"upgrade" for name, _ in self.headers):
            self._read_again = self._head_without_upgrade()
            return
        self._previous = self.cycle
        super().on_headers_complete()
        # The request has this list. Trailers follow the body, mean nothing here and go into another
        # one.
        self.headers = []
        self._reading_head = False
        self._head_bytes = 0
        self._framing_bytes = 0
        # The time for the body begins where that of the head ends.
        if self._deadline is not None:
            self._unset_deadline()
        if len(self.pipeline) > limits.PIPELINED.most:
            self.transport.close()
            raise Refused

    def on_body(self, body: bytes) -> None:
        super().on_body(body)
        self._framing_bytes -= (FRAMING_PER_BYTE + 1) * len(body)
        if self.cycle.response_complete:
            self._unread_bytes += len(body)
            if self._unread_bytes > limits.UNREAD_BODY.most:
                self.transport.close()

    def _head_without_upgrade(self) -> bytes:
        start = b"%s %s HTTP/%s" % (
            self.parser.get_method(),
            self.url,
            self.parser.get_http_version().encode(),
        )
        rest = (name + b": " + value for name, value in self.headers if name != b"upgrade")
        return b"\r\n".join([start, *rest, b"\r\n"])

    def on_message_complete(self) -> None:
        if self._read_again:
            return
        self._reading_head = True
        self._framing_bytes = 0
        super().on_message_complete()

    def on_response_complete(self) -> None:
        is_last = not self.pipeline
        super().on_response_complete()
        if is_last and self._last_response:
            self.transport.write(self._last_response)
            self.transport.close()

    # asyncio's protocols may return True; uvicorn's returns nothing.
    def eof_received(self) -> bool:  # type: ignore[override]
        """Keep the connection of a client that ended its side (``nc``) until responses are sent.

        A stream has no end of its own, so it ends with the client's side.
        """
        self._controlled.is_ended = True
        self._drop_incomplete()
        waiting = (
            self.cycle is not None and not self.cycle.more_body and not self.cycle.response_complete
        )
        waiting = waiting and not self._controlled.is_streaming
        if waiting:
            self.cycle.keep_alive = self.cycle.keep_alive and bool(self._last_response)
        else:
            # Without this asyncio closes the transport beneath ours, which has not yet sent what
            # waits in it.
            self.transport.close()
        return waiting

    def send_400_response(self, msg: str) -> None:
        """Respond with an error to bytes that are no HTTP request, and close the connection."""
        self._end(400, self._problem or msg)

    def _end(self, status: int, message: str) -> None:
        """Respond to the request being read, after earlier ones, and close the connection."""
        if self._ends or self.transport.is_closing():
            return
        self._ends = True
        self._unset_deadline()
        self._drop_incomplete()
        request_id, body = self._root_app.malformed(message, status)
        fields = (
            "content-type: application/json\r\n"
            f"content-length: {len(body)}\r\n"
            f"request-id: {request_id}\r\n"
            "connection: close\r\n\r\n"
        )
        response = STATUS_LINES[status] + fields.encode() + body
        if self._reading_head and self.cycle is not None and not self.cycle.response_complete:
            self._last_response = response
            return
        if self._reading_head or not self.cycle.response_started:
            self.transport.write(response)
        self.transport.close()

    def _drop_incomplete(self) -> None:
        """Forget the request being read if earlier ones lack responses: it was never begun."""
        if not self._reading_head and self.pipeline:
            self.pipeline.popleft()
            self.cycle = self._previous
            self._reading_head = True

    def _set_deadline(self) -> None:
        limit = limits.HEAD_SECONDS if self._reading_head else limits.BODY_SECONDS
        self._deadline = self.loop.call_later(
            limit.most, self._too_late, self._reading_head, limit.most
        )

    def _unset_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _too_late(self, of_head: bool, seconds: int) -> None:
        self._deadline = None
        if self.flow.read_paused:
            # It is the server that does not read, because earlier requests or the application are
            # not done yet.
            self._set_deadline()
        elif self._reading_head and not self._head_bytes:
            self.transport.close()
        else:
            self._end(
                408,
                f"The {'head' if of_head else 'body'} of the request took longer than {seconds}"
                " seconds.",
            )


def protocol_for(root_app: RootApp, connections_allowed: int) -> type[Connection]:
    """Return the protocol factory of a server, as uvicorn takes it for its option ``http``.

    ``connections_allowed`` is the number that the system allows; further ones get 503.
    """
    made = partial(Connection, root_app=root_app, connections_allowed=connections_allowed)
    return cast("type[Connection]", made)
