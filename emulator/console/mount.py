"""The entrance: where in the emulator its pages are. Light, for a start needs no more of the console than this."""

from __future__ import annotations

from starlette.types import ASGIApp, Receive, Scope, Send

from emulator.web.context import context_of

HOME = "/_emulator/"
PLACE = "/_emulator/console/"
PHONES = "/_emulator/phones/"


def before(console: ASGIApp, controls: ASGIApp) -> ASGIApp:
    """The console where a person asks for ``/_emulator/`` itself or a phone; everything else is the control API's."""

    async def choose(scope: Scope, receive: Receive, send: Send) -> None:
        asked = scope["path"] == HOME or scope["path"].startswith(PHONES)
        await (console if asked and _person(scope) else controls)(scope, receive, send)

    return choose


def _person(scope: Scope) -> bool:
    """Whether this comes from a page or wants one."""
    if scope["method"] == "POST":
        return (context_of(scope).header(b"content-type") or "").startswith("application/x-www-form-urlencoded")
    return scope["method"] == "GET" and "text/html" in (context_of(scope).header(b"accept") or "")
