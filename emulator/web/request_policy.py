"""The checks between key and body: security profiles, limits, forced answers, arranged faults, in this order (B-05)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext

from starlette.types import ASGIApp, Receive, Scope, Send

from emulator.engine.runtime import Runtime
from emulator.resources.app.security_profiles import check_request, in_force
from emulator.resources.app.settings import settings
from emulator.web import context as calls
from emulator.web.authentication import header
from emulator.web.context import RequestContext
from emulator.web.fault_injection import FaultInjection, read_ahead
from emulator.web.forced_errors import forced_answer

UNLIMITED = nullcontext()


class RequestPolicy:
    """A layer of the service's stack. It comes after the guard, so the world is known.

    ``paths`` are the document's, by operationId.
    """

    def __init__(self, app: ASGIApp, paths: Mapping[str, str]) -> None:
        self._faults = FaultInjection(app, paths)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        call = calls.of(scope)
        assert call.runtime is not None
        # Who comes without a key opens a link from an email. He is the merchant's customer, not the merchant's server.
        if header(scope, b"authorization") is not None:
            filter_request(call, scope)
        with admitted(call.runtime):
            if (forced := forced_answer(scope)) is not None:
                call.raw, _ = await read_ahead(receive)
                raise forced
            await self._faults(call, scope, receive, send)


def admitted(runtime: Runtime) -> AbstractContextManager[None]:
    """What a request is answered within where the App has limits (B-25); it refuses one too many."""
    own = settings(runtime.world)
    if own.rate_limit is None and own.concurrency_limit is None:
        return UNLIMITED
    # Not time.monotonic: who freezes time in this process freezes that one too, and limits count real time.
    return runtime.rate_limiter.acquire(own, asyncio.get_running_loop().time())


def filter_request(call: RequestContext, scope: Scope) -> None:
    """Raise 403 for a request that the App's security profiles forbid (B-70)."""
    assert call.runtime is not None
    if in_force(call.runtime.world):
        check_request(call.runtime.world, call.address, header(scope, b"origin"), call.operation_id)
