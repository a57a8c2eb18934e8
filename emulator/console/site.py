"""The console as an application: pages that are read, forms that do something, and the stream that keeps them fresh."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from emulator.console import actions, downloads, forms, pages, phone_page, static
from emulator.console.actions import Notice, Notices
from emulator.console.api_client import CONTROL, ApiClient, ApiRefusal
from emulator.console.filters import ID
from emulator.console.login import Login
from emulator.console.mount import HOME, PHONES, PLACE
from emulator.console.pages import PAGES, Reader
from emulator.console.render import page, place
from emulator.console.request import LANGUAGE_COOKIE, THEME_COOKIE, THEMES, ConsoleRequest
from emulator.pages.texts import LANGUAGES

Handler = Callable[[ConsoleRequest], Awaitable[Response]]

YEAR = 365 * 86400
"""Seconds that a browser remembers a choice of language or theme."""


class Console:
    """The application behind ``/_emulator/console/`` and, for browsers, ``/_emulator/`` itself and phones.

    ``app`` is the rest of the emulator, without its lock; ``token`` what a person must show to come in.
    """

    def __init__(self, app: ASGIApp, token: str | None) -> None:
        self._inside = ApiClient(app)
        self._door = Login(token)
        self._notices = Notices()
        self._app = Starlette(routes=self._routes(), exception_handlers={404: self._nothing, 405: self._nothing})
        self._app.router.redirect_slashes = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)

    def _routes(self) -> list[Route]:
        handlers: dict[str, Handler] = {path: partial(self._read, reader) for path, reader in PAGES.items()}
        handlers |= {**downloads.HANDLERS, "search": self._search}
        return [
            Route(HOME, self._behind_the_door(partial(self._read, pages.overview))),
            *(Route(PLACE + path, self._behind_the_door(handler)) for path, handler in handlers.items()),
            Route(PLACE + "do/{action}", self._behind_the_door(self._do), methods=["POST"]),
            Route(PHONES + "{number}", self._behind_the_door(phone_page.show)),
            Route(PHONES + "{number}/answer", self._behind_the_door(phone_page.answer), methods=["POST"]),
            Route(PLACE + "login", self._log_in, methods=["POST"]),
            Route(PLACE + "choose", self._choose, methods=["POST"]),
            Route(PLACE + "static/{hash}/{name}", static.show),
            Route(PLACE + "stream", _Stream(self._inside, self._door)),
            Route(PLACE, _home),
            Route(HOME.rstrip("/"), _home),
        ]

    def _behind_the_door(self, handler: Handler) -> Callable[[Request], Awaitable[Response]]:
        async def show(request: Request) -> Response:
            visit = ConsoleRequest(request, self._inside)
            if not self._door.open_to(request):
                return self._ask_for_token(visit)
            try:
                return await handler(visit)
            except ApiRefusal as refusal:
                return await self._problem(visit, refusal)

        return show

    # -- reading

    async def _read(self, reader: Reader, visit: ConsoleRequest) -> Response:
        template, values = await reader(visit)
        return page(visit, template, **await self._frame(visit), **values)

    async def _search(self, visit: ConsoleRequest) -> Response:
        """GET …/search: an id leads straight to what has it."""
        text = visit.query.get("q", "").strip()
        if ID.fullmatch(text):
            return RedirectResponse(place(visit, text), 303)
        return await self._read(pages.search, visit)

    async def _frame(self, visit: ConsoleRequest) -> dict[str, Any]:
        """What stands around every page."""
        return {
            "clock": await visit.get("clock"),
            "apps": await visit.get("apps", page_size=100),
            "notice": self._notices.take(visit.query.get("said")),
        }

    async def _problem(self, visit: ConsoleRequest, refusal: ApiRefusal) -> Response:
        try:
            return page(visit, "problem.html", refusal.status, **await self._frame(visit), problem=refusal.sentence)
        except ApiRefusal:  # there is no such world either: nothing can stand around the page
            return page(visit, "apart.html", refusal.status, problem=refusal.sentence, wrong=False)

    async def _nothing(self, request: Request, error: Exception) -> Response:
        visit = ConsoleRequest(request, self._inside)
        if not self._door.open_to(request):
            return self._ask_for_token(visit)
        return await self._problem(visit, ApiRefusal(getattr(error, "status_code", 404), visit.t("no_such_page")))

    # -- doing

    async def _do(self, visit: ConsoleRequest) -> Response:
        name = visit.request.path_params["action"]
        if name not in actions.ACTIONS:
            raise ApiRefusal(404, visit.t("no_such_page"))
        form = await forms.read(visit.request)
        return self._on(actions.back(form.get("_back")), await actions.perform(visit, name, form))

    def _on(self, path: str, notice: Notice) -> Response:
        joint = "&" if urlsplit(path).query else "?"
        return RedirectResponse(f"{path}{joint}said={self._notices.keep(notice)}", 303)

    async def _choose(self, request: Request) -> Response:
        """POST …/choose: the reader wants another theme or language."""
        form = await forms.read(request)
        response = RedirectResponse(actions.back(form.get("_back")), 303)
        for field, cookie, known in (("theme", THEME_COOKIE, THEMES), ("language", LANGUAGE_COOKIE, LANGUAGES)):
            if form.get(field) in known:
                response.set_cookie(cookie, form[field], YEAR, path=HOME, httponly=True, samesite="strict")
        return response

    # -- the door

    def _ask_for_token(self, visit: ConsoleRequest) -> Response:
        here = visit.request.url
        wanted = f"{here.path}{'?' * bool(here.query)}{here.query}" if visit.request.method == "GET" else HOME
        return page(visit, "apart.html", 401, problem=None, wrong=False, wanted=wanted)

    async def _log_in(self, request: Request) -> Response:
        form = await forms.read(request)
        wanted = actions.back(form.get("_back"))
        if not self._door.fits(form.get("token", "")):
            return page(
                ConsoleRequest(request, self._inside), "apart.html", 401, problem=None, wrong=True, wanted=wanted
            )
        response = RedirectResponse(wanted, 303)
        self._door.let_in(response)
        return response


class _Stream:
    """GET …/stream: the control API's stream, for a browser that cannot send a key or a token with it."""

    def __init__(self, inside: ApiClient, door: Login) -> None:
        self._inside = inside
        self._door = door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope)
        try:
            key = str(ConsoleRequest(request, self._inside).app)
        except ApiRefusal:
            key = None
        if key is None or not self._door.open_to(request):
            await Response(status_code=403)(scope, receive, send)
            return
        await self._inside.hand_over(key, f"{CONTROL}/stream", scope, receive, send)


async def _home(request: Request) -> Response:
    return RedirectResponse(HOME, 303)
