"""A recording as a test for pytest with the plugin of this package."""

from __future__ import annotations

import json

from emulator.insight.recording.model import Call, ClockMove, Recording, Reference
from emulator.insight.recording.renderers.code import Dialect

INDENT = 4


def _text(text: str) -> str:
    """Return a string literal in double quotes, as formatters of code write it."""
    return json.dumps(text, ensure_ascii=False) if text.isprintable() else repr(text)


def _expression(reference: Reference) -> str:
    keys = "".join(f"[{_text(key) if isinstance(key, str) else key}]" for key in reference.path)
    return f"{reference.call.name}{keys}" if reference.call else "payments.url"


PYTHON = Dialect(
    _text,
    _text,
    _expression,
    # With single quotes, as Python before 3.12 needs.
    inserted=lambda reference: f"{{{_expression(reference)}}}".replace('"', "'"),
    escaped=lambda part: _text(part)[1:-1].replace("{", "{{").replace("}", "}}"),
    quotes=('f"', '"'),
    constants=("None", "True", "False"),
    indent=INDENT,
)


def render(recording: Recording) -> str:
    lines = [
        _move(step) if isinstance(step, ClockMove) else _call(step) for step in recording.steps
    ]
    lines += [] if recording.events is None else [_events(recording.events)]
    text = "\n".join(f"{' ' * INDENT}{line}" for line in lines)
    marker = f"clock={_text(recording.clock)}, seed={recording.seed}"
    if recording.settings:
        marker += f", settings={PYTHON.literal(recording.settings, 0, 90)}"
    return (
        '"""Recorded with the payments emulator; runs with pytest, where payments-emulator is'
        f' installed."""\n\nimport pytest\n\n\n@pytest.mark.payments({marker})\ndef'
        f" test_recorded(payments):\n{text}\n"
    )


def _move(move: ClockMove) -> str:
    if [*move.fields] == ["by"]:
        return f"payments.clock.advance({_text(move.fields['by'])})"
    arguments = ", ".join(f"{name}={_text(value)}" for name, value in move.fields.items())
    return f"payments.clock.advance({arguments})"


def _call(call: Call) -> str:
    method = call.method.lower()
    name = f"{call.name} = " if call.name else ""
    is_plain = method in ("get", "post", "patch", "delete") and not call.headers
    has_body = call.body is not None and call.body != {}
    if (
        call.status >= 400
        or not is_plain
        or isinstance(call.body, str)
        or (method in ("get", "delete") and has_body)
    ):
        return _raw_call(call, name)
    start = f"{name}payments.api.{method}({PYTHON.string(call.path)}"
    body = (
        f", {PYTHON.literal(call.body, used=len(start) + 3)}"
        if has_body or method == "patch"
        else ""
    )
    return f"{start}{body})"


def _raw_call(call: Call, name: str) -> str:
    """Return a request through the client underneath, for errors, headers and non-JSON bodies."""
    keyword = "content" if isinstance(call.body, str) else "json"
    body = (
        [] if call.body is None else [f"{keyword}={PYTHON.literal(call.body, 2, len(keyword) + 2)}"]
    )
    headers = (
        [f"headers={PYTHON.literal(call.headers, 2, len('headers') + 2)}"] if call.headers else []
    )
    arguments = [_text(call.method), PYTHON.string(call.path), *headers, *body]
    lines = "".join(f"{' ' * INDENT * 2}{argument},\n" for argument in arguments)
    request = f"response = payments.client.request(\n{lines}{' ' * INDENT})"
    check = f"{' ' * INDENT}assert response.status_code == {call.status}, response.text"
    captured = f"\n{' ' * INDENT}{name}response.json()" if name else ""
    return f"{request}\n{check}{captured}"


def _events(types: list[str]) -> str:
    return f"assert payments.events.types == {PYTHON.literal(types, used=40)}"
