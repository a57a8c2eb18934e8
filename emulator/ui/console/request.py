"""A browser's request to the console: its world, theme, language, and API calls in its name."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from functools import cached_property
from typing import Any

from starlette.requests import Request

from emulator.client.messages import ApiResponse
from emulator.presentation import typed_text
from emulator.resources.app.clients import DEFAULT_APP, NAME, Key
from emulator.ui.base.pages import BrowserRequest, url
from emulator.ui.console import labels
from emulator.ui.console.api_client import CONTROL, ApiClient, ApiRequestError
from emulator.ui.console.mount import CONSOLE, HOME
from emulator.web.context import context_of

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


class ConsoleRequest(BrowserRequest):
    """One request for a page of the console, with the client that asks the API for its content."""

    def __init__(self, http: Request, api: ApiClient) -> None:
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
        return await self._api.call(
            str(self.app), self.base_url, method, path, query=query or {}, body=body
        )

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
        # Ids are written as they are: to quote the commas between them takes as long as the answer.
        found: dict[str, str] = {}
        for start in range(0, min(len(ids), NAMED), PART):
            part = ",".join(ids[start : start + PART])
            found |= await self.get(f"names?ids={part}", language=self.language.code)
        return found

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
