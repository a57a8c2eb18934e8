"""Papers: what pages show in a frame or hand out, an email as it reads or travels, its attachments, and snapshots."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING

from starlette.responses import Response

from emulator.console.api_client import CONTROL, ApiRefusal
from emulator.console.request import ConsoleRequest

if TYPE_CHECKING:
    from email.message import EmailMessage

SAFE = ("content-type", "content-security-policy", "referrer-policy", "x-content-type-options")


async def html(visit: ConsoleRequest) -> Response:
    """An email as its reader sees it; the page shows it in a frame that may do nothing."""
    answer = await visit.answer("GET", _address(visit, "html"))
    return Response(answer.content, headers={name: answer.headers[name] for name in SAFE if name in answer.headers})


async def raw(visit: ConsoleRequest) -> Response:
    """An email as it travels, to be read as text."""
    answer = await visit.answer("GET", _address(visit, "raw"))
    return Response(answer.content, media_type="text/plain; charset=utf-8")


async def attachment(visit: ConsoleRequest) -> Response:
    """What is attached to an email, by its name."""
    # Loaded on first use, as all that renders and reads emails.
    from email import message_from_bytes, policy

    answer = await visit.answer("GET", _address(visit, "raw"))
    message: EmailMessage = message_from_bytes(answer.content, policy=policy.default)
    for part in message.iter_attachments():
        if part.get_filename() == visit.request.path_params["name"]:
            return Response(part.get_content(), media_type=part.get_content_type())
    raise ApiRefusal(404, visit.t("no_such_page"))


async def export(visit: ConsoleRequest) -> Response:
    """A snapshot as a file."""
    name = visit.id
    answer = await visit.answer("GET", f"{CONTROL}/snapshots/{name}")
    saved = {"Content-Disposition": f'attachment; filename="{name}.json"'}
    return Response(answer.content, headers=saved, media_type="application/json")


def _address(visit: ConsoleRequest, form: str) -> str:
    return f"{CONTROL}/emails/{visit.id}/{form}"


HANDLERS: Mapping[str, Callable[[ConsoleRequest], Awaitable[Response]]] = {
    "emails/{id}/html": html,
    "emails/{id}/raw": raw,
    "emails/{id}/attachments/{name}": attachment,
    "snapshots/{id}/export": export,
}
"""By address below ``/_emulator/console/``."""
