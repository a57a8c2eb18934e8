"""A recording as a shell script that needs curl and jq."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from shlex import quote
from typing import Any

from emulator.insight.recording.model import (
    URL,
    Call,
    ClockMove,
    Recording,
    Reference,
    parts,
    reset_body,
)

HEAD = Path(__file__).with_suffix(".sh")
"""How each script begins: its settings and the functions that it calls."""


def render(recording: Recording) -> str:
    return HEAD.read_text("utf-8") + "\n" + "\n".join(_lines(recording)) + "\n"


def _lines(recording: Recording) -> Iterator[str]:
    captured = recording.referenced()
    yield f"call 200 POST /_emulator/reset -d {_word(_json(reset_body(recording)))}"
    for step in recording.steps:
        if isinstance(step, ClockMove):
            yield f"call 200 POST /_emulator/clock/advance -d {_word(_json(step.fields))}"
        else:
            yield _call(step)
            for reference in sorted(captured.get(step.name or "", ())):
                yield f"{_variable(reference)}=$(text {quote(_filter(reference.path))})"
    if recording.events is not None:
        yield "call 200 GET '/_emulator/events?page_size=100'"
        yield f"expect '[.data[].type] | reverse' {_word(_json(recording.events))}"


def _call(call: Call) -> str:
    headers = [f" -H {_word(f'{name}: {value}')}" for name, value in call.headers.items()]
    text = call.body if isinstance(call.body, str) else _json(call.body)
    body = "" if call.body is None else f" \\\n  -d {_word(text)}"
    return f"call {call.status} {call.method} {_word(call.path)}{''.join(headers)}{body}"


def _json(value: Any) -> str:
    is_short = not isinstance(value, Mapping) or len(value) < 2
    return json.dumps(value, ensure_ascii=False, separators=(",", ":") if is_short else (", ", ": "))


def _filter(path: tuple[str | int, ...]) -> str:
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path)


def _variable(reference: Reference) -> str:
    if reference.name == URL:
        return "PAYMENTS_EMULATOR_URL"
    return re.sub(r"\W", "_", "_".join([reference.name, *map(str, reference.path)]))


def _word(text: str) -> str:
    """Return a word of the shell, with the values of its references."""
    found = [f'"${_variable(part)}"' if isinstance(part, Reference) else quote(part) for part in parts(text)]
    return "".join(found) or "''"
