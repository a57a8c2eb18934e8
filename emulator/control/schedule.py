"""The schedule of a world: the planned jobs, or a preview of what they will do, run on a copy of the world."""

from __future__ import annotations

import heapq
from collections.abc import AsyncIterator, Mapping
from typing import Any

from emulator.control.durations import InvalidDuration, after
from emulator.core import calendar
from emulator.core.calendar import Timestamp
from emulator.core.errors import invalid_field
from emulator.core.handlers import Page
from emulator.core.jobs import Job
from emulator.core.translatable import N_
from emulator.core.world import World
from emulator.engine.clock import TimeSlice
from emulator.engine.engine import Engine
from emulator.engine.runtime import Runtime

SUMMARIES = {
    "checkout_session.answer": N_("The operator answers whether the payment method can be saved."),
    "checkout_session.expire": N_("The checkout session was not paid in time; it expires."),
    "invoice.mail": N_("The invoice is emailed to its customer."),
    "invoice.overdue": N_("The day after the invoice's due date begins; if it is still open, it is overdue."),
    "invoice.payment_canceled": N_("The merchant canceled the payment of a renewal, which counts as a failed charge."),
    "invoice.voided": N_("The invoice was voided; a subscription that waited for it goes on."),
    "payment_intent.answer": N_("The operator answers the payment."),
    "payment_intent.canceled": N_(
        "The merchant canceled the payment; the checkout session that waited for it goes on."
    ),
    "payment_method.expire": N_("The card's last month is over; it expires."),
    "payment_method.removed": N_(
        "Subscriptions that charged the removed method charge the customer's default instead."
    ),
    "refund.answer": N_("The operator answers the refund."),
    "refund.expire": N_("The operator never answered; the refund expires."),
    "refund.send": N_("The refund's review is over; it is sent to the operator."),
    "subscription.charge": N_("The subscription's first period is charged."),
    "subscription.expire": N_("The subscription's end date is reached; it expires."),
    "subscription.renew": N_(
        "The subscription's period ends; it renews unless it is paused, owes or is to be canceled."
    ),
    "subscription.retry": N_("The subscription's failed charge is tried again."),
    "subscription.trial_notice": N_("The end of the subscription's trial is announced."),
    "transaction.dispute": N_("The buyer disputes the transaction."),
    "transaction.settle": N_("The transaction is settled."),
    "webhook.attempt": N_("The webhook delivery is tried again."),
}
"""What each job does, in one sentence."""

ScheduleEntry = dict[str, Any]


async def index(engine: Engine, runtime: Runtime, query: Mapping[str, Any]) -> Page[Any]:
    """GET /schedule: soonest first; with ``until``, a preview of all jobs up to that instant."""
    await runtime.catch_up()
    page, size = query["page"], query["page_size"]
    first = (page - 1) * size
    if "until" not in query:
        jobs = [job for job in runtime.world.jobs.unordered() if fits(job.name, query)]
        soonest = heapq.nsmallest(first + size, jobs, key=lambda job: (job.due, job.sequence))
        return Page([entry(job) for job in soonest[first:]], len(jobs), page, size)
    shown, count = [], 0
    async for item in preview(runtime.world.copy(), horizon(runtime, query["until"])):
        if not fits(item["kind"], query):
            continue
        if first <= count < first + size:
            shown.append(item)
        count += 1
    return Page(shown, count, page, size)


def fits(kind: str, query: Mapping[str, Any]) -> bool:
    """Whether a kind of job is asked for."""
    return query.get("kind") in (None, kind)


def entry(job: Job) -> ScheduleEntry:
    """A job as it is sent."""
    return {"due_at": job.due, "kind": job.name, "object": job.about, "summary": SUMMARIES[job.name]}


async def preview(world: World, until: Timestamp) -> AsyncIterator[ScheduleEntry]:
    """Run the jobs of a copied world up to an instant, and yield each with its events; effects are not performed.

    Other requests are served in between.
    """
    time_slice = TimeSlice()
    while (job := world.jobs.next()) is not None and job.due <= until:
        yield {**entry(job), "event_types": _events(world, job)}
        await time_slice.pause_if_over()


def _events(world: World, job: Job) -> list[str]:
    try:
        return [event.type for event in world.run(job).events]
    except Exception as error:  # as in the original world, a job that raises does not stop the clock
        world.fail_job(job, error)
        return []


def horizon(runtime: Runtime, until: str) -> Timestamp:
    """The instant that ``until`` gives, itself or as a duration from now; 422 if it is invalid or in the past."""
    now = runtime.now()
    try:
        instant = calendar.normalise(until) if until[:1].isdigit() and "-" in until else after(now, until)
    except InvalidDuration:
        message = "must be an instant such as 2026-03-01T00:00:00Z or a duration such as 31d, 2h, 90s or P1M"
        raise invalid_field("until", message, "INVALID_FILTER_PARAM") from None
    except ValueError as error:
        raise invalid_field("until", str(error), "INVALID_FILTER_PARAM") from None
    if instant < now:
        raise invalid_field("until", f"is before the clock's present instant, {now}", "INVALID_FILTER_PARAM")
    return instant


OPERATIONS = {"getSchedule": index}
