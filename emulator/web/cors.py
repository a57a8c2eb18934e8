"""Cross-origin sharing: what browsers are told about pages of other origins that call the service (rule 2; B-70).

A page may read answers if the App's security profiles list its domain. An App that lists none says nothing about it,
and browsers then keep the answers from the page: a secret key has no business there.
"""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from emulator.engine.engine import Engine
from emulator.engine.runtime import Runtime
from emulator.errors import ApiError
from emulator.resources.app import keys
from emulator.resources.app.security_profiles import opens_to
from emulator.web import context as calls
from emulator.web.authentication import authorization, header
from emulator.web.response import Response, send_response

METHODS = "GET, POST, PATCH, DELETE"
READABLE = "Request-Id, Retry-After, Idempotent-Replayed"
"""Headers of ours that a page may read; the body and a few others it may read anyway."""

HOUR = "3600"


class Cors:
    """An ASGI application that answers preflights itself and tells browsers who may read the answers of another one."""

    def __init__(self, app: ASGIApp, engine: Engine) -> None:
        self._app = app
        self._engine = engine

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        origin = header(scope, b"origin")
        if origin is None:
            await self._app(scope, receive, send)
        elif _is_preflight(scope) and self._allows(self._caller(scope), origin):
            await send_response(Response(204, b"", _granted(scope, origin)), send)
        else:
            await self._app(scope, receive, self._with_headers(scope, send, origin))

    def _with_headers(self, scope: Scope, send: Send, origin: str) -> Send:
        """A send that adds who may read the answer, once it is known whose world it comes from."""

        async def tell(message: Message) -> None:
            if message["type"] == "http.response.start" and self._allows(calls.of(scope).runtime, origin):
                told = {**_shared(origin), "Access-Control-Expose-Headers": READABLE}
                extra = [(name.lower().encode(), value.encode("latin-1")) for name, value in told.items()]
                message = {**message, "headers": [*message.get("headers", ()), *extra]}
            await send(message)

        return tell

    def _allows(self, runtime: Runtime | None, origin: str) -> bool:
        """Whether the world's App opens to this origin; where no world is known, whether any App here does."""
        runtimes = self._engine.runtimes.values() if runtime is None else [runtime]
        return any(opens_to(each.world, origin) for each in runtimes)

    def _caller(self, scope: Scope) -> Runtime | None:
        """The world of a preflight. Those of browsers carry no key; those of people who try it out may."""
        try:
            return self._engine.runtimes.get(keys.read(authorization(scope)))
        except ApiError:
            return None


def _is_preflight(scope: Scope) -> bool:
    return scope["method"] == "OPTIONS" and header(scope, b"access-control-request-method") is not None


def _shared(origin: str) -> dict[str, str]:
    return {"Access-Control-Allow-Origin": origin, "Access-Control-Allow-Credentials": "true", "Vary": "Origin"}


def _granted(scope: Scope, origin: str) -> dict[str, str]:
    """What an allowed page may send: any method of the service and the headers it asks for."""
    wanted = header(scope, b"access-control-request-headers")
    return {
        **_shared(origin),
        "Access-Control-Allow-Methods": METHODS,
        **({"Access-Control-Allow-Headers": wanted} if wanted else {}),
        "Access-Control-Max-Age": HOUR,
    }
