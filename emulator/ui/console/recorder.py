"""The red button: starts and stops a recording, and the page of its test, which is also a file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from starlette.responses import Response

from emulator.ui.console import error_texts
from emulator.ui.console.actions import Notice
from emulator.ui.console.api_client import CONTROL, ApiRequestError
from emulator.ui.console.request import ConsoleRequest, Reader, TemplateAndValues

if TYPE_CHECKING:
    import httpx

FILES: Mapping[str, str] = {
    "pytest": "test_recorded.py",
    "node": "recorded.test.mjs",
    "curl": "recorded.sh",
    "arazzo": "recorded.arazzo.yaml",
}
"""The name of the file by its form, the first form for those who have not chosen."""


async def stop(request: ConsoleRequest, form: Mapping[str, str]) -> tuple[Notice, str | None]:
    """Stop the recording. The outcome, and the page of the test; None if nothing was recorded."""
    try:
        state = await request.call("POST", f"{CONTROL}/recording/stop")
    except ApiRequestError as error:
        return Notice(False, error_texts.translated(request.language, error.message)), None
    if state["until_request"] is None:
        return Notice(False, request.language.gettext("Nothing was recorded: no request came since the start.")), None
    marks = {"since": state["since_request"], "until": state["until_request"]}
    count = request.language.ngettext(
        "{count} request was recorded.", "{count} requests were recorded.", state["request_count"]
    )
    return Notice(True, count), request.link("recording", **{"as": form.get("_as") or next(iter(FILES)), **marks})


async def recording(request: ConsoleRequest) -> TemplateAndValues:
    """The test of what was recorded."""
    code = await _test(request)
    return "recording.html", {
        "as_code": code.text,
        "form": _form(request),
        "files": FILES,
        "marks": _marks(request),
    }


async def file(request: ConsoleRequest) -> Response:
    """The same as a file."""
    answer = await _test(request)
    saved = {"Content-Disposition": f'attachment; filename="{FILES[_form(request)]}"'}
    return Response(answer.content, headers=saved, media_type="text/plain; charset=utf-8")


def _form(request: ConsoleRequest) -> str:
    form = request.query.get("as", "")
    return form if form in FILES else next(iter(FILES))


async def _test(request: ConsoleRequest) -> httpx.Response:
    return await request.response("GET", f"{CONTROL}/recording", _marks(request))


def _marks(request: ConsoleRequest) -> dict[str, str]:
    """The form, and what was recorded, as parameters of an address."""
    return {"as": _form(request)} | {name: value for name, value in request.query.items() if name in ("since", "until")}


PAGES: Mapping[str, Reader] = {"recording": recording}
"""By path below ``/_emulator/console/``."""

HANDLERS = {"recording/file": file}
"""The same for what is no page."""
