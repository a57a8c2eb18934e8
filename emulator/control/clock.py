"""The clock of a world, shown and moved (B-91)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from emulator.control import advances
from emulator.control.durations import after
from emulator.core import calendar
from emulator.core.calendar import Timestamp
from emulator.engine.advances import Course, Tally
from emulator.engine.clock import Reading
from emulator.engine.engine import Engine
from emulator.engine.runtime import Runtime
from emulator.errors import wrong
from emulator.web.reply import Reply

Body = Mapping[str, Any]


async def show(engine: Engine, runtime: Runtime, query: Body) -> Reading:
    """GET /clock."""
    runtime.run_due()
    return runtime.reading()


def changed(runtime: Runtime) -> Reading:
    """The clock after somebody changed it, which is news."""
    runtime.run_due()
    reading = runtime.reading()
    runtime.news.tell("clock", reading)
    return reading


async def freeze(engine: Engine, runtime: Runtime, query: Body, body: Body) -> Reading:
    """POST /clock/freeze: stand still, now or at a later instant, what falls due until then being done."""
    target = not_past(runtime, body["at"], "at") if "at" in body else None
    # Stopped first, or a running clock would go on past the instant asked for.
    runtime.clock.freeze()
    if target:
        await runtime.advance(lambda: Course(target))
    return changed(runtime)


async def run(engine: Engine, runtime: Runtime, query: Body, body: Body) -> Reading:
    """POST /clock/run: go on from the present instant."""
    runtime.clock.run(body["rate"])
    return changed(runtime)


async def advance(
    engine: Engine, runtime: Runtime, query: Body, body: Body, headers: Mapping[str, str]
) -> dict[str, Any] | Reply:
    """POST /clock/advance: answered when all that was due is done, deliveries included, or at once if preferred."""
    if advances.preferred(headers):
        return advances.accepted(runtime.advances.begin(lambda: destination(runtime, body)), query.get("app"))
    return advances.told(await runtime.advance(lambda: destination(runtime, body)))


def destination(runtime: Runtime, body: Body) -> Course:
    """How far an advance goes, and what stops it earlier. The document sees to it that just one is given."""
    if "to" in body:
        return Course(not_past(runtime, body["to"], "to"))
    if "until" in body:
        job = runtime.world.schedule.next()
        return Course(job.due if job else runtime.clock.now())
    if "until_event" not in body:
        return Course(later(runtime, body["by"]))
    furthest = later(runtime, body["by"]) if "by" in body else calendar.step(runtime.clock.now(), "year", 1)
    return Course(furthest, seen(body["until_event"]))


def seen(type: str) -> Callable[[Tally], bool]:
    """The first event of this type stops the advance."""
    return lambda tally: tally.events[type] > 0


def later(runtime: Runtime, duration: str) -> Timestamp:
    """So much after the present instant."""
    try:
        return after(runtime.clock.now(), duration)
    except ValueError as fault:
        raise wrong("by", str(fault)) from None


def not_past(runtime: Runtime, instant: str, param: str) -> Timestamp:
    """An instant that is not before the present one; the clock never goes back (B-95)."""
    target, now = calendar.normalise(instant), runtime.clock.now()
    if target < now:
        raise wrong(param, f"is before the clock's present instant, {now}; the clock never goes back")
    if target > calendar.END:
        raise wrong(param, f"is after the calendar's end, {calendar.END}")
    return target


OPERATIONS = {"getClock": show, "freezeClock": freeze, "runClock": run, "advanceClock": advance}
