"""Other origins' pages may not call the emulator's own APIs, nor use this machine's other names."""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from functools import lru_cache
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from emulator.core.errors import ApiError
from emulator.web.context import SCOPE_KEY, RequestContext, send_response
from emulator.web.root_app import is_host

TOKEN_HEADER = "Emulator-Token"  # noqa: S105  # a header's name

SAME_ORIGIN_HEADERS = [
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"x-frame-options", b"SAMEORIGIN"),
    (b"x-content-type-options", b"nosniff"),
]
"""Headers of every response: no other origin may embed it, and browsers must not guess its type."""


class OriginGuard:
    """Guards an ASGI application. ``hosts``: this machine's names beside loopback; or ``any_host``.

    With a ``token`` every request must also carry it in ``Emulator-Token``. ``open_path`` is the
    one path that needs neither a known ``Host`` nor the token. It, and all of an application of
    ``pages``, may be opened by links from other sites.
    """

    def __init__(
        self,
        app: ASGIApp,
        hosts: Iterable[str] = (),
        token: str | None = None,
        *,
        any_host: bool = False,
        open_path: str | None = None,
        pages: bool = False,
    ) -> None:
        self._app = app
        self._hosts = frozenset(host.lower() for host in hosts)
        self._token = token
        self._any_host = any_host
        self._open_path = open_path
        self._pages = pages

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        context: RequestContext = scope[SCOPE_KEY]

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {
                    **message,
                    "headers": [*message.get("headers", ()), *SAME_ORIGIN_HEADERS],
                }
            await send(message)

        problem = self._problem(context)
        if problem is None:
            await self._app(scope, receive, send_guarded)
            return
        await send_response(
            context.error_response(ApiError("PERMISSION_DENIED", message=problem)), send
        )

    def _problem(self, context: RequestContext) -> str | None:
        is_open = context.path == self._open_path
        if is_cross_origin(context) and not (
            (is_open or self._pages) and is_link_from_elsewhere(context)
        ):
            return "Pages of other origins may not use the emulator's own API."
        if is_open:
            return None
        if not self._any_host and (problem := _unknown_host(context, self._hosts)):
            return problem
        token = context.header(TOKEN_HEADER.lower().encode()) or ""
        if self._token and not hmac.compare_digest(token.encode("latin-1"), self._token.encode()):
            return f"The header {TOKEN_HEADER} must carry the token the emulator was started with."
        return None


class HostGuard:
    """Rejects requests under names other than loopback and ``hosts``: against DNS rebinding.

    It guards what else a server on loopback serves: the service's own API, whose keys can be
    guessed, and pages.
    """

    def __init__(self, app: ASGIApp, hosts: Iterable[str]) -> None:
        self._app = app
        self._hosts = frozenset(host.lower() for host in hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        context: RequestContext = scope[SCOPE_KEY]
        if (problem := _unknown_host(context, self._hosts)) is None:
            await self._app(scope, receive, send)
        else:
            await send_response(
                context.error_response(ApiError("PERMISSION_DENIED", message=problem)), send
            )


def _unknown_host(context: RequestContext, hosts: frozenset[str]) -> str | None:
    """Return the message on a ``Host`` that is no name of this machine; None for a known one.

    Every browser sends one; old programs, which are no danger, may not. Of several all must be
    known.
    """
    for authority in context.header_values(b"host"):
        if not _is_known(authority, hosts):
            if not (name := hostname(authority)[:80]):
                return "The Host header names no host; send the one in the emulator's URL."
            return (
                f"{name!r} is not a host name of this emulator; start it with --allow-host {name}"
                " to permit it."
            )
    return None


@lru_cache(maxsize=256)
def _is_known(authority: str, hosts: frozenset[str]) -> bool:
    host = hostname(authority) if is_host(authority) else ""
    return host in hosts or host == "localhost" or host.endswith(".localhost") or _is_loopback(host)


def hostname(authority: str) -> str:
    """Return the host of a ``Host`` header or ``--allow-host``, in lower case, without port."""
    try:
        return (urlsplit(f"//{authority}").hostname or "").rstrip(".")
    except ValueError:
        return ""


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def is_cross_origin(context: RequestContext) -> bool:
    """Return whether another site's page sends this, by headers that only browsers send.

    An origin with our host and port is ours under any scheme: a proxy in front may terminate TLS.
    """
    return _has_other_origin(context) or context.header(b"sec-fetch-site") in (
        "cross-site",
        "same-site",
    )


def _has_other_origin(context: RequestContext) -> bool:
    host = context.header(b"host")
    return any(origin.partition("://")[2] != host for origin in context.header_values(b"origin"))


def is_link_from_elsewhere(context: RequestContext) -> bool:
    """Return whether another site's page opens this in its own tab, as a link does."""
    is_cross_site = context.header(b"sec-fetch-site") in ("cross-site", "same-site")
    mode, destination = context.header(b"sec-fetch-mode"), context.header(b"sec-fetch-dest")
    is_navigation = context.method == "GET" and (mode, destination) == ("navigate", "document")
    return is_cross_site and is_navigation and not _has_other_origin(context)
