"""Wording: what happened to an object, each step of it in one short sentence."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from emulator.core.jobs import FailedJob
from emulator.core.records import Record, hidden_fields
from emulator.core.unit_of_work import Change
from emulator.core.world import Event
from emulator.engine.logged_request import LoggedRequest
from emulator.resources.registry import LIFE_CYCLES
from emulator.resources.sandbox.emails import Email
from emulator.resources.webhooks.deliveries import DeliveryAttempt, WebhookDelivery

FIELDS = 6
"""Changed fields that a sentence names."""

LONGEST = 40
"""Characters of a value that are shown."""

ROWS = {life.kind: life.rows for life in LIFE_CYCLES}


def of_request(entry: LoggedRequest | None, did: str) -> str:
    """A request and what it did, or how it was answered; one that is no longer in the journal is called so."""
    if entry is None:
        return f"a request that is no longer in the journal{did and ' '}{did}"
    return f"{entry.method} {entry.target} {did or f'was answered with {entry.status}'}"


def of_jobs(name: str, about: str | None, times: int, did: str = "") -> str:
    """A job that ran, or a row of them, each planned by the one before."""
    ran = "ran" if times == 1 else f"ran {times} times, each planned by the one before"
    return f"job {name}{f' of {about}' if about else ''} {ran}{f' and {did}' if did else ''}"


def of_failure(job: FailedJob) -> str:
    """A job that raised."""
    return f"job {job.name} failed and was taken back: {job.error}"


def of_event(event: Event, id: str) -> str:
    """An event; of what, where that is not the object itself."""
    about = event.about
    return f"{event.type} told" + (f" of {about}" if about not in (id, event.id) and event.id != id else "")


def of_attempt(delivery: WebhookDelivery, attempt: DeliveryAttempt, url: str) -> str:
    """One attempt at a delivery and how it ended; what follows the last one."""
    if attempt.status_code is not None and attempt.status_code < 300:
        return f"{delivery.event_type} delivered to {url} with {attempt.status_code}"
    reason = attempt.error or attempt.status_code
    more = f"; next attempt at {delivery.next_attempt_at}" if delivery.next_attempt_at else ""
    last = attempt is delivery.attempts[-1]
    return f"{delivery.event_type} not delivered to {url}: {reason}{more if last else ''}"


def of_waiting(delivery: WebhookDelivery, url: str) -> str:
    """A delivery that nobody has attempted: not yet, or never because its endpoint was disabled."""
    told = "waits to be delivered to" if delivery.status == "pending" else "missed by disabled endpoint"
    return f"{delivery.event_type} {told} {url}"


def of_email(email: Email) -> str:
    """An email, and what became of it at a mail server if there is one."""
    failed = f"; not sent: {email.error}" if email.error else ""
    return f"email {email.topic} to {email.to}{failed}"


def of_change(change: Change, event: str | None) -> str | None:
    """What became of a record, and by which trigger of its life cycle where only one can have been; None for nothing.

    ``event`` is what was told of the record right after.
    """
    old, new = change.old, change.new
    assert new is not None
    before, after = getattr(old, "status", None), getattr(new, "status", None)
    by = trigger(type(new), before, after, event)
    if old is None:
        return f"made{f' as {after}' if after else ''}{by}"
    if before != after or by:
        return f"{before} -> {after}{by}" + "".join(f" ({fields})" for fields in [differences(old, new)] if fields)
    fields = differences(old, new)
    return f"changed {fields}" if fields else None


def trigger(kind: type[Record], before: str | None, after: str | None, event: str | None) -> str:
    """By which trigger a record moved; nothing where several lead there, and where it stayed and no event tells."""
    rows = [row for row in ROWS.get(kind, ()) if (row.source, row.target) == (before, after)]
    told = {row.trigger for row in rows if row.event == event}
    silent = before == after and event is None
    return f" by `{told.pop()}`" if len(told) == 1 and not silent else ""


def differences(old: Record, new: Record) -> str:
    """The fields that are shown and differ, with their values before and after."""
    hidden = {"status", "updated_at", *hidden_fields(type(new))}
    named = [
        f"{name} {_shown(getattr(old, name), getattr(new, name))}"
        for name in new.__struct_fields__
        if name not in hidden and getattr(old, name) != getattr(new, name)
    ]
    more = f" and {len(named) - FIELDS} more" if len(named) > FIELDS else ""
    return ", ".join(named[:FIELDS]) + more


def _shown(before: Any, after: Any) -> str:
    """How a value changed; one that is too long for a sentence just did."""
    texts = [_text(before), _text(after)]
    if max(map(len, texts)) > LONGEST:
        return "set" if before is None else "removed" if after is None else "changed"
    return " -> ".join(texts)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(msgspec.to_builtins(value), ensure_ascii=False)
