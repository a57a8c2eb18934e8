"""JSON values as literals of a language, in which references become expressions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from emulator.insight.recording.model import Reference, Text

WIDTH = 116
"""Characters of a line that a literal is not broken below."""


class Dialect(NamedTuple):
    """A language's values: ``text`` of a text, ``expression`` of a reference, ``key`` of a field.

    A text with references stands between ``quotes``: ``escaped`` writes its literal parts,
    ``inserted`` its references. ``indent`` is the number of spaces of one level. On one line,
    ``padding`` stands inside the braces of an object, and ``space`` after commas and colons.
    """

    text: Callable[[str], str]
    key: Callable[[str], str]
    expression: Callable[[Reference], str]
    inserted: Callable[[Reference], str]
    escaped: Callable[[str], str]
    quotes: tuple[str, str]
    constants: tuple[str, str, str] = ("null", "true", "false")
    indent: int = 0
    padding: str = ""
    space: str = " "

    def literal(self, value: Any, level: int = 1, used: int = 0) -> str:
        """Return the value on one line, or on several if it is long.

        ``level`` is the depth of the line it begins on, ``used`` the number of characters before it
        on that line.
        """
        short = self.inline(value)
        if (
            len(short) + used + level * self.indent <= WIDTH
            or not isinstance(value, dict | list)
            or not value
        ):
            return short
        if isinstance(value, dict):
            named = [(f"{self.key(name)}: ", part) for name, part in value.items()]
        else:
            named = [("", part) for part in value]
        lines = [name + self.literal(part, level + 1, len(name)) for name, part in named]
        start, end = "{}" if isinstance(value, dict) else "[]"
        inner, outer = " " * self.indent * (level + 1), " " * self.indent * level
        return "\n".join([start, *(f"{inner}{line}," for line in lines), f"{outer}{end}"])

    def inline(self, value: Any) -> str:
        """Return the value on one line."""
        null, true, false = self.constants
        if isinstance(value, dict):
            fields = (
                f"{self.key(name)}:{self.space}{self.inline(part)}" for name, part in value.items()
            )
            return (
                f"{{{self.padding}{f',{self.space}'.join(fields)}{self.padding}}}"
                if value
                else "{}"
            )
        if isinstance(value, list):
            return f"[{f',{self.space}'.join(map(self.inline, value))}]"
        if isinstance(value, str | Text):
            return self.string(value)
        if isinstance(value, bool):
            return true if value else false
        return null if value is None else repr(value)

    def string(self, text: str | Text) -> str:
        if isinstance(text, str):
            return self.text(text)
        if len(text.parts) == 1 and isinstance(text.parts[0], Reference):
            return self.expression(text.parts[0])
        parts = (
            self.inserted(part) if isinstance(part, Reference) else self.escaped(part)
            for part in text.parts
        )
        return "".join(parts).join(self.quotes)
