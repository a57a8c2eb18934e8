"""The control API as an application: its own document through the same stack as the service."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import chain
from typing import Any

from starlette.types import ASGIApp, Scope

from emulator.control import (
    advances,
    app_settings,
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
    objects,
    objects_by_kind,
    outcomes,
    payments,
    phones,
    requests,
    reset,
    schedule,
    snapshots,
    stream,
    trigger,
    world_lookup,
)
from emulator.document import bundles
from emulator.engine.engine import Engine
from emulator.engine.runtime import Runtime
from emulator.web.authentication import Authenticate
from emulator.web.context import RequestContext
from emulator.web.operation import OperationHandler
from emulator.web.pipeline import build_app

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
    app_settings,
    objects_by_kind,
    objects,
    explain,
    outcomes,
    faults,
    payments,
    phones,
)

OPERATIONS: Mapping[str, Callable[..., Any]] = dict(chain(*(module.OPERATIONS.items() for module in MODULES)))
"""operationId → coroutine function ``(engine, runtime, path parameters, query=…, body=…, headers=…)``."""


def control_app(engine: Engine, *, strict: bool) -> ASGIApp:
    """The application behind ``/_emulator``."""

    async def perform(
        call: RequestContext, plan: OperationHandler, scope: Scope, arguments: dict[str, Any], raw: bytes
    ) -> Any:
        if plan.header_names:
            arguments["headers"] = plan.headers(scope)
        result = await plan.function(engine, call.runtime, **arguments)
        if call.runtime is not None:
            call.runtime.flush()
        return result

    return build_app(
        bundles.load("control"), OPERATIONS, authenticate=by_key_or_name(engine), perform=perform, strict=strict
    )


def by_key_or_name(engine: Engine) -> Authenticate:
    """The world of the key, or of ``app=NAME``, or the default one."""

    def authenticate(call: RequestContext, scope: Scope, required: bool) -> Runtime | None:
        # Named here, while no world is known: a control call leaves the world's own row of request ids alone.
        _ = call.request_id
        if call.operation_id in WORLDLESS:
            return None
        return world_lookup.of_caller(engine, scope)

    return authenticate
