"""The marks of a recording's start and stop in the journal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from emulator.core.errors import ApiError
from emulator.engine.journal import MAX_REQUESTS
from emulator.engine.logged_requests import LoggedRequest
from emulator.engine.runtime import Runtime

MARKS = START, STOP = "startRecording", "stopRecording"
"""The operations that set a mark: the journal has their requests like any others."""


async def show_mark(runtime: Runtime) -> dict[str, Any]:
    """GET /recording/state: of the recording under way, else of the last one stopped."""
    entries = runtime.journal.entries
    end = _last_mark(entries)
    if end is None or entries[end].operation == START:
        return _state(entries, end, len(entries), is_recording=end is not None)
    return _state(entries, _start(entries[:end]), end, is_recording=False)


async def start(runtime: Runtime) -> dict[str, Any]:
    """POST /recording/start: record the requests after this one; a running recording restarts."""
    end = len(runtime.journal.entries)
    return _state(runtime.journal.entries, end, end, is_recording=True)


async def stop(runtime: Runtime) -> dict[str, Any]:
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
}
