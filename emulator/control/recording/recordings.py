"""The recording of a world: what was done in it, as steps or as a test that runs by itself."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import msgspec

from emulator.control.recording.builder import Builder
from emulator.control.recording.exchanges import Exchange, Wanted
from emulator.control.recording.model import Recording
from emulator.control.recording.recorded_journal import JournalReader
from emulator.control.recording.renderers import FORMS
from emulator.core.errors import ApiError, invalid_field
from emulator.core.handlers import Query
from emulator.engine.engine import Engine
from emulator.engine.runtime import Runtime
from emulator.web.context import Response


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
    return msgspec.to_builtins(recording) if form == "steps" else _rendered(recording, form)


def _recording(reader: JournalReader, span: _Span, query: Query) -> Recording:
    wanted = [_wanted(text, reader) for text in query.get("expect", ())]
    among, is_part = span.ids, span.first > 0
    if (about := query.get("about")) is not None:
        _require(about, "about", reader)
        among &= reader.needed(span.exchanges, [about])
    elif is_part and (objects := reader.objects_of(span.exchanges[span.first :], span.done)):
        among |= reader.needed(span.exchanges, objects)
    answered = reader.last_unit(span.exchanges)
    builder = Builder(reader.start(), span.exchanges, span.now, reader)
    events = reader.events(span.done, of_any=not is_part)
    return builder.build(among, wanted, events, reader.jobs_until(answered, span.done))


def _span(runtime: Runtime, reader: JournalReader, query: Query) -> _Span:
    exchanges = reader.exchanges()
    first = 0 if "since" not in query else _index(exchanges, query["since"], "since") + 1
    end = len(exchanges) if "until" not in query else _index(exchanges, query["until"], "until") + 1
    if first > end:
        raise invalid_field("until", "is before the request of since")
    if end == len(exchanges):
        return _Span(exchanges, first, runtime.journal.count, runtime.now())
    return _Span(exchanges[:end], first, exchanges[end].place, exchanges[end].now)


def _index(exchanges: list[Exchange], id: str, param: str) -> int:
    """The index of the exchange with an id. Raises 404 if there is none."""
    found = next((number for number, each in enumerate(exchanges) if each.id == id), None)
    if found is None:
        raise ApiError("NOT_FOUND", param=param, message=f"There is no request {id[:60]} in the journal.")
    return found


def _rendered(recording: Recording, form: str) -> Response:
    return Response(200, FORMS[form](recording).encode(), media_type="text/plain; charset=utf-8")


def _wanted(text: str, reader: JournalReader) -> Wanted:
    name, _, value = text.partition("=")
    id, _, field = name.partition(".")
    _require(id, "expect", reader)
    _require_field(reader.shown(id), field)
    return Wanted(id, field, _value(value))


def _require(id: str, param: str, reader: JournalReader) -> None:
    """Raise 404 if no object has this id."""
    if reader.reading(id) is None:
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
    """The value as JSON if it is a number, true, false or null, else as text."""
    if re.fullmatch(r"null|true|false|-?\d{1,15}(\.\d+)?", text):
        return msgspec.json.decode(text)
    return text


OPERATIONS = {"getRecording": show}
