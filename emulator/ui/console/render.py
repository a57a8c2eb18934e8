"""Pages of the console: a template and its values become a response, which loads and runs only the console's files."""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING, Any

from starlette.responses import HTMLResponse, Response

from emulator.presentation.languages.statuses import status_name, transition_name
from emulator.presentation.languages.terms import MONEY_FIELDS, PAYMENT_METHOD_TYPES
from emulator.resources.ledger.accounts import ACCOUNTS
from emulator.ui.base import templates
from emulator.ui.base.headers import content_security_policy, private_headers
from emulator.ui.base.request import remember_language
from emulator.ui.console import filters, labels, static
from emulator.ui.console.columns import COLUMNS, IN_NAMES, PILLS, tone
from emulator.ui.console.mount import HOME
from emulator.ui.console.request import ConsoleRequest

if TYPE_CHECKING:
    from jinja2 import Environment


@cache
def headers() -> dict[str, str]:
    """The headers of every page."""
    own = "'self'"
    policy = content_security_policy(
        style_src=static.style_source(),
        script_src=static.script_source(),
        img_src=f"{own} data:",
        connect_src=own,
        frame_src=own,
    )
    return private_headers(policy)


@cache
def environment() -> Environment:
    """The console's templates, with the tables and functions that all of them use."""
    environment = templates.environment("emulator.ui.console")
    environment.filters |= {"breakable": filters.breakable, "short_instants": filters.short_instants}
    environment.globals |= {
        "accounts": ACCOUNTS,
        "columns": COLUMNS,
        "in_names": IN_NAMES,
        "inline": static.inline,
        "labels": labels,
        "method_names": PAYMENT_METHOD_TYPES,
        "money_fields": MONEY_FIELDS,
        "pills": PILLS,
        "static": static.url,
        "style": static.style,
        "tone": tone,
    }
    return environment


def page(request: ConsoleRequest, template: str, status: int = 200, **values: Any) -> Response:
    """A page. Every template is given the request, its language, and functions for links, instants and JSON."""
    url_of = partial(page_of, request)
    shared = {
        **templates.in_language(request.language),
        "request": request,
        "link": request.link,
        "here": request.here,
        "instant": partial(filters.instant, language=request.language),
        "status_name": partial(status_name, request.language),
        "transition_name": partial(transition_name, request.language),
        "id_link": partial(filters.id_link, page_of=url_of, names=values.get("names", filters.NO_NAMES)),
        "linked": partial(filters.linked, page_of=url_of),
        "tree": partial(filters.tree, page_of=url_of),
    }
    response = HTMLResponse(environment().get_template(template).render({**shared, **values}), status, headers())
    remember_language(response, request.query.get("lang"), HOME)
    return response


PAGES = {"req": "requests", "mail": "emails"}
"""Where the page of an id is, by its prefix; all others are objects."""

SHARED_PAGES = {"app": "settings", "flt": "failures", "outc": "failures"}
"""Pages that show all objects whose ids have a prefix."""


def page_of(request: ConsoleRequest, id: str) -> str:
    """The URL of the page that shows what has this id."""
    prefix = id.partition("_")[0]
    return request.link(SHARED_PAGES.get(prefix) or f"{PAGES.get(prefix, 'objects')}/{id}")
