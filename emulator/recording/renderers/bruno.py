"""A recording as a collection of Bruno: one file for each request, run in order."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from emulator.recording.model import URL, Call, ClockMove, ExpectedField, Recording, Reference, parts
from emulator.recording.start import reset_body

NO_BODY = "none"


class BrunoRequest(NamedTuple):
    """A request of a collection: the variables that it sets, and what it asserts besides the status."""

    name: str
    call: Call
    variables: list[str]
    assertions: list[str]


def render(recording: Recording) -> Mapping[str, str]:
    """The files of the collection by their paths."""
    requests = enumerate(_requests(recording), 1)
    files = {f"{number:03}-{request.name}.bru": _file(number, request) for number, request in requests}
    collection = {"version": "1", "name": "Recorded with the payments emulator", "type": "collection"}
    variables = f"vars {{\n  url: {recording.url}\n  key: sk_test_recorded\n}}\n"
    return {"bruno.json": json.dumps(collection, indent=2) + "\n", "environments/local.bru": variables, **files}


def _requests(recording: Recording) -> Iterator[BrunoRequest]:
    """Each request, in order."""
    captured = recording.referenced()
    yield BrunoRequest("reset", _control("/_emulator/reset", reset_body(recording)), [], [])
    for step in recording.steps:
        if isinstance(step, ClockMove):
            yield BrunoRequest("clock", _control("/_emulator/clock/advance", step.fields), [], [])
        else:
            references = sorted(captured.get(step.name or "", ()))
            variables = [f"{_variable(each)}: res.body{_keys(each)}" for each in references]
            yield BrunoRequest(step.name or step.operation, step, variables, [])
    for expected in recording.expectations:
        yield BrunoRequest("expected", expected.read, [], [_assertion(expected)])
    if recording.events is not None:
        events = Call(operation="listEvents", method="GET", path="/_emulator/events", status=200)
        yield BrunoRequest("events", events, [], [f"res.body.pagination.count: eq {len(recording.events)}"])


def _control(path: str, body: Any) -> Call:
    return Call(operation="", method="POST", path=path, status=200, body=body)


def _file(number: int, given: BrunoRequest) -> str:
    call = given.call
    kind = NO_BODY if call.body is None else "text" if isinstance(call.body, str) else "json"
    headers = ["Authorization: Bearer {{key}}", *(f"{key}: {_text(value)}" for key, value in call.headers.items())]
    request = [f"url: {{{{url}}}}{_text(call.path)}", f"body: {kind}", "auth: none"]
    blocks = [
        ("meta", [f"name: {given.name}", "type: http", f"seq: {number}"]),
        (call.method.lower(), request),
        ("headers", headers),
        (f"body:{kind}", _body(call).splitlines() if kind != NO_BODY else []),
        ("vars:post-response", given.variables),
        ("assert", [f"res.status: eq {call.status}", *given.assertions]),
    ]
    return "\n".join(f"{title} {{\n{_indented(lines)}\n}}\n" for title, lines in blocks if lines)


def _body(call: Call) -> str:
    return _text(call.body if isinstance(call.body, str) else json.dumps(call.body, indent=2, ensure_ascii=False))


def _indented(lines: list[str]) -> str:
    return "\n".join(f"  {line}" for line in lines)


def _assertion(expected: ExpectedField) -> str:
    value = expected.value
    compared = f"eq {value}" if isinstance(value, str) else f"eq {json.dumps(value)}"
    return f"res.body.{expected.field}: {'isNull' if value is None else compared}"


def _text(text: str) -> str:
    return "".join(f"{{{{{_variable(part)}}}}}" if isinstance(part, Reference) else part for part in parts(text))


def _variable(reference: Reference) -> str:
    return URL if reference.name == URL else "_".join([reference.name, *map(str, reference.path)])


def _keys(reference: Reference) -> str:
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in reference.path)
