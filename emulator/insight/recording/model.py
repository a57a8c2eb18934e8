"""The steps of a recording, the references in them to what earlier steps answered, and how a world is put at its start."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

URL = "url"
"""The name of the reference to the emulator's own URL: ``⟦url⟧``."""

_REFERENCE = re.compile(r"⟦([a-z_][a-z0-9_]*)((?:\.\w+)*)⟧")


class Reference(NamedTuple):
    """A value in the answer of an earlier step: the step's name, and the keys and indexes that lead to the value."""

    name: str
    path: tuple[str | int, ...] = ()

    def __str__(self) -> str:
        return f"⟦{'.'.join([self.name, *map(str, self.path)])}⟧"


class Call(msgspec.Struct, frozen=True, kw_only=True, tag="call"):
    """A request and the status it was answered with. ``path`` has the query; ``parameters`` are those in the path.

    Texts may contain references. ``name`` is what later steps call the answer by; None if none refers to it.
    """

    operation: str
    method: str
    path: str
    status: int
    parameters: dict[str, str] = {}
    headers: dict[str, str] = {}
    body: Any = None
    name: str | None = None


class ClockMove(msgspec.Struct, frozen=True, tag="move"):
    """A move of the clock; ``fields`` are those of ``POST /_emulator/clock/advance``."""

    fields: dict[str, str]


RecordedStep = Call | ClockMove


class Recording(msgspec.Struct, frozen=True, kw_only=True):
    """A world at its start, the steps that were made in it, and the events that are expected.

    ``clock`` is the instant (UTC) at which the frozen clock starts, ``settings`` those that differ from the defaults,
    ``url`` the emulator that recorded it. ``events`` are the types of all events, oldest first; None if they are too
    many to be expected.
    """

    app: str
    seed: int
    clock: str
    url: str
    settings: dict[str, Any] = {}
    steps: list[RecordedStep] = []
    events: list[str] | None = None

    @property
    def calls(self) -> list[Call]:
        return [step for step in self.steps if isinstance(step, Call)]

    def referenced(self) -> dict[str, set[Reference]]:
        found: dict[str, set[Reference]] = {}
        for step in self.steps:
            for reference in references(step):
                found.setdefault(reference.name, set()).add(reference)
        return found


def parts(text: str) -> list[str | Reference]:
    """Return a text as its literal parts and its references, in order."""
    found: list[str | Reference] = []
    end = 0
    for match in _REFERENCE.finditer(text):
        found += [text[end : match.start()]] if match.start() > end else []
        keys = [int(key) if key.isdigit() else key for key in match[2].split(".")[1:]]
        found.append(Reference(match[1], tuple(keys)))
        end = match.end()
    return [*found, text[end:]] if end < len(text) else found


def texts(value: Any) -> Iterator[str]:
    """Yield every text in a JSON value, names of fields included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for each in value:
            yield from texts(each)
    elif isinstance(value, dict):
        for name, each in value.items():
            yield name
            yield from texts(each)


def references(step: RecordedStep) -> list[Reference]:
    """Return the references in a step, each as often as it occurs."""
    if isinstance(step, ClockMove):
        return []
    given = texts([step.path, [*step.parameters.values()], step.headers, step.body])
    return [part for text in given for part in parts(text) if isinstance(part, Reference) and part.name != URL]


def renumbered(recording: Recording) -> Recording:
    """Return the recording with names numbered in the order of the steps (``customer_2``), without those not referred to."""
    used = recording.referenced()
    numbers: Counter[str] = Counter()
    names: dict[str, str] = {}
    for call in recording.calls:
        if call.name in used:
            base = re.sub(r"_\d+$", "", call.name)
            numbers[base] += 1
            names[call.name] = base if numbers[base] == 1 else f"{base}_{numbers[base]}"
    text = msgspec.json.encode(recording).decode()
    text = re.sub(r"(?<=⟦)[a-z0-9_]+", lambda match: names.get(match[0], match[0]), text)
    other = msgspec.json.decode(text, type=Recording)
    steps = [
        msgspec.structs.replace(step, name=names.get(step.name or "")) if isinstance(step, Call) else step
        for step in other.steps
    ]
    return msgspec.structs.replace(other, steps=steps)


def reset_body(recording: Recording) -> dict[str, Any]:
    """Return the body of ``POST /_emulator/reset``."""
    settings = {"fixtures": {"settings": recording.settings}} if recording.settings else {}
    return {"clock": f"frozen@{recording.clock}", "seed": recording.seed, **settings}
