"""Where the console is mounted. A start of the server imports only this module of the package."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.types import ASGIApp, Receive, Scope, Send

from emulator.web.context import context_of

HOME = "/_emulator/"
CONSOLE = "/_emulator/console/"
PHONES = "/_emulator/phones/"


def before(console: ASGIApp, control_api: ASGIApp) -> ASGIApp:
    """Return the console for ``/_emulator/`` and browsers' phone requests, else the control API."""

    async def choose(scope: Scope, receive: Receive, send: Send) -> None:
        for_console = is_page(scope["method"], scope["path"], context_of(scope).headers)
        await (console if for_console else control_api)(scope, receive, send)

    return choose


def is_page(method: str, path: str, headers: Mapping[bytes, bytes]) -> bool:
    """Return whether a request is for a page at or beside a path of the control API.

    The path of the overview belongs to that page alone. The path of a phone belongs to both: a
    request for the page was made by its form, or accepts HTML. ``headers`` has lower-case names.
    """
    if path == HOME and method in ("GET", "HEAD"):
        return True
    if path != HOME and not path.startswith(PHONES):
        return False
    if method == "POST":
        return headers.get(b"content-type", b"").startswith(b"application/x-www-form-urlencoded")
    return method == "GET" and b"text/html" in headers.get(b"accept", b"")
