"""The console as an application: pages, forms' actions, and the stream that updates a page.

With a control token one logs in: the token is entered once and then replaced by a cookie. The page
of a phone stands at the path where programs read the same as JSON (B-55).
"""

from __future__ import annotations

import hashlib
import hmac
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any
from urllib.parse import quote, urlsplit

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from emulator.core.records import N_
from emulator.document.profile import Profile
from emulator.presentation import typed_text
from emulator.resources.app.clients import Key
from emulator.resources.payments import intent_operations
from emulator.ui.base.pages import application, isolated, remember_language, url
from emulator.ui.buyer.render import PROMPT_ANSWERS, buyer_page
from emulator.ui.console import actions, files, labels, render, views
from emulator.ui.console.actions import Notices
from emulator.ui.console.forms import read_form
from emulator.ui.console.mount import CONSOLE, HOME, PHONES
from emulator.ui.console.render import ID, page, page_of
from emulator.ui.console.request import (
    CONTROL,
    THEME_COOKIE,
    ApiRequestError,
    ConsoleRequest,
    Reader,
)
from emulator.ui.console.views import PAGES
from emulator.web.context import context_of
from emulator.web.origins import TOKEN_HEADER, is_link_from_elsewhere

# -- login


LIFETIME = 12 * 3600
"""Seconds (real time) after which the token must be entered again."""


class Login:
    """The check of the token; without a token everybody may use the console."""

    def __init__(self, token: str | None) -> None:
        self._token = None if token is None else token.encode()
        # Cookies are shared by all ports of a host: the name keeps those of several emulators
        # apart.
        self._cookie_name = f"emulator_pass_{self._signed('name')[:8]}"

    def allows(self, request: Request) -> bool:
        """Return whether a request has the cookie, or the programs' header with the token."""
        cookie = request.cookies.get(self._cookie_name, "")
        token = request.headers.get(TOKEN_HEADER, "").encode("latin-1")
        return self._token is None or self._is_valid(cookie) or self.accepts(token)

    def remember(self, response: Response) -> None:
        """Set the cookie, which lasts until the browser is closed, and at most :data:`LIFETIME`."""
        until = str(int(time.time()) + LIFETIME)
        value = f"{until}.{self._signed(until)}"
        response.set_cookie(
            self._cookie_name, value, path="/_emulator/", httponly=True, samesite="strict"
        )

    def accepts(self, candidate: bytes) -> bool:
        return self._token is not None and hmac.compare_digest(candidate, self._token)

    def _is_valid(self, cookie: str) -> bool:
        until, _, signature = cookie.partition(".")
        if not hmac.compare_digest(signature.encode(), self._signed(until).encode()):
            return False
        return int(until) > time.time()

    def _signed(self, text: str) -> str:
        return hmac.new(self._token or b"", f"console {text}".encode(), hashlib.sha256).hexdigest()


# -- the page of a phone: its mobile money prompts


async def answer(request: ConsoleRequest) -> Response:
    """POST …/phones/{number}/answer: the pressed button. The prompt may be gone already."""
    form = await read_form(request.http)
    pressed = form.get("answer", "")
    if pressed not in ("approve", "reject", "ignore"):
        return await phone(request, "gone", 422)
    # The PIN is not sent on, so it is not stored in the journal.
    body = {"answer": pressed, "payment_intent": form.get("payment_intent", "")}
    try:
        await request.call("POST", f"{_path(request)}/answer", body=body)
    except ApiRequestError:
        pressed = "gone"
    return RedirectResponse(_link(request, answered=pressed), 303)


async def phone(
    request: ConsoleRequest, answered: str | None = None, status: int = 200
) -> Response:
    """GET …/phones/{number}: the prompts that wait, and what the last answer did."""
    prompts = await request.call("GET", _path(request), {"page_size": 100})
    app = await request.get("app")
    return buyer_page(
        "handset.html",
        status,
        request.language,
        number=intent_operations.phone_number(_number(request)),
        prompts=prompts["data"],
        answered=PROMPT_ANSWERS.get(answered or request.query.get("answered", "")),
        merchant=(app["settings"]["merchant"] or {}).get("name") or app["name"],
        state="handset",
        refresh=None,
        link=lambda **changes: _link(request, **changes),
        action=_link(request, "/answer"),
        stream=request.link("stream"),
    )


def _number(request: ConsoleRequest) -> str:
    """Return the number in the address, which somebody may have typed (B-35)."""
    return typed_text.phone(request.http.path_params["number"])


def _path(request: ConsoleRequest, below: str = "") -> str:
    return f"{PHONES}{quote(_number(request), safe='')}{below}"


def _link(request: ConsoleRequest, below: str = "", **changes: str) -> str:
    return url(
        _path(request, below), {**request.world_query, "lang": request.query.get("lang"), **changes}
    )


# -- the application


PageHandler = Callable[[ConsoleRequest], Awaitable[Response]]

YEAR = 365 * 86400
"""Seconds that a browser remembers a choice of language or theme."""


class Console:
    """The application of ``/_emulator/console/`` and, for browsers, ``/_emulator/`` and phones.

    ``app`` is the rest of the emulator, behind the check of the control token; ``token`` is that
    token. ``is_open`` says whether the world of a key is open. ``profile`` is that of the service
    that the emulator follows.
    """

    def __init__(
        self,
        app: ASGIApp,
        token: str | None,
        is_open: Callable[[Key], bool],
        profile: Profile | None = None,
    ) -> None:
        self._is_open = is_open
        self._profile = profile
        self._api = app
        self._login = Login(token)
        self._notices = Notices()
        self._app = application(self._routes(), self._not_found, self._not_found)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)

    def _routes(self) -> list[Route]:
        handlers: dict[str, PageHandler] = {
            path: partial(self._read, reader) for path, reader in PAGES.items()
        }
        handlers |= {**files.HANDLERS, "search": self._search}
        return [
            Route(HOME, self._logged_in(partial(self._read, views.overview))),
            *(
                Route(CONSOLE + path, self._logged_in(handler))
                for path, handler in handlers.items()
            ),
            Route(CONSOLE + "reports", self._logged_in(self._open_report), methods=["POST"]),
            Route(CONSOLE + "do/{action}", self._logged_in(self._do), methods=["POST"]),
            Route(PHONES + "{number}", self._logged_in(phone)),
            Route(PHONES + "{number}/answer", self._logged_in(answer), methods=["POST"]),
            Route(CONSOLE + "login", self._log_in, methods=["POST"]),
            Route(CONSOLE + "choose", self._choose, methods=["POST"]),
            Route(CONSOLE + "static/{hash}/{name}", render.static_file),
            Route(CONSOLE + "stream", _EventStream(self._api, self._login)),
            Route(CONSOLE, _home),
            Route(HOME.rstrip("/"), _home),
        ]

    def _logged_in(self, handler: PageHandler) -> Callable[[Request], Awaitable[Response]]:
        """Return a handler that is called only after login, and whose API errors become a page."""

        async def show(http: Request) -> Response:
            request = ConsoleRequest(http, self._api)
            if not self._login.allows(http):
                return self._login_page(request)
            try:
                return await self._unopened_page(request) or await handler(request)
            except ApiRequestError as error:
                return await self._error_page(request, error)

        return show

    # -- reading

    async def _read(self, reader: Reader, request: ConsoleRequest) -> Response:
        template, values = await reader(request)
        names = await request.names(render.ids_in(values))
        isolated_names = {id: isolated(name) for id, name in names.items()}
        return page(request, template, **await self._frame(request), names=isolated_names, **values)

    async def _search(self, request: ConsoleRequest) -> Response:
        """GET …/search: an id is redirected to its page."""
        text = request.query.get("q", "")
        if ID.fullmatch(text):
            return RedirectResponse(page_of(request, text), 303)
        return await self._read(views.search, request)

    async def _frame(self, request: ConsoleRequest) -> dict[str, Any]:
        return {
            "clock": await request.get("clock"),
            "apps": await request.get("apps", page_size=100),
            "notice": self._notices.take(request.query.get("notice")),
            "profile": self._profile,
        }

    async def _error_page(self, request: ConsoleRequest, error: ApiRequestError) -> Response:
        problem = labels.translated(request.language, error.message)
        try:
            titles = {404: N_("Not found"), 409: N_("Not possible now")}
            title = titles.get(error.status, N_("Something went wrong"))
            values = {"title": request.language.gettext(title), "problem": problem}
            return page(
                request, "problem.html", error.status, **await self._frame(request), **values
            )
        except ApiRequestError:  # without a world there is no header
            return page(request, "apart.html", error.status, problem=problem, wrong=False)

    async def _not_found(self, http: Request, error: Exception) -> Response:
        async def missing(request: ConsoleRequest) -> Response:
            raise ApiRequestError(getattr(error, "status_code", 404), request.not_found().message)

        return await self._logged_in(missing)(http)

    # -- actions

    async def _do(self, request: ConsoleRequest) -> Response:
        fields = await read_form(request.http)
        form = {name: typed_text.stripped(text) for name, text in fields.items()}
        notice = await actions.act(request, request.http.path_params["action"], form)
        path = actions.back(notice.page or form.get("_back"))
        return RedirectResponse(
            f"{path}{'&' if urlsplit(path).query else '?'}notice={self._notices.add(notice)}", 303
        )

    async def _open_report(self, request: ConsoleRequest) -> Response:
        """POST …/reports: show the report of a run. Nothing is stored."""
        text = (await read_form(request.http)).get("report", "")
        report, error = files.opened(text), None
        if report is None:
            error = request.language.gettext("This is not the JSON of a report.")
        frame = await self._frame(request)
        return page(
            request, "reports.html", 422 if error else 200, **frame, report=report, error=error
        )

    async def _choose(self, http: Request) -> Response:
        """POST …/choose: another theme or language."""
        form = await read_form(http)
        response = RedirectResponse(actions.back(form.get("_back")), 303)
        if form.get("theme") in labels.THEMES:
            response.set_cookie(
                THEME_COOKIE, form["theme"], YEAR, path=HOME, httponly=True, samesite="strict"
            )
        remember_language(response, form.get("language"), HOME, YEAR)
        return response

    async def _unopened_page(self, request: ConsoleRequest) -> Response | None:
        """Return the page for another site's link to a world that is not open; else None.

        A link of another site opens no world. The person who followed it can, by the link on this
        page.
        """
        if not is_link_from_elsewhere(context_of(request.http.scope)) or self._is_open(request.app):
            return None
        return page(
            request, "unopened.html", 403, app=request.app.name, next_page=_address(request.http)
        )

    # -- login

    def _login_page(self, request: ConsoleRequest) -> Response:
        next_page = _address(request.http) if request.http.method == "GET" else HOME
        return page(request, "apart.html", 401, problem=None, wrong=False, next_page=next_page)

    async def _log_in(self, http: Request) -> Response:
        form = await read_form(http)
        next_page = actions.back(form.get("_back"))
        if not self._login.accepts(form.get("token", "").encode()):
            request = ConsoleRequest(http, self._api)
            return page(request, "apart.html", 401, problem=None, wrong=True, next_page=next_page)
        response = RedirectResponse(next_page, 303)
        self._login.remember(response)
        return response


class _EventStream:
    """GET …/stream: the control API's stream for a browser, which can send no key or token."""

    def __init__(self, api: ASGIApp, login: Login) -> None:
        self._api = api
        self._login = login

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope)
        try:
            key = str(ConsoleRequest(request, self._api).app)
        except ApiRequestError:
            key = None
        # No page links to the stream, so a link to it is on another site; it would open a world.
        if (
            key is None
            or not self._login.allows(request)
            or is_link_from_elsewhere(context_of(scope))
        ):
            await Response(status_code=403)(scope, receive, send)
            return
        await self._api(_stream_scope(scope, key), receive, _without_id(send))


def _stream_scope(scope: Scope, key: str) -> Scope:
    """Return the request for the control API's stream, with the key of a world."""
    path = f"{CONTROL}/stream"
    hosts = (bytes(value) for name, value in scope["headers"] if name == b"host")
    headers = [
        (b"host", next(hosts, b"127.0.0.1")),
        (b"authorization", f"Bearer {key}".encode()),
    ]
    return {
        **scope,
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": headers,
    }


def _without_id(send: Send) -> Send:
    """Return ``send`` without the response's id: the outer application adds that of the request."""

    async def send_without_id(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [pair for pair in message["headers"] if pair[0] != b"request-id"]
        await send(message)

    return send_without_id


def _address(http: Request) -> str:
    return f"{http.url.path}{'?' * bool(http.url.query)}{http.url.query}"


async def _home(http: Request) -> Response:
    return RedirectResponse(HOME, 303)
