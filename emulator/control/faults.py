"""Injected faults: arranged, listed and cleared (B-94)."""

from __future__ import annotations

from collections.abc import Collection
from functools import cache

from emulator.control.clock import after
from emulator.core import calendar
from emulator.core.errors import invalid_field
from emulator.core.handlers import Body, Page
from emulator.document import bundles
from emulator.engine.engine import Engine
from emulator.engine.runtime import Runtime
from emulator.resources.simulation import faults
from emulator.resources.simulation.faults import OF_DELIVERIES, Fault, FaultEffect
from emulator.web.service_app import paths

WITHOUT_BODY = (204, 205, 304)
"""Statuses whose responses have no body (RFC 9110)."""

MODIFIERS = ("body", "executed")
"""The fields of ``then`` that are no effects themselves."""

EXECUTED = ("code", "status", "delay_ms")
"""The effects that may also strike after the request was executed."""

REQUESTS, DELIVERIES = ("operation", "method", "path", "customer", "nth"), ("event", "webhook", "nth")
"""The fields of ``match`` for faults of requests, and for those of deliveries."""


async def arrange(engine: Engine, runtime: Runtime, query: Body, body: Body) -> Fault:
    """POST /faults: the fault applies to the next matching requests or deliveries."""
    match, then = body.get("match", {}), body["then"]
    _check_then(then)
    _check_match(match, DELIVERIES if OF_DELIVERIES & then.keys() else REQUESTS)
    if "times" in body and "probability" in body:
        raise invalid_field("times", "goes without a probability")
    arguments = {"body": body, "seconds": _seconds(runtime, then)}
    fault: Fault = await runtime.serve(faults.arrange, arguments, None)
    return fault


def _check_then(then: Body) -> None:
    """Raise 422 unless exactly one effect is given, with nothing beside it but what goes with it.

    A body needs a status, and one that allows a body.
    """
    if len(then.keys() - MODIFIERS) != 1:
        alternatives = ", ".join(name for name in FaultEffect.__struct_fields__ if name not in MODIFIERS)
        raise invalid_field("then", f"must hold just one of {alternatives}")
    if "body" in then and then.get("status", 204) in WITHOUT_BODY:
        raise invalid_field("then.body", "needs a status whose responses have a body")
    if "executed" in then and not then.keys() & EXECUTED:
        raise invalid_field("then.executed", f"needs one of {', '.join(EXECUTED)}")


def _check_match(match: Body, suitable: Collection[str]) -> None:
    """Raise 422 for fields that do not suit the fault, and for unknown operations and paths."""
    for name, value in match.items():
        if name not in suitable:
            raise invalid_field(f"match.{name}", f"does not suit this fault; use {', '.join(suitable)}")
        if value not in _names().get(name, (value,)):
            raise invalid_field(f"match.{name}", f"the service has no {name} {value[:60]}")


@cache
def _names() -> dict[str, frozenset[str]]:
    """The operations and the paths of the service."""
    known = paths(bundles.load("service"))
    return {"operation": frozenset(known), "path": frozenset(known.values())}


def _seconds(runtime: Runtime, then: Body) -> float:
    """The length of a ``delay`` in seconds, counted from now; 0 without one."""
    if "delay" not in then:
        return 0
    now = runtime.now()
    try:
        return (calendar.parse(after(now, then["delay"])) - calendar.parse(now)).total_seconds()
    except ValueError as error:
        raise invalid_field("then.delay", str(error)) from None


async def index(engine: Engine, runtime: Runtime, query: Body) -> Page[Fault]:
    """GET /faults: those that are not used up."""
    paging = {name: value for name, value in query.items() if name != "app"}
    return faults.index(runtime.world, paging)


async def clear(engine: Engine, runtime: Runtime, query: Body) -> None:
    """DELETE /faults."""
    await runtime.serve(faults.clear, {"id": query.get("id")}, None)


OPERATIONS = {"arrangeFault": arrange, "listFaults": index, "clearFaults": clear}
