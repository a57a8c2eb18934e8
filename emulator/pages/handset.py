"""The handset as a page: what a phone asks its owner, at the address where programs read the same as JSON (B-55)."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from emulator.engine.runtime import Runtime
from emulator.errors import Refusal
from emulator.pages import languages
from emulator.pages.render import buyer_headers, page
from emulator.resources import handsets
from emulator.web import call as calls
from emulator.web import form as posted

PREFIX = "/_emulator/phones/"
MOST_BYTES = 4096
ANSWERS = ("approve", "reject", "ignore")

WorldOf = Callable[[Scope], Runtime]


def handset(programs: ASGIApp, world_of: WorldOf) -> ASGIApp:
    """The application for phones: people get a page, and whoever else asks is for ``programs``.

    ``world_of`` finds the world a request is for.
    """

    async def either(scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        if not _person(request):
            await programs(scope, receive, send)
            return
        _ = calls.of(scope).request_id  # named while no world is known: a look leaves the world's own row alone
        try:
            answer = await _answer(request, world_of(scope))
        except Refusal as fault:
            reply = calls.of(scope).reply(fault)
            answer = Response(reply.body, reply.status, reply.headers, media_type=reply.media_type)
        await answer(scope, receive, send)

    return either


def _person(request: Request) -> bool:
    """Whether this comes from a page or wants one."""
    if request.method == "POST":
        return request.headers.get("content-type", "").startswith("application/x-www-form-urlencoded")
    return request.method == "GET" and "text/html" in request.headers.get("accept", "")


async def _answer(request: Request, runtime: Runtime) -> Response:
    text, _, rest = request.url.path.removeprefix(PREFIX).partition("/")
    number = handsets.number_in(text)
    if rest not in ("", "answer"):
        raise Refusal("NOT_FOUND")
    if request.method == "POST":
        return await _act(request, runtime, number)
    return _show(request, runtime, number)


async def _act(request: Request, runtime: Runtime, number: str) -> Response:
    """What its owner pressed; a prompt that is gone meanwhile is gone."""
    form = await _form(request)
    said = form.get("answer", "")
    if said not in ANSWERS:
        return _show(request, runtime, number, status=422, told="gone")
    body = {"answer": said, "payment_intent": form.get("payment_intent", "")}
    try:
        await runtime.serve(handsets.answer, {"number": number, "body": body}, None)
    except Refusal:
        said = "gone"
    return RedirectResponse(_link(request, number, told=said), 303)


def _show(request: Request, runtime: Runtime, number: str, status: int = 200, told: str = "") -> Response:
    runtime.run_due()
    language = languages.chosen(request.query_params.get("lang"), request.headers.get("accept-language"))
    told = told or request.query_params.get("told", "")
    nonce = secrets.token_urlsafe(16)
    values: dict[str, Any] = {
        **languages.facts(language),
        "number": number,
        "prompts": [handsets.shown(runtime.world, intent) for intent in handsets.waiting(runtime.world, number)],
        "told": told if told in (*ANSWERS, "gone") else "",
        "merchant": runtime.world.name,
        "state": "handset",
        "refresh": None,
        "nonce": nonce,
        "link": lambda **changes: _link(request, number, **changes),
        "action": _link(request, number, "/answer"),
        "stream": "/_emulator/stream?" + urlencode({"types": "request,clock", **_world(request)}),
    }
    return page("handset.html", status, buyer_headers(nonce, []), **values)


def _link(request: Request, number: str, below: str = "", **changes: str) -> str:
    lang = request.query_params.get("lang")
    kept = {**_world(request), **({"lang": lang} if lang else {}), **changes}
    return f"{PREFIX}{quote(number)}{below}{'?' * bool(kept)}{urlencode(kept)}"


def _world(request: Request) -> dict[str, str]:
    app = request.query_params.get("app")
    return {} if app is None else {"app": app}


async def _form(request: Request) -> dict[str, str]:
    """The posted fields; none where they cannot be read or are too many."""
    try:
        return posted.fields(await posted.body(request, MOST_BYTES), 20)
    except ValueError:
        return {}
