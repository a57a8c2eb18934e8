"""Where the console is mounted. A start of the server imports only this module of the package."""

from __future__ import annotations

from starlette.types import ASGIApp, Receive, Scope, Send

from emulator.web.context import context_of

HOME = "/_emulator/"
CONSOLE = "/_emulator/console/"
PHONES = "/_emulator/phones/"


def before(console: ASGIApp, control_api: ASGIApp) -> ASGIApp:
    """The console for a browser's requests of ``/_emulator/`` itself and of phones, else the control API."""

    async def choose(scope: Scope, receive: Receive, send: Send) -> None:
        has_page = scope["path"] == HOME or scope["path"].startswith(PHONES)
        await (console if has_page and _from_browser(scope) else control_api)(scope, receive, send)

    return choose


def _from_browser(scope: Scope) -> bool:
    """Whether a request was made by a form of a page, or accepts a page."""
    if scope["method"] == "POST":
        return (context_of(scope).header(b"content-type") or "").startswith("application/x-www-form-urlencoded")
    return scope["method"] == "GET" and "text/html" in (context_of(scope).header(b"accept") or "")
