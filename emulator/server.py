"""The server: a sandbox on a socket, under uvicorn."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from dataclasses import replace

import uvicorn

from emulator.resources.app import keys
from emulator.sandbox import Options, Sandbox
from emulator.web.connection import connection_to


class CannotListen(Exception):
    """The address cannot be bound; the message says which and why."""


class Server:
    """One sandbox on one address. The socket is bound at once, so the port is known before anything is served."""

    def __init__(self, options: Options, host: str, port: int, public_url: str | None = None) -> None:
        self.socket = _bind(host, port)
        self.host = host
        self.port: int = self.socket.getsockname()[1]
        self.url = public_url or f"http://{_shown(host)}:{self.port}"
        try:
            self.sandbox = Sandbox(replace(options, base_url=self.url))
        except BaseException:
            self.socket.close()
            raise
        self._uvicorn: _Uvicorn | None = None

    def run(self, ready: Callable[[], None] = lambda: None) -> None:
        """Serve until a signal or :meth:`stop` ends it; ``ready`` is called once requests are answered.

        Raises what ``ready`` raises, the server having stopped.
        """
        self._uvicorn = _Uvicorn(self._config(), ready, self.sandbox.engine.close_streams)
        self._uvicorn.run(sockets=[self.socket])
        if self._uvicorn.failure:
            raise self._uvicorn.failure

    def stop(self) -> None:
        """End :meth:`run`, from any thread."""
        if self._uvicorn:
            self._uvicorn.should_exit = True

    def save(self) -> None:
        """Have what is not yet written down written now, where worlds last; from any thread or signal."""
        if self.sandbox.store:
            self.sandbox.store.save()

    def discard(self, key: str) -> None:
        """Throw the world of a secret key away, from any thread but the server's own, and wait until that is done."""
        if self._uvicorn and self._uvicorn.loop:
            gone = self.sandbox.engine.discard(keys.read(f"Bearer {key}"))
            asyncio.run_coroutine_threadsafe(gone, self._uvicorn.loop).result()

    def _config(self) -> uvicorn.Config:
        edge = self.sandbox.application()
        return uvicorn.Config(
            edge,
            loop="auto",
            http=connection_to(edge),
            ws="none",
            # Whose word about the client's address counts is a setting of the App (B-70), not of the server.
            proxy_headers=False,
            lifespan="on",
            # Logging is set up by whoever owns the process, which may be somebody's test suite.
            log_config=None,
            log_level="warning",
            access_log=False,
            server_header=False,
            # The system's date in every answer would break "same seed, same bytes" (B-93).
            date_header=False,
            timeout_graceful_shutdown=2,
        )


class _Uvicorn(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, ready: Callable[[], None], hang_up: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready
        self._hang_up = hang_up
        self.failure: Exception | None = None
        self.loop: asyncio.AbstractEventLoop | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self.loop = asyncio.get_running_loop()
        await super().startup(sockets)
        if self.should_exit:
            return
        try:
            self._ready()
        except Exception as failure:  # raised in here it would skip the orderly end; run() raises it afterwards
            self.failure = failure
            self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        # Answers that go on for as long as there is news would hold the server up.
        self._hang_up()
        await super().shutdown(sockets)


def _bind(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        bound = socket.create_server((host, port), family=family, backlog=2048)
    except (OSError, OverflowError, UnicodeError) as fault:
        raise CannotListen(f"cannot listen on {host}:{port}: {getattr(fault, 'strerror', None) or fault}") from None
    bound.set_inheritable(True)
    return bound


def _shown(host: str) -> str:
    if host in ("0.0.0.0", "::"):  # noqa: S104  # not bound here; a URL needs an address that can be called
        return "127.0.0.1"
    return f"[{host}]" if ":" in host else host
