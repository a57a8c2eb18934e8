"""A story: what led to an object as it is, step by step, each told after what caused it."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby, takewhile
from typing import Literal

import msgspec

from emulator.control import explanation_text
from emulator.control.causality import Causality, LoggedUnit
from emulator.core.calendar import Timestamp
from emulator.core.jobs import FailedJob, Job
from emulator.core.records import Record
from emulator.core.world import Event
from emulator.engine.runtime import Runtime
from emulator.events import EVENTS
from emulator.resources.sandbox.emails import Email
from emulator.resources.webhooks.deliveries import WebhookDelivery
from emulator.resources.webhooks.endpoints import WebhookEndpoint

REACTING_KINDS: Mapping[str, frozenset[str]] = {
    "transaction.succeeded": frozenset({"receipt", "invoice", "checkout_session", "subscription"}),
    "payment_intent.succeeded": frozenset({"invoice", "checkout_session", "subscription"}),
    "payment_intent.failed": frozenset({"subscription", "invoice", "checkout_session"}),
    "invoice.paid": frozenset({"subscription"}),
    "invoice.payment_overdue": frozenset({"subscription"}),
    "customer.deleted": frozenset({"subscription", "payment_intent", "checkout_session", "address"}),
}
"""The events that others react to, with the kinds that their reactions make or change (``REACTIONS``)."""

EMAIL_EVENTS: Mapping[str, str] = {
    "receipt": "transaction.succeeded",
    "refund": "refund.succeeded",
    "renewal_failed": "subscription.payment_failed",
    "trial_ending": "subscription.trial_will_end",
    "subscription_canceled": "subscription.canceled",
}
"""By kind of email the event that it answers to; the others are a job's."""

ABOUT = ("customer", "invoice", "subscription", "transaction", "receipt", "refund")
"""The fields of an email that hold what it is about."""


Kind = Literal["request", "job", "transition", "event", "delivery", "email"]


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One cause. ``object`` is the id of what it is about, ``caused_by`` the id of the step above it, where known."""

    at: Timestamp
    kind: Kind
    id: str | None
    object: str | None
    summary: str
    caused_by: str | None


class Explanation:
    """The steps that led to a record, each told after its causes; ``complete`` until something is not known any more.

    ``_told`` maps requests, jobs and events to the step that tells of them.
    """

    def __init__(self, runtime: Runtime, record: Record) -> None:
        self.steps: list[Step] = []
        self.complete = True
        self._world = runtime.world
        self._record = record
        self._causes = Causality(runtime.journal)
        self._seen: dict[str, str] = {}

    def build(self) -> None:
        """Tell what is on record from before the journal begins, then turn by turn what the journal knows."""
        acts = {act.number: act for act in self._touching()}
        records: list[Event | Email] = [*self._events(), *self._emails()]
        for record in records:
            maker = self._causes.maker(record)
            if maker is None:
                self.complete = False
                self._old(record)
            else:
                acts[maker.number] = maker
        for number in sorted(acts):
            self._turn(acts[number])
        for failed in self._world.table(FailedJob):
            if failed.about == self._record.id:
                self._failure(failed)

    # -- what the object has to do with

    def _touching(self) -> list[LoggedUnit]:
        """The turns that made it and changed it; what became of an event or a delivery is on record anyway."""
        if isinstance(self._record, (Event, WebhookDelivery)):
            return []
        acts = self._causes.of(self._record.id)
        self.complete = any(act.created(self._record.id) for act in acts)
        return acts

    def _events(self) -> list[Event]:
        if isinstance(self._record, WebhookDelivery):
            return [self._world.require(Event, self._record.event)]
        if isinstance(self._record, Event):
            return [self._record]
        table, id, kind = self._world.table(Event), self._record.id, self._record.kind
        # There are as many events as anything: only those of the types that tell of such objects are looked at.
        types = [type for type in table.indexes["type"] if type not in EVENTS or EVENTS[type].object == kind]
        found = [event for type in types for event in table.where("type", type) if event.about == id]
        return sorted(found, key=lambda event: table.slots[event.id])

    def _emails(self) -> list[Email]:
        if self._record.kind not in ABOUT:
            return []
        return [email for email in self._world.table(Email) if self._concerns(email)]

    def _concerns(self, record: Event | Email) -> bool:
        """Whether an event or an email is about the object, or is the object."""
        id = self._record.id
        if isinstance(record, Event):
            own = self._record.event if isinstance(self._record, WebhookDelivery) else id
            return own in (record.id, record.about)
        about = getattr(record, self._record.kind) if self._record.kind in ABOUT else None
        return about is not None and about.id == id

    # -- one turn

    def _turn(self, act: LoggedUnit) -> None:
        """What happened to the object in a turn, in the order of its changes."""
        heard: Event | None = None
        latest: dict[str, Event] = {}
        for number, change in enumerate(act.unit.changes):
            new = change.new
            if isinstance(new, Event):
                latest[new.type] = new
                if self._concerns(new):
                    self._event(new, self._reason(act, heard))
                if self._record.kind in REACTING_KINDS.get(new.type, ()):
                    heard = new
            elif isinstance(new, Email):
                if change.old is None and self._concerns(new):
                    self._email(new, self._reason(act, latest.get(EMAIL_EVENTS.get(new.topic, ""))))
            elif new is not None and new.id == self._record.id and not isinstance(new, WebhookDelivery):
                self._change(act, number, heard)

    def _change(self, act: LoggedUnit, number: int, heard: Event | None) -> None:
        summary = explanation_text.of_change(act.unit.changes[number], self._reactions(act, number))
        if summary is not None:
            cause = self._reason(act, heard)
            self._step("transition", self._instant(act, cause), summary, cause=cause, object=self._record.id)

    def _instant(self, act: LoggedUnit, cause: str | None) -> Timestamp:
        """When a turn changed the object: after its cause, whatever the tester wrote into the object's dates."""
        caused_at = next((step.at for step in reversed(self.steps) if step.id == cause), "")
        at = act.at or caused_at
        return at if caused_at <= at <= self._world.now else caused_at or self._world.now

    def _reactions(self, act: LoggedUnit, number: int) -> str | None:
        """The type of the event that a move told, which is then the very next thing a turn files."""
        following = act.unit.changes[number + 1 : number + 2]
        event = following[0].new if following else None
        return event.type if isinstance(event, Event) and self._concerns(event) else None

    def _reason(self, act: LoggedUnit, heard: Event | None) -> str | None:
        """What caused a thing in a turn: the event of another object that it answers to, else what the turn was."""
        cause = self._cause(act)
        return cause if heard is None else self._event(heard, cause)

    def _event(self, event: Event, cause: str | None) -> str:
        if event.id not in self._seen:
            summary = explanation_text.of_event(event, self._record.id)
            about = event.about
            self._step("event", event.created_at, summary, cause=cause, id=event.id, object=about)
            if self._concerns(event):
                self._deliveries(event)
        return event.id

    def _deliveries(self, event: Event) -> None:
        for delivery in self._world.table(WebhookDelivery).where("event", event.id):
            if not isinstance(self._record, WebhookDelivery) or delivery.id == self._record.id:
                self._delivery(delivery)

    def _delivery(self, delivery: WebhookDelivery) -> None:
        endpoint = self._world.get(WebhookEndpoint, delivery.webhook)
        url = delivery.webhook if endpoint is None else endpoint.url
        told = [(each.at, explanation_text.of_attempt(delivery, each, url)) for each in delivery.attempts]
        for at, summary in told or [(delivery.created_at, explanation_text.of_waiting(delivery, url))]:
            self._step("delivery", at, summary, cause=delivery.event, id=delivery.id, object=delivery.webhook)

    def _email(self, email: Email, cause: str | None) -> None:
        told = explanation_text.of_email(email)
        self._step("email", email.created_at, told, cause=cause, id=email.id, object=self._record.id)

    def _old(self, record: Event | Email) -> None:
        """What the journal does not reach: an event still says during which request it was told."""
        if isinstance(record, Email):
            self._email(record, None)
            return
        if record.request is not None and record.request not in self._seen:
            self._request(record.request, record.created_at, f"told {record.type}")
        self._event(record, record.request)

    # -- causes

    def _cause(self, act: LoggedUnit) -> str | None:
        """The step that tells what a turn was; it is told now, with all above it, if it was not yet."""
        job, did = act.job, self._deed(act)
        if job is None:
            return self._request_of(act, did)
        if job.id not in self._seen:
            self._row([job], self._planner(job), did)
        return self._seen[job.id]

    def _deed(self, act: LoggedUnit) -> str:
        """What a turn did to the object, in two words; nothing where it only told of it."""
        match self._record:
            case Event(type=type) | WebhookDelivery(event_type=type):
                return f"told {type}"
        id = self._record.id
        return "made it" if act.created(id) else "changed it" if act.unit.touches(id) else ""

    def _planner(self, job: Job | FailedJob) -> str | None:
        """The step above a job. Jobs above it that are alike, each planned by the one before, are one step."""
        line = [*takewhile(lambda above: above.id not in self._seen, self._causes.above(job))]
        cause = self._top(line[-1] if line else job)
        for _, row in groupby(reversed(line), key=lambda above: (above.name, above.about)):
            cause = self._row([*row], cause)
        return cause

    def _top(self, job: Job | FailedJob) -> str | None:
        """What planned the first job of a line: a request, or a job that was told of before."""
        act = self._causes.maker(job)
        if act is None:
            self.complete = False
            return None
        return self._request_of(act, f"planned job {job.name}") if act.job is None else self._seen[act.job.id]

    def _row(self, jobs: list[Job], cause: str | None, did: str = "") -> str:
        """Alike jobs, the first of them first, as one step."""
        first = jobs[0]
        summary = explanation_text.of_jobs(first.name, first.about, len(jobs), did)
        self._step("job", first.due, summary, cause=cause, id=first.id, object=first.about)
        self._seen.update((job.id, first.id) for job in jobs)
        return first.id

    def _failure(self, job: FailedJob) -> None:
        told, cause = explanation_text.of_failure(job), self._planner(job)
        self._step("job", job.due, told, cause=cause, id=job.id, object=job.about)

    def _request_of(self, act: LoggedUnit, did: str) -> str | None:
        """The request that a turn was."""
        id = self._causes.request(act)
        if id is None:
            self.complete = False
            return None
        if id not in self._seen:
            self._request(id, act.at, did)
        return id

    def _request(self, id: str, at: Timestamp | None, did: str) -> None:
        entry = self._causes.known(id)
        self.complete &= entry is not None
        instant = entry.checkpoint.now if entry else at or self._world.now
        self._step("request", instant, explanation_text.of_request(entry, did), id=id)

    def _step(
        self,
        kind: Kind,
        at: Timestamp,
        summary: str,
        *,
        cause: str | None = None,
        id: str | None = None,
        object: str | None = None,
    ) -> None:
        self.steps.append(Step(at=at, kind=kind, id=id, object=object, summary=summary, caused_by=cause))
        if id is not None:
            self._seen[id] = id
