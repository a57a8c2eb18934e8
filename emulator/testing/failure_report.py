"""A world's story in words: what a failed test needs to know of its clock, requests, events and webhooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from emulator.testing.api import JSON, Api
from emulator.testing.collector import Delivery

if TYPE_CHECKING:
    from emulator.testing.clock import Clock

LATEST = 40
"""Requests, and events, that a story goes back."""

EXPLAINED = 5
"""Refused requests, the last ones, whose errors are told."""

EXPLANATION = 200
"""Characters of such an error."""


def whole(api: Api, clock: Clock, deliveries: Sequence[Delivery]) -> str:
    """The story of a world so far, oldest first."""
    shown = clock.show()
    parts = [
        f"clock: {shown['now']}, {shown['mode']}",
        still_to_come(clock),
        _timeline(api),
        received(deliveries) if deliveries else "",
    ]
    return "\n".join(part for part in parts if part)


def happened(events: Sequence[JSON], where: str = "so far") -> str:
    """Events, one a line."""
    return "\n".join([f"Events {where}:", *map(_event, events)]) if events else f"No event happened {where}."


def still_to_come(clock: Clock) -> str:
    """What the clock has to be advanced for."""
    job = clock.next_job()
    if job is None:
        return "Nothing is planned."
    shown = clock.show()
    more = f" and {shown['pending'] - 1} more" if shown["pending"] > 1 else ""
    return f"It is {shown['now']}; next, at {job['due_at']}: {job['kind']} {job['object'] or ''}{more}."


def received(deliveries: Iterable[Delivery]) -> str:
    """Webhooks that arrived, one a line."""
    lines = list(map(_delivery, deliveries))
    return "\n".join(["Webhooks received:", *lines]) if lines else "No webhook was received at all."


def _event(event: JSON, mark: str = " ") -> str:
    return f"  {event['created_at']}  {mark} {event['type']}  {event['data']['object'].get('id', '')}"


def _delivery(delivery: Delivery) -> str:
    event = delivery.event
    forged = "" if delivery.genuine else ", its signature is WRONG"
    again = f", attempt {delivery.attempt}" if delivery.attempt > 1 else ""
    error = f" ({delivery.error})" if delivery.error else ""
    about = f"{event.get('type', 'no event')}  {event.get('id', '')}{again}{forged}"
    return f"  {event.get('created_at', ''):24}  {about} -> {delivery.status}{error}"


def _timeline(api: Api) -> str:
    requests = list(islice(api.newest("/_emulator/requests"), LATEST))[::-1]
    events = list(islice(api.newest("/_emulator/events"), LATEST))[::-1]
    if not requests and not events:
        return "No request was made, and nothing happened."
    refused = [request["id"] for request in requests if request["status"] >= 400][-EXPLAINED:]
    rows = [(request["created_at"], _request(api, request, request["id"] in refused, events)) for request in requests]
    known = {request["id"] for request in requests}
    rows += [(event["created_at"], _event(event, "·")) for event in events if event["request"] not in known]
    rows.sort(key=lambda row: row[0])
    return "\n".join(
        ["Requests, and the events they caused (└); others (·) came with time:", *(row[1] for row in rows)]
    )


def _request(api: Api, request: JSON, in_full: bool, events: Iterable[JSON]) -> str:
    line = f"  {request['created_at']}  {request['method']} {request['path']} -> {request['status']}"
    caused = [_event(event, "└") for event in events if event["request"] == request["id"]]
    return "\n".join([f"{line} {_refusal(api, request)}" if in_full else line, *caused])


def _refusal(api: Api, request: JSON) -> str:
    body = api.get(f"/_emulator/requests/{request['id']}").get("response_body")
    told = body.get("error", body) if isinstance(body, dict) else {}
    return f"{told.get('code', '')}: {told.get('message', '')}"[:EXPLANATION]
