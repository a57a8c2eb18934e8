"""The outbox: the emails of a world as a list, as objects, as HTML and as MIME messages."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from emulator.control.long_poll import first_match
from emulator.core.errors import ApiError
from emulator.core.handlers import Page, Query, paginate
from emulator.core.tables import Table
from emulator.engine.engine import Engine
from emulator.engine.runtime import Runtime
from emulator.resources.simulation.emails import Email
from emulator.web.context import Response

# The renderer is loaded on first use in each of these functions: most servers never show an email.


SAFE_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; img-src https:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
"""Response headers that keep a browser from running anything an email contains, and from loading all but pictures."""


def shown(email: Email) -> dict[str, Any]:
    """The email as it is sent, with the ids of the objects it is about."""
    from emulator.presentation.email import email_content, mime

    about = {
        name: getattr(email, name)
        for name in ("customer", "invoice", "subscription", "transaction", "receipt", "refund")
    }
    return {
        "id": email.id,
        "object": "email",
        "kind": email.topic,
        "to": email.to,
        "from": mime.sender(email),
        "subject": email_content.email_content(email).subject,
        "language": email.language,
        **{name: record and record.id for name, record in about.items()},
        "attachments": [{"filename": name, "content_type": kind} for name, kind in mime.attachments(email).items()],
        "sent_at": email.sent_at,
        "error": email.error,
        "created_at": email.created_at,
    }


async def index(engine: Engine, runtime: Runtime, query: Query) -> Page[Any]:
    """GET /emails: filters ``to`` and ``kind``; ``wait`` answers as soon as one matches (real seconds)."""
    page = await first_match(runtime, query["wait"], lambda: _matches(runtime.world.table(Email), query))
    return msgspec.structs.replace(page, data=[shown(email) for email in page.data])


def _matches(table: Table[Email], query: Query) -> Page[Email]:
    """The page of emails a query asks for; addresses are compared without regard to letter case (B-30)."""
    filters = {"topic": query.get("kind"), "page": query["page"], "page_size": query["page_size"]}
    if "to" in query:
        wanted = query["to"].casefold()
        filters["to"] = [to for to in table.indexes["to"].all_keys() if to.casefold() == wanted]
    return paginate(table, filters)


async def show(engine: Engine, runtime: Runtime, id: str, query: Query) -> dict[str, Any]:
    """GET /emails/{id}."""
    return shown(await _found(runtime, id))


async def html(engine: Engine, runtime: Runtime, id: str, query: Query) -> Response:
    """GET /emails/{id}/html: the HTML part."""
    from emulator.presentation.email import mime

    return Response(
        200, mime.html(await _found(runtime, id)).encode(), SAFE_HEADERS, media_type="text/html; charset=utf-8"
    )


async def raw(engine: Engine, runtime: Runtime, id: str, query: Query) -> bytes:
    """GET /emails/{id}/raw: the MIME message with attachments, rendered in a thread, so that no other request waits."""
    from emulator.presentation.email import mime

    return await asyncio.to_thread(mime.message, await _found(runtime, id))


async def _found(runtime: Runtime, id: str) -> Email:
    await runtime.catch_up()
    email = runtime.world.get(Email, id)
    if email is None:
        raise ApiError("NOT_FOUND", message=f"There is no email {id[:60]}.")
    return email


OPERATIONS = {"listEmails": index, "getEmail": show, "getEmailHtml": html, "getEmailRaw": raw}
