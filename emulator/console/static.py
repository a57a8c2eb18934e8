"""The console's own files, its style and its script, each under an address that changes with what is in it."""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import Response

from emulator.console.mount import PLACE

TYPES = {"console.css": "text/css", "console.js": "text/javascript", "icon.svg": "image/svg+xml"}


@cache
def content(name: str) -> bytes:
    """A file as it is."""
    return files("emulator.console").joinpath("static", name).read_bytes()


@cache
def address(name: str) -> str:
    """Where a file is served."""
    return f"{PLACE}static/{sha256(content(name)).hexdigest()[:12]}/{name}"


async def show(request: Request) -> Response:
    """GET a file. Its address names its content, so browsers may keep it for good."""
    name = request.path_params["name"]
    if name not in TYPES:
        return Response(status_code=404)
    return Response(content(name), headers={"Cache-Control": "max-age=31536000, immutable"}, media_type=TYPES[name])
