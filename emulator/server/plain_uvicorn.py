"""A server by uvicorn's documented interface alone, for releases that lack what is extended otherwise.

Requests have uvicorn's limits and not ours, what is no HTTP is answered in uvicorn's words, and the end takes a little longer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import uvicorn

from emulator.web.root_app import RootApp


class PlainUvicorn:
    """Has the attributes of :class:`emulator.server.server.Uvicorn` that are used of it."""

    def __init__(self, root_app: RootApp, ready: Callable[[], None], **options: Any) -> None:
        self._root_app = root_app
        self._ready = ready
        self._server = uvicorn.Server(uvicorn.Config(self._serve, interface="asgi3", http="auto", **options))
        self.loop: asyncio.AbstractEventLoop | None = None
        self.failure: Exception | None = None

    @property
    def should_exit(self) -> bool:
        """Whether the server is to end."""
        return self._server.should_exit

    @should_exit.setter
    def should_exit(self, wanted: bool) -> None:
        self._server.should_exit = wanted

    def run(self, sockets: list[Any]) -> None:
        """Serve until a signal or ``should_exit`` ends it."""
        self._server.run(sockets=sockets)

    async def _serve(self, scope: Any, receive: Any, send: Any) -> None:
        async def send_and_tell(message: Any) -> None:
            await send(message)
            if message["type"] == "lifespan.startup.complete":
                self._started()

        await self._root_app(scope, receive, send_and_tell if scope["type"] == "lifespan" else send)

    def _started(self) -> None:
        # The socket listens before the server is made: what connects from here on is answered.
        self.loop = asyncio.get_running_loop()
        try:
            self._ready()
        except Exception as error:  # raised here it would skip the shutdown; the caller of run() raises it afterwards
            self.failure = error
            self.should_exit = True
