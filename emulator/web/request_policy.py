"""The checks between key and body: security profiles, limits, forced errors, injected faults, in this order (B-05)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping
from contextlib import AbstractContextManager, nullcontext

from starlette.types import ASGIApp, Receive, Scope, Send

from emulator.engine.runtime import Runtime
from emulator.resources.app.security_profiles import check_request, in_force
from emulator.resources.app.settings import settings
from emulator.web.authentication import RUNTIME_KEY
from emulator.web.context import ContextLayer, RequestContext
from emulator.web.fault_injection import FaultInjection, read_ahead
from emulator.web.forced_errors import HEADER, ForcedErrors

UNLIMITED = nullcontext()
HEADER_KEY = HEADER.lower().encode()


class RequestPolicy(ContextLayer):
    """A layer of the service's stack, after authentication. ``paths`` are the document's, by operationId."""

    def __init__(self, app: ASGIApp, paths: Mapping[str, str], forced_errors: ForcedErrors) -> None:
        self._forced_errors = forced_errors
        self._fault_injection = FaultInjection(app, paths, forced_errors)

    def handle(self, context: RequestContext, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        runtime: Runtime = scope[RUNTIME_KEY]
        context.require_single("Idempotency-Key", "Origin")
        # A request without a key comes from a link in an email. The merchant's customer opens it, not their server.
        if b"authorization" in context.headers:
            apply_security_profiles(context, runtime)
        limits = within_limits(runtime)
        if limits is UNLIMITED and HEADER_KEY not in context.headers:
            return self._fault_injection.handle(context, runtime, scope, receive, send)
        return self._limited(limits, context, scope, receive, send)

    async def _limited(
        self,
        limits: AbstractContextManager[None],
        context: RequestContext,
        scope: Scope,
        receive: Receive,
        send: Send,
    ) -> None:
        with limits:
            if HEADER_KEY in context.headers:
                context.raw, _ = await read_ahead(receive)
                if (error := self._forced_errors.asked_for(context)) is not None:
                    raise error
            await self._fault_injection.handle(context, scope[RUNTIME_KEY], scope, receive, send)


def within_limits(runtime: Runtime) -> AbstractContextManager[None]:
    """The context manager within which a request is answered; it raises 429 beyond the App's limits (B-25)."""
    own = settings(runtime.world)
    if own.rate_limit is None and own.concurrency_limit is None:
        return UNLIMITED
    # Not time.monotonic: freezegun freezes that one too, and limits count real time.
    return runtime.rate_limiter.acquire(own, asyncio.get_running_loop().time())


def apply_security_profiles(context: RequestContext, runtime: Runtime) -> None:
    """Raise 403 for a request that the App's security profiles forbid (B-70)."""
    world = runtime.world
    if in_force(world):
        check_request(world, context.client_address(world), context.header(b"origin"), context.operation_id)
