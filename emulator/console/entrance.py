"""The entrance: where in the emulator the console is. Light, for a start needs no more of the console than this."""

from __future__ import annotations

from starlette.types import ASGIApp, Receive, Scope, Send

from emulator.web.guard import header

HOME = "/_emulator/"
PLACE = "/_emulator/console/"


def before(console: ASGIApp, controls: ASGIApp) -> ASGIApp:
    """The console where a browser asks for ``/_emulator/`` itself; everything else is the control API's."""

    async def choose(scope: Scope, receive: Receive, send: Send) -> None:
        asked = scope["path"] == HOME and "text/html" in (header(scope, b"accept") or "")
        await (console if asked else controls)(scope, receive, send)

    return choose
