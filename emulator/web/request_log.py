"""The recorder: listens to one request being answered and files it in the journal of its world."""

from __future__ import annotations

import time

from starlette.types import Message, Scope

from emulator.engine.logged_request import MAX_BODY_BYTES, LoggedRequest, redacted_body
from emulator.web.context import RequestContext

SERVICE = "/v1/"


class RequestLog:
    """Every request to the service is filed, and of the control API those that change something."""

    __slots__ = ("_answer", "_call", "_scope", "_started", "_status")

    def __init__(self, call: RequestContext, scope: Scope) -> None:
        self._call = call
        self._scope = scope
        self._started = time.perf_counter()
        self._status = 0
        self._answer = b""

    def note(self, message: Message) -> None:
        """Take in a part of the answer; the last one completes the entry, before the client has it."""
        if message["type"] == "http.response.start":
            self._status = message["status"]
            return
        if self._is_filed():
            self._answer += message.get("body", b"")[: MAX_BODY_BYTES - len(self._answer)]
            if not message.get("more_body"):
                self._file()

    def _is_filed(self) -> bool:
        scope = self._scope
        return self._call.runtime is not None and (scope["path"].startswith(SERVICE) or scope["method"] != "GET")

    def _file(self) -> None:
        call, scope, runtime = self._call, self._scope, self._call.runtime
        assert runtime is not None
        entry = LoggedRequest(
            id=call.request_id,
            checkpoint=call.checkpoint or runtime.history.checkpoint(),
            last_unit=runtime.journal.count,
            operation=call.operation_id,
            method=scope["method"],
            path=scope["path"],
            query=scope["query_string"],
            headers=scope["headers"],
            body=redacted_body(call.raw),
            status=self._status,
            answer=self._answer,
            began=self._started,
            answered=time.perf_counter(),
        )
        runtime.journal.record(entry)
        runtime.broker.publish("request", entry)
