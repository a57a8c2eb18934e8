"""The API explorer: the OpenAPI documents in Swagger UI, from its PyPI package."""

from __future__ import annotations

import re
import secrets

from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from emulator.core.errors import ApiError
from emulator.core.vendored import library
from emulator.document.paths import guide_folder
from emulator.ui.base.application import api_error
from emulator.ui.base.headers import content_security_policy, public_headers
from emulator.ui.docs.render import page
from emulator.web.context import context_of

DOCUMENTS = {
    "service": ("/openapi.json", "The service"),
    "control": ("/_emulator/openapi.json", "The control API"),
    "pages": ("/openapi-pages.json", "The buyer's pages"),
}
"""By ``?api=``: the path and the title of a document."""

ASSETS = {"swagger-ui-bundle.js": "text/javascript", "swagger-ui.css": "text/css"}

KEY_FORM = r"sk_test_[A-Za-z0-9_-]{1,64}"

KEY = "sk_test_demo"
"""The key of requests unless ``?key=`` names another test key, and until another one is entered."""


def routes() -> list[Route]:
    """``/docs/`` and the files it loads."""
    return [Route("/docs/", _show), Route("/docs/assets/{name}", _asset)]


async def _show(request: Request) -> Response:
    chosen = request.query_params.get("api", "service")
    if chosen not in DOCUMENTS:
        chosen = "service"
    key = request.query_params.get("key", KEY)
    if not re.fullmatch(KEY_FORM, key):
        key = KEY
    nonce = secrets.token_urlsafe(16)
    return page(
        "docs-index.html",
        headers=_headers(nonce),
        here="/docs/",
        base_url=context_of(request.scope).base_url,
        documents=DOCUMENTS,
        chosen=chosen,
        key=key,
        has_guide=guide_folder().is_dir(),
        nonce=nonce,
    )


def _headers(nonce: str) -> dict[str, str]:
    """The page may load and call only this server."""
    policy = content_security_policy(
        script_src=f"'self' 'nonce-{nonce}'",
        style_src="'self' 'unsafe-inline'",
        img_src="'self' data:",
        connect_src="'self'",
        form_action="'none'",
    )
    return public_headers(policy)


async def _asset(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in ASSETS:
        return api_error(request, ApiError("NOT_FOUND"))
    headers = {"Cache-Control": "max-age=3600", "X-Content-Type-Options": "nosniff"}
    return FileResponse(
        str(library("swagger_ui_bundle").swagger_ui_path / name), headers=headers, media_type=ASSETS[name]
    )
