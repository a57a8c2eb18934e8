"""The stream: what happens in a world, told while it happens, as server-sent events."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Collection, Mapping
from functools import partial
from typing import Any

from emulator.control import emails, requests
from emulator.core.world import encode
from emulator.engine.engine import Engine
from emulator.engine.pubsub import KINDS, Message, Subscriber, restarted
from emulator.engine.runtime import Runtime
from emulator.web.streaming import Stream

HEARTBEAT = 15.0
"""Seconds (real time) of silence after which a comment tells that the line still stands."""

SHOWN: Mapping[str, Callable[[Any], Any]] = {"request": requests.summary, "email": emails.shown}
"""How news look where they are not shown as they are; each looks as it does in its list."""


async def show(engine: Engine, runtime: Runtime, query: Mapping[str, Any]) -> Stream:
    """GET /stream: ``types`` are the kinds of news wanted; a ``reset`` is always told."""
    kinds = {*query.get("types", KINDS), "reset"}
    return Stream(partial(told, runtime, kinds), runtime.broker.closed, "text/event-stream")


async def told(runtime: Runtime, kinds: Collection[str]) -> AsyncGenerator[bytes, None]:
    """The messages to one reader, as bytes."""
    with runtime.broker.subscribe(kinds) as listener:
        yield b": what happens from now on\n\n"
        while not runtime.broker.closed.is_set():
            heard = await listener.next_batch(HEARTBEAT)
            if listener.lost:
                yield message(heard[0].number, "reset", lost(runtime, listener))
            yield b"".join(map(line, heard)) or b": still there\n\n"


def lost(runtime: Runtime, listener: Subscriber) -> dict[str, Any]:
    """To one who missed something: how much, and that all that was known is to be looked at anew."""
    number, listener.lost = listener.lost, 0
    return restarted("lost", runtime.clock.now(), lost=number)


def line(news: Message) -> bytes:
    """One piece of news as a message."""
    return message(news.number, news.kind, SHOWN.get(news.kind, same)(news.about))


def same(about: Any) -> Any:
    """What is shown as it is."""
    return about


def message(number: int, kind: str, data: Any) -> bytes:
    """A message of the stream; JSON has no line breaks."""
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (number, kind.encode(), encode(data))


OPERATIONS = {"stream": show}
