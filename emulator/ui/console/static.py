"""The console's style sheet, which stands in each page, and its script and icon, each at a URL by its content.

The first paint waits for no other request, so what it needs stands in the page: the style sheet, the icon beside the
name, and the script that fetches the other script afterwards.
"""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from importlib.resources import files

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response

from emulator.ui.base.headers import hash_of
from emulator.ui.console.mount import CONSOLE

TYPES = {"console.js": "text/javascript", "icon.svg": "image/svg+xml"}


@cache
def content(name: str) -> bytes:
    """The content of a file."""
    return files("emulator.ui.console").joinpath("static", name).read_bytes()


@cache
def style() -> Markup:
    """The style sheet, that of plots included. It stands in each page, which is so painted without another request."""
    plots = files("emulator.ui.base").joinpath("templates", "plots.css").read_text("utf-8")
    return Markup(content("console.css").decode() + plots)  # noqa: S704  # the package's own files


@cache
def inline(name: str) -> Markup:
    """The content of a file, to stand in a page."""
    return Markup(content(name).decode())  # noqa: S704  # the package's own files


def style_source() -> str:
    """The style sheet as a source of a ``Content-Security-Policy``."""
    return hash_of(style())


def script_source() -> str:
    """The scripts as a source of a ``Content-Security-Policy``: the one in the page, and the one that it fetches."""
    return f"'self' {hash_of(inline('loader.js'))}"


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
