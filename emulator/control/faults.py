"""Injected faults: arranged, listed and cleared (B-94)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import Any

from emulator.control.clock import after
from emulator.control.objects import clearing, listing
from emulator.core import calendar
from emulator.core.errors import invalid_field
from emulator.core.violations import Body
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


async def arrange(runtime: Runtime, body: Body) -> Fault:
    """POST /faults: strike the next matching requests or deliveries, or payments while it lasts."""
    match, then = body.get("match", {}), body["then"]
    _check_then(then)
    then = _in_one_form(then)
    about = faults.about(then)
    _check_match(match, MATCHES[about])
    _check_schedule(body, about)
    if "times" in body and "probability" in body:
        raise invalid_field("times", "goes without a probability")
    schedule = {name: _instant(runtime, body, name) for name in SCHEDULE}
    begins, ends = (schedule[name] for name in SCHEDULE)
    if ends is not None and ends <= (begins or runtime.now()):
        raise invalid_field(SCHEDULE[1], "must be later than the beginning of the outage")
    arguments = {"body": {**body, "then": then}, "seconds": _seconds(runtime, then), **schedule}
    fault: Fault = await runtime.serve(faults.arrange, arguments, None)
    return fault


def _check_then(then: Body) -> None:
    """Raise 422 unless there is one effect, with its own parts only, and a body only if allowed."""
    effects = then.keys() - MODIFIERS.keys()
    if len(effects) != 1 and effects != {"hang_ms", "status"}:
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


def _check_schedule(body: Body, about: str) -> None:
    """Raise 422 for an outage with a number of times, and for a schedule of any other fault."""
    wrong = ("times", "probability") if about == PAYMENT else SCHEDULE
    for name in wrong:
        if name in body:
            raise invalid_field(
                name, "does not suit an outage" if about == PAYMENT else "goes with an outage only"
            )


def _check_match(match: Body, suitable: Collection[str]) -> None:
    """Raise 422 for fields that do not suit the fault, and for unknown operations and paths."""
    for name, value in match.items():
        if name not in suitable:
            raise invalid_field(
                f"match.{name}", f"does not suit this fault; use {', '.join(suitable)}"
            )
        if value not in _names().get(name, (value,)):
            raise invalid_field(f"match.{name}", f"the service has no {name} {value[:60]}")


@cache
def _names() -> dict[str, frozenset[str]]:
    known = paths(bundles.load("service"))
    return {"operation": frozenset(known), "path": frozenset(known.values())}


def _seconds(runtime: Runtime, then: Body) -> float:
    """Return the seconds from now that an effect takes; 0 for one without a duration."""
    name = next((field for field in LENGTHS if field in then), None)
    if name is None:
        return 0
    now = runtime.now()
    try:
        return (
            calendar.parse(after(now, then[name], may_be_zero=LENGTHS[name])) - calendar.parse(now)
        ).total_seconds()
    except ValueError as error:
        raise invalid_field(f"then.{name}", str(error)) from None


def _instant(runtime: Runtime, body: Body, name: str) -> str | None:
    """Return the instant of a field, also of a duration from now; None without the field."""
    text = body.get(name)
    if text is None:
        return None
    try:
        return calendar.normalise(text) if text[4:5] == "-" else after(runtime.now(), text)
    except ValueError as error:
        raise invalid_field(name, str(error)) from None


OPERATIONS = {"arrangeFault": arrange, "listFaults": listing(Fault), "clearFaults": clearing(Fault)}
