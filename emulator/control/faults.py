"""Faults in the tester's hand: requests and webhook deliveries that go wrong, arranged beforehand (B-94)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache
from typing import Any

from emulator.control.durations import after
from emulator.core import calendar
from emulator.core.handlers import Page
from emulator.document import bundles
from emulator.engine.engine import Engine
from emulator.engine.runtime import Runtime
from emulator.errors import invalid_field
from emulator.resources.sandbox import faults
from emulator.resources.sandbox.faults import OF_DELIVERIES, Fault, FaultEffect
from emulator.web.service_app import paths

Body = Mapping[str, Any]

BODILESS = (204, 205, 304)
"""Statuses whose answers have no body (RFC 9110)."""


REQUESTS, DELIVERIES = ("operation", "method", "path", "customer"), ("event", "webhook")
"""What a fault of requests, and one of deliveries, may match by."""


async def arrange(engine: Engine, runtime: Runtime, query: Body, body: Body) -> Fault:
    """POST /faults: the next matching requests or deliveries go wrong so."""
    match, then = body.get("match", {}), body["then"]
    _check_then(then)
    _check_match(match, DELIVERIES if OF_DELIVERIES & then.keys() else REQUESTS)
    if "times" in body and "probability" in body:
        raise invalid_field("times", "goes without a probability")
    arguments = {"body": body, "seconds": _seconds(runtime, then)}
    fault: Fault = await runtime.serve(faults.arrange, arguments, None)
    return fault


def _check_then(then: Body) -> None:
    """Of the alternatives exactly one is given; a body goes with a status, and not with every one."""
    if len(then.keys() - {"body"}) != 1:
        alternatives = ", ".join(name for name in FaultEffect.__struct_fields__ if name != "body")
        raise invalid_field("then", f"must hold just one of {alternatives}")
    if "body" in then and then.get("status", 204) in BODILESS:
        raise invalid_field("then.body", "goes with a status whose answers have a body")


def _check_match(match: Body, suitable: Collection[str]) -> None:
    """Raise 422 for what does not go with such a fault, and for a name that the service does not have."""
    for name, value in match.items():
        if name not in suitable:
            raise invalid_field(f"match.{name}", f"does not go with what is to go wrong; {', '.join(suitable)} do")
        if value not in _names().get(name, (value,)):
            raise invalid_field(f"match.{name}", f"the service has no {name} {value[:60]}")


@cache
def _names() -> dict[str, frozenset[str]]:
    """The names a fault may match by: every operation and every path of the service."""
    known = paths(bundles.load("service"))
    return {"operation": frozenset(known), "path": frozenset(known.values())}


def _seconds(runtime: Runtime, then: Body) -> float:
    """How long a ``delay`` is, from now on."""
    if "delay" not in then:
        return 0
    now = runtime.clock.now()
    try:
        return (calendar.parse(after(now, then["delay"])) - calendar.parse(now)).total_seconds()
    except ValueError as fault:
        raise invalid_field("then.delay", str(fault)) from None


async def index(engine: Engine, runtime: Runtime, query: Body) -> Page[Fault]:
    """GET /faults: what is still arranged."""
    paging = {name: value for name, value in query.items() if name != "app"}
    return faults.index(runtime.world, paging)


async def clear(engine: Engine, runtime: Runtime, query: Body) -> None:
    """DELETE /faults."""
    await runtime.serve(faults.clear, {}, None)


OPERATIONS = {"arrangeFault": arrange, "listFaults": index, "clearFaults": clear}
