"""The site: every path that belongs neither to the service nor to the control API."""

from __future__ import annotations

from functools import lru_cache, partial

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp

from emulator.core.errors import ApiError
from emulator.document import bundles
from emulator.document.profile import Marks, Profile, with_marks
from emulator.engine.engine import Engine
from emulator.ui.base.pages import api_error, application
from emulator.ui.buyer.hosted_pages import Pages
from emulator.ui.docs import reference
from emulator.ui.docs.first_page import first_page
from emulator.web.context import context_of


@lru_cache(maxsize=32)
def _text(name: str, form: str, base_url: str, marks: Marks | None) -> str:
    """Return a served document. Its ``servers`` have the whole address: a document that was saved to a file has no base."""
    # Loaded on first use: most servers are never asked for their document.
    import json

    document = bundles.load(name)
    servers = [server | {"url": base_url + server["url"]} for server in document["servers"]]
    whole = document | {"servers": servers}
    whole = with_marks(whole, marks) if marks else whole
    if form == "json":
        return json.dumps(whole, ensure_ascii=False, indent=1)
    import yaml

    return yaml.safe_dump(whole, sort_keys=False, allow_unicode=True)


def _document(marks: Marks | None, path: str, name: str, form: str) -> Route:
    async def show(request: Request) -> Response:
        text = _text(name, form, context_of(request.scope).base_url, marks)
        return Response(text, media_type=f"application/{form}")

    return Route(path, show)


async def _not_found(request: Request, error: Exception) -> Response:
    path = request.scope["path"][:200]
    return api_error(request, ApiError("NOT_FOUND", message=f"There is nothing at {path}; the service is below /v1/."))


async def _method_not_allowed(request: Request, error: Exception) -> Response:
    allow = getattr(error, "headers", {})["Allow"]
    return api_error(
        request, ApiError("METHOD_NOT_ALLOWED", headers={"Allow": allow}, method=request.method, allow=allow)
    )


def site(engine: Engine, profile: Profile | None = None) -> ASGIApp:
    """Return the application for all other paths; its documents and pages say what a ``profile`` has confirmed."""
    marks = Marks.of(profile) if profile else None
    document = partial(_document, marks)
    return application(
        [
            Route("/", first_page),
            *reference.explorer_routes(),
            *reference.reference_routes(engine, profile),
            *Pages(engine).routes(),
            Route(reference.PATH, reference.with_slash),
            Route("/llms.txt", reference.llms_txt),
            Route(f"{reference.PATH}/{{name}}.md", reference.markdown),
            Mount(reference.PATH, reference.Guide()),
            document("/openapi.json", "service-3.0", "json"),
            document("/openapi.yaml", "service-3.0", "yaml"),
            document("/openapi-3.1.json", "service-3.1", "json"),
            document("/openapi-3.1.yaml", "service-3.1", "yaml"),
            document("/openapi-pages.json", "pages-3.0", "json"),
            document("/openapi-pages-3.1.json", "pages-3.1", "json"),
            document("/_emulator/openapi.json", "control-3.0", "json"),
            document("/_emulator/openapi-3.1.json", "control-3.1", "json"),
        ],
        _not_found,
        _method_not_allowed,
    )
