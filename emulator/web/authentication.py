"""Authentication: finds the world a request is for, where Connexion's security layer would stand."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from connexion.middleware.abstract import RoutedAPI
from connexion.operations import AbstractOperation
from starlette.types import ASGIApp, Receive, Scope, Send

from emulator.engine.runtime import Runtime
from emulator.engine.storage.store import LeasedElsewhere
from emulator.engine.trace_contexts import trace_headers
from emulator.web.context import RequestContext
from emulator.web.routing import OperationLayer

LEASE_ATTEMPTS, LEASE_PAUSE = 40, 0.1
"""How often, and after how many seconds each time, a world that another process runs is asked for again."""

RUNTIME_KEY = "emulator.runtime"
"""Key of the ASGI scope under which the runtime of the request's world stands once the request is authenticated."""

Authenticate = Callable[[RequestContext, bool], Runtime | None]
"""Returns the runtime of the world a request is for; the flag says whether the document requires a key.

None is for operations of the control API that are about no world. Raises :class:`ApiError` for a wrong key.
"""


class AuthenticatedOperation:
    """The authentication of one operation."""

    def __init__(self, next_app: ASGIApp, authenticate: Authenticate, required: bool) -> None:
        self._next_app = next_app
        self._authenticate = authenticate
        self._required = required

    async def handle(self, context: RequestContext, scope: Scope, receive: Receive, send: Send) -> None:
        """Set the context's runtime and checkpoint, then pass the request on."""
        try:
            runtime = self._authenticate(context, self._required)
        except LeasedElsewhere:
            runtime = await self._await_lease(context)
        scope[RUNTIME_KEY] = context.runtime = runtime
        if runtime is None:
            await self._next_app(scope, receive, send)
            return
        context.checkpoint = runtime.history.checkpoint()
        traceparent = context.header(b"traceparent")
        if traceparent or runtime.traces.records_all:
            tracestate = ",".join(context.header_values(b"tracestate"))
            given = trace_headers(traceparent, tracestate)
            runtime.traces.begin(context.request_id, given, f"{context.method} {context.path}")
        with runtime.in_use():
            await self._next_app(scope, receive, send)

    async def _await_lease(self, context: RequestContext) -> Runtime | None:
        """Wait a little for a world that another process runs: it was asked to release it."""
        for _ in range(LEASE_ATTEMPTS):
            await asyncio.sleep(LEASE_PAUSE)
            with suppress(LeasedElsewhere):
                return self._authenticate(context, self._required)
        return self._authenticate(context, self._required)


class AuthenticationAPI(RoutedAPI[AuthenticatedOperation]):
    """The authentication of each operation of one document, by the document's ``security``."""

    def __init__(self, *args: Any, authenticate: Authenticate, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._authenticate = authenticate
        self.add_paths()

    def make_operation(self, operation: AbstractOperation) -> AuthenticatedOperation:
        required = bool(operation.security) and {} not in operation.security
        return AuthenticatedOperation(self.next_app, self._authenticate, required)


class AuthenticationMiddleware(OperationLayer[AuthenticationAPI]):
    """Comes after routing, so that an unknown path is 404 for everybody, and before anything reads the body (B-05)."""

    api_cls = AuthenticationAPI
