"""The site: all paths of neither the service nor the control API, from the reference to what nobody serves."""

from __future__ import annotations

from functools import cache

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp

from emulator.document import bundles
from emulator.engine.engine import Engine
from emulator.errors import ApiError
from emulator.pages import docs, guide, swagger_ui
from emulator.pages.hosted_pages import Pages
from emulator.web.context import context_of


@cache
def _text(name: str, form: str) -> str:
    # Loaded on first use: most servers are never asked for their document.
    import json

    if form == "json":
        return json.dumps(bundles.load(name), ensure_ascii=False, indent=1)
    import yaml

    return yaml.safe_dump(bundles.load(name), sort_keys=False, allow_unicode=True)


def _document(path: str, name: str, form: str) -> Route:
    async def show(request: Request) -> Response:
        return Response(_text(name, form), media_type=f"application/{form}")

    return Route(path, show)


async def _nothing(request: Request, error: Exception) -> Response:
    path = request.scope["path"][:200]
    return _refused(request, ApiError("NOT_FOUND", message=f"There is nothing at {path}; the service is below /v1/."))


async def _wrong_method(request: Request, error: Exception) -> Response:
    allow = getattr(error, "headers", {})["Allow"]
    return _refused(
        request, ApiError("METHOD_NOT_ALLOWED", headers={"Allow": allow}, method=request.method, allow=allow)
    )


def _refused(request: Request, error: ApiError) -> Response:
    """What the site refuses reads as what the service refuses."""
    reply = context_of(request.scope).error_response(error)
    return Response(reply.body, reply.status, reply.headers, media_type=reply.media_type)


def site(engine: Engine) -> ASGIApp:
    """The application for all other paths."""
    app = Starlette(
        routes=[
            *swagger_ui.routes(),
            *docs.routes(engine.reference_data),
            *Pages(engine).routes(),
            Route(guide.PATH, guide.with_slash),
            Mount(guide.PATH, guide.Guide()),
            _document("/openapi.json", "service", "json"),
            _document("/openapi.yaml", "service", "yaml"),
            _document("/openapi-3.1.json", "service-3.1", "json"),
            _document("/openapi-3.1.yaml", "service-3.1", "yaml"),
            _document("/_emulator/openapi.json", "control", "json"),
        ],
        exception_handlers={404: _nothing, 405: _wrong_method},
    )
    app.router.redirect_slashes = False
    return app
