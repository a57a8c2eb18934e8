"""Send again: a request of the journal, changed or not, sent once more through the service or the control API."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from emulator.ui.console import error_texts
from emulator.ui.console.actions import Notice
from emulator.ui.console.api_client import ApiRequestError
from emulator.ui.console.request import ConsoleRequest

METHODS = ("GET", "POST", "PATCH", "PUT", "DELETE")

_TARGET = re.compile(r"/(v1|_emulator)/(?!console)[\x21-\x7e]*")
"""The paths that can be sent to, with their query."""


async def send(request: ConsoleRequest, form: Mapping[str, str]) -> tuple[Notice, str | None]:
    """Send what the form says. The outcome, and the id of the new request, None if it was not sent."""
    method, target, text = (form.get(name, "").strip() for name in ("_method", "_path", "_body"))
    if method not in METHODS or not _TARGET.fullmatch(target) or "#" in target:
        return Notice(False, request.language.gettext("A path starts with /v1/ or /_emulator/.")), None
    try:
        body = json.loads(text) if text else None
    except (ValueError, RecursionError):
        return Notice(False, request.language.gettext("The body is not JSON.")), None
    try:
        answer = await request.response(method, target, body=body)
    except ApiRequestError as error:
        return Notice(False, error_texts.translated(request.language, error.message)), error.request_id
    return Notice(True, request.language.gettext("Sent: {status}.", status=answer.status_code)), answer.headers.get(
        "request-id"
    )
