"""The page of a phone: its mobile money prompts, at the path where programs read the same as JSON (B-55)."""

from __future__ import annotations

from urllib.parse import quote

from starlette.responses import RedirectResponse, Response

from emulator.resources.simulation import mobile_money_prompts
from emulator.ui.base.request import url
from emulator.ui.buyer.messages import PROMPT_ANSWERS
from emulator.ui.buyer.render import buyer_page
from emulator.ui.console import request_body
from emulator.ui.console.api_client import ApiRequestError
from emulator.ui.console.mount import PHONES
from emulator.ui.console.request import ConsoleRequest

ANSWERS = ("approve", "reject", "ignore")


async def show(request: ConsoleRequest) -> Response:
    """GET …/phones/{number}: the prompts that wait, and what the last answer did."""
    return await _page(request, request.query.get("answered", ""))


async def answer(request: ConsoleRequest) -> Response:
    """POST …/phones/{number}/answer: the button that was pressed. The prompt may no longer be there."""
    form = await request_body.read(request.http)
    pressed = form.get("answer", "")
    if pressed not in ANSWERS:
        return await _page(request, "gone", 422)
    # The PIN is not sent on, so it is not stored in the journal.
    body = {"answer": pressed, "payment_intent": form.get("payment_intent", "")}
    try:
        await request.call("POST", f"{_path(request)}/answer", body=body)
    except ApiRequestError:
        pressed = "gone"
    return RedirectResponse(_link(request, answered=pressed), 303)


async def _page(request: ConsoleRequest, answered: str, status: int = 200) -> Response:
    prompts = await request.call("GET", _path(request), {"page_size": 100})
    return buyer_page(
        "handset.html",
        status,
        request.language,
        number=mobile_money_prompts.number_in(request.http.path_params["number"]),
        prompts=prompts["data"],
        answered=PROMPT_ANSWERS.get(answered),
        merchant=request.app.name,
        state="handset",
        refresh=None,
        link=lambda **changes: _link(request, **changes),
        action=_link(request, "/answer"),
        stream=request.link("stream"),
    )


def _path(request: ConsoleRequest, below: str = "") -> str:
    return f"{PHONES}{quote(request.http.path_params['number'], safe='')}{below}"


def _link(request: ConsoleRequest, below: str = "", **changes: str) -> str:
    return url(_path(request, below), {**request.world_query, "lang": request.query.get("lang"), **changes})
