"""The clock of a world: shown, frozen, run and advanced (B-91)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from emulator.control import advances
from emulator.control.durations import after
from emulator.core import calendar
from emulator.core.calendar import Timestamp
from emulator.core.errors import invalid_field
from emulator.core.validation import Body
from emulator.engine.advances import AdvanceResult, Target
from emulator.engine.engine import Engine
from emulator.engine.runtime import MOMENT, Runtime
from emulator.engine.world_clock import ClockState
from emulator.web.context import Response


async def show(engine: Engine, runtime: Runtime, query: Body) -> ClockState:
    """GET /clock."""
    await runtime.catch_up(MOMENT)
    return runtime.clock_state()


def changed(runtime: Runtime) -> ClockState:
    """Publish the clock after a change, and return it."""
    state = runtime.clock_state()
    runtime.broker.publish("clock", state)
    return state


async def freeze(engine: Engine, runtime: Runtime, query: Body, body: Body) -> ClockState:
    """POST /clock/freeze: stop the clock now, or at a later instant after running what is due until then."""
    target = not_past(runtime, body["at"], "at") if "at" in body else None
    # Stopped first: a running clock could pass the instant asked for.
    await runtime.freeze()
    if target:
        await runtime.advance(lambda: Target(target))
    return changed(runtime)


async def run(engine: Engine, runtime: Runtime, query: Body, body: Body) -> ClockState:
    """POST /clock/run: run the clock from its present instant, at ``rate`` times real time."""
    await runtime.run_clock(body["rate"])
    return changed(runtime)


async def advance(
    engine: Engine, runtime: Runtime, query: Body, body: Body, headers: Mapping[str, str]
) -> dict[str, Any] | Response:
    """POST /clock/advance: responds after all due jobs and their deliveries, or at once with ``respond-async``."""
    if advances.prefers_async(headers):
        return advances.accepted(runtime.advances.begin(lambda: destination(runtime, body)), query.get("app"))
    return advances.result_view(await runtime.advance(lambda: destination(runtime, body)))


def destination(runtime: Runtime, body: Body) -> Target:
    """The instant an advance goes to, and what stops it earlier. The document allows only one of them."""
    if "to" in body:
        return Target(not_past(runtime, body["to"], "to"))
    if "until" in body:
        job = runtime.world.jobs.next()
        return Target(job.due if job else runtime.now())
    if "until_event" not in body:
        return Target(later(runtime, body["by"], may_be_zero=True))
    furthest = later(runtime, body["by"]) if "by" in body else calendar.step(runtime.now(), "year", 1)
    return Target(furthest, on_event(body["until_event"]))


def on_event(type: str) -> Callable[[AdvanceResult], bool]:
    """Stops an advance after the first event of this type."""
    return lambda result: result.events[type] > 0


def later(runtime: Runtime, duration: str, *, may_be_zero: bool = False) -> Timestamp:
    """The instant a duration after the present one; 422 for an invalid duration."""
    try:
        return after(runtime.now(), duration, may_be_zero=may_be_zero)
    except ValueError as error:
        raise invalid_field("by", str(error)) from None


def not_past(runtime: Runtime, instant: str, param: str) -> Timestamp:
    """A valid instant to advance to; 422 if it is before the present one or after the calendar's end (B-95)."""
    target, now = calendar.normalise(instant), runtime.now()
    if target < now:
        raise invalid_field(param, f"is before the clock's present instant, {now}; the clock never goes back")
    if target > calendar.END:
        raise invalid_field(param, f"is after the calendar's end, {calendar.END}")
    return target


OPERATIONS = {"getClock": show, "freezeClock": freeze, "runClock": run, "advanceClock": advance}
