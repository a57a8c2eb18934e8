"""The request log: records each request, once it is answered, in the journal of its world."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import islice
from typing import NamedTuple

from starlette.types import Message

from emulator.engine.logged_request import MAX_BODY_BYTES, LoggedRequest, redacted_body, redacted_path
from emulator.engine.runtime import Runtime
from emulator.web.context import RequestContext

SERVICE = "/v1/"

MAX_UNITS = 100
"""The last units of work of a request whose events are shown in the server's log; an advance may have many more."""


class AnsweredRequest(NamedTuple):
    """A request that was answered, as the server's log shows it; ``app`` is None where it is about no App.

    ``events`` are the types of those that it caused, ``seconds`` is real time.
    """

    id: str
    app: str | None
    method: str
    path: str
    status: int
    seconds: float
    events: tuple[str, ...]


RequestReport = Callable[[AnsweredRequest], None]


class RequestLog:
    """One request. Those to the service are recorded, and of the control API those that may change something.

    Each, recorded or not, is given to ``report``.
    """

    __slots__ = ("_context", "_method", "_report", "_response", "_started", "_status")

    def __init__(self, context: RequestContext, report: RequestReport | None = None) -> None:
        self._context = context
        self._report = report
        self._method = context.method
        self._started = time.perf_counter()
        self._status = 0
        self._response = b""

    def add(self, message: Message) -> None:
        """Take a message of the response. The last one completes the entry, before the client has it."""
        if message["type"] == "http.response.start":
            self._status = message["status"]
            return
        runtime = self._context.runtime
        if runtime is not None and self._is_recorded():
            self._response += message.get("body", b"")[: MAX_BODY_BYTES - len(self._response)]
            if not message.get("more_body"):
                self._record(runtime)
        if self._report is not None and not message.get("more_body"):
            self._report(self._answered(runtime))

    def _is_recorded(self) -> bool:
        return self._context.path.startswith(SERVICE) or self._method != "GET"

    def _record(self, runtime: Runtime) -> None:
        context = self._context
        entry = LoggedRequest(
            id=context.request_id,
            checkpoint=runtime.history.beginning(context.checkpoint),
            last_unit=runtime.journal.count,
            operation=context.operation_id or None,
            method=self._method,
            path=context.path,
            query=context.query_string,
            headers=context.raw_headers,
            body=redacted_body(context.raw),
            status=self._status,
            answer=self._response,
            began=self._started,
            answered=time.perf_counter(),
        )
        runtime.journal.record(entry)
        runtime.traces.answered(entry)
        runtime.broker.publish("request", entry)

    def _answered(self, runtime: Runtime | None) -> AnsweredRequest:
        context = self._context
        return AnsweredRequest(
            id=context.request_id,
            app=runtime.world.name if runtime else None,
            method=self._method,
            path=redacted_path(context.path),
            status=self._status,
            seconds=time.perf_counter() - self._started,
            events=self._events(runtime) if runtime and self._is_recorded() else (),
        )

    def _events(self, runtime: Runtime) -> tuple[str, ...]:
        """The types of the events that the request caused; none if it replaced the world."""
        begun = self._context.checkpoint
        if begun is None or runtime.journal.count <= begun.units:
            return ()
        causes = (self._context.request_id, None)
        units = [unit for unit in islice(runtime.journal.since(begun), MAX_UNITS) if unit.cause in causes]
        return tuple(event.type for unit in reversed(units) for event in unit.events)
