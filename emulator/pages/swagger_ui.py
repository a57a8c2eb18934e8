"""The explorer: both documents to be read and tried out in a browser, by Swagger UI as its PyPI package carries it."""

from __future__ import annotations

import secrets

from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from emulator.errors import ApiError
from emulator.pages.render import HEADERS, page
from emulator.paths import guide_folder
from emulator.web.context import context_of

DOCUMENTS = {"service": ("/openapi.json", "The service"), "control": ("/_emulator/openapi.json", "The control API")}
"""By ``?api=``: where a document is and what it is called."""

ASSETS = {"swagger-ui-bundle.js": "text/javascript", "swagger-ui.css": "text/css"}

KEY = "sk_test_demo"
"""The key that requests are tried out with until another one is put in."""


def routes() -> list[Route]:
    """``/docs/`` and the files it loads."""
    return [Route("/docs/", _show), Route("/docs/assets/{name}", _asset)]


async def _show(request: Request) -> Response:
    chosen = request.query_params.get("api", "service")
    if chosen not in DOCUMENTS:
        chosen = "service"
    nonce = secrets.token_urlsafe(16)
    return page(
        "docs-index.html",
        headers=_headers(nonce),
        here="/docs/",
        base_url=context_of(request.scope).base_url,
        documents=DOCUMENTS,
        chosen=chosen,
        key=KEY,
        has_guide=guide_folder().is_dir(),
        nonce=nonce,
    )


def _headers(nonce: str) -> dict[str, str]:
    """Only what comes from here may be loaded and called."""
    policy = (
        f"default-src 'none'; script-src 'self' 'nonce-{nonce}'; style-src 'self' 'unsafe-inline'; "
        "img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    return {**HEADERS, "Content-Security-Policy": policy}


async def _asset(request: Request) -> Response:
    # Loaded on first use: most servers never show the page.
    from swagger_ui_bundle import swagger_ui_path

    name = request.path_params["name"]
    if name not in ASSETS:
        reply = context_of(request.scope).error_response(ApiError("NOT_FOUND"))
        return Response(reply.body, reply.status, reply.headers, media_type=reply.media_type)
    headers = {"Cache-Control": "max-age=3600", "X-Content-Type-Options": "nosniff"}
    return FileResponse(str(swagger_ui_path / name), headers=headers, media_type=ASSETS[name])
