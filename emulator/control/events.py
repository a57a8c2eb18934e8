"""The news of a world: its events and emails as lists that can be waited for, and as a stream.

Emails are shown as objects, as HTML and as MIME messages. The response to a list is delayed until
the list is not empty, or until a timeout.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Collection, Mapping
from functools import partial
from typing import Any

import msgspec

from emulator.control import requests
from emulator.core.errors import ApiError
from emulator.core.lists import Page, Query, Selection, select
from emulator.core.tables import Table
from emulator.core.unit_of_work import Event
from emulator.core.world import encode
from emulator.engine.broker import KINDS, Message, Subscriber, restarted
from emulator.engine.reading import read_page
from emulator.engine.runtime import Runtime
from emulator.resources.simulation.emails import ABOUT, Email
from emulator.web.context import PIECE, Response, Stream

# -- long polling


async def first_match(
    runtime: Runtime, seconds: float, look: Callable[[], Selection[Any]]
) -> Page[Any]:
    """Return the page once it has a match, or the empty page after ``seconds`` of real time."""
    # The time of the event loop: a test that freezes the clocks of this process does not freeze
    # this one.
    loop_time = asyncio.get_running_loop().time
    deadline = loop_time() + seconds
    while True:
        await runtime.catch_up()
        page = await read_page(look())
        left = deadline - loop_time()
        if page.count or left <= 0 or runtime.broker.closed.is_set():
            return page
        with runtime.broker.subscribe(("event", "email")) as subscriber:
            await subscriber.next_batch(left)


# -- the event log, newest first


async def index(runtime: Runtime, query: Mapping[str, Any]) -> Page[Event]:
    """GET /events: filters ``type``, ``object`` (an id); ``wait`` (real seconds) for a match."""
    filters = {name: value for name, value in query.items() if name not in ("app", "wait")}
    return await first_match(
        runtime,
        query["wait"],
        lambda: select(
            runtime.world.table(Event),
            filters,
            {"object": lambda event, about: event.about == about},
        ),
    )


# -- the outbox


# The renderer is loaded on first use in each of these functions: most servers never show an email.


SAFE_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; img-src https:; style-src 'unsafe-inline'; base-uri 'none';"
        " form-action 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
"""Response headers by which a browser runs nothing in an email and loads only its pictures."""


def email_shown(email: Email) -> dict[str, Any]:
    """Return the email as it is sent, with the ids of the objects it is about."""
    from emulator.presentation.email import email_content

    about = {name: getattr(email, name) for name in ABOUT}
    return {
        "id": email.id,
        "object": "email",
        "kind": email.topic,
        "to": email.to,
        "from": email_content.sender(email),
        "subject": email_content.email_content(email).subject,
        "language": email.language,
        **{name: record and record.id for name, record in about.items()},
        "attachments": [
            {"filename": name, "content_type": kind}
            for name, kind in email_content.attachments(email).items()
        ],
        "created_at": email.created_at,
    }


async def list_emails(runtime: Runtime, query: Query) -> Page[Any]:
    """GET /emails: filters ``to`` and ``kind``; ``wait`` (real seconds) for a match."""
    page = await first_match(
        runtime, query["wait"], lambda: _matches(runtime.world.table(Email), query)
    )
    return msgspec.structs.replace(page, data=[email_shown(email) for email in page.data])


def _matches(table: Table[Email], query: Query) -> Selection[Email]:
    """Return the emails a query asks for; addresses are compared without regard to letter case
    (B-30).
    """
    to, paging = query.get("to"), {name: query[name] for name in ("page", "page_size")}
    wanted = {**paging, "topic": query.get("kind"), "to": to and to.casefold()}
    return select(table, wanted, {"to": lambda email, address: email.to.casefold() == address})


async def show_email(runtime: Runtime, id: str) -> dict[str, Any]:
    """GET /emails/{id}."""
    return email_shown(await _found(runtime, id))


async def html(runtime: Runtime, id: str, query: Query) -> Response:
    """GET /emails/{id}/html: the HTML part; ``language`` shows it as it would be in that one."""
    from emulator.presentation.email import email_content

    email = await _found(runtime, id)
    email = msgspec.structs.replace(email, language=query.get("language", email.language))
    return Response(
        200,
        email_content.html(email).encode(),
        SAFE_HEADERS,
        media_type=b"text/html; charset=utf-8",
    )


async def raw(runtime: Runtime, id: str) -> bytes:
    """GET /emails/{id}/raw: the MIME message, made in a thread, so that no other request waits."""
    from emulator.presentation.email import email_content

    return await asyncio.to_thread(email_content.message, await _found(runtime, id))


async def _found(runtime: Runtime, id: str) -> Email:
    await runtime.catch_up()
    email = runtime.world.get(Email, id)
    if email is None:
        raise ApiError("NOT_FOUND", message=f"There is no email {id[:60]}.")
    return email


# -- server-sent events


HEARTBEAT = 15.0
"""Seconds (real time) of silence before a comment, so that proxies keep the connection open."""

VIEWS: Mapping[str, Callable[[Runtime, Any], Any]] = {
    "request": lambda runtime, entry: requests.summary(entry, runtime.journal),
    "email": lambda runtime, email: email_shown(email),
}
"""How requests and emails are sent: as in their lists. Other messages are sent as they are."""


async def stream(runtime: Runtime, query: Mapping[str, Any]) -> Stream:
    """GET /stream: messages of the kinds in ``types``, and always ``reset``."""
    kinds = {*query.get("types", KINDS), "reset"}
    parts = partial(messages, runtime, kinds)
    return Stream(parts, runtime.broker.closed, "text/event-stream", runtime.scheduler.pauses)


async def messages(runtime: Runtime, kinds: Collection[str]) -> AsyncGenerator[bytes, None]:
    """Yield the messages to one client, as bytes, small ones together."""
    with runtime.broker.subscribe(kinds) as subscriber:
        yield b": what happens from now on\n\n"
        while not runtime.broker.closed.is_set():
            batch = await subscriber.next_batch(HEARTBEAT)
            if subscriber.lost:
                yield encoded(batch[0].number, "reset", lost(runtime, subscriber))
            part = b"" if batch else b": still there\n\n"
            for message in batch:
                data = encode_message(runtime, message)
                if part and len(part) + len(data) > PIECE:
                    yield part
                    part = b""
                part += data
            yield part


def lost(runtime: Runtime, subscriber: Subscriber) -> dict[str, Any]:
    """Return a slow client's message with the number of lost ones; the client should start over."""
    number, subscriber.lost = subscriber.lost, 0
    return restarted("lost", runtime.now(), lost=number)


def encode_message(runtime: Runtime, message: Message) -> bytes:
    view = VIEWS.get(message.kind)
    return encoded(
        message.number, message.kind, view(runtime, message.about) if view else message.about
    )


def encoded(number: int, kind: str, data: Any) -> bytes:
    """Return a server-sent event, with its data on one line: the JSON has no line breaks."""
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (number, kind.encode(), encode(data))


OPERATIONS = {
    "listEvents": index,
    "listEmails": list_emails,
    "getEmail": show_email,
    "getEmailHtml": html,
    "getEmailRaw": raw,
    "stream": stream,
}
