"""Rendering: a template of the console and its values become a page that may load and run nothing but our own files."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from starlette.responses import HTMLResponse, Response

from emulator.console import filters, static
from emulator.console.columns import COLUMNS, MONEY, PILLS, tone
from emulator.console.request import LANGUAGE_COOKIE, THEMES, ConsoleRequest
from emulator.pages.texts import LANGUAGES

if TYPE_CHECKING:
    from jinja2 import Environment

HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    # Under "no-referrer" browsers post forms with "Origin: null", and the lock could not tell who sent them.
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
    "Vary": "Accept, Accept-Language, Cookie",
}


@cache
def environment() -> Environment:
    """The templates; everything put into them is escaped."""
    # Loaded on first use: most servers never show a page.
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("emulator.console"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals |= {"columns": COLUMNS, "money_fields": MONEY, "pills": PILLS, "tone": tone, "static": static.address}
    return made


def page(visit: ConsoleRequest, template: str, status: int = 200, **values: Any) -> Response:
    """A page. What every template is given: the visit, its language, its links and how things are drawn."""
    drawn = {
        "visit": visit,
        "t": visit.t,
        "link": visit.link,
        "here": visit.here,
        "themes": THEMES,
        "languages": LANGUAGES,
        "instant": partial(filters.instant, t=visit.t),
        "apart": partial(filters.apart, t=visit.t),
        "id_link": partial(filters.id_link, place=partial(place, visit)),
        "linked": partial(filters.linked, place=partial(place, visit)),
        "tree": partial(filters.tree, place=partial(place, visit)),
    }
    response = HTMLResponse(environment().get_template(template).render({**drawn, **values}), status, dict(HEADERS))
    if visit.query.get("lang") in LANGUAGES:
        response.set_cookie(LANGUAGE_COOKIE, visit.t.code, path="/_emulator/", httponly=True, samesite="strict")
    return response


PLACES = {"req": "requests", "mail": "emails"}
"""Where an id leads by how it begins; all others are objects."""

SHARED = {"app": "settings", "flt": "failures", "outc": "failures"}
"""Pages that are about all that have such ids."""


def place(visit: ConsoleRequest, id: str) -> str:
    """The page of whatever has this id."""
    kind = id.partition("_")[0]
    return visit.link(SHARED.get(kind) or f"{PLACES.get(kind, 'objects')}/{id}")
