"""A recording as a shell script that needs curl and jq."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from importlib.resources import files
from shlex import quote
from typing import Any

from emulator.insight.recording.model import (
    Call,
    ClockMove,
    Recording,
    Reference,
    Text,
    dotted,
    joined,
    parts,
)
from emulator.insight.recording.renderers.code import Dialect

HEAD = files("emulator.insight.recording.renderers").joinpath("curl.sh")
"""How each script begins: its settings and the functions that it calls."""


def render(recording: Recording) -> str:
    return HEAD.read_text("utf-8") + "\n" + "\n".join(_lines(recording)) + "\n"


def _lines(recording: Recording) -> Iterator[str]:
    settings = {"fixtures": {"settings": recording.settings}} if recording.settings else {}
    start = {"clock": f"frozen@{recording.clock}", "seed": recording.seed, **settings}
    yield f"call 200 POST /_emulator/reset -d {_json(start)}"
    for step in recording.steps:
        if isinstance(step, ClockMove):
            yield f"call 200 POST /_emulator/clock/advance -d {_json(step.fields)}"
        else:
            yield _call(step)
            for path in sorted(step.used):
                yield f"{_variable(Reference(step, path))}=$(text {quote(dotted(path))})"
    if recording.events is not None:
        yield "call 200 GET '/_emulator/events?page_size=100'"
        yield f"expect '[.data[].type] | reverse' {_json(recording.events)}"


def _call(call: Call) -> str:
    headers = [
        f" -H {_word(joined([f'{name}: ', *parts(value)]))}" for name, value in call.headers.items()
    ]
    text = _word(call.body) if isinstance(call.body, str | Text) else _json(call.body)
    body = "" if call.body is None else f" \\\n  -d {text}"
    return f"call {call.status} {call.method} {_word(call.path)}{''.join(headers)}{body}"


def _json(value: Any) -> str:
    """Return JSON as one word on a line; an object of several fields with spaces, for people."""
    space = " " if isinstance(value, dict) and len(value) > 1 else ""
    return f"'{SHELL._replace(space=space).inline(value)}'"


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("'", "'\"'\"'")


def _inserted(reference: Reference) -> str:
    """Return the value of a reference between two parts of a word that are in single quotes."""
    return f"'\"${_variable(reference)}\"'"


def _variable(reference: Reference) -> str:
    if reference.call is None:
        return "PAYMENTS_EMULATOR_URL"
    return re.sub(r"\W", "_", "_".join(map(str, [reference.call.name, *reference.path])))


SHELL = Dialect(
    _text,
    _text,
    expression=lambda reference: f'"{_inserted(reference)}"',
    inserted=_inserted,
    escaped=lambda part: _text(part)[1:-1],
    quotes=('"', '"'),
)


def _word(text: str | Text) -> str:
    """Return a word of the shell, with the values of its references."""
    words = [
        f'"${_variable(part)}"' if isinstance(part, Reference) else quote(part)
        for part in parts(text)
    ]
    return "".join(words) or "''"
