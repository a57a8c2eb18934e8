"""What the emulator relies on in uvicorn's server and protocol classes, which it extends: names and signatures.

Uvicorn documents how a server is configured and run, not what a subclass may override. ``pyproject.toml`` therefore
allows only versions up to the newest one that these tests have passed with.
"""

from __future__ import annotations

import asyncio
import time
from inspect import iscoroutinefunction, signature
from typing import Any, NamedTuple

import httptools
import pytest
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from emulator.server import server
from emulator.testing import LocalServer
from emulator.web.connection import Connection

OVERRIDDEN: dict[str, tuple[str, ...]] = {
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
}
"""Methods of the protocol that :class:`Connection` overrides, with their parameters."""

SERVER_METHODS: dict[str, tuple[str, ...]] = {
    "startup": ("sockets",),
    "main_loop": (),
    "shutdown": ("sockets",),
}
"""Coroutine functions of the server that ours overrides."""


class Transport(NamedTuple):
    """As much of a transport as a connection asks for before it reads."""

    written: list[bytes]

    def get_extra_info(self, name: str) -> Any:
        return None

    def write(self, data: bytes) -> None:
        self.written.append(data)

    def is_closing(self) -> bool:
        return False

    def pause_assumption(self) -> None: ...

    def resume_assumption(self) -> None: ...


def parameters(function: Any) -> tuple[str, ...]:
    return tuple(signature(function).parameters)[1:]


def overridden(ours: type, theirs: type) -> set[str]:
    """Names of the base class that a class defines again."""
    return {name for name in vars(ours) if hasattr(theirs, name) and not name.startswith("__")}


def test_the_tables_here_are_complete_and_name_nothing_private() -> None:
    assert overridden(Connection, HttpToolsProtocol) == OVERRIDDEN.keys()
    assert overridden(server.Uvicorn, uvicorn.Server) == SERVER_METHODS.keys()
    assert not [name for name in (*OVERRIDDEN, *SERVER_METHODS) if name.startswith("_")]


@pytest.mark.parametrize("name", OVERRIDDEN)
def test_a_method_of_the_protocol_takes_what_ours_takes(name: str) -> None:
    theirs, ours = getattr(HttpToolsProtocol, name), getattr(Connection, name)
    assert parameters(theirs) == parameters(ours) == OVERRIDDEN[name]
    assert not iscoroutinefunction(theirs)


@pytest.mark.parametrize("name", SERVER_METHODS)
def test_a_method_of_the_server_takes_what_ours_takes(name: str) -> None:
    theirs, ours = getattr(uvicorn.Server, name), getattr(server.Uvicorn, name)
    assert parameters(theirs) == parameters(ours) == SERVER_METHODS[name]
    assert iscoroutinefunction(theirs)


def test_a_server_takes_sockets_and_ends_on_request() -> None:
    assert "sockets" in parameters(uvicorn.Server.run)
    theirs = uvicorn.Server(uvicorn.Config(_answer, log_config=None))
    assert (theirs.should_exit, theirs.force_exit) == (False, False)


def test_a_server_that_runs_has_what_ours_ends() -> None:
    """``servers`` that listen, connections and tasks of requests in ``server_state``, and ``lifespan``."""

    class Ending(uvicorn.Server):
        async def main_loop(self) -> None:
            """It ends at once."""
            ending.append((self.servers, self.server_state.connections, self.server_state.tasks, self.lifespan))

    ending: list[Any] = []
    config = uvicorn.Config(_answer, port=0, http="httptools", ws="none", lifespan="off", log_config=None)
    Ending(config).run()
    [(servers, connections, tasks, lifespan)] = ending
    assert len(servers) == 1
    assert connections == tasks == set()
    assert iscoroutinefunction(lifespan.shutdown)


def test_a_server_without_requests_ends_at_once() -> None:
    """uvicorn's own takes a tenth of a second at least, for each of the sandboxes that a test run starts."""
    seconds = []
    for _ in range(5):
        local = LocalServer()
        started = time.perf_counter()
        local.stop()
        seconds.append(time.perf_counter() - started)
    assert min(seconds) < 0.1


async def _answer(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
    await send({"type": "http.response.body", "body": b""})


def test_a_protocol_has_the_attributes_that_ours_reads_and_sets() -> None:
    """``scope``, ``url`` and ``headers`` of the request being read, ``parser``, ``transport``, ``cycle`` and more."""

    async def play() -> tuple[HttpToolsProtocol, bool]:
        config = uvicorn.Config(_answer, http="httptools", ws="none", lifespan="off", log_config=None)
        protocol = HttpToolsProtocol(config=config, server_state=ServerState(), app_state={})
        assert protocol.cycle is None
        assert isinstance(protocol.parser, httptools.HttpRequestParser)
        transport = Transport([])
        protocol.connection_made(transport)  # type: ignore[arg-type]  # as much of one as is asked for
        assert protocol.transport is transport
        protocol.data_received(b"POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\n")
        assert protocol.scope["type"] == "http"
        assert (protocol.url, protocol.headers) == (b"/", [(b"content-length", b"2")])
        assert protocol.cycle.more_body
        assert protocol.cycle.keep_alive
        before = protocol.cycle.response_complete
        protocol.data_received(b"{}")
        await asyncio.gather(*protocol.tasks)
        return protocol, before

    protocol, before = asyncio.run(play())
    assert protocol.logger.name == "uvicorn.error"
    assert (before, protocol.cycle.response_complete, protocol.cycle.more_body) == (False, True, False)
