"""Write coalescing: what is written to a connection within one iteration of the event loop leaves in one system call.

uvicorn writes the head and the body of a response one after the other. Each is a system call, and the second one was a
fifth of the time of a request.
"""

from __future__ import annotations

import asyncio
from typing import Any


class CoalescingTransport:
    """A transport that collects what is written and sends all of it in the next iteration of the event loop."""

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
        if self._parts and not self._transport.is_closing():
            self._transport.write(b"".join(self._parts))
        self._parts.clear()
