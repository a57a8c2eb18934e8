"""The recording of a world: what was done in it, as steps or as a test that runs by itself."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from emulator.control.recorded_journal import JournalReader
from emulator.core.events import Event
from emulator.core.handlers import Query
from emulator.engine.engine import Engine
from emulator.engine.runtime import Runtime
from emulator.errors import ApiError, invalid_field
from emulator.recording import har
from emulator.recording.builder import Builder, Wanted
from emulator.recording.model import Recording
from emulator.recording.renderers import FORMS
from emulator.web.response import Response

MAX_EVENTS = 100
"""Events that are expected one by one where nothing else is; of more, none is."""


async def show(engine: Engine, runtime: Runtime, query: Query) -> Any:
    """GET /recording."""
    await runtime.catch_up()
    reader, form = JournalReader(runtime), query["as"]
    exchanges = reader.exchanges()
    since = _since([each.id for each in exchanges], query.get("since"))
    if form == "har":
        return har.render(reader.start(), exchanges[since:], runtime.now())
    done = runtime.journal.entries[-1].last_unit if exchanges else 0
    builder = Builder(reader.start(), exchanges, runtime.now(), reader)
    wanted = [_wanted(text, reader) for text in query.get("expect", ())]
    among = {each.id for each in exchanges[since:]}
    if (about := query.get("about")) is not None:
        _require(about, "about", reader)
        among &= reader.needed(exchanges, about)
    recording = builder.build(among, wanted, _events(runtime), reader.jobs_until(done))
    return msgspec.to_builtins(recording) if form == "steps" else _rendered(recording, form)


def _rendered(recording: Recording, form: str) -> Response:
    files = FORMS[form](recording)
    text = files[""] if "" in files else msgspec.json.encode(files).decode()
    return Response(200, text.encode(), media_type="text/plain; charset=utf-8")


def _since(ids: list[str], id: str | None) -> int:
    """The number of the first exchange after the one with an id."""
    if id is None:
        return 0
    if id not in ids:
        raise ApiError("NOT_FOUND", param="since", message=f"There is no request {id[:60]} in the journal.")
    return ids.index(id) + 1


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


def _events(runtime: Runtime) -> list[str] | None:
    events = [event.type for event in runtime.world.table(Event)]
    return events if len(events) <= MAX_EVENTS else None


OPERATIONS = {"getRecording": show}
