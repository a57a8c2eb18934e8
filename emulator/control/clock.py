"""The clock of a world, shown and moved (B-91)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from emulator.control import advances
from emulator.control.durations import after
from emulator.core import calendar
from emulator.core.calendar import Timestamp
from emulator.engine.advance_result import AdvanceResult
from emulator.engine.advances import Target
from emulator.engine.clock import ClockState
from emulator.engine.engine import Engine
from emulator.engine.runtime import Runtime
from emulator.errors import invalid_field
from emulator.web.response import Response

Body = Mapping[str, Any]


async def show(engine: Engine, runtime: Runtime, query: Body) -> ClockState:
    """GET /clock."""
    runtime.run_due()
    return runtime.clock_state()


def changed(runtime: Runtime) -> ClockState:
    """The clock after somebody changed it, which is news."""
    runtime.run_due()
    reading = runtime.clock_state()
    runtime.broker.publish("clock", reading)
    return reading


async def freeze(engine: Engine, runtime: Runtime, query: Body, body: Body) -> ClockState:
    """POST /clock/freeze: stand still, now or at a later instant, what falls due until then being done."""
    target = not_past(runtime, body["at"], "at") if "at" in body else None
    # Stopped first, or a running clock would go on past the instant asked for.
    runtime.clock.freeze()
    if target:
        await runtime.advance(lambda: Target(target))
    return changed(runtime)


async def run(engine: Engine, runtime: Runtime, query: Body, body: Body) -> ClockState:
    """POST /clock/run: go on from the present instant."""
    runtime.clock.run(body["rate"])
    return changed(runtime)


async def advance(
    engine: Engine, runtime: Runtime, query: Body, body: Body, headers: Mapping[str, str]
) -> dict[str, Any] | Response:
    """POST /clock/advance: answered when all that was due is done, deliveries included, or at once if preferred."""
    if advances.preferred(headers):
        return advances.accepted(runtime.advances.begin(lambda: destination(runtime, body)), query.get("app"))
    return advances.told(await runtime.advance(lambda: destination(runtime, body)))


def destination(runtime: Runtime, body: Body) -> Target:
    """How far an advance goes, and what stops it earlier. The document sees to it that just one is given."""
    if "to" in body:
        return Target(not_past(runtime, body["to"], "to"))
    if "until" in body:
        job = runtime.world.jobs.next()
        return Target(job.due if job else runtime.clock.now())
    if "until_event" not in body:
        return Target(later(runtime, body["by"]))
    furthest = later(runtime, body["by"]) if "by" in body else calendar.step(runtime.clock.now(), "year", 1)
    return Target(furthest, seen(body["until_event"]))


def seen(type: str) -> Callable[[AdvanceResult], bool]:
    """The first event of this type stops the advance."""
    return lambda tally: tally.events[type] > 0


def later(runtime: Runtime, duration: str) -> Timestamp:
    """So much after the present instant."""
    try:
        return after(runtime.clock.now(), duration)
    except ValueError as fault:
        raise invalid_field("by", str(fault)) from None


def not_past(runtime: Runtime, instant: str, param: str) -> Timestamp:
    """An instant that is not before the present one; the clock never goes back (B-95)."""
    target, now = calendar.normalise(instant), runtime.clock.now()
    if target < now:
        raise invalid_field(param, f"is before the clock's present instant, {now}; the clock never goes back")
    if target > calendar.END:
        raise invalid_field(param, f"is after the calendar's end, {calendar.END}")
    return target


OPERATIONS = {"getClock": show, "freezeClock": freeze, "runClock": run, "advanceClock": advance}
