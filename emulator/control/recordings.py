"""The actions in a world, as a test, and the marks of a recording's start and stop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from emulator.core.errors import ApiError
from emulator.core.lists import Query
from emulator.engine.engine import Engine
from emulator.engine.journal import MAX_REQUESTS
from emulator.engine.logged_requests import LoggedRequest
from emulator.engine.runtime import Runtime
from emulator.insight.recording.builder import Builder
from emulator.insight.recording.renderers import FORMS
from emulator.web.context import Response


async def show(engine: Engine, runtime: Runtime, query: Query) -> Response:
    """GET /recording. Raises 409 where there is nothing to record, or it cannot be done again."""
    await runtime.catch_up()
    recording = Builder(runtime, query.get("since"), query.get("until")).build()
    return Response(
        200, FORMS[query["as"]](recording).encode(), media_type=b"text/plain; charset=utf-8"
    )


# -- marks


MARKS = START, STOP = "startRecording", "stopRecording"
"""The operations that set a mark: the journal has their requests like any others."""


async def show_mark(engine: Engine, runtime: Runtime, query: Query) -> dict[str, Any]:
    """GET /recording/state: of the recording under way, else of the last one stopped."""
    entries = runtime.journal.entries
    end = _last_mark(entries)
    if end is None or entries[end].operation == START:
        return _state(entries, end, len(entries), is_recording=end is not None)
    return _state(entries, _start(entries[:end]), end, is_recording=False)


async def start(engine: Engine, runtime: Runtime, query: Query) -> dict[str, Any]:
    """POST /recording/start: record the requests after this one; a running recording restarts."""
    end = len(runtime.journal.entries)
    return _state(runtime.journal.entries, end, end, is_recording=True)


async def stop(engine: Engine, runtime: Runtime, query: Query) -> dict[str, Any]:
    """POST /recording/stop. Raises 404 if no recording is under way."""
    entries = runtime.journal.entries
    begun = _start(entries)
    if begun is None:
        message = f"No recording is under way, or it began more than {MAX_REQUESTS} requests ago."
        raise ApiError("NOT_FOUND", message=message)
    return _state(entries, begun, len(entries), is_recording=False)


def _start(entries: Sequence[LoggedRequest]) -> int | None:
    """Return the index of the mark where the recording under way started, or None."""
    last = _last_mark(entries)
    return last if last is not None and entries[last].operation == START else None


def _last_mark(entries: Sequence[LoggedRequest]) -> int | None:
    numbers = range(len(entries) - 1, -1, -1)
    marks = (n for n in numbers if entries[n].operation in MARKS and entries[n].status < 300)
    return next(marks, None)


def _state(
    entries: Sequence[LoggedRequest], start: int | None, end: int, *, is_recording: bool
) -> dict[str, Any]:
    """Return a recording's state: ``since_request`` is before it, ``until_request`` its last."""
    count = 0 if start is None else max(0, end - start - 1)
    return {
        "is_recording": is_recording,
        "since_request": entries[start - 1].id if start else None,
        "until_request": entries[end - 1].id if count else None,
        "request_count": count,
    }


OPERATIONS = {
    "getRecordingState": show_mark,
    START: start,
    STOP: stop,
    "getRecording": show,
}
