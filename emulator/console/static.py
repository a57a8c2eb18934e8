"""The console's style sheet, script and icon, each at a URL that changes with its content."""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import Response

from emulator.console.mount import CONSOLE

TYPES = {"console.css": "text/css", "console.js": "text/javascript", "icon.svg": "image/svg+xml"}


@cache
def content(name: str) -> bytes:
    """The content of a file; the style sheet includes that of plots."""
    plots = files("emulator.html").joinpath("templates", "plots.css").read_bytes() if name == "console.css" else b""
    return files("emulator.console").joinpath("static", name).read_bytes() + plots


@cache
def url(name: str) -> str:
    """The URL of a file."""
    return f"{CONSOLE}static/{sha256(content(name)).hexdigest()[:12]}/{name}"


async def show(request: Request) -> Response:
    """GET a file. Its URL identifies its content, so browsers may cache it forever."""
    name = request.path_params["name"]
    if name not in TYPES:
        return Response(status_code=404)
    return Response(content(name), headers={"Cache-Control": "max-age=31536000, immutable"}, media_type=TYPES[name])
