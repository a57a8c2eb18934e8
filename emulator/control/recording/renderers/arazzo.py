"""A recording as an Arazzo workflow across the documents of the service and of the control API."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl

import yaml

from emulator.control.recording.model import (
    URL,
    Call,
    ClockMove,
    Recording,
    Reference,
    parts,
    reset_body,
)
from emulator.document.tree import map_texts

WIDTH = 120

KEY = "sk_test_recorded"

SUMMARY = "Recorded with the payments emulator; its documents stand beside it, as service.json and control.json."


class _Dumper(yaml.SafeDumper):
    """Writes no anchors: a value that occurs twice is written twice."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def render(recording: Recording) -> str:
    """Return the workflow as YAML, with the documents beside it, as the workflows of ``docs/workflows`` have them.

    By URL they would be read over a connection that the server closes while a runner compiles them.
    """
    document = {
        "arazzo": "1.0.1",
        "info": {"title": "Recorded", "version": "1.0.0", "summary": SUMMARY},
        "sourceDescriptions": [
            {"name": name, "url": f"{name}.json", "type": "openapi"} for name in ("service", "control")
        ],
        "workflows": [
            {
                "workflowId": "recorded",
                "inputs": {
                    "type": "object",
                    "properties": {
                        "key": {"type": "string", "default": KEY},
                        "url": {"type": "string", "default": recording.url},
                    },
                },
                "parameters": [{"in": "header", "name": "Authorization", "value": "Bearer {$inputs.key}"}],
                "steps": [*_steps(recording)],
            }
        ],
    }
    return yaml.dump(document, Dumper=_Dumper, sort_keys=False, width=WIDTH, allow_unicode=True)


def _steps(recording: Recording) -> Iterator[dict[str, Any]]:
    captured = recording.referenced()
    yield _step("reset", _control("resetWorld", "/_emulator/reset", reset_body(recording)), [])
    for number, step in enumerate(recording.steps, 1):
        if isinstance(step, ClockMove):
            yield _step(f"clock-{number}", _control("advanceClock", "/_emulator/clock/advance", step.fields), [])
        else:
            outputs = captured.get(step.name or "", set())
            yield _step(step.name or f"step-{number}", step, sorted(outputs))
    for number, expected in enumerate(recording.expectations, 1):
        condition = {"condition": f"$response.body#/{expected.field.replace('.', '/')} == {_constant(expected.value)}"}
        yield _step(f"expected-{number}", expected.read, [], condition)
    if recording.events is not None:
        events = Call(operation="listEvents", method="GET", path="/_emulator/events", status=200)
        count = {"condition": f"$response.body#/pagination/count == {len(recording.events)}"}
        yield _step("events", events, [], count)


def _control(operation: str, path: str, body: Any) -> Call:
    return Call(operation=operation, method="POST", path=path, status=200, body=body)


def _step(id: str, call: Call, outputs: list[Reference], *criteria: dict[str, str]) -> dict[str, Any]:
    source = "service" if call.path.startswith("/v1/") else "control"
    given = {
        "path": call.parameters,
        "query": dict(parse_qsl(call.path.partition("?")[2], keep_blank_values=True)),
        "header": call.headers,
    }
    parameters = [
        {"in": place, "name": name, "value": map_texts(value, _resolved)}
        for place, values in given.items()
        for name, value in values.items()
    ]
    return {
        "stepId": id,
        "operationId": f"$sourceDescriptions.{source}.{call.operation}",
        **({"parameters": parameters} if parameters else {}),
        **({"requestBody": {"payload": map_texts(call.body, _resolved)}} if call.body is not None else {}),
        "successCriteria": [{"condition": f"$statusCode == {call.status}"}, *criteria],
        **(
            {"outputs": {_output(each): f"$response.body#/{'/'.join(map(str, each.path))}" for each in outputs}}
            if outputs
            else {}
        ),
    }


def _resolved(text: str) -> str:
    """Return a text with runtime expressions in place of references."""
    found = parts(text)
    if len(found) == 1 and isinstance(found[0], Reference):
        return _expression(found[0])
    return "".join(f"{{{_expression(part)}}}" if isinstance(part, Reference) else part for part in found)


def _expression(reference: Reference) -> str:
    if reference.name == URL:
        return "$inputs.url"
    return f"$steps.{reference.name}.outputs.{_output(reference)}"


def _output(reference: Reference) -> str:
    return "_".join(map(str, reference.path))


def _constant(value: Any) -> str:
    """Return a literal of Arazzo's simple conditions."""
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else json.dumps(value)
