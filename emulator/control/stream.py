"""The stream: what happens in a world, sent at once as server-sent events."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Collection, Mapping
from functools import partial
from typing import Any

from emulator.control import emails, requests
from emulator.core.world import encode
from emulator.engine.engine import Engine
from emulator.engine.pubsub import KINDS, Message, Subscriber, restarted
from emulator.engine.runtime import Runtime
from emulator.web.context import Stream

HEARTBEAT = 15.0
"""Seconds (real time) without a message after which a comment is sent, so that proxies leave the connection open."""

VIEWS: Mapping[str, Callable[[Any], Any]] = {"request": requests.summary, "email": emails.shown}
"""How requests and emails are sent: as in their lists. Other messages are sent as they are."""


async def show(engine: Engine, runtime: Runtime, query: Mapping[str, Any]) -> Stream:
    """GET /stream: messages of the kinds in ``types``, and always ``reset``."""
    kinds = {*query.get("types", KINDS), "reset"}
    return Stream(partial(messages, runtime, kinds), runtime.broker.closed, "text/event-stream")


async def messages(runtime: Runtime, kinds: Collection[str]) -> AsyncGenerator[bytes, None]:
    """The messages to one client, as bytes."""
    with runtime.broker.subscribe(kinds) as subscriber:
        yield b": what happens from now on\n\n"
        while not runtime.broker.closed.is_set():
            batch = await subscriber.next_batch(HEARTBEAT)
            if subscriber.lost:
                yield encoded(batch[0].number, "reset", lost(runtime, subscriber))
            yield b"".join(map(encode_message, batch)) or b": still there\n\n"


def lost(runtime: Runtime, subscriber: Subscriber) -> dict[str, Any]:
    """The message to a client that was too slow: how many messages it lost, and so should read everything again."""
    number, subscriber.lost = subscriber.lost, 0
    return restarted("lost", runtime.now(), lost=number)


def encode_message(message: Message) -> bytes:
    """A message as a server-sent event."""
    view = VIEWS.get(message.kind)
    return encoded(message.number, message.kind, view(message.about) if view else message.about)


def encoded(number: int, kind: str, data: Any) -> bytes:
    """A server-sent event. Its data is one line, since JSON as encoded here has no line breaks."""
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (number, kind.encode(), encode(data))


OPERATIONS = {"stream": show}
