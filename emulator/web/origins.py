"""Pages of other origins: which of them may call the service (B-70), and that none may call the emulator's own APIs."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Iterable
from functools import lru_cache
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from emulator.core.errors import ApiError
from emulator.engine.engine import Engine
from emulator.engine.runtime import Runtime
from emulator.resources.app import clients
from emulator.resources.app.security_profiles import opens_to
from emulator.web.context import SCOPE_KEY, RequestContext, Response, send_response
from emulator.web.root_app import is_host

# -- the service: cross-origin sharing (B-70)


METHODS = "GET, POST, PATCH, DELETE"
READABLE = "Request-Id, Retry-After, Idempotent-Replayed"
"""Headers of the service that a page may read, beside the body and the few that it may read anyway."""

MAX_AGE = "3600"
"""Seconds that a browser may remember the answer to a preflight."""


class Cors:
    """Answers preflights itself, and adds to the responses of an ASGI application which pages may read them."""

    def __init__(self, app: ASGIApp, engine: Engine) -> None:
        self._app = app
        self._engine = engine

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        context: RequestContext = scope[SCOPE_KEY]
        context.find_runtime = self._runtime_of_key
        if b"origin" not in context.headers:
            return self._app(scope, receive, send)
        origin = context.header(b"origin") or ""
        is_preflight = context.method == "OPTIONS" and b"access-control-request-method" in context.headers
        if is_preflight and self._allows(self._runtime_of_key(context), origin):
            return send_response(Response(204, b"", _preflight_headers(context, origin)), send)
        return self._app(scope, receive, self._with_headers(context, send, origin))

    def _with_headers(self, context: RequestContext, send: Send, origin: str) -> Send:
        """Return a ``send`` that adds the headers if the world, which is known by then, opens to this origin."""

        async def send_shared(message: Message) -> None:
            if message["type"] == "http.response.start" and self._allows(context.runtime, origin):
                shared = {**_shared(origin), "Access-Control-Expose-Headers": READABLE}
                extra = [(name.lower().encode(), value.encode("latin-1")) for name, value in shared.items()]
                message = {**message, "headers": [*message.get("headers", ()), *extra]}
            await send(message)

        return send_shared

    def _allows(self, runtime: Runtime | None, origin: str) -> bool:
        """Return whether the world's App opens to this origin; where no world is known, whether any App here does."""
        return self._engine.directory.any_opens_to(origin) if runtime is None else opens_to(runtime.world, origin)

    def _runtime_of_key(self, context: RequestContext) -> Runtime | None:
        """Return the runtime of the world of the request's key, where there is one: browsers send none with a preflight."""
        try:
            return self._engine.runtimes.get(clients.parse_key(context.authorization())[0])
        except ApiError:
            return None


def _shared(origin: str) -> dict[str, str]:
    return {"Access-Control-Allow-Origin": origin, "Access-Control-Allow-Credentials": "true", "Vary": "Origin"}


def _preflight_headers(context: RequestContext, origin: str) -> dict[str, str]:
    """Return the headers for an allowed page: any method of the service and the headers it asks for."""
    wanted = context.header(b"access-control-request-headers")
    return {
        **_shared(origin),
        "Access-Control-Allow-Methods": METHODS,
        **({"Access-Control-Allow-Headers": wanted} if wanted else {}),
        "Access-Control-Max-Age": MAX_AGE,
    }


# -- the emulator's own APIs and pages


TOKEN_HEADER = "Emulator-Token"  # noqa: S105  # a header's name

SAME_ORIGIN_HEADERS = [
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"x-frame-options", b"SAMEORIGIN"),
    (b"x-content-type-options", b"nosniff"),
]
"""Headers of every response: no other origin may embed it, and browsers must not guess its type."""


class OriginGuard:
    """Guards an ASGI application. ``hosts`` are names of this machine beside those of loopback; or ``any_host``.

    With a ``token`` every request must also carry it in ``Emulator-Token``. ``open_path`` is the one path that needs
    neither a known ``Host`` nor the token. It, and all of an application of ``pages``, may be opened by links from
    other sites.
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
                message = {**message, "headers": [*message.get("headers", ()), *SAME_ORIGIN_HEADERS]}
            await send(message)

        problem = self._problem(context)
        if problem is None:
            await self._app(scope, receive, send_guarded)
            return
        await send_response(context.error_response(ApiError("PERMISSION_DENIED", message=problem)), send)

    def _problem(self, context: RequestContext) -> str | None:
        is_open = context.path == self._open_path
        if _is_cross_origin(context) and not ((is_open or self._pages) and is_link_from_elsewhere(context)):
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
    """Rejects requests under other names than those of loopback and ``hosts``, against DNS rebinding.

    It guards what else a server on loopback serves: the service's own API, whose keys can be guessed, and pages.
    """

    def __init__(self, app: ASGIApp, hosts: Iterable[str]) -> None:
        self._app = app
        self._hosts = frozenset(host.lower() for host in hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        context: RequestContext = scope[SCOPE_KEY]
        if (problem := _unknown_host(context, self._hosts)) is None:
            await self._app(scope, receive, send)
        else:
            await send_response(context.error_response(ApiError("PERMISSION_DENIED", message=problem)), send)


def _unknown_host(context: RequestContext, hosts: frozenset[str]) -> str | None:
    """Return the message on a ``Host`` that is no name of this machine; None for a known one.

    Every browser sends one; old programs, which are no danger, may not. Of several all must be known.
    """
    for authority in context.header_values(b"host"):
        if not _is_known(authority, hosts):
            name = hostname(authority)[:80]
            return f"{name!r} is not a host name of this emulator; start it with --allow-host {name} to permit it."
    return None


@lru_cache(maxsize=256)
def _is_known(authority: str, hosts: frozenset[str]) -> bool:
    host = hostname(authority) if is_host(authority) else ""
    return host in hosts or host == "localhost" or host.endswith(".localhost") or _is_loopback(host)


def hostname(authority: str) -> str:
    """Return the host of a ``Host`` header or of ``--allow-host``, without port and brackets, in lower case."""
    try:
        return (urlsplit(f"//{authority}").hostname or "").rstrip(".")
    except ValueError:
        return ""


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _is_cross_origin(context: RequestContext) -> bool:
    """Return whether a browser says that another site's page sends this. Only browsers send these headers.

    An origin with our host and port is ours under any scheme: a proxy in front may terminate TLS.
    """
    return _has_other_origin(context) or context.header(b"sec-fetch-site") in ("cross-site", "same-site")


def _has_other_origin(context: RequestContext) -> bool:
    origin = context.header(b"origin")
    return origin is not None and origin.partition("://")[2] != context.header(b"host")


def is_link_from_elsewhere(context: RequestContext) -> bool:
    """Return whether a page of another site opens this in a tab of its own, as following a link does."""
    is_cross_site = context.header(b"sec-fetch-site") in ("cross-site", "same-site")
    mode, destination = context.header(b"sec-fetch-mode"), context.header(b"sec-fetch-dest")
    is_navigation = context.method == "GET" and (mode, destination) == ("navigate", "document")
    return is_cross_site and is_navigation and not _has_other_origin(context)
