"""Streaming: a stream ends with its source, with its client, and when it is declared ended."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any

import pytest

from emulator.web.context import Stream, send_stream

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
        stream = Stream(self.parts, self.over, "text/plain")
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
        await send_stream(Stream(broken, reader.over, "text/plain"), None, reader.receive, reader.send)

    with pytest.raises(LookupError, match="nothing to say"):
        asyncio.run(answer())
