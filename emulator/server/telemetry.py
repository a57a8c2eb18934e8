"""Telemetry: requests, jobs, events and deliveries as OpenTelemetry spans, sent to a collector (extra ``otel``).

A job that was due at once is part of its request's trace. One that is due later, such as a renewal, begins a trace of
its own with a link to what planned it, so that causes can be followed across virtual time.
"""

from __future__ import annotations

import atexit
import threading

from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Link, Span, SpanContext, SpanKind, Status, StatusCode, Tracer, set_span_in_context
from opentelemetry.trace import NonRecordingSpan as Remote
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from emulator.core.calendar import Timestamp
from emulator.core.jobs import Job
from emulator.core.records import Record
from emulator.core.unit_of_work import HttpResult, UnitOfWork
from emulator.engine.journal import LoggedRequest
from emulator.engine.trace_contexts import TraceHeaders, created, forget_oldest, job_of
from emulator.resources.webhooks.deliveries import WebhookDelivery
from emulator.version import VERSION

TRACES = "/v1/traces"
"""The path of a collector that takes spans (OTLP over HTTP)."""

PROPAGATOR = TraceContextTextMapPropagator()


LAST_WORDS = 0.5
"""Seconds (real time) that the end of the process waits for a collector."""


class Telemetry:
    """Sends spans to the collector at a URL, such as ``http://localhost:4318``.

    What is left is sent at exit, in a thread that the process does not wait for if the collector hangs. It exists from
    the start, since a process that ends begins no threads.
    """

    def __init__(self, url: str) -> None:
        endpoint = url if url.endswith(TRACES) else url.rstrip("/") + TRACES
        resource = Resource.create({"service.name": "payments-emulator"})
        self._provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint)))
        self._tracer = self._provider.get_tracer("payments-emulator", VERSION)
        self._at_exit = threading.Event()
        self._last = threading.Thread(target=self._send_the_rest, name="telemetry", daemon=True)
        self._last.start()
        atexit.register(self._end)

    def _end(self) -> None:
        self._at_exit.set()
        self._last.join(LAST_WORDS)

    def _send_the_rest(self) -> None:
        self._at_exit.wait()
        self._provider.shutdown()

    def world(self, app: str) -> Spans:
        """Return the spans of one App's world."""
        return Spans(self._tracer, app)


class Spans:
    """The spans of one world. ``emulator.at`` is the instant in the world; times of spans are real.

    ``_causes`` are the contexts in which later spans begin, by the id of the request, job, event or delivery.
    """

    records_all = True

    def __init__(self, tracer: Tracer, app: str) -> None:
        self._tracer = tracer
        self._app = app
        self._causes: dict[str, SpanContext] = {}
        self._planned: dict[str, Timestamp] = {}
        self._open: dict[str, Span] = {}

    def begin(self, request: str, given: TraceHeaders, name: str) -> None:
        """Start the span of a request; not of a read of the control API, of which a console makes many."""
        if name.startswith("GET /_emulator"):
            return
        parent = PROPAGATOR.extract(given, Context())
        span = self._started(name, parent, SpanKind.SERVER, {"emulator.request": request})
        self._causes[request] = span.get_span_context()
        self._open[request] = span
        for contexts in (self._causes, self._open):
            forget_oldest(contexts)

    def answered(self, entry: LoggedRequest) -> None:
        """End the span of a request."""
        if (span := self._open.pop(entry.id, None)) is not None:
            span.set_attribute("http.response.status_code", entry.status)
            span.set_attribute("emulator.operation", entry.operation or "")
            if entry.status >= 500:
                span.set_status(Status(StatusCode.ERROR))
            span.end()

    def committed(self, unit: UnitOfWork, now: Timestamp) -> None:
        """Record the job that a unit of work ran, and its events; what it planned and will deliver begins in these."""
        job = job_of(unit)
        cause = self._run(job, now) if job else self._causes.get(unit.cause or "")
        for event in unit.events:
            about = {"emulator.event": event.id, "emulator.at": now}
            span = self._started(f"event {event.type}", _within(cause), SpanKind.INTERNAL, about)
            self._causes[event.id] = span.get_span_context()
            span.end()
        for record in created(unit):
            self._note(record, cause, now)

    def _run(self, job: Job, now: Timestamp) -> SpanContext:
        """Return the span of a job: within what planned it if it was due at once, else linked to that."""
        planner = self._causes.pop(job.id, None)
        at_once = self._planned.pop(job.id, None) == job.due
        about = {"emulator.job": job.id, "emulator.about": job.about or "", "emulator.at": now}
        parent = _within(planner) if at_once else Context()
        links = [Link(planner)] if planner and not at_once else []
        span = self._started(f"job {job.name}", parent, SpanKind.INTERNAL, about, links)
        span.end()
        return span.get_span_context()

    def _note(self, record: Record, cause: SpanContext | None, now: Timestamp) -> None:
        """Store the context in which a planned job or a delivery begins."""
        if isinstance(record, WebhookDelivery):
            cause = self._causes.get(record.event, cause)
        if cause is not None:
            self._causes[record.id] = cause
            self._planned[record.id] = now
        for contexts in (self._causes, self._planned):
            forget_oldest(contexts)

    def sending(self, delivery: str, attempt: int) -> dict[str, str]:
        """Start the span of an attempt; a retry begins a trace that is linked to the first attempt."""
        cause = self._causes.get(delivery)
        about = {"emulator.delivery": delivery, "emulator.attempt": str(attempt)}
        links = [Link(cause)] if cause and attempt > 1 else []
        parent = _within(cause) if attempt == 1 else Context()
        span = self._started("deliver webhook", parent, SpanKind.CLIENT, about, links)
        self._open[delivery] = span
        if attempt == 1:
            self._causes[delivery] = span.get_span_context()
        headers: dict[str, str] = {}
        PROPAGATOR.inject(headers, set_span_in_context(span))
        return headers

    def sent(self, delivery: str, result: HttpResult) -> None:
        """End the span of an attempt."""
        if (span := self._open.pop(delivery, None)) is not None:
            if result.status_code is not None:
                span.set_attribute("http.response.status_code", result.status_code)
            if result.error:
                span.set_status(Status(StatusCode.ERROR, result.error))
            span.end()

    def _started(
        self, name: str, parent: Context, kind: SpanKind, about: dict[str, str], links: list[Link] | None = None
    ) -> Span:
        attributes = {"emulator.app": self._app, **about}
        return self._tracer.start_span(name, parent, kind, attributes, links)


def _within(cause: SpanContext | None) -> Context:
    """Return the context of a span that a cause is the parent of."""
    return set_span_in_context(Remote(cause), Context()) if cause else Context()
