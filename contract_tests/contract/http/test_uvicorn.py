"""What the emulator relies on in uvicorn's server and protocol classes, which it extends, and what serves without it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from inspect import iscoroutinefunction, signature
from typing import Any, NamedTuple

import httptools
import httpx
import pytest
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from emulator.server import server, uvicorn_parts
from emulator.server.uvicorn_parts import PROTOCOL, SERVER, Part
from emulator.testing import LocalServer
from emulator.web.connection import CoalescingTransport, Connection
from emulator.web.context import Stream, send_stream


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


def overridden(ours: type, theirs: type) -> set[str]:
    """Names of the base class that a class defines again."""
    return {name for name in vars(ours) if hasattr(theirs, name) and not name.startswith("__")}


@pytest.mark.parametrize(
    ("part", "ours", "theirs"),
    [(PROTOCOL, Connection, HttpToolsProtocol), (SERVER, server.Uvicorn, uvicorn.Server)],
    ids=["protocol", "server"],
)
def test_the_parts_are_complete_and_name_nothing_private(part: Part, ours: type, theirs: type) -> None:
    assert overridden(ours, theirs) == part.methods.keys()
    assert not [name for name in part.methods if name.startswith("_")]
    assert [*part._replace(attributes={}).missing(ours)] == [], "ours takes what theirs takes"


def test_the_installed_release_has_all_parts() -> None:
    assert uvicorn_parts.missing() == []


class WithoutBody(HttpToolsProtocol):
    on_body = None  # type: ignore[assignment]  # as in a release that has another name for it


class WithOtherCycle:
    def __init__(self) -> None:
        self.keep_alive = self.more_body = self.response_done = False


@pytest.mark.parametrize(
    ("name", "release", "missing"),
    [
        ("HttpToolsProtocol", WithoutBody, ["HttpToolsProtocol.on_body"]),
        ("RequestResponseCycle", WithOtherCycle, ["response_complete", "response_started"]),
        ("ServerState", object, ["ServerState.connections", "ServerState.tasks"]),
    ],
)
def test_a_release_without_a_part_is_noticed(name: str, release: type, missing: list[str]) -> None:
    found = uvicorn_parts.missing(lambda part: release if part.name == name else uvicorn_parts.installed(part))
    assert [each.removeprefix("RequestResponseCycle.") for each in found] == missing


def test_uvicorns_own_classes_serve_where_a_part_is_missing(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(uvicorn_parts, "missing_here", lambda: ["Server.main_loop"])
    local = LocalServer()
    try:
        with httpx.Client(base_url=local.url, headers={"Authorization": "Bearer sk_test_plain"}) as client:
            made = client.post("/v1/customers/", json={"email": "awa@example.com", "name": "Awa Diop"})
            assert made.status_code == 201
            assert client.get(f"/v1/customers/{made.json()['id']}/").json() == made.json()
            assert not {"server", "date"} & made.headers.keys()
            began = time.perf_counter()
            # A stream, which has no end of its own, does not hold up the end.
            with client.stream("GET", "/_emulator/stream") as stream:
                assert stream.status_code == 200
                local.stop()
        assert time.perf_counter() - began < 5
        [said] = [each.getMessage() for each in caplog.records if each.name == "emulator.server"]
        assert f"uvicorn {uvicorn.__version__} has no Server.main_loop" in said
    finally:
        local.stop()


def test_a_server_takes_sockets_and_ends_on_request() -> None:
    assert "sockets" in signature(uvicorn.Server.run).parameters
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


# -- Write coalescing, against a transport that only records what it is asked to do


class Noted:
    """A transport that records its calls."""

    def __init__(self) -> None:
        self.calls: list[object] = []
        self.closed = False

    def write(self, data: bytes) -> None:
        self.calls.append(data)

    def close(self) -> None:
        self.calls.append("close")
        self.closed = True

    def is_closing(self) -> bool:
        return self.closed

    def get_extra_info(self, name: str) -> str:
        return f"the {name}"


WRITTEN: dict[str, tuple[Callable[[CoalescingTransport, Noted], object], list[object]]] = {
    "head and body leave together": (lambda joined, noted: None, [b"head body"]),
    "closing sends first": (lambda joined, noted: joined.close(), [b"head body", "close"]),
    "a lost connection takes nothing": (lambda joined, noted: setattr(noted, "closed", True), []),
    "all else is the transport's own": (lambda joined, noted: noted.calls.append(joined.get_extra_info("peername")),
        ["the peername", b"head body"]),
}  # fmt: skip


@pytest.mark.parametrize("name", WRITTEN)
def test_what_is_written_in_one_go_leaves_together(name: str) -> None:
    then, calls = WRITTEN[name]

    async def play(noted: Noted) -> None:
        joined = CoalescingTransport(noted)
        joined.write(b"head ")
        joined.write(b"body")
        assert noted.calls == []
        then(joined, noted)
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    noted = Noted()
    asyncio.run(play(noted))
    assert noted.calls == calls


# -- Streaming: a stream ends with its source, with its client, and when it is declared ended


Act = Callable[["Reader"], Awaitable[None]]


class Reader:
    """A client of a stream; one that is ``stuck`` reads the head and then no more."""

    def __init__(self, stuck: bool = False) -> None:
        self.heard: list[Any] = []
        self.gone = asyncio.Event()
        self.over = asyncio.Event()
        self.aborted = False
        self.is_streaming: bool | None = None
        self.closed_parts = False
        self._stuck = stuck

    async def parts(self) -> AsyncGenerator[bytes, None]:
        try:
            yield b"first"
            await self.over.wait()
            yield b"last"
        finally:
            self.closed_parts = True

    async def receive(self) -> Any:
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        self.heard.append(message)
        if self._stuck and message["type"] == "http.response.body":
            await asyncio.Event().wait()

    def abort(self) -> None:
        self.aborted = True

    def begin_stream(self) -> None:
        self.is_streaming = True

    def end_stream(self) -> None:
        self.is_streaming = False

    async def read(self, act: Act) -> None:
        stream = Stream(self.parts, self.over, "text/plain", asyncio.Lock())
        task = asyncio.create_task(send_stream(stream, self, self.receive, self.send))
        while len(self.heard) < 2:
            await asyncio.sleep(0)
        assert self.is_streaming
        await act(self)
        await asyncio.wait_for(task, 30)
        assert not self.is_streaming


async def say_it_is_over(reader: Reader) -> None:
    reader.over.set()


async def go(reader: Reader) -> None:
    reader.gone.set()


def read(act: Act, **options: Any) -> Reader:
    reader = Reader(**options)
    asyncio.run(reader.read(act))
    return reader


def test_what_is_over_ends_with_its_last_words() -> None:
    reader = read(say_it_is_over)
    assert [message.get("body") for message in reader.heard[1:]] == [b"first", b"last", b""]
    assert not reader.heard[-1].get("more_body")
    assert not reader.aborted


def test_a_reader_that_does_not_read_is_cut_off_once_it_is_over() -> None:
    reader = read(say_it_is_over, stuck=True)
    assert reader.aborted
    assert reader.closed_parts


@pytest.mark.parametrize("stuck", [False, True])
def test_a_reader_that_goes_leaves_nothing_behind(stuck: bool) -> None:
    assert read(go, stuck=stuck).closed_parts


def test_what_goes_wrong_in_the_source_is_not_swallowed() -> None:
    async def broken() -> AsyncGenerator[bytes, None]:
        raise LookupError("nothing to say")
        yield b""

    async def answer() -> None:
        reader = Reader()
        await send_stream(Stream(broken, reader.over, "text/plain", asyncio.Lock()), None, reader.receive, reader.send)

    with pytest.raises(LookupError, match="nothing to say"):
        asyncio.run(answer())
