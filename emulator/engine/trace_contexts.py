"""Trace contexts (W3C): a webhook delivery carries ``traceparent`` and ``tracestate`` of the request that caused it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from emulator.core.calendar import Timestamp
from emulator.core.jobs import Job
from emulator.core.records import Record
from emulator.core.unit_of_work import HttpResult, UnitOfWork
from emulator.engine.journal import LoggedRequest
from emulator.resources.webhooks.deliveries import WebhookDelivery

VALID = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")
"""A ``traceparent`` (https://www.w3.org/TR/trace-context/). Any other value is ignored."""

VALID_STATE = re.compile(r"[\x20-\x7e\t]{1,512}")
"""A ``tracestate`` that is passed on as it is, with the members of other vendors; they must not be longer."""

MAX_CONTEXTS = 10_000
"""Requests, jobs and deliveries of one world whose contexts are stored; then the oldest are forgotten."""


TraceHeaders = Mapping[str, str]
"""``traceparent`` and perhaps ``tracestate``; empty without a valid context."""


def trace_headers(traceparent: str | None, tracestate: str) -> TraceHeaders:
    """Return the valid headers of a trace context; a ``tracestate`` means nothing without its ``traceparent``."""
    if traceparent is None or not VALID.fullmatch(traceparent):
        return {}
    valid = VALID_STATE.fullmatch(tracestate)
    return {"traceparent": traceparent, "tracestate": tracestate} if valid else {"traceparent": traceparent}


class Traces(Protocol):
    """What the engine reports of one world's requests, units of work and deliveries."""

    records_all: bool
    """Whether requests without a ``traceparent`` are reported, too."""

    def begin(self, request: str, given: TraceHeaders, name: str) -> None:
        """Begin the span of a request; ``request`` is its id, ``name`` the method and path of its operation."""

    def answered(self, entry: LoggedRequest) -> None:
        """End the span of a request."""

    def committed(self, unit: UnitOfWork, now: Timestamp) -> None:
        """Record that a unit of work was committed, at an instant of the world."""

    def sending(self, delivery: str, attempt: int) -> dict[str, str]:
        """Return the headers to send with an attempt, counted from 1, of a delivery (its id)."""

    def sent(self, delivery: str, result: HttpResult) -> None:
        """Record the outcome of an attempt."""


class TraceContexts:
    """Passes the context of a request on to the deliveries that it caused, through jobs that were due at once too.

    A job that is due later, such as a renewal, begins without a context.
    """

    __slots__ = ("_contexts",)

    records_all = False

    def __init__(self) -> None:
        self._contexts: dict[str, TraceHeaders] = {}

    def begin(self, request: str, given: TraceHeaders, name: str) -> None:
        if given:
            self._contexts[request] = given
            forget_oldest(self._contexts)

    def answered(self, entry: LoggedRequest) -> None:
        """Record nothing."""

    def committed(self, unit: UnitOfWork, now: Timestamp) -> None:
        if not self._contexts:
            return
        job = job_of(unit)
        context = self._contexts.get(unit.cause or (job.id if job else ""))
        if context is not None:
            at_once = (each.id for each in created(unit) if not isinstance(each, Job) or each.due <= now)
            self._contexts.update(dict.fromkeys(at_once, context))
            forget_oldest(self._contexts)

    def sending(self, delivery: str, attempt: int) -> dict[str, str]:
        return {**self._contexts.get(delivery, {})}

    def sent(self, delivery: str, result: HttpResult) -> None:
        """Record nothing."""


def job_of(unit: UnitOfWork) -> Job | None:
    """Return the job that a unit of work ran, if any: it is removed from the schedule first of all."""
    first = unit.changes[0] if unit.changes else None
    return first.old if first and unit.cause is None and first.new is None and isinstance(first.old, Job) else None


def created(unit: UnitOfWork) -> Iterator[Record]:
    """Yield the jobs and deliveries that a unit of work created."""
    for change in unit.changes:
        if change.old is None and isinstance(change.new, (Job, WebhookDelivery)):
            yield change.new


def forget_oldest(contexts: dict[str, Any]) -> None:
    """Remove the oldest contexts beyond ``MAX_CONTEXTS``."""
    while len(contexts) > MAX_CONTEXTS:
        del contexts[next(iter(contexts))]
