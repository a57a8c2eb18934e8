"""The statements of a test, in order: what a renderer of code walks over."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from emulator.control.recording.model import Call, ClockMove, ExpectedField, Recording


class Statements(NamedTuple):
    """How a language writes each part of a recording as a statement; ``events`` takes the types that are expected."""

    move: Callable[[ClockMove], str]
    call: Callable[[Call], str]
    expected: Callable[[ExpectedField], str]
    events: Callable[[list[str]], str]

    def of(self, recording: Recording) -> Iterator[str]:
        """The steps, then what is expected at the end."""
        for step in recording.steps:
            yield self.move(step) if isinstance(step, ClockMove) else self.call(step)
        for expected in recording.expectations:
            yield self.expected(expected)
        if recording.events is not None:
            yield self.events(recording.events)
