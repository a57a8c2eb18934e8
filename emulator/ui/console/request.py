"""A browser's request to the console: its world, theme and language, and the data of its page.

The API is an ASGI application in this process, which is called without a socket.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from functools import cached_property
from typing import Any
from urllib.parse import unquote, urlsplit

from starlette.requests import Request
from starlette.types import ASGIApp, Message

from emulator.client.messages import ApiRequest, ApiResponse
from emulator.insight.state.under_way import sums
from emulator.presentation import typed_text
from emulator.resources.app.clients import DEFAULT_APP, NAME, Key
from emulator.ui.base.pages import BrowserRequest, url
from emulator.ui.console import labels
from emulator.ui.console.mount import CONSOLE, HOME
from emulator.web.context import context_of

CONTROL = "/_emulator"

TemplateAndValues = tuple[str, dict[str, Any]]
"""The template of a page, and the values for it."""

SIZE = 25
"""Rows of a page."""

FEW = 6
"""Rows of a list beside others."""

THEME_COOKIE = "emulator_theme"

NAMED, PART = 1_000, 200
"""The most ids of a page that are shown by name, and of one request for names."""

_ID = re.compile(r"[A-Za-z0-9._~-]{0,63}[A-Za-z0-9_~-]", re.ASCII)


class ApiRequestError(Exception):
    """An API error: status, message, the id of the request if it was sent, and the wrong fields."""

    def __init__(
        self, status: int, message: str, request_id: str | None = None, fields: tuple[str, ...] = ()
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.request_id = request_id
        self.fields = fields


class ConsoleRequest(BrowserRequest):
    """One request for a page of the console, with the API that has its content.

    ``api`` is the service and the control API as one application, behind the check of the token.
    """

    def __init__(self, http: Request, api: ASGIApp) -> None:
        super().__init__(http)
        self.query = {name: typed_text.stripped(text) for name, text in self.query.items()}
        self.base_url: str = context_of(http.scope).base_url
        self._api = api

    @cached_property
    def app(self) -> Key:
        """The key of the world: ``?app=NAME``, with ``live=1`` for its live side."""
        name = self.query.get("app", DEFAULT_APP)
        if not NAME.fullmatch(name):
            raise ApiRequestError(
                404, self.language.gettext("An App’s name has 1 to 64 of A-Z a-z 0-9 _ -.")
            )
        return Key(name, self.query.get("live") == "1")

    @property
    def id(self) -> str:
        """The id or name in the path. Raises :class:`ApiRequestError` for what can be neither."""
        id = str(self.http.path_params["id"])
        if not _ID.fullmatch(id):
            raise self.not_found()
        return id

    @property
    def theme(self) -> str:
        theme = self.http.cookies.get(THEME_COOKIE, "")
        return theme if theme in labels.THEMES else next(iter(labels.THEMES))

    def not_found(self) -> ApiRequestError:
        return ApiRequestError(404, self.language.gettext("There is no such page."))

    async def call(
        self, method: str, path: str, query: Mapping[str, Any] | None = None, body: Any = None
    ) -> Any:
        """Return the JSON of the API's response. Raises :class:`ApiRequestError`."""
        response = await self.response(method, path, query, body)
        return response.json() if response.content else None

    async def response(
        self, method: str, path: str, query: Mapping[str, Any] | None = None, body: Any = None
    ) -> ApiResponse:
        """Return the API's response with the world's key. Raises :class:`ApiRequestError`."""
        filters = {name: value for name, value in (query or {}).items() if value not in (None, "")}
        headers = {
            "user-agent": "payments-emulator-console",
            "authorization": f"Bearer {self.app}",
        }
        request = ApiRequest.of(method, path, query=filters, json=body, headers=headers)
        response = await _exchange(self._api, self.base_url, request)
        if not response.is_success:
            raise _api_error(response)
        return response

    async def get(self, path: str, **query: Any) -> Any:
        return await self.call("GET", f"{CONTROL}/{path}", query)

    async def page(self, path: str, **filters: Any) -> Any:
        """Return the page of a list of the control API that the query asks for."""
        return await self.get(path, page=self.query.get("page"), page_size=SIZE, **filters)

    def filters(self, *names: str) -> dict[str, str | None]:
        """Return the query's parameters of these names, None for missing ones."""
        return {name: self.query.get(name) or None for name in names}

    async def names(self, ids: list[str]) -> Any:
        """Return objects' and requests' names by id; without those that have no name."""
        # Ids are written as they are: to quote the commas between them takes as long as the rest.
        names: dict[str, str] = {}
        for start in range(0, min(len(ids), NAMED), PART):
            part = ",".join(ids[start : start + PART])
            names |= await self.get(f"names?ids={part}", language=self.language.code)
        return names

    async def under_way(self, ids: list[str]) -> dict[str, str]:
        """Return by id what is under way of these objects, in a few words; others are left out."""
        # Ids are written as they are, as those of the names.
        part = ",".join(ids[:PART])
        own = await self.get(f"under-way?ids={part}", language=self.language.code) if ids else {}
        return {id: self._moving(waiting) for id, waiting in own.items()}

    def _moving(self, waiting: list[Any]) -> str:
        moving = sums(self.language, ((one["amount"], one["currency"]) for one in waiting))
        return (
            self.language.gettext("{amount} under way", amount=moving)
            if moving
            else self.language.gettext("under way")
        )

    def link(self, path: str = "", /, **query: Any) -> str:
        return url(CONSOLE + path if path else HOME, {**self.world_query, **query})

    def here(self, **changes: Any) -> str:
        current = {
            name: value for name, value in self.query.items() if name not in ("notice", "lang")
        }
        path = self.http.url.path.removeprefix(CONSOLE) if self.http.url.path != HOME else ""
        return self.link(path, **{**current, **changes})

    @property
    def world_query(self) -> dict[str, str]:
        """The parameters of a URL that name the world; the default one needs none."""
        is_default = self.app.name == DEFAULT_APP and not self.app.livemode
        return ({} if is_default else {"app": self.app.name}) | (
            {"live": "1"} if self.app.livemode else {}
        )


Reader = Callable[[ConsoleRequest], Awaitable[TemplateAndValues]]
"""What asks the API for the content of a page."""


# -- the API


async def _exchange(app: ASGIApp, base_url: str, request: ApiRequest) -> ApiResponse:
    """Return the response to a request, which the application takes for one to ``base_url``."""
    base = urlsplit(base_url)
    path, _, query = request.target.partition("?")
    length = [(b"content-length", b"%d" % len(request.body))] if request.body else []
    scope: dict[str, Any] = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": request.method,
        "scheme": base.scheme,
        "path": unquote(path),
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [(b"host", base.netloc.encode()), *request.headers, *length],
        "server": (base.hostname, base.port),
        "client": ("127.0.0.1", 0),
    }
    unread = [request.body]
    sent: list[Message] = []
    complete = asyncio.Event()

    async def receive() -> Message:
        if unread:
            return {"type": "http.request", "body": unread.pop()}
        await complete.wait()
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)
        if message["type"] == "http.response.body" and not message.get("more_body"):
            complete.set()

    await app(scope, receive, send)
    start, *parts = sent
    headers = {
        name.decode("latin-1"): value.decode("latin-1") for name, value in start.get("headers", ())
    }
    content = b"".join(part.get("body", b"") for part in parts)
    return ApiResponse(request, start["status"], headers, content)


def _api_error(response: ApiResponse) -> ApiRequestError:
    """Return a response's error: its message with those of fields, and the fields' names."""
    error = response.error()
    message = (
        str(error.get("message", response.status_code)) if error else f"HTTP {response.status_code}"
    )
    texts = [f"{name}: {', '.join(texts)}" for name, texts in (error.get("errors") or {}).items()]
    message = " ".join([message, *(text for text in texts if text not in message)])
    fields = tuple(error.get("errors") or filter(None, [error.get("param")]))
    return ApiRequestError(
        response.status_code, message, response.headers.get("request-id"), fields
    )
