"""The parts of uvicorn that the emulator extends, and whether the installed release has them.

Uvicorn documents how a server is configured and run, not what a subclass may override. It is
installed beside our users' applications, so its releases are not bounded: one that lacks a part
serves by its own classes (:class:`PlainUvicorn`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import import_module
from inspect import signature
from typing import Any, NamedTuple

import uvicorn

from emulator.web.root_app import RootApp


class Part(NamedTuple):
    """A class of uvicorn: overridden methods with parameters, attributes of its constructor."""

    module: str
    name: str
    attributes: tuple[str, ...] = ()
    methods: Mapping[str, tuple[str, ...]] = {}

    def missing(self, theirs: Any) -> Iterator[str]:
        """Yield the names that the class lacks, or has in another form."""
        for name, parameters in self.methods.items():
            method = getattr(theirs, name, None)
            if method is None or tuple(signature(method).parameters)[1:] != parameters:
                yield f"{self.name}.{name}"
        known = getattr(getattr(theirs.__init__, "__code__", None), "co_names", ())
        yield from (f"{self.name}.{name}" for name in self.attributes if name not in known)


PROTOCOL = Part(
    "uvicorn.protocols.http.httptools_impl",
    "HttpToolsProtocol",
    (
        "connections",
        "cycle",
        "flow",
        "headers",
        "logger",
        "loop",
        "parser",
        "pipeline",
        "scope",
        "tasks",
        "transport",
    ),
    {
        "connection_made": ("transport",),
        "connection_lost": ("exc",),
        "data_received": ("data",),
        "eof_received": (),
        "on_message_begin": (),
        "on_headers_complete": (),
        "on_body": ("body",),
        "on_message_complete": (),
        "on_response_complete": (),
        "send_400_response": ("msg",),
    },
)
"""Extended by :class:`emulator.web.connection.Connection`."""

SERVER = Part(
    "uvicorn.server",
    "Server",
    ("force_exit", "server_state", "should_exit"),
    {"startup": ("sockets",), "main_loop": (), "shutdown": ("sockets",)},
)
"""Extended by :class:`emulator.server.server.Uvicorn`."""

CYCLE = (
    *(
        "default_headers",
        "disconnected",
        "flow",
        "keep_alive",
        "message_event",
        "more_body",
        "on_response",
    ),
    *("response_complete", "response_started", "scope", "transport", "waiting_for_100_continue"),
)

PARTS = (
    PROTOCOL,
    SERVER,
    Part("uvicorn.server", "ServerState", ("connections", "tasks")),
    Part("uvicorn.protocols.http.flow_control", "FlowControl", ("read_paused", "write_paused")),
    Part(PROTOCOL.module, "RequestResponseCycle", CYCLE),
)


@cache
def missing_here() -> list[str]:
    """Return the names that the installed release lacks; looked up once in a process."""
    return [name for part in PARTS for name in part.missing(_installed(part))]


def _installed(part: Part) -> Any:
    try:
        return getattr(import_module(part.module), part.name, object)
    except ImportError:
        return object


class PlainUvicorn:
    """A server by uvicorn's documented interface alone, with our own attributes that are used.

    Requests have uvicorn's limits and not ours, a request that is no HTTP gets uvicorn's response,
    and the server ends a little later.
    """

    def __init__(self, root_app: RootApp, ready: Callable[[], None], **options: Any) -> None:
        self._root_app = root_app
        self._ready = ready
        self._server = uvicorn.Server(
            uvicorn.Config(self._serve, interface="asgi3", http="auto", **options)
        )
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
        # The socket listens before the server is made: a connection from here on is served.
        self.loop = asyncio.get_running_loop()
        try:
            self._ready()
        # raised here it would skip the shutdown; the caller of run() raises it afterwards
        except Exception as error:
            self.failure = error
            self.should_exit = True
