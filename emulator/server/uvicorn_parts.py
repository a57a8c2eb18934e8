"""What the emulator extends of uvicorn, and whether the installed release has it.

Uvicorn documents how a server is configured and run, not what a subclass may override. It is installed beside the
applications of our users, so its releases are not bounded: one that lacks a part serves by its own classes
(:mod:`emulator.server.plain_uvicorn`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import import_module
from inspect import iscoroutinefunction, signature
from typing import Any, NamedTuple


class Part(NamedTuple):
    """A class of uvicorn: methods that are overridden, with their parameters, and attributes, by the method that sets them."""

    module: str
    name: str
    methods: Mapping[str, tuple[str, ...]] = {}
    attributes: Mapping[str, tuple[str, ...]] = {}
    coroutines: bool = False

    def missing(self, theirs: Any) -> Iterator[str]:
        """Yield the names that the class lacks, or has in another form."""
        for name, parameters in self.methods.items():
            method = getattr(theirs, name, None)
            form = method and (tuple(signature(method).parameters)[1:], iscoroutinefunction(method))
            if form != (parameters, self.coroutines):
                yield f"{self.name}.{name}"
        for name, attributes in self.attributes.items():
            code = getattr(getattr(theirs, name, None), "__code__", None)
            yield from (f"{self.name}.{each}" for each in attributes if each not in getattr(code, "co_names", ()))


PROTOCOL = Part(
    "uvicorn.protocols.http.httptools_impl",
    "HttpToolsProtocol",
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
    {
        "__init__": (
            *("connections", "cycle", "flow", "headers", "logger", "loop", "parser", "pipeline", "scope", "tasks"),
            "transport",
        ),
        "on_message_begin": ("headers", "scope", "url"),
    },
)
"""Extended by :class:`emulator.web.connection.Connection`."""

SERVER = Part(
    "uvicorn.server",
    "Server",
    {"startup": ("sockets",), "main_loop": (), "shutdown": ("sockets",)},
    {"__init__": ("force_exit", "server_state", "should_exit"), "startup": ("lifespan", "servers")},
    coroutines=True,
)
"""Extended by :class:`emulator.server.server.Uvicorn`."""

PARTS = (
    PROTOCOL,
    SERVER,
    Part("uvicorn.server", "ServerState", attributes={"__init__": ("connections", "tasks")}),
    Part("uvicorn.protocols.http.flow_control", "FlowControl", attributes={"__init__": ("read_paused",)}),
    Part(
        PROTOCOL.module,
        "RequestResponseCycle",
        attributes={"__init__": ("keep_alive", "more_body", "response_complete", "response_started")},
    ),
)


def installed(part: Part) -> Any:
    """Return the class of the installed release, or an empty one."""
    try:
        return getattr(import_module(part.module), part.name, object)
    except ImportError:
        return object


def missing(find: Callable[[Part], Any] = installed) -> list[str]:
    """Return the names that uvicorn lacks."""
    return [name for part in PARTS for name in part.missing(find(part))]


@cache
def missing_here() -> list[str]:
    """Return the names that the installed release lacks; looked up once in a process."""
    return missing()
