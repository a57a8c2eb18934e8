"""The failure report of a world: its clock, requests, events and webhooks as text, for failed tests."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from emulator.testing.api import JSON, Api, RequestRefused
from emulator.testing.collector import Delivery

if TYPE_CHECKING:
    from emulator.testing.clock import WorldClock

LATEST = 40
"""The number of requests, and of events, in a report."""

EXPLAINED = 5
"""The number of failed requests, the last ones, that are shown with their errors."""

ANSWERED = 6
"""The objects, those of the last events, of which a report says how they stand."""

ANSWERED_KINDS = ("subscription", "invoice", "refund", "checkout_session", "payment_intent")
"""Their kinds; what others say is in the answers of these."""

ERROR_LENGTH = 200
"""Characters of an error that are shown."""


def report(api: Api, clock: WorldClock, deliveries: Sequence[Delivery]) -> str:
    """What happened in a world so far, oldest first."""
    shown = clock.show()
    requests = list(islice(api.newest("/_emulator/requests"), LATEST))[::-1]
    events = list(islice(api.newest("/_emulator/events"), LATEST))[::-1]
    parts = [
        f"clock: {shown['now']}, {shown['mode']}",
        next_job(clock),
        _answers(api, events),
        _timeline(api, requests, events),
        received(deliveries) if deliveries else "",
    ]
    return "\n".join(part for part in parts if part)


def happened(events: Sequence[JSON], where: str = "so far") -> str:
    """Events, one per line."""
    return "\n".join([f"Events {where}:", *map(_event, events)]) if events else f"No event happened {where}."


def next_job(clock: WorldClock) -> str:
    """The next job that an advance of the clock would run."""
    job = clock.next_job()
    if job is None:
        return "No job is planned."
    shown = clock.show()
    more = f" and {shown['pending'] - 1} more" if shown["pending"] > 1 else ""
    return f"It is {shown['now']}; next job, at {job['due_at']}: {job['kind']} {job['object'] or ''}{more}."


def received(deliveries: Iterable[Delivery]) -> str:
    """Webhooks that arrived, one per line."""
    lines = list(map(_delivery, deliveries))
    return "\n".join(["Webhooks received:", *lines]) if lines else "No webhook was received."


def _event(event: JSON, mark: str = " ") -> str:
    return f"  {event['created_at']}  {mark} {event['type']}  {event['data']['object'].get('id', '')}"


def _delivery(delivery: Delivery) -> str:
    event = delivery.event
    invalid = "" if delivery.genuine else ", its signature is WRONG"
    again = f", attempt {delivery.attempt}" if delivery.attempt > 1 else ""
    error = f" ({delivery.error})" if delivery.error else ""
    about = f"{event.get('type', 'no event')}  {event.get('id', '')}{again}{invalid}"
    return f"  {event.get('created_at', ''):24}  {about} -> {delivery.status}{error}"


def _answers(api: Api, events: Sequence[JSON]) -> str:
    """How the objects of the last events stand, in a sentence each, the last one first."""
    about = [event["data"]["object"] for event in reversed(events)]
    ids = dict.fromkeys(each["id"] for each in about if each["object"] in ANSWERED_KINDS)
    lines = [line for line in (_answer(api, id) for id in islice(ids, ANSWERED)) if line]
    return "\n".join(["How the objects of the last events stand:", *lines]) if lines else ""


def _answer(api: Api, id: str) -> str:
    try:
        found = api.get(f"/_emulator/explain/{id}")
    except RequestRefused:  # the event was triggered about an object that is gone
        return ""
    return f"  {id}  {found['name']}: {found['summary']}" if found["summary"] else ""


def _timeline(api: Api, requests: Sequence[JSON], events: Sequence[JSON]) -> str:
    if not requests and not events:
        return "No requests and no events."
    failed = [request["id"] for request in requests if request["status"] >= 400][-EXPLAINED:]
    rows = [(request["created_at"], _request(api, request, request["id"] in failed, events)) for request in requests]
    known = {request["id"] for request in requests}
    rows += [(event["created_at"], _event(event, "·")) for event in events if event["request"] not in known]
    rows.sort(key=lambda row: row[0])
    head = "Requests with the events they caused (└), and events of jobs, buyers and triggers (·):"
    return "\n".join([head, *(row[1] for row in rows)])


def _request(api: Api, request: JSON, in_full: bool, events: Iterable[JSON]) -> str:
    line = f"  {request['created_at']}  {request['method']} {request['path']} -> {request['status']}"
    caused = [_event(event, "└") for event in events if event["request"] == request["id"]]
    return "\n".join([f"{line} {_error(api, request)}" if in_full else line, *caused])


def _error(api: Api, request: JSON) -> str:
    body = api.get(f"/_emulator/requests/{request['id']}").get("response_body")
    error = body.get("error", body) if isinstance(body, dict) else {}
    return f"{error.get('code', '')}: {error.get('message', '')}"[:ERROR_LENGTH]
