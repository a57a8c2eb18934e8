"""Cross-origin sharing: shows browsers which pages of other origins may call the service (rule 2; B-70).

A page may read responses if the App's security profiles list its domain. For an App that lists none no such header is
sent, and browsers withhold the responses from the page: a secret key does not belong in one.
"""

from __future__ import annotations

from collections.abc import Awaitable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from emulator.core.errors import ApiError
from emulator.engine.engine import Engine
from emulator.engine.runtime import Runtime
from emulator.resources.app import keys
from emulator.resources.app.security_profiles import opens_to
from emulator.web.context import ContextLayer, RequestContext
from emulator.web.response import Response, send_response

METHODS = "GET, POST, PATCH, DELETE"
READABLE = "Request-Id, Retry-After, Idempotent-Replayed"
"""Headers of the service that a page may read, beside the body and the few that it may read anyway."""

MAX_AGE = "3600"
"""Seconds that a browser may remember the answer to a preflight."""


class Cors(ContextLayer):
    """Answers preflights itself, and adds to the responses of an ASGI application which pages may read them."""

    def __init__(self, app: ASGIApp, engine: Engine) -> None:
        self._app = app
        self._engine = engine

    def handle(self, context: RequestContext, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        context.find_runtime = self._runtime_of_key
        origin = context.header(b"origin")
        if origin is None:
            return self._app(scope, receive, send)
        if _is_preflight(context) and self._allows(self._runtime_of_key(context), origin):
            return send_response(Response(204, b"", _preflight_headers(context, origin)), send)
        return self._app(scope, receive, self._with_headers(context, send, origin))

    def _with_headers(self, context: RequestContext, send: Send, origin: str) -> Send:
        """A ``send`` that adds the headers if the world, which is known by then, opens to this origin."""

        async def send_shared(message: Message) -> None:
            if message["type"] == "http.response.start" and self._allows(context.runtime, origin):
                shared = {**_shared(origin), "Access-Control-Expose-Headers": READABLE}
                extra = [(name.lower().encode(), value.encode("latin-1")) for name, value in shared.items()]
                message = {**message, "headers": [*message.get("headers", ()), *extra]}
            await send(message)

        return send_shared

    def _allows(self, runtime: Runtime | None, origin: str) -> bool:
        """Whether the world's App opens to this origin; where no world is known, whether any App here does."""
        return self._engine.directory.any_opens_to(origin) if runtime is None else opens_to(runtime.world, origin)

    def _runtime_of_key(self, context: RequestContext) -> Runtime | None:
        """The runtime of the world of the request's key, where there is one: browsers send none with a preflight."""
        try:
            return self._engine.runtimes.get(keys.read(context.authorization()))
        except ApiError:
            return None


def _is_preflight(context: RequestContext) -> bool:
    return context.method == "OPTIONS" and b"access-control-request-method" in context.headers


def _shared(origin: str) -> dict[str, str]:
    return {"Access-Control-Allow-Origin": origin, "Access-Control-Allow-Credentials": "true", "Vary": "Origin"}


def _preflight_headers(context: RequestContext, origin: str) -> dict[str, str]:
    """What an allowed page may send: any method of the service and the headers it asks for."""
    wanted = context.header(b"access-control-request-headers")
    return {
        **_shared(origin),
        "Access-Control-Allow-Methods": METHODS,
        **({"Access-Control-Allow-Headers": wanted} if wanted else {}),
        "Access-Control-Max-Age": MAX_AGE,
    }
