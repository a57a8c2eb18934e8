"""The base of HTML pages: templates, security headers, language, posted forms, an application."""

from __future__ import annotations

import unicodedata
from base64 import b64encode
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cache, cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlencode

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from emulator.core.errors import ApiError
from emulator.presentation.languages import catalogs
from emulator.presentation.languages.language import Language, language_of, preferred
from emulator.ui.base import plots
from emulator.web.context import context_of, whole_body

if TYPE_CHECKING:
    from jinja2 import Environment


# -- a browser's request: its query and the language of its reader


LANGUAGE_COOKIE = "emulator_language"


class BrowserRequest:
    """One request for a page; ``http`` is the request as Starlette has it."""

    customers_language: str | None = None
    """The language in which the customer the page is for wants to be written to, if known."""

    def __init__(self, http: Request) -> None:
        self.http = http
        self.query: dict[str, str] = dict(http.query_params)

    @cached_property
    def language(self) -> Language:
        """The language of ``?lang=``, else the earlier choice, else the customer's, else
        ``Accept-Language``'s best.
        """
        requested = (
            self.query.get("lang")
            or self.http.cookies.get(LANGUAGE_COOKIE)
            or self.customers_language
        )
        return preferred(requested, self.http.headers.get("accept-language"))


def remember_language(
    response: Response, code: str | None, path: str, seconds: int | None = None
) -> None:
    """Have the browser send this language with requests below a path; ignore one not offered."""
    if code in catalogs.languages():
        response.set_cookie(
            LANGUAGE_COOKIE, code, seconds, path=path, httponly=True, samesite="strict"
        )


def url(path: str, query: Mapping[str, object]) -> str:
    """Return a path with its query; empty parameters are left out."""
    filled = {name: value for name, value in query.items() if value not in ("", None)}
    return f"{path}?{urlencode(filled)}" if filled else path


# -- posted forms: the bytes of a body up to a limit, and its fields


class BodyTooLong(ValueError):
    """A body has more bytes than its reader accepts."""


async def body(request: Request, limit: int) -> bytes:
    """Return the posted bytes. Raises :class:`BodyTooLong` beyond the limit and reads no more."""
    if (raw := await whole_body(request.receive, limit)) is None:
        raise BodyTooLong
    return raw


def fields(raw: bytes, limit: int) -> dict[str, str]:
    """Return the fields, empty ones too. Raises ``ValueError``: no UTF-8, or too many fields."""
    return dict(parse_qsl(raw.decode(), keep_blank_values=True, max_num_fields=limit))


# -- security headers: a page may load and run nothing but what its policy names


def content_security_policy(*, form_action: str = "'self'", **sources: str) -> str:
    """Return a ``Content-Security-Policy`` of the named sources alone: ``img_src="data:"``."""
    allowed = "; ".join(
        f"{directive.replace('_', '-')} {source}" for directive, source in sources.items()
    )
    return (
        f"default-src 'none'; {allowed}; base-uri 'none'; form-action {form_action};"
        " frame-ancestors 'none'"
    )


def hash_of(text: str) -> str:
    """Return a source that allows this text in the page itself, as its style sheet or script."""
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def public_headers(policy: str) -> dict[str, str]:
    """Return the headers of a page that is the same for every reader."""
    return {
        "Content-Security-Policy": policy,
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
    }


def private_headers(policy: str) -> dict[str, str]:
    """Return the headers of a page that depends on who reads it, and that has forms."""
    return {
        "Content-Security-Policy": policy,
        # With "no-referrer" browsers post forms with "Origin: null", which does not say which site
        # sent them.
        "Referrer-Policy": "same-origin",
        "Cache-Control": "no-store",
        "Vary": "Accept, Accept-Language, Cookie",
    }


# -- templates: Jinja's environment for the pages of a package, and a page in the reader's language


def isolated(name: str) -> str:
    """Return a name whose parts do not reorder the others where one runs right to left."""
    if all(unicodedata.bidirectional(letter) not in ("R", "AL") for letter in name):
        return name
    from markupsafe import Markup  # on first use, as the templates

    return Markup(" · ").join(Markup("<bdi>{}</bdi>").format(part) for part in name.split(" · "))


@cache
def environment(package: str, static: str | None = None) -> Environment:
    """Return a package's and this one's templates; values are escaped, undefined ones are errors.

    ``static`` is a package whose static files stand in pages, too.
    """
    # Loaded on first use: most servers never show a page.
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    files = [PackageLoader(static, "static")] if static else []
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(package), PackageLoader("emulator.ui.base"), *files]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= plots.SHARED
    environment.filters["isolated"] = isolated
    return environment


def in_language(language: Language) -> dict[str, Any]:
    return {
        "_": language.gettext,
        "ngettext": language.ngettext,
        "pgettext": language.pgettext,
        "language": language,
        "languages": [language_of(code) for code in catalogs.languages()],
    }


# -- an application of pages: its routes, and the responses where there is no route


ErrorPage = Callable[[Request, Exception], Awaitable[Response]]


def application(
    routes: Sequence[BaseRoute], not_found: ErrorPage, method_not_allowed: ErrorPage
) -> Starlette:
    """Return the application. A path with a slash too many or too few is not found either."""
    # Any page will do for a client that went away before its form was complete; an error would be
    # logged.
    responses = {404: not_found, 405: method_not_allowed, ClientDisconnect: not_found}
    app = Starlette(routes=routes, exception_handlers=responses)
    app.router.redirect_slashes = False
    return app


def api_error(request: Request, error: ApiError) -> Response:
    """Return an error in the form of the service, for programs."""
    reply = context_of(request.scope).error_response(error)
    return Response(reply.body, reply.status, reply.headers, media_type=reply.media_type.decode())
