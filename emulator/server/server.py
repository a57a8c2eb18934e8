"""The server: a sandbox that listens on a socket, run by uvicorn."""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import uvicorn

from emulator.resources.app import clients
from emulator.server import event_loop, uvicorn_parts
from emulator.server.address import BACKLOG, bind, url_of
from emulator.server.open_files import connections_allowed
from emulator.server.sandbox import Options, Sandbox
from emulator.server.uvicorn_parts import PlainUvicorn
from emulator.web.root_app import RootApp

KEEP_ALIVE = 75
"""Seconds before an idle connection is closed: long, since a busy client may just send."""

ACCEPTED_AT_ONCE = 8
"""Connections that asyncio accepts before it looks at any: few, so that no burst uses up the files
that may be open."""

LAST_RESPONSES_SECONDS = 1
"""Seconds for responses under way at the server's end, which comes within two in any case."""

END_CHECK_INTERVAL = 0.001
"""Seconds between two looks at whether all have their responses, when the server ends."""

LAST_CHECKS = round(LAST_RESPONSES_SECONDS / END_CHECK_INTERVAL)
"""The most such looks. They are counted, since each lets every response go on, also where other
processes leave this one no time."""

logger = logging.getLogger("emulator.server")

_STARTING = threading.Lock()
"""msgspec prepares a type on first use; two threads at once would crash the process."""


class Server:
    """A sandbox on an address. The constructor binds the socket, if none is ``listening``."""

    def __init__(
        self,
        options: Options,
        host: str,
        port: int,
        public_url: str | None = None,
        listening: socket.socket | None = None,
    ) -> None:
        self.socket: socket.socket = listening or bind(host, port)
        self.host = host
        self.port: int = self.socket.getsockname()[1]
        self.url: str = public_url or url_of(host, self.port, trust_network=options.trust_network)
        try:
            with _STARTING:
                self.sandbox: Sandbox = Sandbox(replace(options, base_url=self.url))
        except BaseException:
            self.socket.close()
            raise
        self._uvicorn: Uvicorn | PlainUvicorn | None = None

    def run(self, ready: Callable[[], None] = lambda: None) -> None:
        """Serve until a signal or :meth:`stop`; call ``ready`` once the server accepts requests.

        An exception of ``ready`` stops the server and is then raised here.
        """
        root_app = self.sandbox.application()
        self._uvicorn = uvicorn_for(root_app, ready, self.sandbox.engine.end_long_responses)
        self._uvicorn.run(sockets=[self.socket])
        if self._uvicorn.failure:
            raise self._uvicorn.failure

    def stop(self) -> None:
        """End :meth:`run`, from any thread."""
        if self._uvicorn:
            self._uvicorn.should_exit = True

    def unsaved(self) -> str | None:
        """Return a message, after the end, on changes that could not be stored, or None."""
        return self.sandbox.store.unsaved() if self.sandbox.store else None

    def discard(self, *keys: str) -> None:
        """Discard secret keys' worlds (default: all) and wait; not in the server's own thread."""
        engine = self.sandbox.engine
        worlds = [clients.read_key(f"Bearer {key}") for key in keys] or [*engine.runtimes]
        for world in worlds:
            if self._uvicorn and self._uvicorn.loop and world in engine.runtimes:
                asyncio.run_coroutine_threadsafe(engine.discard(world), self._uvicorn.loop).result()


OPTIONS: Mapping[str, Any] = {
    "loop": event_loop.FACTORY,
    "ws": "none",
    # Which proxies are trusted to name the client's address is a setting of the App (B-70), not of
    # the server.
    "proxy_headers": False,
    "lifespan": "on",
    # Logging is configured by the process, which may be a test suite.
    "log_config": None,
    "log_level": "warning",
    "access_log": False,
    "server_header": False,
    # The system's date in each response would break "same seed, same bytes" (B-93).
    "date_header": False,
    "timeout_keep_alive": KEEP_ALIVE,
}
"""How uvicorn serves an application."""


def uvicorn_for(
    root_app: RootApp, ready: Callable[[], None], end_long_responses: Callable[[], None]
) -> Uvicorn | PlainUvicorn:
    """Return an application's server: extended uvicorn, or plain where a release lacks a part."""
    if missing := uvicorn_parts.missing_here():
        logger.warning(
            "uvicorn %s has no %s, which the emulator extends. Its own classes serve: with its"
            " limits of a request, and its words where a request is no HTTP. A newer"
            " payments-emulator may know this release.",
            uvicorn.__version__,
            missing[0],
        )
        # Streams have no end of their own, so they are ended by uvicorn.
        return PlainUvicorn(
            root_app, ready, timeout_graceful_shutdown=LAST_RESPONSES_SECONDS, **OPTIONS
        )
    # Only where uvicorn has the class that it extends.
    from emulator.web.connection import protocol_for

    protocol = protocol_for(root_app, connections_allowed())
    config = uvicorn.Config(root_app, http=protocol, backlog=ACCEPTED_AT_ONCE, **OPTIONS)
    return Uvicorn(config, ready, end_long_responses)


class Uvicorn(uvicorn.Server):
    """Calls ``ready`` once it accepts requests; ends long responses before it waits for the others.

    It ends as soon as it can. uvicorn looks ten times a second whether it is to end, and waits a
    tenth more for connections, which may be closed already: too long for a sandbox that a single
    test starts.
    """

    def __init__(
        self,
        config: uvicorn.Config,
        ready: Callable[[], None],
        end_long_responses: Callable[[], None],
    ) -> None:
        self.loop: asyncio.AbstractEventLoop | None = None
        self._ending = asyncio.Event()
        super().__init__(config)
        self._ready = ready
        self._end_long_responses = end_long_responses
        self.failure: Exception | None = None

    @property
    def should_exit(self) -> bool:
        """Whether the server is to end; set by uvicorn's handler of signals, or by any thread."""
        return self._should_exit

    @should_exit.setter
    def should_exit(self, wanted: bool) -> None:
        self._should_exit = wanted
        if wanted and self.loop:
            with suppress(RuntimeError):  # it has ended already
                self.loop.call_soon_threadsafe(self._ending.set)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self.loop = asyncio.get_running_loop()
        await super().startup(sockets)
        if self.should_exit:
            return
        # The same number is how many wait in the system, which are to be more.
        for listening in sockets or ():
            listening.listen(BACKLOG)
        try:
            self._ready()
        # Raised here it would skip the shutdown; run() raises it afterwards.
        except Exception as error:
            self.failure = error
            self.should_exit = True

    async def main_loop(self) -> None:
        await self._ending.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        # Responses under way are waited for: a stream of events has no end of its own, and an
        # advance a late one.
        self._end_long_responses()
        for listening in (*self.servers, *(sockets or ())):
            listening.close()
        for connection in [*self.server_state.connections]:
            connection.shutdown()
        state = self.server_state
        for _ in range(LAST_CHECKS):
            if self.force_exit or not (state.connections or state.tasks):
                break
            await asyncio.sleep(END_CHECK_INTERVAL)
        for task in state.tasks:
            task.cancel()
        if not self.force_exit:
            await self.lifespan.shutdown()
