"""A visit: one request of a browser to the console, with the world, the language and the theme it is in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from starlette.requests import Request

from emulator.console.api_client import CONTROL, ApiClient, ApiRefusal
from emulator.console.mount import HOME, PLACE
from emulator.console.texts import WORDS
from emulator.control.world_lookup import DEFAULT_APP
from emulator.pages.languages import Language, chosen
from emulator.pages.texts import LANGUAGES
from emulator.resources.app.keys import NAME, Key
from emulator.web.context import context_of

if TYPE_CHECKING:
    import httpx


THEME_COOKIE, LANGUAGE_COOKIE = "emulator_theme", "emulator_language"
THEMES = ("system", "light", "dark")

_ID = re.compile(r"[A-Za-z0-9._-]{0,63}[A-Za-z0-9_-]", re.ASCII)

SPEAKING = {code: Language(code, WORDS) for code in LANGUAGES}


class ConsoleRequest:
    """What a page needs to know of the request, and the emulator to ask."""

    def __init__(self, request: Request, inside: ApiClient) -> None:
        self.request = request
        self.inside = inside
        self.query: Mapping[str, str] = request.query_params
        self.base_url = context_of(request.scope).base_url

    @cached_property
    def app(self) -> Key:
        """The world: ``?app=NAME`` on its test side, with ``live=1`` on the other."""
        name = self.query.get("app", DEFAULT_APP)
        if not NAME.fullmatch(name):
            raise ApiRefusal(404, self.t("no_such_app"))
        return Key(name, self.query.get("live") == "1")

    @cached_property
    def t(self) -> Language:
        """The language the reader has chosen, else the browser's."""
        asked = self.query.get("lang") or self.request.cookies.get(LANGUAGE_COOKIE)
        return SPEAKING[chosen(asked, self.request.headers.get("accept-language")).code]

    @property
    def id(self) -> str:
        """What the address is about, by an id or a name; what can be neither is nowhere to be found."""
        id = str(self.request.path_params["id"])
        if not _ID.fullmatch(id):
            raise ApiRefusal(404, self.t("no_such_page"))
        return id

    @property
    def theme(self) -> str:
        """Light, dark, or as the system has it."""
        theme = self.request.cookies.get(THEME_COOKIE, "")
        return theme if theme in THEMES else THEMES[0]

    async def ask(self, method: str, path: str, query: Mapping[str, Any] | None = None, body: Any = None) -> Any:
        """What the emulator answers; raises :class:`Refused`."""
        answer = await self.answer(method, path, query, body)
        return answer.json() if answer.content else None

    async def answer(
        self, method: str, path: str, query: Mapping[str, Any] | None = None, body: Any = None
    ) -> httpx.Response:
        """The same, as the answer itself."""
        return await self.inside.ask(str(self.app), method, self.base_url + path, query=query or {}, body=body)

    async def get(self, path: str, **query: Any) -> Any:
        """What the control API answers to a GET."""
        return await self.ask("GET", f"{CONTROL}/{path}", query)

    def link(self, path: str = "", /, **query: Any) -> str:
        """The address of a page of the console, in the same world."""
        every = {**self.world, **query}
        given = {name: value for name, value in every.items() if value not in (None, "")}
        return (PLACE + path if path else HOME) + (f"?{urlencode(given)}" if given else "")

    def here(self, **changes: Any) -> str:
        """The address of this page with some of its query changed."""
        kept = {name: value for name, value in self.query.items() if name not in ("said", "lang")}
        path = self.request.url.path.removeprefix(PLACE) if self.request.url.path != HOME else ""
        return self.link(path, **{**kept, **changes})

    @property
    def world(self) -> dict[str, str]:
        """What of an address says which world is meant; the default one need not be named."""
        named = {} if self.app.name == DEFAULT_APP and not self.app.livemode else {"app": self.app.name}
        return {**named, **({"live": "1"} if self.app.livemode else {})}
