"""A guard for tests: while one has a world, nothing goes to the real service, neither to its hosts nor with a live key.

Its seam are Python's audit events (PEP 578); no module is changed. They name every host that is looked up, whichever
client does it, and show what ``http.client`` sends, on which urllib and requests are built. httpx and aiohttp send
without such an event: a live key of theirs is found where it most often comes from, in the environment.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

from emulator.engine.redaction import has_live_key

ALLOW = "A test that is meant to reach the real service says so: @pytest.mark.payments(real=True)."

LOOKED_UP = ("socket.getaddrinfo", "socket.gethostbyname")
"""The audit events that begin with a host."""

SENT = "http.client.send"
"""The audit event with a connection and what it sends."""


class RealServiceBlocked(Exception):
    """A test was about to reach the real service; no ``OSError``, so that no client tries again."""

    def __init__(self, why: str) -> None:
        super().__init__(f"{why} {ALLOW}")


class Guard:
    """Blocks while it has ``hosts``, even none. Python keeps an audit hook for ever, so there is one for all tests."""

    def __init__(self) -> None:
        self.hosts: Collection[str] | None = None
        self._is_installed = False

    @contextmanager
    def on(self, hosts: Collection[str]) -> Iterator[None]:
        """Block these hosts, those below them, and live keys. Raises ``RealServiceBlocked`` for one in the environment."""
        live = [name for name, value in os.environ.items() if has_live_key(value)]
        if live:
            raise RealServiceBlocked(f"The environment variable {live[0]} holds a live key.")
        if not self._is_installed:
            sys.addaudithook(self._hear)
            self._is_installed = True
        self.hosts = [host.lower() for host in hosts]
        try:
            yield
        finally:
            self.hosts = None

    def _hear(self, event: str, about: tuple[Any, ...]) -> None:
        if self.hosts is None:
            return
        if event in LOOKED_UP and (real := self._real(about[0])):
            raise RealServiceBlocked(f"{real} is a host of the real service.")
        if event == SENT and isinstance(about[1], bytes) and has_live_key(about[1].decode("latin-1")):
            raise RealServiceBlocked("A request has a live key.")

    def _real(self, host: Any) -> str | None:
        """Return the host if it is one of the real service's; else None."""
        name = (host.decode("latin-1") if isinstance(host, bytes) else str(host)).lower().rstrip(".")
        return name if any(name == each or name.endswith(f".{each}") for each in self.hosts or ()) else None


GUARD = Guard()
