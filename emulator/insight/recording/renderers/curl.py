"""A recording as a shell script that needs curl and jq."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from importlib.resources import files
from shlex import quote
from typing import Any

from emulator.insight.recording.model import Call, ClockMove, Path, Recording, Reference, Text, joined, parts

HEAD = files("emulator.insight.recording.renderers").joinpath("curl.sh")
"""How each script begins: its settings and the functions that it calls."""


def render(recording: Recording) -> str:
    return HEAD.read_text("utf-8") + "\n" + "\n".join(_lines(recording)) + "\n"


def _lines(recording: Recording) -> Iterator[str]:
    settings = {"fixtures": {"settings": recording.settings}} if recording.settings else {}
    start = {"clock": f"frozen@{recording.clock}", "seed": recording.seed, **settings}
    yield f"call 200 POST /_emulator/reset -d {_word(_json(start))}"
    for step in recording.steps:
        if isinstance(step, ClockMove):
            yield f"call 200 POST /_emulator/clock/advance -d {_word(_json(step.fields))}"
        else:
            yield _call(step)
            for path in sorted(step.used):
                yield f"{_variable(Reference(step, path))}=$(text {quote(_filter(path))})"
    if recording.events is not None:
        yield "call 200 GET '/_emulator/events?page_size=100'"
        yield f"expect '[.data[].type] | reverse' {_word(_json(recording.events))}"


def _call(call: Call) -> str:
    headers = [f" -H {_word(joined([f'{name}: ', *parts(value)]))}" for name, value in call.headers.items()]
    text = call.body if isinstance(call.body, str | Text) else _json(call.body)
    body = "" if call.body is None else f" \\\n  -d {_word(text)}"
    return f"call {call.status} {call.method} {_word(call.path)}{''.join(headers)}{body}"


def _json(value: Any) -> str | Text:
    """Return a JSON value on one line; an object of several fields with spaces, for people."""
    space = " " if isinstance(value, dict) and len(value) > 1 else ""

    def written(value: Any) -> Iterator[str | Reference]:
        if isinstance(value, Text):
            inner = (part if isinstance(part, Reference) else _quoted(part)[1:-1] for part in value.parts)
            yield from ('"', *inner, '"')
        elif isinstance(value, dict | list):
            start, end = "{}" if isinstance(value, dict) else "[]"
            named = value.items() if isinstance(value, dict) else (("", part) for part in value)
            for number, (name, part) in enumerate(named):
                yield f",{space}" if number else start
                yield f"{_quoted(name)}:{space}" if isinstance(value, dict) else ""
                yield from written(part)
            yield end if value else start + end
        else:
            yield _quoted(value)

    return joined(written(value))


def _quoted(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _filter(path: Path) -> str:
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path)


def _variable(reference: Reference) -> str:
    if reference.call is None:
        return "PAYMENTS_EMULATOR_URL"
    return re.sub(r"\W", "_", "_".join(map(str, [reference.call.name, *reference.path])))


def _word(text: str | Text) -> str:
    """Return a word of the shell, with the values of its references."""
    found = [f'"${_variable(part)}"' if isinstance(part, Reference) else quote(part) for part in parts(text)]
    return "".join(found) or "''"
