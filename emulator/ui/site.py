"""The site: every path that belongs neither to the service nor to the control API."""

from __future__ import annotations

from functools import lru_cache

from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp

from emulator.core.errors import ApiError
from emulator.document import bundles
from emulator.document.profile import Marks, Profile, with_marks
from emulator.engine.engine import Engine
from emulator.ui.base.pages import api_error, application
from emulator.ui.buyer.hosted_pages import Pages
from emulator.ui.docs import reference
from emulator.web.context import context_of


@lru_cache(maxsize=32)
def _text(name: str, form: str, base_url: str, marks: Marks | None) -> str:
    """Return a served document. ``servers`` has the full address: saved documents have no base."""
    # Loaded on first use: most servers are never asked for their document.
    import json

    document = bundles.load(name)
    servers = [server | {"url": base_url + server["url"]} for server in document["servers"]]
    whole = document | {"servers": servers}
    whole = with_marks(whole, marks) if marks else whole
    if form == "json":
        return json.dumps(whole, ensure_ascii=False, indent=1)
    import yaml

    # The writer in Python takes five times as long.
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    return str(yaml.dump(whole, Dumper=dumper, sort_keys=False, allow_unicode=True))


DOCUMENTS = {
    "/openapi.json": "service-3.0",
    "/openapi.yaml": "service-3.0",
    "/openapi-3.1.json": "service-3.1",
    "/openapi-3.1.yaml": "service-3.1",
    "/openapi-pages.json": "pages-3.0",
    "/openapi-pages-3.1.json": "pages-3.1",
    "/_emulator/openapi.json": "control-3.0",
    "/_emulator/openapi-3.1.json": "control-3.1",
}
"""The served documents by their paths, each in the form in which the path ends."""


ZIPPED = [Middleware(GZipMiddleware, compresslevel=4)]
"""Compresses a response for a client that accepts it: 534 kB become 72 kB, in 5 ms.

The highest level makes them 62 kB in 25 ms, while other requests wait. Files of the guide, of which
a client may ask for ranges, and the buyers' pages go out as they are.
"""


async def _not_found(request: Request, error: Exception) -> Response:
    path = request.scope["path"][:200]
    if "text/html" in request.headers.get("accept", ""):
        return reference.missing_page(path)
    return api_error(
        request,
        ApiError("NOT_FOUND", message=f"There is nothing at {path}; the service is below /v1/."),
    )


async def _method_not_allowed(request: Request, error: Exception) -> Response:
    allow = getattr(error, "headers", {})["Allow"]
    return api_error(
        request,
        ApiError(
            "METHOD_NOT_ALLOWED", headers={"Allow": allow}, method=request.method, allow=allow
        ),
    )


def site(engine: Engine, profile: Profile | None = None) -> ASGIApp:
    """Return the application for all other paths; its pages tell what a ``profile`` confirmed."""
    marks = Marks.of(profile) if profile else None

    async def document(request: Request) -> Response:
        path = request.url.path
        form = path.rpartition(".")[2]
        text = _text(DOCUMENTS[path], form, context_of(request.scope).base_url, marks)
        return Response(text, media_type=f"application/{form}")

    async def with_slash(_: Request) -> Response:
        """Redirect to the path with a slash: the links within the guide are relative."""
        return RedirectResponse(f"{reference.PATH}/", 308)

    return application(
        [
            Route("/", reference.first_page),
            *reference.explorer_routes(),
            *reference.reference_routes(engine, profile),
            *Pages(engine).routes(),
            Route(reference.PATH, with_slash),
            Route("/llms.txt", reference.llms_txt, middleware=ZIPPED),
            Route(f"{reference.PATH}/{{name}}.md", reference.markdown, middleware=ZIPPED),
            Mount(reference.PATH, reference.Guide()),
            *(Route(path, document, middleware=ZIPPED) for path in DOCUMENTS),
        ],
        _not_found,
        _method_not_allowed,
    )
