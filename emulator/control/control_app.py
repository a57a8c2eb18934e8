"""The control API as an application: a document of its own on the same stack as the service."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from itertools import chain
from typing import Any

from starlette.types import ASGIApp

from emulator.control import (
    clock,
    events,
    faults,
    inbox,
    ledger,
    objects,
    payments,
    recordings,
    reports,
    requests,
    service_catalog,
    trigger,
    worlds,
)
from emulator.document import bundles
from emulator.engine.clock import FROZEN
from emulator.engine.engine import Engine
from emulator.engine.outbox import side_by_side
from emulator.engine.runtime import Runtime
from emulator.web.context import RequestContext
from emulator.web.operation import OperationHandler, build_app
from emulator.web.routing import Authenticate, documented_api

WORLDLESS = ("getHealth", "getCatalog", "listApps")
"""Operations that are about the emulator as a whole and need no world."""

WAITING = frozenset(["advanceClock"])
"""Operations that wait themselves for the webhooks that they cause.

Any other operation that the document gives the header ``Prefer`` may cause some, too. On a frozen
clock it responds once these have their outcome.
"""

ARRANGING = frozenset(["arrangeFault", "arrangeOutcome"])
"""Operations about the future. On a frozen clock they first wait for all outcomes of the past.

Otherwise the speed of a receiver would decide whether a fault meets an earlier delivery.
"""

MODULES = (
    service_catalog,
    clock,
    events,
    trigger,
    requests,
    recordings,
    reports,
    ledger,
    worlds,
    inbox,
    objects,
    payments,
    faults,
)

OPERATIONS: Mapping[str, Callable[..., Any]] = dict(
    chain(*(module.OPERATIONS.items() for module in MODULES))
)
"""operationId → ``async (runtime, path parameters, query=…, body=…, headers=…)``.

A function has ``query`` if the operation has other parameters of it than ``app``, which names the
world; ``headers`` if it is one of :data:`WAITING`.
"""

OPERATIONS_OF_ENGINE: Mapping[str, Callable[..., Any]] = dict(
    chain(*(module.OPERATIONS_OF_ENGINE.items() for module in (service_catalog, ledger, worlds)))
)
"""The operations whose function has the engine as an argument before these."""


def control_app(engine: Engine, *, strict: bool) -> ASGIApp:
    """Return the application behind ``/_emulator``."""

    of_engine = {name: partial(show, engine) for name, show in OPERATIONS_OF_ENGINE.items()}

    async def execute(
        context: RequestContext,
        runtime: Runtime | None,
        operation: OperationHandler,
        arguments: dict[str, Any],
    ) -> Any:
        headers = operation.headers(context)
        waits, arranges = operation.operation_id in WAITING, operation.operation_id in ARRANGING
        if waits:
            arguments["headers"] = headers
        elif operation.query_names == {"app"}:
            del arguments["query"]
        if arranges:
            await settle(runtime, headers)
        before = side_by_side.set(not waits and clock.prefers_async(headers))
        try:
            result = await operation.function(*(() if runtime is None else (runtime,)), **arguments)
        finally:
            side_by_side.reset(before)
        if operation.header_names and not waits and not arranges:
            await settle(runtime, headers)
        return result

    published = bundles.load("control" + bundles.OPENAPI_3_0) if strict else None
    return build_app(
        documented_api("control"),
        {**OPERATIONS, **of_engine},
        authenticate=by_key_or_name(engine),
        execute=execute,
        published=published,
    )


async def settle(runtime: Runtime | None, headers: Mapping[str, str]) -> None:
    """On a frozen clock, wait for all outcomes so far, unless the client prefers not to wait."""
    if runtime is not None and runtime.clock.mode == FROZEN and not clock.prefers_async(headers):
        await runtime.advances.settle()


def by_key_or_name(engine: Engine) -> Authenticate:
    async def authenticate(context: RequestContext, required: bool) -> Runtime | None:
        # Drawn while no world is known, so that requests to the control API use none of the world's
        # own request ids.
        _ = context.request_id
        if context.operation_id in WORLDLESS:
            return None
        return await inbox.world_of_caller(engine, context)

    return authenticate
