"""The control API as an application: its own document through the same stack as the service."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import chain
from typing import Any

from starlette.types import ASGIApp, Scope

from emulator.control import (
    advances,
    app,
    audit,
    catalog,
    clock,
    coverage,
    emails,
    events,
    explain,
    faults,
    health,
    inbox,
    kinds,
    objects,
    outcomes,
    payments,
    phones,
    requests,
    reset,
    schedule,
    snapshots,
    stream,
    trigger,
    worlds,
)
from emulator.document import store
from emulator.engine.engine import Engine
from emulator.engine.runtime import Runtime
from emulator.web.call import Call
from emulator.web.guard import Authenticate
from emulator.web.plan import Plan
from emulator.web.stack import stack

WORLDLESS = ("getHealth", "getCatalog", "listApps")
"""Operations that are about the emulator and open no world."""

MODULES = (
    health,
    catalog,
    clock,
    advances,
    schedule,
    events,
    trigger,
    stream,
    emails,
    requests,
    audit,
    coverage,
    snapshots,
    reset,
    inbox,
    app,
    kinds,
    objects,
    explain,
    outcomes,
    faults,
    payments,
    phones,
)

OPERATIONS: Mapping[str, Callable[..., Any]] = dict(chain(*(module.OPERATIONS.items() for module in MODULES)))
"""operationId → coroutine function ``(engine, runtime, path parameters, query=…, body=…, headers=…)``."""


def control(engine: Engine, *, strict: bool) -> ASGIApp:
    """The application behind ``/_emulator``."""

    async def perform(call: Call, plan: Plan, scope: Scope, arguments: dict[str, Any], raw: bytes) -> Any:
        if plan.header_names:
            arguments["headers"] = plan.headers(scope)
        result = await plan.function(engine, call.runtime, **arguments)
        if call.runtime is not None:
            call.runtime.keep_rest()
        return result

    return stack(store.load("control"), OPERATIONS, authenticate=by_key_or_name(engine), perform=perform, strict=strict)


def by_key_or_name(engine: Engine) -> Authenticate:
    """The world of the key, or of ``app=NAME``, or the default one."""

    def authenticate(call: Call, scope: Scope, required: bool) -> Runtime | None:
        # Named here, while no world is known: a control call leaves the world's own row of request ids alone.
        _ = call.request_id
        if call.operation_id in WORLDLESS:
            return None
        return worlds.of_caller(engine, scope)

    return authenticate
