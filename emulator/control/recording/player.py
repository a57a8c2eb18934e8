"""Plays a recording in a world: sends its steps, compares what is expected, and stops at the first difference."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Protocol

from emulator.control.recording.model import URL, Call, ClockMove, ExpectedField, Recording, Reference, at, parts
from emulator.control.recording.start import reset_body


class WorldAnswer(NamedTuple):
    """The answer of a world: its status, and its body as JSON, as text, or None."""

    status: int
    body: Any


class PlayedWorld(Protocol):
    """A world that a recording is played in."""

    def send(self, method: str, target: str, headers: Mapping[str, str], body: Any) -> WorldAnswer:
        """Send one request. ``body`` is a JSON value, a text that is sent as it is, or None."""


class Played(NamedTuple):
    """How a recording ended. ``difference`` is the first one, None if there is none; ``read`` what was read last."""

    difference: str | None
    read: list[Any]


def play(recording: Recording, world: PlayedWorld) -> Played:
    """Put the world at the start of the recording and play it."""
    player = _Player(recording, world)
    return Played(next(player.differences(), None), player.read)


class _Player:
    def __init__(self, recording: Recording, world: PlayedWorld) -> None:
        self._recording = recording
        self._world = world
        self._answers: dict[str, Any] = {}
        self.read: list[Any] = []

    def differences(self) -> Iterator[str]:
        """What differs, in order; what comes after the first difference may be a consequence of it."""
        reset = Call(operation="", method="POST", path="/_emulator/reset", status=200, body=reset_body(self._recording))
        for step in (reset, *self._recording.steps):
            yield from self._step(_as_call(step))
        for expected in self._recording.expectations:
            yield from self._expected(expected)
        if self._recording.events is not None:
            yield from self._events(self._recording.events)

    def _step(self, call: Call) -> Iterator[str]:
        try:
            answer = self._send(call)
        except (LookupError, TypeError):
            yield f"{call.method} {call.path}: it refers to what no answer has"
            return
        if answer.status != call.status:
            yield f"{call.method} {call.path}: {answer.status} instead of {call.status}"
        if call.name is not None:
            self._answers[call.name] = answer.body

    def _expected(self, expected: ExpectedField) -> Iterator[str]:
        keys = tuple(int(key) if key.isdigit() else key for key in expected.field.split("."))
        try:
            answer = self._send(expected.read)
            self.read.append(answer.body)
            found = at(answer.body, keys)
        except (LookupError, TypeError):
            yield f"{expected.read.path} has no {expected.field}"
            return
        if found != self._resolved(expected.value):
            yield f"{expected.field} is {found!r} instead of {expected.value!r}"

    def _events(self, types: list[str]) -> Iterator[str]:
        listed = self._world.send("GET", "/_emulator/events?page_size=100", {}, None).body["data"]
        if [event["type"] for event in reversed(listed)] != types:
            yield "other events came"

    def _send(self, call: Call) -> WorldAnswer:
        path, headers, body = (self._resolved(part) for part in (call.path, call.headers, call.body))
        return self._world.send(call.method, path, headers, body)

    def _resolved(self, value: Any) -> Any:
        """A JSON value with the values of its references."""
        if isinstance(value, dict):
            return {name: self._resolved(part) for name, part in value.items()}
        if isinstance(value, list):
            return [self._resolved(part) for part in value]
        if not isinstance(value, str):
            return value
        return "".join(self._value(part) if isinstance(part, Reference) else part for part in parts(value))

    def _value(self, reference: Reference) -> str:
        if reference.name == URL:
            return self._recording.url
        return str(at(self._answers[reference.name], reference.path))


def _as_call(step: Call | ClockMove) -> Call:
    if isinstance(step, Call):
        return step
    return Call(operation="", method="POST", path="/_emulator/clock/advance", status=200, body=step.fields)
