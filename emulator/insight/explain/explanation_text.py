"""The text of explanations: a short sentence for each step in the reader's language.

Steps are grouped by the request or job that started them, in lanes, with repeats counted.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import msgspec

from emulator.core.jobs import FailedJob
from emulator.core.records import N_, Record, hidden_fields
from emulator.core.unit_of_work import Change, Event
from emulator.engine.logged_requests import LoggedRequest
from emulator.presentation.languages.language import Language
from emulator.presentation.languages.wording import MONEY_FIELDS, failure_cause
from emulator.resources.billing.subscriptions import Subscription
from emulator.resources.registry import STATE_MACHINES
from emulator.resources.simulation.emails import Email
from emulator.resources.webhooks.deliveries import DeliveryAttempt, WebhookDelivery

# -- sentences


FIELDS = 6
"""The most changed fields that a sentence names."""

LONGEST = 40
"""The most characters of a value that are shown."""

FAILING = ("fail", "give up")
"""The triggers of a subscription whose charge failed."""

PERIOD = ("current_period_start", "current_period_end")
"""The fields of a subscription that change together."""

TRANSITIONS = {machine.kind: machine.rows for machine in STATE_MACHINES}


class StepText(NamedTuple):
    """A step's sentence and its parts: subject and outcome. ``times`` counts equal steps in one."""

    summary: str
    subject: str
    outcome: str | None = None
    times: int = 1


class StepTexts:
    """The sentences in one language; ``action`` is the effect of a request or a job."""

    def __init__(self, language: Language) -> None:
        self.language = language
        self.gettext = language.gettext

    def of_request(self, entry: LoggedRequest | None, action: str) -> StepText:
        """Return a request and its effect or response; the journal may have dropped the request."""
        if entry is None:
            dropped = self.gettext("a request that is no longer in the journal")
            return StepText(f"{dropped}{action and ' '}{action}", "")
        subject, status = f"{entry.method} {entry.target}", str(entry.status)
        answered = self.gettext("was answered with {status}", status=status)
        return StepText(f"{subject} {action or answered}", subject, status)

    def of_jobs(self, name: str, about: str | None, times: int, action: str = "") -> StepText:
        """Return a job that ran, or several, each planned by the one before."""
        job = (
            self.gettext("job {job} of {id}", job=name, id=about)
            if about
            else self.gettext("job {job}", job=name)
        )
        message = (
            N_("{job} ran")
            if times == 1
            else N_("{job} ran {count} times, each planned by the one before")
        )
        ran = self.gettext(message, job=job, count=times)
        summary = self.gettext("{ran} and {action}", ran=ran, action=action) if action else ran
        return StepText(summary, name, times=times)

    def of_failure(self, job: FailedJob) -> StepText:
        summary = self.gettext(
            "job {job} failed and was undone: {error}", job=job.name, error=job.error
        )
        return StepText(summary, job.name, job.error)

    def of_event(self, event: Event, id: str) -> StepText:
        """Return an event, with its object if that is not the object being explained."""
        is_own = event.about in (id, event.id) or event.id == id
        message = N_("{type} emitted") if is_own else N_("{type} emitted for {id}")
        return StepText(self.gettext(message, type=event.type, id=event.about), event.type)

    def of_attempt(
        self, delivery: WebhookDelivery, attempt: DeliveryAttempt | None, url: str
    ) -> StepText:
        """Return a delivery attempt and its outcome; for the last one also the next one's time.

        A delivery without attempts is pending, or its endpoint was disabled.
        """
        type = delivery.event_type
        if attempt is None:
            is_pending = delivery.status == "pending"
            message = (
                N_("{type} waits to be delivered to {url}")
                if is_pending
                else N_("{type} missed by disabled endpoint {url}")
            )
            return StepText(self.gettext(message, type=type, url=url), type, delivery.status)
        status = attempt.status_code
        if status is not None and status < 300:
            delivered = self.gettext(
                "{type} delivered to {url} with {status}", type=type, url=url, status=status
            )
            return StepText(delivered, type, str(status))
        reason = str(attempt.error or status)
        summary = self.gettext(
            "{type} not delivered to {url}: {reason}", type=type, url=url, reason=reason
        )
        if delivery.next_attempt_at and attempt is delivery.attempts[-1]:
            summary += self.gettext("; next attempt at {instant}", instant=delivery.next_attempt_at)
        return StepText(summary, type, reason)

    def of_email(self, email: Email) -> StepText:
        return StepText(
            self.gettext("email {kind} to {address}", kind=email.topic, address=email.to),
            email.topic,
        )

    def of_change(self, change: Change, event: str | None) -> StepText | None:
        """Return a record's change, with the transition's only fitting trigger; None if invisible.

        ``event`` is the type of the event emitted for the record right after.
        """
        old, new = change.old, change.new
        assert new is not None
        before, after = getattr(old, "status", None), getattr(new, "status", None)
        trigger = _trigger(type(new), before, after, event)
        by = self.gettext(" by `{trigger}`", trigger=trigger) if trigger else ""
        if old is None:
            made = (
                self.gettext("created as {status}", status=after)
                if after
                else self.gettext("created")
            )
            return StepText(f"{made}{by}", f"→ {after or 'created'}", trigger)
        names = _different(old, new)
        cause = (
            failure_cause(self.language, new)
            if isinstance(new, Subscription) and trigger in FAILING
            else ""
        )
        is_period = {*PERIOD} <= {*names}
        others = [name for name in names if not (is_period and name in PERIOD)]
        details = (
            cause.replace("\N{NO-BREAK SPACE}", " "),
            self._period(new) if is_period else "",
            self._differences(old, new, others),
        )
        fields = "; ".join(filter(None, details))
        if before != after or by:
            return StepText(
                f"{before} -> {after}{by}{f' ({fields})' if fields else ''}",
                f"{before} → {after}",
                trigger,
            )
        return (
            StepText(self.gettext("changed {fields}", fields=fields), ", ".join(names))
            if names
            else None
        )

    def _period(self, subscription: Any) -> str:
        start, end = (self.language.short_day(getattr(subscription, name)) for name in PERIOD)
        return self.gettext("period from {start} to {end}", start=start, end=end)

    def _differences(self, old: Record, new: Record, names: list[str]) -> str:
        """Return how fields changed; of a long value only that it did."""
        differences: list[str] = []
        for name in names[:FIELDS]:
            texts = [self._text(old, name), self._text(new, name)]
            if max(map(len, texts)) > LONGEST:
                how = N_("set") if getattr(old, name) is None else N_("changed")
                texts = [self.gettext(N_("removed") if getattr(new, name) is None else how)]
            differences.append(f"{name} {' -> '.join(texts)}")
        more = (
            self.gettext(" and {count} more", count=len(names) - FIELDS)
            if len(names) > FIELDS
            else ""
        )
        return ", ".join(differences) + more

    def _text(self, record: Record, name: str) -> str:
        """Return a field's value; of an amount, with its currency."""
        value, currency = getattr(record, name), getattr(record, "currency", None)
        if name in MONEY_FIELDS and currency is not None and value is not None:
            return self.language.money(value, currency).replace("\N{NO-BREAK SPACE}", " ")
        return (
            value
            if isinstance(value, str)
            else json.dumps(msgspec.to_builtins(value), ensure_ascii=False)
        )


def _trigger(
    kind: type[Record], before: str | None, after: str | None, event: str | None
) -> str | None:
    """Return a transition's trigger; None if several fit, or if nothing moved and no event came."""
    rows = [row for row in TRANSITIONS.get(kind, ()) if (row.source, row.target) == (before, after)]
    triggers = {row.trigger for row in rows if row.event == event}
    silent = before == after and event is None
    return triggers.pop() if len(triggers) == 1 and not silent else None


def _different(old: Record, new: Record) -> list[str]:
    hidden = {"status", "updated_at", *hidden_fields(type(new))}
    return [
        name
        for name in new.__struct_fields__
        if name not in hidden and getattr(old, name) != getattr(new, name)
    ]


# -- chains


ChainStep = Mapping[str, Any]
"""One step of an explanation, as the control API sends it."""

_LANE_OF = {
    "request": "requests",
    "job": "clock",
    "transition": "money",
    "event": "webhooks",
    "delivery": "webhooks",
    "email": "emails",
}
"""Lanes of kinds of step: requests, jobs, money and states, sent events (deliveries), emails."""

STARTS = ("request", "job")
"""The kinds of step that start an episode."""


class Entry(NamedTuple):
    """Equal steps of one episode: the last of them stands for all."""

    step: ChainStep
    lane: str
    times: int

    @property
    def shape(self) -> tuple[str, str, str | None, int]:
        """The parts in which entries of other episodes must be equal to count as repeats."""
        return self.step["kind"], self.step["subject"], self.step["outcome"], self.times


class Episode(NamedTuple):
    """The effects of one request or job, or of equal ones, begun between ``first`` and ``last``."""

    first: str
    last: str
    times: int
    entries: list[Entry]


def episodes(chain: Sequence[ChainStep], object: str) -> list[Episode]:
    """Return the episodes in the explanation of ``object``, an id; repeats become one."""
    begun = [(steps[0]["at"], _entries(steps, object)) for steps in _by_start(chain)]
    alike = [
        [*own]
        for _, own in groupby(begun, key=lambda episode: [entry.shape for entry in episode[1]])
    ]
    return [Episode(own[0][0], own[-1][0], len(own), own[-1][1]) for own in alike]


def _by_start(chain: Sequence[ChainStep]) -> Iterable[list[ChainStep]]:
    """Return the steps by the request or the job that each of them can be led back to."""
    start_of: dict[str, str] = {}
    steps: dict[str, list[ChainStep]] = {}
    for number, step in enumerate(chain):
        own = step["id"] or f"step {number}"
        cause = start_of.get(step["caused_by"] or "")
        start_of[own] = start = cause if cause and step["kind"] not in STARTS else own
        steps.setdefault(start, []).append(step)
    return steps.values()


def _entries(steps: Sequence[ChainStep], object: str) -> list[Entry]:
    """Return one entry for steps that differ only in their instants and effects."""
    entries: dict[tuple[Any, ...], Entry] = {}
    for step in steps:
        same = (step["kind"], step["subject"], step["outcome"], step["object"])
        times = entries[same].times if same in entries else 0
        entries[same] = Entry(step, _lane(step, object), times + step["times"])
    return list(entries.values())


def _lane(step: ChainStep, object: str) -> str:
    """Return a step's lane: other objects' events are about money, its own ones about webhooks."""
    is_of_another = step["kind"] == "event" and step["object"] != object
    return "money" if is_of_another else _LANE_OF[step["kind"]]
