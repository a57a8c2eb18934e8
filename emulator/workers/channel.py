"""What the front process and one worker send each other: connections one way, the names of open worlds the other."""

from __future__ import annotations

import socket
from collections import deque
from collections.abc import Iterator
from contextlib import suppress

ONE = b"c"
"""A connection travels beside a byte."""

READY, OPENED, CLOSED = "ready", "opened", "closed"
"""What a worker says: that it answers requests, and, each with a key, which worlds it opened and closed."""


class ConnectionSender:
    """The front's end. Connections wait here while the worker is too busy to take them."""

    def __init__(self, end: socket.socket) -> None:
        end.setblocking(False)
        self.end = end
        self.waiting: deque[socket.socket] = deque()
        self._text = b""

    def flush(self) -> None:
        """Send the connections that wait, as many as the worker can take now."""
        with suppress(OSError):  # it is busy; or it has ended, which is noticed where it is read from
            while self.waiting:
                socket.send_fds(self.end, [ONE], [self.waiting[0].fileno()])
                # The worker has a descriptor of its own now.
                self.waiting.popleft().close()

    def lines(self) -> Iterator[str] | None:
        """What the worker says; None once it has ended."""
        try:
            received = self.end.recv(65536)
        except BlockingIOError:
            return iter(())
        except OSError:
            return None
        *whole, self._text = (self._text + received).split(b"\n")
        return map(bytes.decode, whole) if received else None


class ConnectionReceiver:
    """The worker's end."""

    def __init__(self, end: socket.socket) -> None:
        self.end = end

    def take(self) -> list[socket.socket] | None:
        """The connections that came; None once the front has ended."""
        received, descriptors, _, _ = socket.recv_fds(self.end, 16, 16)
        return [socket.socket(fileno=each) for each in descriptors] if received else None

    def say(self, line: str) -> None:
        """Send a line to the front, which always reads."""
        self.end.sendall(f"{line}\n".encode())
