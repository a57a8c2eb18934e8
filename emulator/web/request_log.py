"""The request log: records each request, once it is answered, in the journal of its world."""

from __future__ import annotations

import time

from starlette.types import Message

from emulator.engine.logged_request import MAX_BODY_BYTES, LoggedRequest, redacted_body
from emulator.engine.runtime import Runtime
from emulator.web.context import RequestContext

SERVICE = "/v1/"


class RequestLog:
    """One request. Those to the service are recorded, and of the control API those that may change something."""

    __slots__ = ("_context", "_method", "_response", "_started", "_status")

    def __init__(self, context: RequestContext) -> None:
        self._context = context
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
        runtime.broker.publish("request", entry)
