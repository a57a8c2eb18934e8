"""The text of explanations: each step in one short sentence."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import msgspec

from emulator.core.events import Event
from emulator.core.jobs import FailedJob
from emulator.core.records import Record, hidden_fields
from emulator.core.unit_of_work import Change
from emulator.engine.logged_request import LoggedRequest
from emulator.resources.registry import STATE_MACHINES
from emulator.resources.simulation.emails import Email
from emulator.resources.webhooks.deliveries import DeliveryAttempt, WebhookDelivery

FIELDS = 6
"""The most changed fields that a sentence names."""

LONGEST = 40
"""The most characters of a value that are shown."""

TRANSITIONS = {machine.kind: machine.rows for machine in STATE_MACHINES}


class StepText(NamedTuple):
    """The sentence of a step, and its parts: what it is about, and how that ended. ``times``: equal steps in one."""

    summary: str
    subject: str
    outcome: str | None = None
    times: int = 1


def of_request(entry: LoggedRequest | None, action: str) -> StepText:
    """A request and what it did, or its response; the journal may have dropped it."""
    if entry is None:
        return StepText(f"a request that is no longer in the journal{action and ' '}{action}", "")
    subject = f"{entry.method} {entry.target}"
    return StepText(f"{subject} {action or f'was answered with {entry.status}'}", subject, str(entry.status))


def of_jobs(name: str, about: str | None, times: int, action: str = "") -> StepText:
    """A job that ran, or several, each planned by the one before."""
    ran = "ran" if times == 1 else f"ran {times} times, each planned by the one before"
    summary = f"job {name}{f' of {about}' if about else ''} {ran}{f' and {action}' if action else ''}"
    return StepText(summary, name, times=times)


def of_failure(job: FailedJob) -> StepText:
    """A job that raised."""
    return StepText(f"job {job.name} failed and was undone: {job.error}", job.name, job.error)


def of_event(event: Event, id: str) -> StepText:
    """An event, with its object if that is not the object being explained."""
    about = event.about
    other = f" for {about}" if about not in (id, event.id) and event.id != id else ""
    return StepText(f"{event.type} emitted{other}", event.type)


def of_attempt(delivery: WebhookDelivery, attempt: DeliveryAttempt, url: str) -> StepText:
    """One delivery attempt and its outcome; after the last one also when the next is due."""
    type, status = delivery.event_type, attempt.status_code
    if status is not None and status < 300:
        return StepText(f"{type} delivered to {url} with {status}", type, str(status))
    reason = attempt.error or status
    more = f"; next attempt at {delivery.next_attempt_at}" if delivery.next_attempt_at else ""
    last = attempt is delivery.attempts[-1]
    return StepText(f"{type} not delivered to {url}: {reason}{more if last else ''}", type, str(reason))


def of_waiting(delivery: WebhookDelivery, url: str) -> StepText:
    """A delivery without attempts: it is pending, or its endpoint was disabled."""
    state = "waits to be delivered to" if delivery.status == "pending" else "missed by disabled endpoint"
    return StepText(f"{delivery.event_type} {state} {url}", delivery.event_type, delivery.status)


def of_email(email: Email) -> StepText:
    """An email, and why an SMTP server did not take it, if so."""
    failed = f"; not sent: {email.error}" if email.error else ""
    return StepText(f"email {email.topic} to {email.to}{failed}", email.topic, email.error)


def of_change(change: Change, event: str | None) -> StepText | None:
    """How a record changed, with the trigger of the transition if only one fits; None if nothing visible changed.

    ``event`` is the type of the event emitted for the record right after.
    """
    old, new = change.old, change.new
    assert new is not None
    before, after = getattr(old, "status", None), getattr(new, "status", None)
    trigger = _trigger(type(new), before, after, event)
    by = f" by `{trigger}`" if trigger else ""
    if old is None:
        return StepText(f"created{f' as {after}' if after else ''}{by}", f"→ {after or 'created'}", trigger)
    names = _different(old, new)
    fields = differences(old, new, names)
    if before != after or by:
        return StepText(f"{before} -> {after}{by}{f' ({fields})' if fields else ''}", f"{before} → {after}", trigger)
    return StepText(f"changed {fields}", ", ".join(names)) if names else None


def _trigger(kind: type[Record], before: str | None, after: str | None, event: str | None) -> str | None:
    """The trigger of a transition; None if several triggers fit, or if the state stayed and no event was emitted."""
    rows = [row for row in TRANSITIONS.get(kind, ()) if (row.source, row.target) == (before, after)]
    triggers = {row.trigger for row in rows if row.event == event}
    silent = before == after and event is None
    return triggers.pop() if len(triggers) == 1 and not silent else None


def _different(old: Record, new: Record) -> list[str]:
    """The names of the visible fields that differ."""
    hidden = {"status", "updated_at", *hidden_fields(type(new))}
    return [name for name in new.__struct_fields__ if name not in hidden and getattr(old, name) != getattr(new, name)]


def differences(old: Record, new: Record, names: list[str]) -> str:
    """Fields that differ, with their values before and after."""
    shown = [f"{name} {_shown(getattr(old, name), getattr(new, name))}" for name in names[:FIELDS]]
    more = f" and {len(names) - FIELDS} more" if len(names) > FIELDS else ""
    return ", ".join(shown) + more


def _shown(before: Any, after: Any) -> str:
    """How a value changed; for a long value without the value itself."""
    texts = [_text(before), _text(after)]
    if max(map(len, texts)) > LONGEST:
        return "set" if before is None else "removed" if after is None else "changed"
    return " -> ".join(texts)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(msgspec.to_builtins(value), ensure_ascii=False)
