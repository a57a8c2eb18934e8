"""A browser's request: its query and the language of its reader."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from emulator.presentation.languages import catalogs
from emulator.presentation.languages.language import Language, preferred

LANGUAGE_COOKIE = "emulator_language"


class BrowserRequest:
    """One request for a page; ``http`` is the request as Starlette has it."""

    def __init__(self, http: Request) -> None:
        self.http = http
        self.query: dict[str, str] = dict(http.query_params)

    @cached_property
    def language(self) -> Language:
        """The language of ``?lang=``, else the one chosen before, else the best of ``Accept-Language``."""
        asked = self.query.get("lang") or self.http.cookies.get(LANGUAGE_COOKIE)
        return preferred(asked, self.http.headers.get("accept-language"))


def remember_language(response: Response, code: str | None, path: str, seconds: int | None = None) -> None:
    """Have the browser send this language with later requests below a path; one that is not offered is ignored."""
    if code in catalogs.languages():
        response.set_cookie(LANGUAGE_COOKIE, code, seconds, path=path, httponly=True, samesite="strict")


def url(path: str, query: Mapping[str, object]) -> str:
    """A path with its query; empty parameters are left out."""
    given = {name: value for name, value in query.items() if value not in ("", None)}
    return f"{path}?{urlencode(given)}" if given else path
