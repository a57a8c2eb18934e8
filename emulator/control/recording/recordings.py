"""The recording of a world: what was done in it, as steps or as a test that runs by itself.

Marks in the journal of a world say where a recording was started and stopped.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from emulator.control.recording.builder import Builder
from emulator.control.recording.exchanges import Exchange, Wanted
from emulator.control.recording.journal_reader import JournalReader
from emulator.control.recording.model import Recording
from emulator.control.recording.renderers import FORMS
from emulator.control.requests import find
from emulator.core.errors import ApiError, invalid_field
from emulator.core.handlers import Query
from emulator.engine.engine import Engine
from emulator.engine.journal import MAX_REQUESTS, LoggedRequest
from emulator.engine.runtime import Runtime
from emulator.web.context import Response

# -- marks


MARKS = START, STOP = "startRecording", "stopRecording"
"""The operations that set a mark: the journal has their requests like any others."""


async def show_mark(engine: Engine, runtime: Runtime, query: Query) -> dict[str, Any]:
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
    """Return the index of the mark where the recording under way started; None if none is."""
    last = _last_mark(entries)
    return last if last is not None and entries[last].operation == START else None


def _last_mark(entries: Sequence[LoggedRequest]) -> int | None:
    numbers = range(len(entries) - 1, -1, -1)
    marks = (n for n in numbers if entries[n].operation in MARKS and entries[n].status < 300)
    return next(marks, None)


def _state(entries: Sequence[LoggedRequest], start: int | None, end: int, *, is_recording: bool) -> dict[str, Any]:
    """Return the state of a recording: ``since_request`` came before its start, ``until_request`` is the last in it."""
    count = 0 if start is None else max(0, end - start - 1)
    return {
        "is_recording": is_recording,
        "since_request": entries[start - 1].id if start else None,
        "until_request": entries[end - 1].id if count else None,
        "request_count": count,
    }


# -- recordings


class _Span(NamedTuple):
    """A part of the journal: all exchanges up to its end, and the index of the first one in it.

    ``done`` is how many units of work the world had at the end, ``now`` its instant then.
    """

    exchanges: list[Exchange]
    first: int
    done: int
    now: str

    @property
    def ids(self) -> set[str]:
        """The ids of its requests."""
        return {each.id for each in self.exchanges[self.first :]}


async def show(engine: Engine, runtime: Runtime, query: Query) -> Any:
    """GET /recording."""
    await runtime.catch_up()
    reader, form = JournalReader(runtime), query["as"]
    span = _span(runtime, reader, query)
    recording = _recording(reader, span, query)
    if form == "steps":
        return msgspec.to_builtins(recording)
    return Response(200, FORMS[form](recording).encode(), media_type=b"text/plain; charset=utf-8")


def _recording(reader: JournalReader, span: _Span, query: Query) -> Recording:
    wanted = [_wanted(text, reader) for text in query.get("expect", ())]
    # Of a world with a past only a part can be done again: what its own requests did, and the events that they caused.
    among, is_part = span.ids, span.first > 0 or bool(reader.past)
    if is_part and (objects := reader.objects_of(span.exchanges[span.first :], span.done)):
        among |= reader.needed(span.exchanges, objects)
    answered = reader.last_unit(span.exchanges)
    builder = Builder(reader.start(), span.exchanges, span.now, reader)
    events = reader.events(span.done, of_any=not is_part)
    return builder.build(among, wanted, events, reader.jobs_until(answered, span.done))


def _span(runtime: Runtime, reader: JournalReader, query: Query) -> _Span:
    exchanges = reader.exchanges()
    after = {each.id: number for number, each in enumerate(exchanges, 1)}
    first, end = (
        after[find(runtime.journal, query[name], name).id] if name in query else default
        for name, default in (("since", 0), ("until", len(exchanges)))
    )
    if first > end:
        raise invalid_field("until", "is before the request of since")
    if end == len(exchanges):
        return _Span(exchanges, first, runtime.journal.count, runtime.now())
    return _Span(exchanges[:end], first, exchanges[end].place, exchanges[end].now)


def _wanted(text: str, reader: JournalReader) -> Wanted:
    name, _, value = text.partition("=")
    id, _, field = name.partition(".")
    _require(id, "expect", reader)
    _require_field(reader.shown(id), field)
    return Wanted(id, field, _value(value))


def _require(id: str, param: str, reader: JournalReader) -> None:
    """Raise 404 if no object has this id."""
    if reader.operation_that_reads(id) is None:
        raise ApiError("NOT_FOUND", param=param, message=f"There is no object {id[:60]}.")


def _require_field(shown: Any, field: str) -> None:
    """Raise 422 if an object, as it is shown now, has no such field."""
    for name in field.split("."):
        if isinstance(shown, list) and name.isdigit() and int(name) < len(shown):
            shown = shown[int(name)]
        elif isinstance(shown, dict) and name in shown:
            shown = shown[name]
        else:
            present = f"the fields are {', '.join(shown)}" if isinstance(shown, dict) and shown else "there are none"
            raise invalid_field("expect", f"there is no field {field[:60]} ({name[:60]}): {present}")


def _value(text: str) -> Any:
    """Return the value as JSON if it is a number, true, false or null, else as text."""
    if re.fullmatch(r"null|true|false|-?\d{1,15}(\.\d+)?", text):
        return msgspec.json.decode(text)
    return text


OPERATIONS = {
    "getRecordingState": show_mark,
    START: start,
    STOP: stop,
    "getRecording": show,
}
