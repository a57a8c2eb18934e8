"""A recording as a test for Node's own test runner with the module of this project."""

from __future__ import annotations

import json
import re
from typing import Any

from emulator.insight.recording.model import Call, ClockMove, Recording, Reference, dotted
from emulator.insight.recording.renderers.code import Dialect

INDENT = 2

SAFE_INTEGER = 2**53 - 1
"""The largest integer that JavaScript writes exactly; a larger seed is left out."""


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) else _text(name)


def _variable(name: str) -> str:
    """Return a name in the style of JavaScript: ``subscription2``, ``paymentMethod``."""
    return re.sub(r"_(\w)", lambda match: match[1].upper(), name)


def _expression(reference: Reference) -> str:
    return (
        f"{_variable(reference.call.name or '')}{dotted(reference.path)}"
        if reference.call
        else "payments.url"
    )


JAVASCRIPT = Dialect(
    _text,
    _key,
    _expression,
    inserted=lambda reference: f"${{{_expression(reference)}}}",
    escaped=lambda part: re.sub(r"([\\`$])", r"\\\1", part),
    quotes=("`", "`"),
    indent=INDENT,
    padding=" ",
)


def render(recording: Recording) -> str:
    lines = [
        _move(step) if isinstance(step, ClockMove) else _call(step) for step in recording.steps
    ]
    lines += [] if recording.events is None else [_events(recording.events)]
    body = "\n".join(f"{' ' * INDENT}{line}" for line in lines)
    options: dict[str, Any] = {"clock": recording.clock}
    options |= {"seed": recording.seed} if recording.seed <= SAFE_INTEGER else {}
    options |= {"settings": recording.settings} if recording.settings else {}
    return (
        "// Recorded with the payments emulator; runs with node --test beside the module"
        " payments-emulator.\n"
        'import assert from "node:assert/strict";\nimport { test } from "node:test";\n'
        'import { withPayments } from "payments-emulator";\n\n'
        f'test("recorded", withPayments({JAVASCRIPT.literal(options, 0, 60)}, async (payments) =>'
        f" {{\n{body}\n}}));\n"
    )


def _move(move: ClockMove) -> str:
    if [*move.fields] == ["by"]:
        return f"await payments.clock.advance({_text(move.fields['by'])});"
    fields = {
        "untilEvent" if name == "until_event" else name: value
        for name, value in move.fields.items()
    }
    return f"await payments.clock.advance({JAVASCRIPT.literal(fields)});"


def _call(call: Call) -> str:
    name = f"const {_variable(call.name)} = " if call.name else ""
    plain = call.method.lower()
    arguments = [_text(call.method), JAVASCRIPT.string(call.path)]
    if call.body is not None or call.headers:
        used = len(f"{name}await payments.api.{plain}({arguments[1]}, );")
        arguments.append(
            "undefined" if call.body is None else JAVASCRIPT.literal(call.body, used=used)
        )
    arguments += [JAVASCRIPT.literal(call.headers)] if call.headers else []
    if plain in ("get", "post", "patch", "delete") and not (
        plain in ("get", "delete") and call.body
    ):
        request = f"payments.api.{plain}({', '.join(arguments[1:])})"
    else:
        request = f"payments.api.call({', '.join(arguments)})"
    if call.status >= 400:
        return f"await assert.rejects({request}, {{ status: {call.status} }});"
    return f"{name}await {request};"


def _events(types: list[str]) -> str:
    return f"assert.deepEqual(await payments.events.types(), {JAVASCRIPT.literal(types, used=55)});"
