"""The lock on the emulator's own face: whoever reaches the port from a web page of somebody else is turned away.

A page in the developer's browser can send requests to a loopback port. Two checks stop it: the ``Host`` must be a name
of this machine (or the page has pointed its own name here: DNS rebinding), and a request that a browser marks as coming
from another origin is refused (cross-site requests). Only a person may come from elsewhere, by following a link: that
changes nothing, and no other page sees what is shown, since answers are kept out of frames and of other sites' pages.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from emulator.errors import ApiError
from emulator.web import context as calls
from emulator.web.authentication import header

TOKEN_HEADER = "Emulator-Token"  # noqa: S105  # a header's name

OURS_ALONE = [
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"x-frame-options", b"SAMEORIGIN"),
    (b"x-content-type-options", b"nosniff"),
]
"""What browsers are told of every answer: no other origin may embed it, and it is what its type says."""


class OriginGuard:
    """An ASGI application behind that lock. ``hosts`` are further names this machine goes by.

    With a ``token`` every request must carry it in ``Emulator-Token`` as well.
    """

    def __init__(self, app: ASGIApp, hosts: Iterable[str] = (), token: str | None = None) -> None:
        self._app = app
        self._hosts = frozenset(host.lower() for host in hosts)
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_as_ours(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", ()), *OURS_ALONE]}
            await send(message)

        problem = self._problem(scope)
        if problem is None:
            await self._app(scope, receive, send_as_ours)
            return
        error = ApiError("PERMISSION_DENIED", message=problem)
        body = calls.of(scope).body_of(error)
        await Response(body, error.status, media_type="application/json")(scope, receive, send)

    def _problem(self, scope: Scope) -> str | None:
        # Every browser sends a Host, and it is browsers this is about; old programs send none.
        authority = header(scope, b"host")
        if authority is not None and not self._known(host := hostname(authority)):
            return f"This machine does not go by the name {host[:80]!r}; start with --allow-host to permit it."
        if _foreign(scope):
            return "Pages of other origins may not use the emulator's own API."
        token = header(scope, TOKEN_HEADER.lower().encode()) or ""
        if self._token and not hmac.compare_digest(token.encode("latin-1"), self._token.encode()):
            return f"The header {TOKEN_HEADER} must carry the token the emulator was started with."
        return None

    def _known(self, host: str) -> bool:
        return host in self._hosts or host == "localhost" or host.endswith(".localhost") or _is_loopback(host)


def hostname(authority: str) -> str:
    """The host of a ``Host`` header or of ``--allow-host``, without port and brackets, in lower case."""
    try:
        return (urlsplit(f"//{authority}").hostname or "").rstrip(".")
    except ValueError:
        return ""


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _foreign(scope: Scope) -> bool:
    """Whether a browser says that another site's page sends this. Programs send none of these headers.

    An origin with our host and port is ours under any scheme: a proxy in front may speak TLS.
    """
    origin = header(scope, b"origin")
    if origin is not None and origin.partition("://")[2] != header(scope, b"host"):
        return True
    return header(scope, b"sec-fetch-site") in ("cross-site", "same-site") and not _visit(scope)


def _visit(scope: Scope) -> bool:
    """Whether this opens a page in a tab of its own, as following a link does."""
    mode, destination = header(scope, b"sec-fetch-mode"), header(scope, b"sec-fetch-dest")
    return scope["method"] == "GET" and (mode, destination) == ("navigate", "document")
