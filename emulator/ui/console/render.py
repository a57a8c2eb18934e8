"""The console's pages: a template and values become a response that runs the console's files only.

Templates have functions for instants, ids and JSON as markup, in which every id is a link, and for
the columns of lists.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from hashlib import sha256
from importlib.resources import files
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from emulator.core.records import Record
from emulator.insight.names import documented
from emulator.presentation.languages.language import Language
from emulator.presentation.languages.wording import (
    MONEY_FIELDS,
    PAYMENT_METHOD_TYPES,
    status_name,
    transition_name,
)
from emulator.resources.ledger import ACCOUNTS, BOOKS
from emulator.resources.registry import REGISTRY, STATE_MACHINES
from emulator.ui.base import pages
from emulator.ui.base.pages import (
    content_security_policy,
    hash_of,
    private_headers,
    remember_language,
)
from emulator.ui.console.labels import KIND_NAMES, LABELS
from emulator.ui.console.mount import CONSOLE, HOME
from emulator.ui.console.request import ConsoleRequest

if TYPE_CHECKING:
    from jinja2 import Environment


# -- the style sheet, which stands in each page, and script and icon, each at a URL by its content


TYPES = {"console.js": "text/javascript", "icon.svg": "image/svg+xml"}


@cache
def content(name: str) -> bytes:
    return files("emulator.ui.console").joinpath("static", name).read_bytes()


@cache
def style() -> Markup:
    """Return the style sheet, plots' too. Pages contain it and need no further request to paint."""
    plots = files("emulator.ui.base").joinpath("templates", "plots.css").read_text("utf-8")
    return Markup(content("console.css").decode() + plots)  # noqa: S704  # the package's own files


@cache
def inline(name: str) -> Markup:
    return Markup(content(name).decode())  # noqa: S704  # the package's own files


@cache
def static_url(name: str) -> str:
    return f"{CONSOLE}static/{sha256(content(name)).hexdigest()[:12]}/{name}"


async def static_file(request: Request) -> Response:
    """GET a file. Its URL identifies its content, so browsers may cache it forever."""
    name = request.path_params["name"]
    if name not in TYPES:
        return Response(status_code=404)
    return Response(
        content(name),
        headers={"Cache-Control": "max-age=31536000, immutable"},
        media_type=TYPES[name],
    )


# -- columns: what a list shows of each kind of object, and how single fields are shown


_SHOWN_ANYWAY = frozenset(
    {"id", "object", "app", "metadata", "livemode", "created_at", "updated_at"}
)


def _first_fields(kind: type[Record]) -> tuple[str, ...]:
    return tuple(name for name in kind.__struct_fields__ if name not in _SHOWN_ANYWAY)[:4]


REFERENCES: Mapping[str, str] = {
    # An endpoint's security_profile is how its deliveries are signed, and no object.
    **{kind: kind for kind in KIND_NAMES if kind not in ("email", "security_profile")},
    "plan": "subscription_plan",
    "webhook": "webhook_endpoint",
}
"""The fields of an object that hold the id of another one, and the kind of that."""

COLUMNS: Mapping[str, Sequence[str]] = {
    **LABELS["columns"],
    **{
        kind.kind: _first_fields(kind)
        for kind in REGISTRY.kinds
        if kind.kind not in LABELS["columns"] and documented(kind)
    },
}
"""The columns of every kind; a kind for which none are chosen shows its first fields."""

PILLS = frozenset({"status", "active", "enabled"})
"""Fields that are drawn as a pill."""


def tone(status: object) -> str:
    """Return the tone of a status (a change: of the new one), of a flag or of an HTTP status."""
    if isinstance(status, int) and not isinstance(status, bool):
        return "good" if status < 300 else "warn" if status < 500 else "bad"
    return str(LABELS["tones"].get(str(status).lower().rpartition("→ ")[2], "plain"))


# -- functions of templates


KINDS: Mapping[str, str] = {machine.kind.prefix: machine.kind.kind for machine in STATE_MACHINES}


def kind_of(id: str | None) -> str:
    """Return the kind of an object that has a life cycle, by its id; empty for others."""
    return KINDS.get((id or "").partition("_")[0], "")


ID = re.compile(r"[a-z]{2,8}_[A-Za-z0-9]{24}", re.ASCII)
"""The form of an id."""

DEEPEST = 30
"""Levels of JSON that are indented; what is deeper is on one line."""

UrlOf = Callable[[str], str]

NO_NAMES: Mapping[str, str] = {}


def instant(at: str, seconds: bool = False, *, language: Language) -> Markup:
    """Return a day, or a UTC instant (seconds if not 0); its title is the form in the API."""
    is_day = "T" not in at
    pattern = (
        "d MMM y"
        if is_day
        else "d MMM y, HH:mm:ss"
        if seconds or at[17:19] != "00"
        else "d MMM y, HH:mm"
    )
    return Markup('<time datetime="{0}" title="{0}">{1}</time>').format(
        at, language.instant(at, pattern)
    )


def figure(amount: int, currency: str, *, language: Language) -> str:
    """Return an amount of minor units as people write it, without its currency: ``11.68``."""
    return language.money(amount, currency).removesuffix(currency).rstrip()


def ids_in(value: Any) -> list[str]:
    return list(dict.fromkeys(ID.findall(json.dumps(value, default=str))))


def id_link(id: str, *, page_of: UrlOf, names: Mapping[str, str] = NO_NAMES) -> Markup:
    """Return an id's link to its page: the name with the id as title, or the id without a name."""
    if id not in names:
        return Markup('<a class="id" href="{}">{}</a>').format(page_of(id), id)
    return Markup('<a href="{}" title="{}" dir="auto">{}</a>').format(page_of(id), id, names[id])


def linked(text: str, *, page_of: UrlOf, names: Mapping[str, str] = NO_NAMES) -> Markup:
    parts = ID.split(text)
    links = [id_link(id, page_of=page_of, names=names) for id in ID.findall(text)]
    return Markup("").join(
        part for pair in zip_longest(map(escape, parts), links, fillvalue="") for part in pair
    )


def breakable(text: str) -> Markup:
    """Return a name of the API that may be broken after its dots and underscores."""
    return Markup("<wbr>").join(escape(part) for part in re.split(r"(?<=[._])(?=.)", text))


def unbroken(text: str) -> Markup:
    """Return a text in which no number of an invoice or a receipt is broken after its hyphens."""
    numbered = re.sub(r"[A-Z]+-\d{4}-\d+", r'<span class="nowrap">\g<0></span>', str(escape(text)))
    return Markup(numbered)  # noqa: S704  # escaped above


def short_instants(text: str, language: Language) -> str:
    """Return a text of changes with days and instants as on every page, no time at midnight."""

    def short(at: re.Match[str]) -> str:
        return language.instant(at[0], "d MMM y" if at[1] in (None, "00:00") else "d MMM y, HH:mm")

    days = re.sub(r"\b\d{4}-\d\d-\d\d(?:T(\d\d:\d\d):\d\d\.\d{3}Z)?\b", short, text)
    return days.replace(" null -> ", " → ").replace(" -> ", " → ")


def tree(value: Any, *, page_of: UrlOf, depth: int = 0) -> Markup:
    """Return a value as indented JSON, highlighted by type, in which ids are links."""
    inner = partial(tree, page_of=page_of, depth=depth + 1)
    if isinstance(value, dict) and value and depth < DEEPEST:
        field = Markup('<span class="k">{}</span>: {}')
        fields = [
            field.format(json.dumps(name, ensure_ascii=False), inner(item))
            for name, item in value.items()
        ]
        return _block("{}", fields, depth)
    if isinstance(value, list) and value and depth < DEEPEST:
        return _block("[]", [inner(item) for item in value], depth)
    text = json.dumps(value, ensure_ascii=False)
    if isinstance(value, str):
        linked = (
            Markup('<a href="{}">{}</a>').format(page_of(value), text)
            if ID.fullmatch(value)
            else escape(text)
        )
        return Markup('<span class="s">{}</span>').format(linked)
    return Markup('<span class="n">{}</span>').format(text)


def _block(brackets: str, lines: list[Markup], depth: int) -> Markup:
    indented = Markup(",\n").join(Markup("  ") * (depth + 1) + line for line in lines)
    return Markup("{}\n{}\n{}{}").format(brackets[0], indented, "  " * depth, brackets[1])


# -- pages


@cache
def headers() -> dict[str, str]:
    policy = content_security_policy(
        style_src=hash_of(style()),
        script_src=f"'self' {hash_of(inline('loader.js'))}",
        img_src="'self' data:",
        connect_src="'self'",
        frame_src="'self'",
    )
    return private_headers(policy)


def test_name(app: str) -> str | None:
    """Return the name of the test whose App this is; None for one that no test has opened."""
    named = re.fullmatch(r"[0-9a-f]{12}-(.+)", app)
    return named and named[1]


@cache
def environment() -> Environment:
    """Return the console's templates, with the tables and functions that all of them use."""
    environment = pages.environment("emulator.ui.console")
    environment.filters |= {
        "breakable": breakable,
        "short_instants": short_instants,
        "unbroken": unbroken,
    }
    environment.globals |= {
        "accounts": ACCOUNTS,
        "books": BOOKS,
        "columns": COLUMNS,
        "in_names": LABELS["in_names"],
        "inline": inline,
        "labels": LABELS,
        "method_names": PAYMENT_METHOD_TYPES,
        "money_fields": MONEY_FIELDS,
        "pills": PILLS,
        "static": static_url,
        "style": style,
        "test_name": test_name,
        "tone": tone,
    }
    return environment


def page(request: ConsoleRequest, template: str, status: int = 200, **values: Any) -> Response:
    """Return a page. Templates get the request, its language, and functions for links and JSON."""
    url_of = partial(page_of, request)
    shared = {
        **pages.in_language(request.language),
        "request": request,
        "link": request.link,
        "here": request.here,
        "instant": partial(instant, language=request.language),
        "status_name": partial(status_name, request.language),
        "kind_of": kind_of,
        "transition_name": partial(transition_name, request.language),
        "id_link": partial(id_link, page_of=url_of, names=values.get("names", NO_NAMES)),
        "figure": partial(figure, language=request.language),
        "linked": partial(linked, page_of=url_of, names=values.get("names", NO_NAMES)),
        "tree": partial(tree, page_of=url_of),
    }
    response = HTMLResponse(
        environment().get_template(template).render({**shared, **values}), status, headers()
    )
    remember_language(response, request.query.get("lang"), HOME)
    return response


PAGES = {
    "req": "requests/{}",
    "mail": "emails/{}",
    "app": "settings",
    "flt": "failures",
    "outc": "failures",
}
"""The page that shows an id, by its prefix; all others are objects."""


def page_of(request: ConsoleRequest, id: str) -> str:
    return request.link(PAGES.get(id.partition("_")[0], "objects/{}").format(id))
