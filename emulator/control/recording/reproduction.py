"""Plays a recording in a world, and finds the shortest at whose end an object is what it is in the recorded world.

Playing stops at the first difference. Shrinking takes away steps, fields, settings and time as long as what is
expected still holds.
"""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import msgspec

from emulator.control.recording.exchanges import ID
from emulator.control.recording.model import (
    URL,
    Call,
    ClockMove,
    ExpectedField,
    RecordedStep,
    Recording,
    Reference,
    at,
    parts,
    references,
    renumbered,
    reset_body,
)
from emulator.core import calendar
from emulator.document.tree import map_texts

# -- playing


class WorldAnswer(NamedTuple):
    """The answer of a world: its status, and its body as JSON, as text, or None."""

    status: int
    body: Any


class PlayedWorld(Protocol):
    """A world that a recording is played in; several, by the key in ``authorization``, at one ``url``."""

    url: str

    def exchange(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> tuple[int, bytes]:
        """Return the status and the body of the answer to a request."""


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
        """Yield the differences in order; those after the first may be its consequences."""
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
        try:
            answer = self._send(expected.read)
            self.read.append(answer.body)
            found = at(answer.body, expected.path)
        except (LookupError, TypeError):
            yield f"{expected.read.path} has no {expected.field}"
            return
        if found != self._resolved(expected.value):
            yield f"{expected.field} is {found!r} instead of {expected.value!r}"

    def _events(self, types: list[str]) -> Iterator[str]:
        listed = self._send(Call(operation="", method="GET", path="/_emulator/events?page_size=100", status=200))
        if [event["type"] for event in reversed(listed.body["data"])] != types:
            yield "other events came"

    def _send(self, call: Call) -> WorldAnswer:
        path, headers, body = (self._resolved(part) for part in (call.path, call.headers, call.body))
        content = b"" if body is None else body.encode() if isinstance(body, str) else msgspec.json.encode(body)
        given = {"content-type": "application/json", **headers} if content else headers
        status, answer = self._world.exchange(call.method, path, given, content)
        try:
            return WorldAnswer(status, json.loads(answer) if answer else None)
        except ValueError:
            return WorldAnswer(status, answer.decode("utf-8", "replace"))

    def _resolved(self, value: Any) -> Any:
        """Return a JSON value with the values of its references."""

        def resolved(text: str) -> str:
            return "".join(self._value(part) if isinstance(part, Reference) else part for part in parts(text))

        return map_texts(value, resolved)

    def _value(self, reference: Reference) -> str:
        if reference.name == URL:
            return self._recording.url
        return str(at(self._answers[reference.name], reference.path))


def _as_call(step: Call | ClockMove) -> Call:
    if isinstance(step, Call):
        return step
    return Call(operation="", method="POST", path="/_emulator/clock/advance", status=200, body=step.fields)


# -- shrinking


Holds = Callable[[Recording], bool]
"""Whether a recording, played in a fresh world, still ends as it is expected to."""

DAY_SECONDS = 86_400

UNIT_SECONDS = {"w": 7 * DAY_SECONDS, "d": DAY_SECONDS, "h": 3600, "m": 60, "s": 1}
"""The seconds of each unit of a length of time, longest first."""


class Shrunk(NamedTuple):
    """The shortest recording found, the number of recordings played, and whether there was time for all of them."""

    recording: Recording
    replays: int
    finished: bool


def shrink(recording: Recording, holds: Holds, seconds: float) -> Shrunk:
    """Shrink for at most ``seconds`` (real time). The recording itself must hold."""
    shrinker = _Shrinker(recording, holds, time.monotonic() + seconds)
    try:
        shrinker.run()
    except TimeoutError:
        return Shrunk(renumbered(shrinker.best), shrinker.replays, finished=False)
    return Shrunk(renumbered(shrinker.best), shrinker.replays, finished=True)


class _Shrinker:
    def __init__(self, recording: Recording, holds: Holds, deadline: float) -> None:
        self.best = recording
        self.replays = 0
        self._holds = holds
        self._deadline = deadline

    def run(self) -> None:
        """Run all passes until none of them removes anything more."""
        self._try_steps(_needed(self.best))
        size = -1
        while size != (size := len(self.best.steps)):
            self._remove_steps()
        self._remove_fields()
        self._remove_settings()
        while self._start_later():
            pass
        self._join_moves()
        self._shorten_moves()

    def _accepts(self, candidate: Recording) -> bool:
        """Take the candidate if it still holds."""
        if time.monotonic() > self._deadline:
            raise TimeoutError
        self.replays += 1
        if self._holds(candidate):
            self.best = candidate
            return True
        return False

    def _try_steps(self, steps: Sequence[RecordedStep]) -> bool:
        """Take these steps, without those that refer to missing ones, if the recording still holds."""
        clock, remaining = _merged(self.best.clock, _without_dangling(steps))
        if len(remaining) == len(self.best.steps):
            return False
        names = {step.name for step in remaining if isinstance(step, Call)}
        if any(each.name not in names for expected in self.best.expectations for each in references(expected.read)):
            return False
        return self._accepts(msgspec.structs.replace(self.best, clock=clock, steps=remaining))

    def _remove_steps(self) -> None:
        """Delta debugging: first halves, then quarters, down to single steps; the last ones first."""
        size = len(self.best.steps)
        while size >= 1:
            end = len(self.best.steps)
            while end > 0:
                start = max(0, end - size)
                steps = self.best.steps
                self._try_steps([*steps[:start], *steps[end:]])
                end = min(start, len(self.best.steps))
            size //= 2

    def _remove_fields(self) -> None:
        for index in range(len(self.best.steps)):
            for path in [*_fields(self.best.steps[index])]:
                step = self.best.steps[index]
                if isinstance(step, Call):
                    self._replace(index, _without(step, path))

    def _replace(self, index: int, step: RecordedStep) -> bool:
        steps = [*self.best.steps]
        steps[index] = step
        return self._accepts(msgspec.structs.replace(self.best, steps=steps))

    def _remove_settings(self) -> None:
        for name in [*self.best.settings]:
            rest = {other: value for other, value in self.best.settings.items() if other != name}
            self._accepts(msgspec.structs.replace(self.best, settings=rest))

    def _start_later(self) -> bool:
        """Start where the first move leads to, if what was done before it may be done then."""
        steps = self.best.steps
        move = next((step for step in steps if isinstance(step, ClockMove)), None)
        if move is None or not ((span := _span(move)) or "to" in move.fields):
            return False
        clock = calendar.plus(self.best.clock, seconds=span) if span else calendar.normalise(move.fields["to"])
        index = steps.index(move)
        return self._accepts(msgspec.structs.replace(self.best, clock=clock, steps=steps[:index] + steps[index + 1 :]))

    def _join_moves(self) -> None:
        """Make one move of two, wherever it does not matter what lies between them."""
        index = 0
        while index < len(self.best.steps):
            if not self._join(index):
                index += 1

    def _join(self, index: int) -> bool:
        steps = self.best.steps
        later = next((number for number in range(index + 1, len(steps)) if isinstance(steps[number], ClockMove)), None)
        spans = _span(steps[index]), None if later is None else _span(steps[later])
        if later is None or None in spans:
            return False
        joined = _move(sum(filter(None, spans)))
        between = steps[index + 1 : later]
        return self._accepts(
            msgspec.structs.replace(self.best, steps=[*steps[:index], *between, joined, *steps[later + 1 :]])
        )

    def _shorten_moves(self) -> None:
        for index, step in enumerate(self.best.steps):
            days = _days(step, self.best.clock)
            if days is not None and self._replace(index, ClockMove({"by": f"{days}d"})):
                self._shorten(index, days)

    def _shorten(self, index: int, enough: int) -> None:
        """Find the fewest days that suffice, if it holds for all longer moves and for no shorter one."""
        too_few = 0
        while enough - too_few > 1:
            days = (enough + too_few) // 2
            if self._replace(index, ClockMove({"by": f"{days}d"})):
                enough = days
            else:
                too_few = days


def _needed(recording: Recording) -> list[RecordedStep]:
    """Return the steps that the expectation depends on by its references, all moves, and what is about the same objects."""
    calls = {call.name: call for call in recording.calls if call.name is not None}
    names: set[str] = set()
    waiting = [each.name for expected in recording.expectations for each in references(expected.read)]
    while waiting:
        name = waiting.pop()
        if name not in names and name in calls:
            names.add(name)
            waiting += [each.name for each in references(calls[name])]
    return [
        step
        for step in recording.steps
        if isinstance(step, ClockMove) or step.name in names or any(each.name in names for each in references(step))
    ]


def _without_dangling(steps: Sequence[RecordedStep]) -> list[RecordedStep]:
    """Return the steps, in order, without those that refer to a step that is not among those before them."""
    names: set[str | None] = set()
    remaining: list[RecordedStep] = []
    for step in steps:
        if all(each.name in names for each in references(step)):
            remaining.append(step)
            names.add(step.name if isinstance(step, Call) else None)
    return remaining


def _fields(step: RecordedStep) -> Iterator[tuple[str, ...]]:
    """Yield the fields of a call's body, the innermost first, and its headers."""
    if not isinstance(step, Call):
        return
    yield from (("headers", name) for name in step.headers)
    if isinstance(step.body, dict):
        for name, value in step.body.items():
            if isinstance(value, dict):
                yield from (("body", name, inner) for inner in value)
            yield ("body", name)


def _without(call: Call, path: tuple[str, ...]) -> Call:
    """Return the call without one field; the same call if the field is gone already."""
    part, *names = path
    return msgspec.structs.replace(call, **{part: _removed(getattr(call, part), names)})


def _removed(value: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    name, *inner = names
    if not inner:
        return {other: part for other, part in value.items() if other != name}
    return {other: _removed(part, inner) if other == name else part for other, part in value.items()}


def _merged(clock: str, steps: Sequence[RecordedStep]) -> tuple[str, list[RecordedStep]]:
    """Return the start and the steps where moves that follow each other are one, and one at the beginning a later start."""
    now: str | None = clock
    found: list[RecordedStep] = []
    for step in steps:
        span = _span(step, now)
        if span is not None and not found:
            clock = now = calendar.plus(clock, seconds=span)
            continue
        before = _span(found[-1]) if found else None
        if span is not None and before is not None:
            found[-1] = _move(before + span)
        else:
            found.append(step if span is None else _move(span))
        if isinstance(step, ClockMove):
            now = calendar.plus(now, seconds=span) if now is not None and span is not None else step.fields.get("to")
    return clock, found


def _span(step: RecordedStep, now: str | None = None) -> int | None:
    """Return the seconds of a move by a fixed length, or, if it begins at ``now``, to an instant; None for all others."""
    if not isinstance(step, ClockMove):
        return None
    match = re.fullmatch(r"(\d+)([wdhms])", step.fields.get("by", ""))
    if match is not None and len(step.fields) == 1:
        return int(match[1]) * UNIT_SECONDS[match[2]]
    if now is None or "to" not in step.fields:
        return None
    seconds = calendar.seconds_between(now, calendar.normalise(step.fields["to"]))
    return int(seconds) if seconds > 0 and seconds.is_integer() else None


def _move(seconds: int) -> ClockMove:
    """Return a move by these seconds, in days where that is a whole number."""
    unit = next(unit for unit in "dhms" if seconds % UNIT_SECONDS[unit] == 0)
    return ClockMove({"by": f"{seconds // UNIT_SECONDS[unit]}{unit}"})


def _days(step: RecordedStep, start: str) -> int | None:
    """Return the length of a move in days, rounded up; None for moves until something happens."""
    if not isinstance(step, ClockMove):
        return None
    if (span := _span(step)) is not None:
        return max(1, math.ceil(span / DAY_SECONDS))
    if "to" in step.fields:
        seconds = calendar.seconds_between(start, calendar.normalise(step.fields["to"]))
        return max(1, math.ceil(seconds / DAY_SECONDS))
    return None


# -- reproduction


COUNTED = frozenset(["number", "receipt_number", "invoice_number", "url", "hosted_url", "pdf_url", "request"])
"""Fields that count documents of the whole world, and links, which hold the emulator's address.

The request of an event is among them: a buyer's page becomes a call of the control API, which no event names.
"""

MEASURED = frozenset(["duration_ms", "Service-Signature", "response_body"])
"""Fields of parts of an object that real time decides, or ids, or the receiver of a webhook."""

ACCOUNT = frozenset(["bank", "last4"])
"""The fields of a bank account: a recording has a test account in its place."""

NAMED = re.compile(rf"{ID.pattern}|\b[A-Z]+-\d{{4}}-\d{{6}}\b")
"""Ids and numbers of documents in a text."""

INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")

DELAY = 1.0
"""Seconds; by less than this do instants differ only because on a clock that runs a request or a delivery takes time."""


def reproduce(recording: Recording, object: Mapping[str, Any], world: PlayedWorld, seconds: float) -> Shrunk | str:
    """Shrink a recording whose one expectation reads the object, for at most ``seconds`` of real time.

    What is wrong, as a text, if a fresh world has another object at the end.
    """
    played = play(recording, world)
    if played.difference is not None:
        return played.difference
    found = played.read[0]
    if (field := _differing(object, found)) is not None:
        return f"{field} is {found.get(field)!r} instead of {object.get(field)!r}"

    def holds(candidate: Recording) -> bool:
        again = play(candidate, world)
        return again.difference is None and _differing(found, again.read[0]) is None

    return shrink(recording, holds, seconds)


def _differing(one: Mapping[str, Any], other: Mapping[str, Any]) -> str | None:
    """Return the first field in which two objects differ, but for ids; None if there is none."""
    ids: dict[str, str] = {}
    names = [name for name in one if name not in COUNTED and name in other]
    return next((name for name in names if not _equal(one[name], other[name], ids)), None)


def _equal(one: Any, other: Any, ids: dict[str, str]) -> bool:
    if isinstance(one, dict) and isinstance(other, dict):
        # An event has a whole object in it.
        ignored = MEASURED | (ACCOUNT if "bank" in one else frozenset()) | (COUNTED if "object" in one else frozenset())
        names = one.keys() - ignored
        return names == other.keys() - ignored and all(_equal(one[name], other[name], ids) for name in names)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(_equal(*pair, ids) for pair in zip(one, other, strict=True))
    if isinstance(one, str) and isinstance(other, str):
        if INSTANT.fullmatch(one) and INSTANT.fullmatch(other):
            return abs(calendar.seconds_between(one, other)) < DELAY
        found = zip(NAMED.findall(one), NAMED.findall(other), strict=False)
        is_alike = NAMED.sub("", one) == NAMED.sub("", other)
        return is_alike and all(ids.setdefault(id, like) == like for id, like in found)
    return bool(one == other)
