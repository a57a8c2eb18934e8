"""One site: reference pages from the emulator's tables, the API explorer, first page, guide.

Errors, magic values, events, life cycles and assumptions stand here alone. The explorer is Swagger
UI, from its PyPI package; the guide is the site that MkDocs builds from ``docs/guide``. All have
the face of ``templates/face.html``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from http import HTTPStatus
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import (
    FileResponse,
    HTMLResponse,
    JSONResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
)
from starlette.routing import Route
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from emulator.core.errors import ERRORS, ApiError
from emulator.core.event_types import EVENTS
from emulator.core.vendored import library
from emulator.document.paths import GUIDE, GUIDE_PAGES, SKILL
from emulator.document.probes import collected
from emulator.document.profile import Profile
from emulator.engine.engine import Engine
from emulator.engine.reference_data import (
    Step,
    assumptions_of,
    error_examples,
    named_assumptions,
    numbered_assumptions,
)
from emulator.resources.app.clients import DEFAULT_APP, SECRET, Key
from emulator.resources.app.settings import Settings, settings
from emulator.resources.registry import STATE_MACHINES
from emulator.ui.base.pages import api_error, content_security_policy, environment, public_headers
from emulator.web.context import context_of

# -- a template and its values become a response


PATH = "/docs/guide"


def policy(style_src: str = "'self'") -> str:
    """Return the Content-Security-Policy: this server has all parts; search runs in a worker."""
    return content_security_policy(
        script_src="'self'",
        style_src=style_src,
        img_src="'self' data:",
        font_src="'self'",
        connect_src="'self'",
        worker_src="'self'",
    )


HEADERS = public_headers(policy())

EXPLORER_HEADERS = public_headers(policy("'self' 'unsafe-inline'"))
"""Swagger UI writes styles into the page."""


class Head(NamedTuple):
    """A heading that is listed under "On this page"."""

    url: str
    title: str


def page(
    template: str,
    here: str,
    title: str,
    heads: Sequence[Head] = (),
    headers: Mapping[str, str] = HEADERS,
    *,
    status: int = 200,
    **values: Any,
) -> Response:
    """Return a page in the guide's face, in English; without a guide there is no search."""
    menu = GUIDE / "menu.json"
    has_guide = menu.is_file()
    face = {
        "base": PATH if has_guide else "",
        "assets": "/docs/assets",
        "home": "/",
        "menu": json.loads(menu.read_text("utf-8")) if has_guide else WITHOUT_GUIDE,
        "previous": None,
        "next": None,
        "wide": template == "docs-index.html",
    }
    face_template = environment("emulator.ui.docs").get_template(template)
    return HTMLResponse(
        face_template.render(face | values, here=here, title=title, heads=heads),
        status,
        headers=headers,
    )


# -- reference pages


ADVICE = {
    400: "Do not retry; fix the request.",
    401: "Do not retry; check the key.",
    403: "Do not retry; check permissions, plan and security profiles.",
    404: "Do not retry; check the id or the path.",
    405: "Do not retry; use a method that the Allow header names.",
    409: (
        "Do not make a second one; fetch what is there, or the first answer of that idempotency"
        " key."
    ),
    422: "Do not retry; fix the request.",
    429: "Wait the number of seconds in the Retry-After header, then retry.",
    500: "Retry with exponential backoff: 1 s, 2 s, 4 s, 8 s; at most 3 attempts.",
}
"""What to do about each status (retry guidance of the error model)."""


def _line(step: Step) -> str:
    if step.advance:
        return f'POST /_emulator/clock/advance {{"by": "{step.advance}"}}'
    headers = "".join(f"  {name}: {value}" for name, value in step.headers.items())
    key = "" if step.key is None else f"  (key {step.key})" if step.key else "  (without a key)"
    body = f" {json.dumps(step.body)}" if step.body is not None else ""
    name = f"{step.name} = " if step.name else ""
    return f"{name}{step.request}{body}{headers}{key}"


def groups_by(key: Callable[[Any], Any], rows: Iterable[Any]) -> list[tuple[Any, list[Any]]]:
    return [(value, list(group)) for value, group in groupby(rows, key)]


def assumptions_in_force(engine: Engine, query: Mapping[str, str]) -> dict[str, Any]:
    """Return the assumptions' values in the query's App (``app=NAME``, ``live=1``) or App ``demo``.

    ``app`` is its key; an App whose world is not open has the defaults, and ``app`` is None.
    """
    key = Key(query.get("app", DEFAULT_APP), query.get("live") == "1")
    runtime = engine.runtimes.get(key)
    known = named_assumptions()
    listed = assumptions_of(settings(runtime.world) if runtime else Settings())
    with_meanings = {
        assumption["name"]: assumption | {"meanings": known[assumption["name"]].values}
        for assumption in listed
    }
    return {"app": str(key) if runtime else None, "assumptions": with_meanings}


SERVED = {
    "Errors and magic values": "/docs/errors",
    "Events and life cycles": "/docs/events",
    "Assumptions": "/docs/assumptions",
}

WITHOUT_GUIDE = [
    {"title": "Reference", "items": [{"title": title, "url": url} for title, url in SERVED.items()]}
]
"""The menu of a checkout in which the guide was not built."""


async def _events(_: Request) -> Response:
    lives = [
        Head(f"#{machine.kind.kind}", machine.kind.kind.replace("_", " ").capitalize())
        for machine in STATE_MACHINES
    ]
    heads = [Head("#events", "Events"), Head("#life-cycles", "Life cycles"), *lives]
    tables: dict[str, Any] = {"events": EVENTS, "life_cycles": STATE_MACHINES}
    return page("docs-events.html", "/docs/events", "Events and life cycles", heads, **tables)


def reference_routes(engine: Engine, profile: Profile | None) -> list[Route]:
    """Return the pages below ``/docs/``; the assumptions with what a ``profile`` says of them."""
    facts = engine.reference_data
    magic = msgspec.to_builtins(facts.magic)

    async def errors(_: Request) -> Response:
        documented = [
            {
                "code": code,
                "row": ERRORS[code],
                "recipe": recipe,
                "lines": list(map(_line, recipe.steps)),
            }
            for code, recipe in error_examples().items()
        ]
        groups = groups_by(
            lambda entry: entry["row"].status,
            sorted(documented, key=lambda entry: entry["row"].status),
        )
        heads = [
            Head("#magic-values", "Magic values"),
            *(
                Head(f"#status-{status}", f"{status} {HTTPStatus(status).phrase}")
                for status, _ in groups
            ),
        ]
        tables: dict[str, Any] = {
            "groups": groups,
            "advice": ADVICE,
            "magic": magic,
            "keys": facts.magic_keys,
        }
        return page("docs-errors.html", "/docs/errors", "Errors and magic values", heads, **tables)

    async def assumptions(request: Request) -> Response:
        probes, numbered = collected(), numbered_assumptions()
        known = groups_by(lambda assumption: assumption[1].area, numbered.items())
        force = assumptions_in_force(engine, request.query_params)
        short = {
            "count": len(numbered),
            "comparable": len({probe.number for probe in probes.probes.values()}),
            "changeable": sum(
                bool(assumption.settings or assumption.names) for assumption in numbered.values()
            ),
            "named": [
                (number, name)
                for number, assumption in numbered.items()
                for name in assumption.names
            ],
        }
        heads = [
            Head("#in-short", "In short"),
            *(Head(f"#area-{at}", area) for at, (area, _) in enumerate(known, 1)),
        ]
        values: dict[str, Any] = (
            {"areas": known, "probes": probes, "profile": profile} | force | short
        )
        return page("docs-assumptions.html", "/docs/assumptions", "Assumptions", heads, **values)

    return [
        Route("/docs/errors", errors),
        Route("/docs/events", _events),
        Route("/docs/assumptions", assumptions),
    ]


# -- the API explorer


DOCUMENTS = {
    "service": ("/openapi-3.1.json", "The service"),
    "control": ("/_emulator/openapi.json", "The control API"),
    "pages": ("/openapi-pages.json", "The buyer's pages"),
}
"""By ``?api=``: the path and the title of a document."""

SWAGGER = ("swagger-ui-bundle.js", "swagger-ui.css")

FACE = Path(__file__).parent / "theme" / "assets"
"""What every page loads; MkDocs copies it into the guide as well."""

KEY = "sk_test_demo"
"""The key of requests unless ``?key=`` names another test key, and until another one is entered."""


def explorer_routes() -> list[Route]:
    return [Route("/docs/", _show), Route("/docs/assets/{name}", _asset)]


async def _show(request: Request) -> Response:
    api, key = request.query_params.get("api"), request.query_params.get("key", KEY)
    values: dict[str, Any] = {
        "base_url": context_of(request.scope).base_url,
        "documents": DOCUMENTS,
        "chosen": api if api in DOCUMENTS else "service",
        "key": key if SECRET.fullmatch(key) and key.startswith("sk_test_") else KEY,
    }
    return page("docs-index.html", "/docs/", "API", headers=EXPLORER_HEADERS, **values)


async def _asset(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in SWAGGER and name not in ASSETS:
        return api_error(request, ApiError("NOT_FOUND"))
    folder = Path(library("flask_swagger_ui").__path__[0], "dist") if name in SWAGGER else FACE
    headers = {"Cache-Control": "max-age=3600", "X-Content-Type-Options": "nosniff"}
    return FileResponse(folder / name, headers=headers)


ASSETS = frozenset(file.name for file in FACE.iterdir())


# -- the first page


PLACES = {
    "service": "/v1",
    "openapi": "/openapi.json",
    "control": "/_emulator",
    "console": "/_emulator/",
    "docs": "/docs/",
    "guide": "/llms.txt",
}
"""What programs are given, by name."""


def first_page(request: Request) -> Response:
    """Return the page at ``/``: an application's two values and all places; JSON for programs."""
    base = context_of(request.scope).base_url
    if "text/html" not in request.headers.get("accept", ""):
        return JSONResponse({name: base + path for name, path in PLACES.items()} | {"key": KEY})
    return page("first-page.html", "/", "", base_url=base, key=KEY, menu=())


def missing_page(path: str) -> Response:
    """Return the page for a person who asks for a path at which there is nothing."""
    return page("missing.html", "/", "Not found", status=404, path=path, menu=())


# -- the guide


async def llms_txt(_: Request) -> Response:
    """Return the list of the guide's pages, as language models are given it (llmstxt.org)."""
    pages = sorted(GUIDE_PAGES.glob("*.md"))
    titles = [
        page.read_text("utf-8").partition("\n")[0].removeprefix("#").strip() for page in pages
    ]
    links = [f"- [{title}]({PATH}/{page.name})" for title, page in zip(titles, pages, strict=True)]
    return PlainTextResponse("\n".join([*LLMS_TXT, *links, ""]), headers=HEADERS)


LLMS_TXT = (
    "# Payments emulator",
    "",
    (
        "> A local sandbox of a Payments and Recurring Billing API: offline, with a clock you can"
        " move."
    ),
    "",
    (
        f"Begin with [the skill]({PATH}/skill.md). The API: [/openapi.json](/openapi.json); the"
        " control API:"
    ),
    "[/_emulator/openapi.json](/_emulator/openapi.json).",
    "",
    "## Guide",
    "",
)


async def markdown(request: Request) -> Response:
    name = request.path_params["name"]
    page = SKILL if name == "skill" else GUIDE_PAGES / f"{name}.md"
    if not page.is_file():
        raise HTTPException(404)
    return FileResponse(page, media_type="text/markdown; charset=utf-8", headers=HEADERS)


class Guide(StaticFiles):
    """The files of the site; where it was not built, its pages are there as Markdown."""

    def __init__(self) -> None:
        super().__init__(directory=GUIDE, html=True, check_dir=False)

    async def check_config(self) -> None:
        """Accept a missing folder: a checkout may have no site."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        if not GUIDE.is_dir():
            if path == ".":
                return RedirectResponse("/llms.txt")
            if path in {page.stem for page in GUIDE_PAGES.glob("*.md")}:
                return RedirectResponse(f"{PATH}/{path}.md")
        response = await super().get_response(path, scope)
        response.headers.update(HEADERS)
        return response
