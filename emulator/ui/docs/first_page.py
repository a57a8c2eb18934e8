"""The first page, at ``/``: the two values that an application needs, and where everything is; as JSON for programs."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from emulator.ui.docs.reference import KEY, page
from emulator.web.context import context_of

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
    base = context_of(request.scope).base_url
    if "text/html" not in request.headers.get("accept", ""):
        return JSONResponse({name: base + path for name, path in PLACES.items()} | {"key": KEY})
    return page("first-page.html", "/", "", base_url=base, key=KEY, menu=())
