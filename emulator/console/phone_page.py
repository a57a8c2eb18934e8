"""The handset as a page: what a phone asks its owner, at the address where programs read the same as JSON (B-55)."""

from __future__ import annotations

import secrets
from typing import Any
from urllib.parse import quote, urlencode

from starlette.responses import RedirectResponse, Response

from emulator.console import forms
from emulator.console.api_client import ApiRefusal
from emulator.console.mount import PHONES
from emulator.console.request import ConsoleRequest
from emulator.pages import languages
from emulator.pages.render import buyer_headers, page
from emulator.resources.sandbox import mobile_money_prompts

ANSWERS = ("approve", "reject", "ignore")


async def show(visit: ConsoleRequest) -> Response:
    """GET …/phones/{number}: the prompts that wait, and what came of the last one."""
    return await _page(visit, visit.query.get("told", ""))


async def answer(visit: ConsoleRequest) -> Response:
    """POST …/phones/{number}/answer: what its owner pressed; a prompt that is gone meanwhile is gone."""
    form = await forms.read(visit.request)
    said = form.get("answer", "")
    if said not in ANSWERS:
        return await _page(visit, "gone", 422)
    # The code typed in is nobody's business: it stays out of the request, and so out of the journal.
    body = {"answer": said, "payment_intent": form.get("payment_intent", "")}
    try:
        await visit.ask("POST", f"{_address(visit)}/answer", body=body)
    except ApiRefusal:
        said = "gone"
    return RedirectResponse(_link(visit, told=said), 303)


async def _page(visit: ConsoleRequest, told: str, status: int = 200) -> Response:
    prompts = await visit.ask("GET", _address(visit), {"page_size": 100})
    nonce = secrets.token_urlsafe(16)
    values: dict[str, Any] = {
        **languages.facts(languages.KNOWN[visit.t.code]),
        "number": mobile_money_prompts.number_in(visit.request.path_params["number"]),
        "prompts": prompts["data"],
        "told": told if told in (*ANSWERS, "gone") else "",
        "merchant": visit.app.name,
        "state": "handset",
        "refresh": None,
        "nonce": nonce,
        "link": lambda **changes: _link(visit, **changes),
        "action": _link(visit, "/answer"),
        "stream": visit.link("stream"),
    }
    return page("handset.html", status, buyer_headers(nonce, []), **values)


def _address(visit: ConsoleRequest, below: str = "") -> str:
    return f"{PHONES}{quote(visit.request.path_params['number'], safe='')}{below}"


def _link(visit: ConsoleRequest, below: str = "", **changes: str) -> str:
    lang = visit.query.get("lang")
    kept = {**visit.world, **({"lang": lang} if lang else {}), **changes}
    return f"{_address(visit, below)}{'?' * bool(kept)}{urlencode(kept)}"
