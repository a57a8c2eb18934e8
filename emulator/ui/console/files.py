"""Files: emails as HTML and source, attachments, snapshots, recordings, and opened run reports.

Reports are those of ``test app --json`` and of ``test all --json``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING

import msgspec
from starlette.responses import Response

from emulator.ui.console import actions
from emulator.ui.console.request import CONTROL, ConsoleRequest

if TYPE_CHECKING:
    from email.message import EmailMessage


# -- downloads


FORWARDED = ("content-type", "content-security-policy", "referrer-policy", "x-content-type-options")


async def html(request: ConsoleRequest) -> Response:
    """Return an email as HTML. The page shows it in a sandboxed frame."""
    response = await request.response(
        "GET", f"{CONTROL}/emails/{request.id}/html", {"language": request.query.get("written")}
    )
    headers = {name: response.headers[name] for name in FORWARDED if name in response.headers}
    return Response(response.content, headers=headers)


async def raw(request: ConsoleRequest) -> Response:
    response = await request.response("GET", f"{CONTROL}/emails/{request.id}/raw")
    return Response(response.content, media_type="text/plain; charset=utf-8")


async def attachment(request: ConsoleRequest) -> Response:
    # Loaded on first use: most servers never show an email.
    from email import message_from_bytes, policy

    response = await request.response("GET", f"{CONTROL}/emails/{request.id}/raw")
    message: EmailMessage = message_from_bytes(response.content, policy=policy.default)
    for part in message.iter_attachments():
        if part.get_filename() == request.http.path_params["name"]:
            return Response(part.get_content(), media_type=part.get_content_type())
    raise request.not_found()


async def export(request: ConsoleRequest) -> Response:
    """Return a snapshot as a file; by the link to share it, a scrubbed one."""
    name = request.id
    share = request.query.get("share") == "true"
    response = await request.response(
        "GET", f"{CONTROL}/snapshots/{name}", {"share": str(share).lower()}
    )
    saved = {"Content-Disposition": f'attachment; filename="{name}{"-shared" * share}.json"'}
    return Response(response.content, headers=saved, media_type="application/json")


HANDLERS: Mapping[str, Callable[[ConsoleRequest], Awaitable[Response]]] = {
    "emails/{id}/html": html,
    "emails/{id}/raw": raw,
    "emails/{id}/attachments/{name}": attachment,
    "snapshots/{id}/export": export,
    **actions.HANDLERS,
}
"""By path below ``/_emulator/console/``."""


# -- reports of runs


class OpenedFinding(msgspec.Struct):
    """A finding: the problem, its details, the remedy, and the command that tries it again."""

    title: str
    details: list[str]
    fix: str
    again: str


class OpenedReport(msgspec.Struct):
    """The report of an examination, as its JSON has it."""

    examination: str
    headline: str
    passed: bool
    findings: list[OpenedFinding]
    notes: list[str]


def opened(text: str) -> OpenedReport | None:
    """Return the report of a JSON text; None for another text."""
    try:
        return msgspec.json.decode(text, type=OpenedReport)
    except (msgspec.DecodeError, RecursionError):
        return None
