"""The marks of a recording: where it was started and stopped in the journal of a world."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from emulator.core.errors import ApiError
from emulator.core.handlers import Query
from emulator.engine.engine import Engine
from emulator.engine.journal import MAX_REQUESTS, LoggedRequest
from emulator.engine.runtime import Runtime

MARKS = START, STOP = "startRecording", "stopRecording"
"""The operations that set a mark: the journal has their requests like any others."""


async def show(engine: Engine, runtime: Runtime, query: Query) -> dict[str, Any]:
    """GET /recording/state: of the recording that is under way, else of the last one that was stopped."""
    entries = runtime.journal.entries
    end = _last_mark(entries)
    if end is None or entries[end].operation == START:
        return _state(entries, end, len(entries), is_recording=end is not None)
    return _state(entries, _start(entries[:end]), end, is_recording=False)


async def start(engine: Engine, runtime: Runtime, query: Query) -> dict[str, Any]:
    """POST /recording/start. What comes after this request is recorded; a recording under way starts again."""
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
    """The index of the mark where the recording under way started; None if none is."""
    last = _last_mark(entries)
    return last if last is not None and entries[last].operation == START else None


def _last_mark(entries: Sequence[LoggedRequest]) -> int | None:
    numbers = range(len(entries) - 1, -1, -1)
    return next((number for number in numbers if _is_mark(entries[number])), None)


def _is_mark(entry: LoggedRequest) -> bool:
    return entry.operation in MARKS and entry.status < 300


def _state(entries: Sequence[LoggedRequest], start: int | None, end: int, *, is_recording: bool) -> dict[str, Any]:
    """``since_request`` is the one before the start, ``until_request`` the last one that was recorded."""
    count = 0 if start is None else max(0, end - start - 1)
    return {
        "is_recording": is_recording,
        "since_request": entries[start - 1].id if start else None,
        "until_request": entries[end - 1].id if count else None,
        "request_count": count,
    }


OPERATIONS = {"getRecordingState": show, START: start, STOP: stop}
