"""The text of explanations: each step in one short sentence."""

from __future__ import annotations

import json
from typing import Any

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


def of_request(entry: LoggedRequest | None, action: str) -> str:
    """A request and what it did, or its response; the journal may have dropped it."""
    if entry is None:
        return f"a request that is no longer in the journal{action and ' '}{action}"
    return f"{entry.method} {entry.target} {action or f'was answered with {entry.status}'}"


def of_jobs(name: str, about: str | None, times: int, action: str = "") -> str:
    """A job that ran, or several, each planned by the one before."""
    ran = "ran" if times == 1 else f"ran {times} times, each planned by the one before"
    return f"job {name}{f' of {about}' if about else ''} {ran}{f' and {action}' if action else ''}"


def of_failure(job: FailedJob) -> str:
    """A job that raised."""
    return f"job {job.name} failed and was undone: {job.error}"


def of_event(event: Event, id: str) -> str:
    """An event, with its object if that is not the object being explained."""
    about = event.about
    return f"{event.type} emitted" + (f" for {about}" if about not in (id, event.id) and event.id != id else "")


def of_attempt(delivery: WebhookDelivery, attempt: DeliveryAttempt, url: str) -> str:
    """One delivery attempt and its outcome; after the last one also when the next is due."""
    if attempt.status_code is not None and attempt.status_code < 300:
        return f"{delivery.event_type} delivered to {url} with {attempt.status_code}"
    reason = attempt.error or attempt.status_code
    more = f"; next attempt at {delivery.next_attempt_at}" if delivery.next_attempt_at else ""
    last = attempt is delivery.attempts[-1]
    return f"{delivery.event_type} not delivered to {url}: {reason}{more if last else ''}"


def of_waiting(delivery: WebhookDelivery, url: str) -> str:
    """A delivery without attempts: it is pending, or its endpoint was disabled."""
    state = "waits to be delivered to" if delivery.status == "pending" else "missed by disabled endpoint"
    return f"{delivery.event_type} {state} {url}"


def of_email(email: Email) -> str:
    """An email, and why an SMTP server did not take it, if so."""
    failed = f"; not sent: {email.error}" if email.error else ""
    return f"email {email.topic} to {email.to}{failed}"


def of_change(change: Change, event: str | None) -> str | None:
    """How a record changed, with the trigger of the transition if only one fits; None if nothing visible changed.

    ``event`` is the type of the event emitted for the record right after.
    """
    old, new = change.old, change.new
    assert new is not None
    before, after = getattr(old, "status", None), getattr(new, "status", None)
    by = trigger(type(new), before, after, event)
    if old is None:
        return f"created{f' as {after}' if after else ''}{by}"
    if before != after or by:
        return f"{before} -> {after}{by}" + "".join(f" ({fields})" for fields in [differences(old, new)] if fields)
    fields = differences(old, new)
    return f"changed {fields}" if fields else None


def trigger(kind: type[Record], before: str | None, after: str | None, event: str | None) -> str:
    """The trigger of a transition; empty if several triggers fit, or if the state stayed and no event was emitted."""
    rows = [row for row in TRANSITIONS.get(kind, ()) if (row.source, row.target) == (before, after)]
    triggers = {row.trigger for row in rows if row.event == event}
    silent = before == after and event is None
    return f" by `{triggers.pop()}`" if len(triggers) == 1 and not silent else ""


def differences(old: Record, new: Record) -> str:
    """The visible fields that differ, with their values before and after."""
    hidden = {"status", "updated_at", *hidden_fields(type(new))}
    named = [
        f"{name} {_shown(getattr(old, name), getattr(new, name))}"
        for name in new.__struct_fields__
        if name not in hidden and getattr(old, name) != getattr(new, name)
    ]
    more = f" and {len(named) - FIELDS} more" if len(named) > FIELDS else ""
    return ", ".join(named[:FIELDS]) + more


def _shown(before: Any, after: Any) -> str:
    """How a value changed; for a long value without the value itself."""
    texts = [_text(before), _text(after)]
    if max(map(len, texts)) > LONGEST:
        return "set" if before is None else "removed" if after is None else "changed"
    return " -> ".join(texts)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(msgspec.to_builtins(value), ensure_ascii=False)
