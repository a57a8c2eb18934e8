"""Downloads: an email as HTML and as its raw source, its attachments, snapshots, and recordings."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING

from starlette.responses import Response

from emulator.ui.console import recorder
from emulator.ui.console.api_client import CONTROL
from emulator.ui.console.request import ConsoleRequest

if TYPE_CHECKING:
    from email.message import EmailMessage

FORWARDED = ("content-type", "content-security-policy", "referrer-policy", "x-content-type-options")


async def html(request: ConsoleRequest) -> Response:
    """An email as HTML. The page shows it in a sandboxed frame."""
    answer = await request.response("GET", _path(request, "html"))
    return Response(
        answer.content, headers={name: answer.headers[name] for name in FORWARDED if name in answer.headers}
    )


async def raw(request: ConsoleRequest) -> Response:
    """The raw source of an email, as text."""
    answer = await request.response("GET", _path(request, "raw"))
    return Response(answer.content, media_type="text/plain; charset=utf-8")


async def attachment(request: ConsoleRequest) -> Response:
    """An attachment of an email, by its name."""
    # Loaded on first use: most servers never show an email.
    from email import message_from_bytes, policy

    answer = await request.response("GET", _path(request, "raw"))
    message: EmailMessage = message_from_bytes(answer.content, policy=policy.default)
    for part in message.iter_attachments():
        if part.get_filename() == request.http.path_params["name"]:
            return Response(part.get_content(), media_type=part.get_content_type())
    raise request.not_found()


async def export(request: ConsoleRequest) -> Response:
    """A snapshot as a file; by the link to share it, a scrubbed one."""
    name = request.id
    share = request.query.get("share") == "true"
    answer = await request.response("GET", f"{CONTROL}/snapshots/{name}", {"share": str(share).lower()})
    saved = {"Content-Disposition": f'attachment; filename="{name}{"-shared" * share}.json"'}
    return Response(answer.content, headers=saved, media_type="application/json")


def _path(request: ConsoleRequest, form: str) -> str:
    return f"{CONTROL}/emails/{request.id}/{form}"


HANDLERS: Mapping[str, Callable[[ConsoleRequest], Awaitable[Response]]] = {
    "emails/{id}/html": html,
    "emails/{id}/raw": raw,
    "emails/{id}/attachments/{name}": attachment,
    "snapshots/{id}/export": export,
    **recorder.HANDLERS,
}
"""By path below ``/_emulator/console/``."""
