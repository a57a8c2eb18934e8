"""The clock of a world: shown, frozen, run and advanced, and its schedule of plans (B-91, B-92).

A schedule shows the planned jobs, or a preview of what they will do, run on a copy of the world.
Advances in the background begin with ``Prefer: respond-async`` and are shown and stopped by their
id. Durations are ISO 8601 (``P1M``, ``PT90S``) or the short form (``31d``, ``2h``, ``90s``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta
from operator import attrgetter
from typing import Any

from emulator.control.objects import page_of
from emulator.control.payments import buyer_returns_early
from emulator.core import calendar
from emulator.core.calendar import Timestamp
from emulator.core.errors import ApiError, invalid_field
from emulator.core.jobs import Job
from emulator.core.lists import Page, Query
from emulator.core.violations import Body
from emulator.core.world import WorldContents, encode
from emulator.engine.advances import Advance, Target
from emulator.engine.clock import FROZEN, RUNNING, AdvanceResult, ClockState
from emulator.engine.reading import View, in_thread
from emulator.engine.runtime import SHORT_CATCH_UP_SECONDS, Runtime
from emulator.insight.names import job_texts
from emulator.resources.checkout.checkout_sessions import EARLY_RETURN
from emulator.resources.registry import make_indexes
from emulator.web.context import Response

# -- durations


_SHORT = re.compile(r"(\d{1,9})(w|d|h|m|s)", re.ASCII)
_UNITS = {"w": "weeks", "d": "days", "h": "hours", "m": "minutes", "s": "seconds"}
_ISO = re.compile(
    r"P(?=[\dT])(?:(?P<years>\d{1,4})Y)?(?:(?P<months>\d{1,6})M)?(?:(?P<weeks>\d{1,4})W)?(?:(?P<days>\d{1,6})D)?"
    r"(?:T(?=\d)(?:(?P<hours>\d{1,9})H)?(?:(?P<minutes>\d{1,9})M)?(?:(?P<seconds>\d{1,9}(?:\.\d{1,3})?)S)?)?",
    re.ASCII,
)


class InvalidDuration(ValueError):
    """A text that is not a duration."""


def after(instant: Timestamp, duration: str, *, may_be_zero: bool = False) -> Timestamp:
    """Return the instant a duration later; a month's day is clamped to the next month's end (B-91).

    Raises ``ValueError`` with a message for an invalid or negative duration, for one of zero unless
    it ``may_be_zero``, and for one beyond the year 9999.
    """
    try:
        months, span = _span(duration)
        later = calendar.stamp(calendar.parse(calendar.step(instant, "month", months)) + span)
    except InvalidDuration:
        raise
    except (OverflowError, ValueError):
        later = calendar.LAST
    if later < instant or (later == instant and not may_be_zero):
        raise ValueError("must be longer than nothing")
    if later > calendar.END:
        raise ValueError(f"{duration} leads beyond the year 9999")
    return later


def _span(duration: str) -> tuple[int, timedelta]:
    """Return the months of a duration, whose length the calendar says, and the rest of it."""
    if short := _SHORT.fullmatch(duration):
        return 0, timedelta(**{_UNITS[short[2]]: int(short[1])})
    if (match := _ISO.fullmatch(duration)) is None:
        raise InvalidDuration("must be a duration such as 31d, 2h, 90s, P1M or PT90S")
    amounts = {unit: float(number) for unit, number in match.groupdict(default="0").items()}
    months = amounts.pop("years") * 12 + amounts.pop("months")
    return int(months), timedelta(**amounts)


# -- the clock


async def show(runtime: Runtime) -> ClockState:
    """GET /clock."""
    await runtime.catch_up(SHORT_CATCH_UP_SECONDS)
    return runtime.clock_state()


def changed(runtime: Runtime) -> ClockState:
    """Publish the clock after a change, and return it."""
    state = runtime.clock_state()
    runtime.broker.publish("clock", state)
    return state


async def freeze(runtime: Runtime, body: Body) -> ClockState:
    """POST /clock/freeze: stop the clock now, or at a later instant after running its due jobs."""
    target = not_past(runtime, body["at"], "at") if "at" in body else None
    if target:
        await runtime.freeze_at(target)
    else:
        await runtime.set_clock(FROZEN)
    return changed(runtime)


async def run(runtime: Runtime, body: Body) -> ClockState:
    """POST /clock/run: run the clock from its present instant, at ``rate`` times real time."""
    await runtime.set_clock(RUNNING, body["rate"])
    return changed(runtime)


async def advance(
    runtime: Runtime, query: Body, body: Body, headers: Mapping[str, str]
) -> dict[str, Any] | Response:
    """POST /clock/advance: respond after all due jobs and deliveries, or begin (``Prefer``)."""
    # They come before whatever the advance brings, also before one of no time.
    while (job := runtime.world.jobs.next()) and job.name == EARLY_RETURN and job.about:
        await buyer_returns_early(runtime, job.about)
    if prefers_async(headers):
        return accepted(
            runtime.advances.begin(lambda: destination(runtime, body)), query.get("app")
        )
    return result_view(await runtime.advances.run(lambda: destination(runtime, body)))


def destination(runtime: Runtime, body: Body) -> Target:
    """Return an advance's instant and its earlier stop. The document allows only one of them."""
    if "to" in body:
        return Target(not_past(runtime, body["to"], "to"))
    if "until" in body:
        job = runtime.world.jobs.next()
        return Target(job.due if job else runtime.now())
    if "until_event" not in body:
        return Target(later(runtime, body["by"], may_be_zero=True))
    furthest = (
        later(runtime, body["by"]) if "by" in body else calendar.step(runtime.now(), "year", 1)
    )
    return Target(furthest, lambda result: result.events[body["until_event"]] > 0)


def later(runtime: Runtime, duration: str, *, may_be_zero: bool = False) -> Timestamp:
    """Return the instant a duration after the present one; 422 for an invalid duration."""
    try:
        return after(runtime.now(), duration, may_be_zero=may_be_zero)
    except ValueError as error:
        raise invalid_field("by", str(error)) from None


def not_past(runtime: Runtime, instant: str, param: str) -> Timestamp:
    """Return a valid instant to advance to; 422 if past, or beyond the calendar's end (B-95)."""
    target, now = calendar.normalise(instant), runtime.now()
    if target < now:
        raise invalid_field(
            param, f"is before the clock's present instant, {now}; the clock never goes back"
        )
    if target > calendar.END:
        raise invalid_field(param, f"is after the calendar's end, {calendar.END}")
    return target


# -- advances in the background


PREFERENCE = "respond-async"


def prefers_async(headers: Mapping[str, str]) -> bool:
    """Return whether the client prefers not to wait, in any case of letters (RFC 7240)."""
    return PREFERENCE in (
        preference.strip().lower() for preference in headers.get("Prefer", "").split(",")
    )


def accepted(advance: Advance, app: str | None) -> Response:
    """Return the response 202 with the URL of the advance that has begun."""
    location = f"/_emulator/clock/advances/{advance.id}" + (f"?app={app}" if app else "")
    return Response(
        202, encode(advance_view(advance)), {"Location": location, "Preference-Applied": PREFERENCE}
    )


def result_view(result: AdvanceResult) -> dict[str, Any]:
    return {
        "from": result.start,
        "now": result.now,
        "jobs": result.jobs,
        "events": dict(result.events),
        "deliveries": {"succeeded": result.deliveries[True], "failed": result.deliveries[False]},
        "failures": [
            {
                "job": failure.id,
                "kind": failure.name,
                "object": failure.about,
                "error": failure.error,
            }
            for failure in result.failures
        ],
    }


def advance_view(advance: Advance) -> dict[str, Any]:
    return {
        "id": advance.id,
        "status": advance.status,
        "to": advance.target.to,
        "progress": advance.progress,
        "error": _reason(advance.error),
        **result_view(advance.result),
    }


def _reason(error: BaseException | None) -> str | None:
    """Return an API error's message; details of other errors go only to the server's log."""
    if error is None:
        return None
    return (
        error.message
        if isinstance(error, ApiError)
        else f"{type(error).__name__}; the server's log says more."
    )


async def show_advance(runtime: Runtime, id: str) -> dict[str, Any]:
    """GET /clock/advances/{id}."""
    return advance_view(runtime.advances.find(id))


async def stop_advance(runtime: Runtime, id: str) -> dict[str, Any]:
    """DELETE /clock/advances/{id}: stop it between two jobs; the clock stays where it is."""
    advance = runtime.advances.find(id)
    await runtime.advances.stop(advance)
    return advance_view(advance)


# -- the schedule


ScheduleEntry = dict[str, Any]
Planned = tuple[Job, list[str] | None]  # with the types of its events if it ran, in a preview


async def show_schedule(runtime: Runtime, query: Mapping[str, Any]) -> Page[Any]:
    """GET /schedule: soonest first; ``until``: a preview up to then. Pages hold whole groups."""
    await runtime.catch_up()
    if "until" not in query:
        return await runtime.examine(_upcoming, query)
    last = horizon(runtime, query["until"])
    return await in_thread(_preview, WorldContents(runtime.world), last, query)


def _upcoming(view: View, query: Query) -> Page[Any]:
    jobs = sorted(view.world.jobs.unordered(), key=attrgetter("due", "sequence"))
    return _page([(job, None) for job in jobs], query)


NAMED = 100  # the most objects that a group of entries names


def _grouped(planned: list[Planned]) -> list[ScheduleEntry]:
    """Return one entry for all of one kind that are due at one instant."""
    groups: dict[tuple[str, str], ScheduleEntry] = {}
    for row in map(entry, planned):
        group = groups.setdefault(
            (row["due_at"], row["kind"]), {**row, "times": 0, "object_ids": []}
        )
        group["times"] += 1
        if row["object"] and len(group["object_ids"]) < NAMED:
            group["object_ids"].append(row["object"])
        if types := row.get("event_types"):
            group["event_types"] = [*dict.fromkeys([*group["event_types"], *types])]
    return [*groups.values()]


def entry(planned: Planned) -> ScheduleEntry:
    job, types = planned
    row = {
        "due_at": job.due,
        "kind": job.name,
        "object": job.about,
        "summary": job_texts()[job.name]["summary"],
    }
    return row if types is None else {**row, "event_types": types}


def _page(planned: list[Planned], query: Query) -> Page[Any]:
    """Return the page of planned jobs, soonest first."""
    kind = query.get("kind")
    chosen = [(job, types) for job, types in planned if kind in (None, job.name)]
    return (
        page_of(_grouped(chosen), query) if query.get("grouped") else page_of(chosen, query, entry)
    )


def _preview(contents: WorldContents, until: Timestamp, query: Query) -> Page[Any]:
    """Run the jobs up to an instant on a copy of the world, without effects."""
    world, planned = contents.world(), list[Planned]()
    make_indexes(world)
    while (job := world.jobs.next()) is not None and job.due <= until:
        try:
            types = [event.type for event in world.run(job).events]
        except (
            Exception
        ) as error:  # as in the original world, a job that raises does not stop the clock
            world.fail_job(job, error)
            types = []
        planned.append((job, types))
    return _page(planned, query)


def horizon(runtime: Runtime, until: str) -> Timestamp:
    """Return the instant of ``until``, also as a duration from now; 422 if invalid or past."""
    now = runtime.now()
    try:
        instant = (
            calendar.normalise(until) if until[:1].isdigit() and "-" in until else after(now, until)
        )
    except InvalidDuration:
        message = (
            "must be an instant such as 2026-03-01T00:00:00Z or a duration such as 31d, 2h, 90s"
            " or P1M"
        )
        raise invalid_field("until", message, "INVALID_FILTER_PARAM") from None
    except ValueError as error:
        raise invalid_field("until", str(error), "INVALID_FILTER_PARAM") from None
    if instant < now:
        raise invalid_field(
            "until", f"is before the clock's present instant, {now}", "INVALID_FILTER_PARAM"
        )
    return instant


OPERATIONS = {
    "getClock": show,
    "freezeClock": freeze,
    "runClock": run,
    "advanceClock": advance,
    "getClockAdvance": show_advance,
    "stopClockAdvance": stop_advance,
    "getSchedule": show_schedule,
}
