"""Code of tests: the statements of a recording in order, and JSON values as literals of a language.

References in a value become expressions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from emulator.insight.recording.model import Call, ClockMove, Recording, Reference, Text

# -- literals


WIDTH = 116
"""Characters of a line that a literal is not broken below."""


class Dialect(NamedTuple):
    """How a language writes values. ``template`` writes a text with references, ``expression`` a single reference.

    ``indent`` is the number of spaces of one level, ``padding`` stands inside the braces of an object on one line.
    """

    indent: int
    padding: str
    constants: tuple[str, str, str]
    text: Callable[[str], str]
    key: Callable[[str], str]
    expression: Callable[[Reference], str]
    template: Callable[[Sequence[str | Reference]], str]

    def literal(self, value: Any, level: int = 1, used: int = 0) -> str:
        """Return the value on one line, or on several if it is long.

        ``level`` is the depth of the line it begins on, ``used`` the number of characters before it on that line.
        """
        short = self._inline(value)
        if len(short) + used + level * self.indent <= WIDTH or not isinstance(value, dict | list) or not value:
            return short
        if isinstance(value, dict):
            named = [(f"{self.key(name)}: ", part) for name, part in value.items()]
        else:
            named = [("", part) for part in value]
        lines = [name + self.literal(part, level + 1, len(name)) for name, part in named]
        start, end = "{}" if isinstance(value, dict) else "[]"
        inner, outer = " " * self.indent * (level + 1), " " * self.indent * level
        return "\n".join([start, *(f"{inner}{line}," for line in lines), f"{outer}{end}"])

    def _inline(self, value: Any) -> str:
        null, true, false = self.constants
        if isinstance(value, dict):
            fields = ", ".join(f"{self.key(name)}: {self._inline(part)}" for name, part in value.items())
            return f"{{{self.padding}{fields}{self.padding}}}" if fields else "{}"
        if isinstance(value, list):
            return f"[{', '.join(map(self._inline, value))}]"
        if isinstance(value, str | Text):
            return self.string(value)
        if isinstance(value, bool):
            return true if value else false
        return null if value is None else repr(value)

    def string(self, text: str | Text) -> str:
        if isinstance(text, str):
            return self.text(text)
        first, *others = text.parts
        return self.template(text.parts) if others or isinstance(first, str) else self.expression(first)


# -- statements


def statements(
    recording: Recording,
    move: Callable[[ClockMove], str],
    call: Callable[[Call], str],
    events: Callable[[list[str]], str],
) -> Iterator[str]:
    """Yield the steps, then the types of events that are expected at the end."""
    for step in recording.steps:
        yield move(step) if isinstance(step, ClockMove) else call(step)
    if recording.events is not None:
        yield events(recording.events)
