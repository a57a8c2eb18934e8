"""The explanation of an object: requests, jobs, transitions, events, deliveries, emails before it.

Each step comes after its cause.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby, takewhile
from operator import attrgetter
from typing import Any, Literal

import msgspec

from emulator.core.calendar import Timestamp
from emulator.core.jobs import FailedJob, Job
from emulator.core.records import Record
from emulator.core.unit_of_work import Event
from emulator.engine.reading import View
from emulator.insight.explain.causality import Causality, LoggedUnit
from emulator.insight.explain.explanation_text import StepText, StepTexts
from emulator.insight.names import describe, find
from emulator.insight.state.arranged import Responses
from emulator.insight.state.next_steps import next_steps
from emulator.insight.state.sentences import status_sentences
from emulator.insight.state.under_way import under_way
from emulator.presentation.languages.language import Language
from emulator.resources.simulation.emails import Email
from emulator.resources.webhooks.deliveries import WebhookDelivery
from emulator.resources.webhooks.endpoints import WebhookEndpoint

REACTING_KINDS: Mapping[str, frozenset[str]] = {
    "payment_intent.succeeded": frozenset({"invoice", "checkout_session", "subscription"}),
    "transaction.succeeded": frozenset({"receipt", "invoice", "checkout_session", "subscription"}),
    "payment_intent.failed": frozenset({"subscription", "invoice", "checkout_session"}),
    "invoice.paid": frozenset({"subscription"}),
    "invoice.payment_overdue": frozenset({"subscription"}),
    "customer.deleted": frozenset(
        {"subscription", "payment_intent", "checkout_session", "address"}
    ),
}
"""The events with reactions, and the kinds of object those create or change (``REACTIONS``)."""

EMAIL_EVENTS: Mapping[str, str] = {
    "receipt": "transaction.succeeded",
    "refund": "refund.succeeded",
    "renewal_failed": "subscription.payment_failed",
    "trial_ending": "subscription.trial_will_end",
    "subscription_canceled": "subscription.canceled",
}
"""The event that causes each kind of email; other kinds are caused by jobs."""


class ExplanationStep(msgspec.Struct, frozen=True, kw_only=True):
    """One step. ``object`` is its object's id, ``caused_by`` the id of its cause's step, if known.

    ``subject``, ``outcome`` and ``times`` are the parts of its ``summary`` (:class:`StepText`).
    """

    at: Timestamp
    kind: Literal["request", "job", "transition", "event", "delivery", "email"]
    id: str | None = None
    object: str | None = None
    summary: str
    subject: str
    outcome: str | None
    times: int
    caused_by: str | None = None


class Explanation:
    """The steps to a record, each after its cause; ``complete`` if the journal still has them all.

    ``_step_ids`` maps the ids of requests, jobs and events to the step that stands for them.
    """

    def __init__(self, view: View, record: Record, language: Language) -> None:
        self.steps: list[ExplanationStep] = []
        self.complete = True
        self._world = view.world
        self._record = record
        self._texts = StepTexts(language)
        self.gettext = language.gettext
        self._causality = Causality(view.journal)
        self._step_ids: dict[str, str] = {}

    def build(self) -> None:
        """Add the steps that only records show, then those of the journal's units of work."""
        self._causality.read()
        units = {unit.number: unit for unit in self._causality.touching.get(self._record.id, ())}
        self.complete = any(unit.created(self._record.id) for unit in units.values())
        for record in (*self._concerning(Event), *self._concerning(Email)):
            creator = self._causality.creators.get(record.id)
            if creator is None:
                self.complete = False
                self._add_unlogged(record)
            else:
                units[creator.number] = creator
        for number in sorted(units):
            self._add_unit(units[number])
        for failed in self._world.table(FailedJob):
            if failed.about == self._record.id:
                text, cause = self._texts.of_failure(failed), self._planner(failed)
                self._add(
                    text,
                    at=failed.due,
                    kind="job",
                    id=failed.id,
                    object=failed.about,
                    caused_by=cause,
                )

    # -- records about the object

    def _concerning(self, kind: type[Any]) -> list[Any]:
        """Return the events or emails about the object, oldest first."""
        return [record for record in self._world.table(kind) if self._concerns(record)]

    def _concerns(self, record: Event | Email) -> bool:
        """Return whether an event or an email is about the object, or is the object."""
        id = self._record.id
        if isinstance(record, Event):
            own = self._record.event if isinstance(self._record, WebhookDelivery) else id
            return own in (record.id, record.about)
        return getattr(getattr(record, self._record.kind, None), "id", None) == id

    # -- one unit of work

    def _add_unit(self, logged: LoggedUnit) -> None:
        """Add what happened to the object in a unit of work, in the order of its changes."""
        trigger: Event | None = None
        latest: dict[str, Event] = {}
        for number, change in enumerate(logged.unit.changes):
            new, is_new = change.new, change.old is None
            if isinstance(new, Event) and is_new:
                latest[new.type] = new
                if self._concerns(new):
                    self._add_event(new, self._reason(logged, trigger))
                if self._record.kind in REACTING_KINDS.get(new.type, ()):
                    trigger = new
            elif isinstance(new, Email) and is_new and self._concerns(new):
                self._add_email(
                    new, self._reason(logged, latest.get(EMAIL_EVENTS.get(new.topic, "")))
                )
            # No change of an event is shown, and a delivery has its attempts on record itself.
            elif (
                new and new.id == self._record.id and not isinstance(new, (Event, WebhookDelivery))
            ):
                self._add_change(logged, number, trigger)

    def _add_change(self, logged: LoggedUnit, number: int, trigger: Event | None) -> None:
        text = self._texts.of_change(logged.unit.changes[number], self._emitted(logged, number))
        if text is not None:
            cause = self._reason(logged, trigger)
            at = self._instant(logged, cause)
            self._add(text, at=at, kind="transition", object=self._record.id, caused_by=cause)

    def _instant(self, logged: LoggedUnit, cause: str | None) -> Timestamp:
        """Return a change's instant: not before its cause, even if a tester edited its dates."""
        caused_at = next((step.at for step in reversed(self.steps) if step.id == cause), "")
        at = logged.at or caused_at
        return at if caused_at <= at <= self._world.now else caused_at or self._world.now

    def _emitted(self, logged: LoggedUnit, number: int) -> str | None:
        """Return the type of the event of a transition: the event is then the very next change."""
        following = logged.unit.changes[number + 1 : number + 2]
        event = following[0].new if following else None
        return event.type if isinstance(event, Event) and self._concerns(event) else None

    def _reason(self, logged: LoggedUnit, trigger: Event | None) -> str | None:
        """Return a change's cause: the event that it is a reaction to, or the request or job."""
        cause = self._cause(logged)
        return cause if trigger is None else self._add_event(trigger, cause)

    def _add_event(self, event: Event, cause: str | None) -> str:
        if event.id not in self._step_ids:
            text = self._texts.of_event(event, self._record.id)
            self._add(
                text,
                at=event.created_at,
                kind="event",
                id=event.id,
                object=event.about,
                caused_by=cause,
            )
            if self._concerns(event):
                for delivery in self._world.table(WebhookDelivery).where("event", event.id):
                    if (
                        not isinstance(self._record, WebhookDelivery)
                        or delivery.id == self._record.id
                    ):
                        self._add_delivery(delivery)
        return event.id

    def _add_delivery(self, delivery: WebhookDelivery) -> None:
        endpoint = self._world.get(WebhookEndpoint, delivery.webhook)
        url = delivery.webhook if endpoint is None else endpoint.url
        for attempt in delivery.attempts or [None]:
            at, text = (
                attempt.at if attempt else delivery.created_at,
                self._texts.of_attempt(delivery, attempt, url),
            )
            own = {"id": delivery.id, "object": delivery.webhook, "caused_by": delivery.event}
            self._add(text, at=at, kind="delivery", **own)

    def _add_email(self, email: Email, cause: str | None) -> None:
        own = {"id": email.id, "object": self._record.id, "caused_by": cause}
        self._add(self._texts.of_email(email), at=email.created_at, kind="email", **own)

    def _add_unlogged(self, record: Event | Email) -> None:
        """Add a record older than the journal; an event still names the request behind it."""
        if isinstance(record, Email):
            self._add_email(record, None)
            return
        if record.request is not None and record.request not in self._step_ids:
            self._add_request(
                record.request, record.created_at, self.gettext("emitted {type}", type=record.type)
            )
        self._add_event(record, record.request)

    # -- causes

    def _cause(self, logged: LoggedUnit) -> str | None:
        """Return the step of a unit's request or job; add it after its causes if it is missing."""
        job, action = logged.job, self._action(logged)
        if job is None:
            return self._request_of(logged, action)
        if job.id not in self._step_ids:
            self._add_jobs([job], self._planner(job), action)
        return self._step_ids[job.id]

    def _action(self, logged: LoggedUnit) -> str:
        """Return how a unit of work changed the object; empty if it did not."""
        match self._record:
            case Event(type=type) | WebhookDelivery(event_type=type):
                return self.gettext("emitted {type}", type=type)
        id = self._record.id
        if logged.created(id):
            return self.gettext("created it")
        return self.gettext("changed it") if logged.unit.touches(id) else ""

    def _planner(self, job: Job | FailedJob) -> str | None:
        """Return the step that planned a job. Equal jobs that plan each other are one step."""
        planners = [
            *takewhile(
                lambda planner: planner.id not in self._step_ids, self._causality.planners(job)
            )
        ]
        cause = self._origin(planners[-1] if planners else job)
        for _, equal_jobs in groupby(
            reversed(planners), key=lambda planner: (planner.name, planner.about)
        ):
            cause = self._add_jobs([*equal_jobs], cause)
        return cause

    def _origin(self, job: Job | FailedJob) -> str | None:
        """Return the step that planned the first of some jobs: a request, or a job with a step."""
        logged = self._causality.creators.get(job.id)
        if logged is None:
            self.complete = False
            return None
        if logged.job is not None:
            return self._step_ids[logged.job.id]
        return self._request_of(logged, self.gettext("planned job {job}", job=job.name))

    def _add_jobs(self, jobs: list[Job], cause: str | None, action: str = "") -> str:
        """Add one step for equal jobs, in order."""
        first = jobs[0]
        text = self._texts.of_jobs(first.name, first.about, len(jobs), action)
        self._add(text, at=first.due, kind="job", id=first.id, object=first.about, caused_by=cause)
        self._step_ids.update((job.id, first.id) for job in jobs)
        return first.id

    def _request_of(self, logged: LoggedUnit, action: str) -> str | None:
        id = self._causality.request_of(logged)
        if id is None:
            self.complete = False
            return None
        if id not in self._step_ids:
            self._add_request(id, logged.at, action)
        return id

    def _add_request(self, id: str, at: Timestamp | None, action: str) -> None:
        entry = self._causality.requests.get(id)
        self.complete &= entry is not None
        instant = entry.checkpoint.now if entry else at or self._world.now
        self._add(self._texts.of_request(entry, action), at=instant, kind="request", id=id)

    def _add(self, text: StepText, **own: Any) -> None:
        self.steps.append(step := ExplanationStep(**text._asdict(), **own))
        if step.id is not None:
            self._step_ids[step.id] = step.id


MAX_STEPS = 1000
"""The most steps of a chain; of a longer one the latest are sent."""


def explain(view: View, id: str, language: Language, responses: Responses) -> dict[str, Any]:
    """Return an object's state and the chain of steps to it; 404 if there is no such object.

    ``responses`` are those of the world's inboxes, which are not part of it.
    """
    record = find(view.world, id)
    explanation = Explanation(view, record, language)
    explanation.build()
    return {
        "id": id,
        "kind": record.kind,
        "status": getattr(record, "status", None),
        "name": describe(view.world, record, language),
        "summary": status_sentences(view.world, record, language),
        "complete": explanation.complete and len(explanation.steps) <= MAX_STEPS,
        "under_way": under_way(view.world, record, language),
        "next_steps": [*next_steps(view.world, record, language, responses)],
        "chain": sorted(explanation.steps, key=attrgetter("at"))[-MAX_STEPS:],
    }
