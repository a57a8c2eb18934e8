"""Injected faults: arranged, listed and cleared (B-94)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import Any

from emulator.control.clock import after
from emulator.control.objects import clearing, listing
from emulator.core import calendar
from emulator.core.calendar import Timestamp
from emulator.core.errors import invalid_field
from emulator.core.violations import Body, Violations, ruled_by, with_rules
from emulator.core.world import World
from emulator.document import bundles
from emulator.engine.runtime import Runtime
from emulator.resources import faults
from emulator.resources.faults import (
    ANSWER,
    DELIVERY,
    PAYMENT,
    REFUND,
    REQUEST,
    SESSION,
    Fault,
    FaultEffect,
)
from emulator.web.service_app import paths

WITHOUT_BODY = (204, 205, 304)
"""Statuses whose responses have no body (RFC 9110)."""

MODIFIERS: Mapping[str, Sequence[str]] = {
    "body": ("status",),
    "executed": ("code", "status", "delay_ms"),
    "together": ("duplicate",),
    "refused": ("answer_after", "refund_after"),
    "result": ("answer_after", "refund_after"),
    "returns": ("answer_after",),
}
"""The fields of ``then`` that are no effects themselves, and the effects that each goes with."""

MATCHES = {
    REQUEST: ("operation", "method", "path", "customer", "nth"),
    DELIVERY: ("event", "webhook", "nth"),
    PAYMENT: ("operator", "payment_method_type"),
    ANSWER: ("operator", "payment_method_type", "nth"),
    REFUND: ("operator", "payment_method_type", "nth"),
    SESSION: ("nth",),
}
"""The fields of ``match`` by the target of a fault."""

LENGTHS = {"delay": False, "again": False, "answer_after": True, "refund_after": True}
"""The effects that are durations, and whether each may be zero."""

SCHEDULE = ("starts_at", "ends_at")
"""When an outage begins and ends."""


@with_rules
def place(world: World, body: Body) -> Fault:
    """Arrange a fault: 422 for all that contradicts itself or does not exist, at once (B-12)."""
    violations = Violations(body)
    with violations:
        _check_then(body["then"])
    with violations:
        body = {**body, "then": _in_one_form(body["then"])}
    with violations:
        for name, value in body.get("match", {}).items():
            with violations:
                if value not in _names().get(name, (value,)):
                    raise invalid_field(f"match.{name}", f"the service has no {name} {value[:60]}")
    with violations:
        if len(_effects(body["then"])) == 1:
            _check_target(violations, body, faults.about(body["then"]))
    with violations:
        if "times" in body and "probability" in body:
            raise invalid_field("times", "goes without a probability")
    schedule: dict[str, str | None] = {}
    for name in SCHEDULE:
        with violations:
            schedule[name] = _instant(world.now, body, name)
    begins, ends = (schedule.get(name) for name in SCHEDULE)
    with violations:
        if ends is not None and ends <= (begins or world.now):
            raise invalid_field(SCHEDULE[1], "must be later than the beginning of the outage")
    with violations:
        seconds = _seconds(world.now, body["then"])
    violations.done()
    return faults.arrange(world, body, seconds=seconds, **schedule)


@ruled_by(place)
async def arrange(runtime: Runtime, body: Body) -> Fault:
    """POST /faults: strike the next matching requests or deliveries, or payments while it lasts."""
    fault: Fault = await runtime.serve(place, {"body": body}, None)
    return fault


def _effects(then: Body) -> Collection[str]:
    effects: Collection[str] = then.keys() - MODIFIERS.keys()
    return effects if effects != {"hang_ms", "status"} else {"hang_ms"}


def _check_then(then: Body) -> None:
    """Raise 422 unless there is one effect, with its own parts only, and a body only if allowed."""
    if len(_effects(then)) != 1:
        alternatives = ", ".join(
            name for name in FaultEffect.__struct_fields__ if name not in MODIFIERS
        )
        raise invalid_field("then", f"must hold just one of {alternatives}")
    if "body" in then and then.get("status", 204) in WITHOUT_BODY:
        raise invalid_field("then.body", "needs a status whose responses have a body")
    for name, suitable in MODIFIERS.items():
        if name in then and not then.keys() & set(suitable):
            article = "one of " if len(suitable) > 1 else "a " if suitable[0][0] != "a" else ""
            raise invalid_field(f"then.{name}", f"needs {article}{', '.join(suitable)}")


def _in_one_form(then: Body) -> Body:
    """Return the effect without its other spellings: ``result``, and ``overlap: true``."""
    one: dict[str, Any] = {name: value for name, value in then.items() if name != "result"}
    if then.get("result") == "succeeded" and "refused" in then:
        raise invalid_field("then.result", "cannot be succeeded of an answer that is refused")
    if then.get("result") == "failed":
        one["refused"] = True
    if then.get("overlap") is True:
        one["overlap"] = "next"
    return one


def _check_target(violations: Violations, body: Body, about: str) -> None:
    """Check that the match and the schedule, or the number of times, suit the fault's target."""
    suitable = MATCHES[about]
    unsuitable = [name for name, _ in body.get("match", {}).items() if name not in suitable]
    for name in unsuitable:
        with violations:
            raise invalid_field(
                f"match.{name}", f"does not suit this fault; use {', '.join(suitable)}"
            )
    for name in ("times", "probability") if about == PAYMENT else SCHEDULE:
        with violations:
            if name in body:
                sentence = (
                    "does not suit an outage" if about == PAYMENT else "goes with an outage only"
                )
                raise invalid_field(name, sentence)


@cache
def _names() -> dict[str, frozenset[str]]:
    known = paths(bundles.load("service"))
    return {"operation": frozenset(known), "path": frozenset(known.values())}


def _seconds(now: Timestamp, then: Body) -> float:
    """Return the seconds from now that an effect takes; 0 for one without a duration."""
    name = next((field for field in LENGTHS if field in then), None)
    if name is None:
        return 0
    try:
        return (
            calendar.parse(after(now, then[name], may_be_zero=LENGTHS[name])) - calendar.parse(now)
        ).total_seconds()
    except ValueError as error:
        raise invalid_field(f"then.{name}", str(error)) from None


def _instant(now: Timestamp, body: Body, name: str) -> str | None:
    """Return the instant of a field, also of a duration from now; None without the field."""
    text = body.get(name)
    if text is None:
        return None
    try:
        return calendar.normalise(text) if text[4:5] == "-" else after(now, text)
    except ValueError as error:
        raise invalid_field(name, str(error)) from None


OPERATIONS = {"arrangeFault": arrange, "listFaults": listing(Fault), "clearFaults": clearing(Fault)}
