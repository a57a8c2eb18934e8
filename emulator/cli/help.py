"""The help of commands, laid out for the width of the terminal; no word is broken."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterable

import click

NARROW = 60
"""Columns below which options and commands stand above their descriptions, not beside them."""

WIDEST, BROADEST_NAME = 100, 26
"""Columns of the widest help, and of the widest name that has its description beside it."""


class Formatter(click.HelpFormatter):
    """Writes a command's help as click does, but never breaks a word and uses the whole terminal, however narrow."""

    def __init__(self, width: int | None = None) -> None:
        super().__init__(width=width or min(shutil.get_terminal_size().columns, WIDEST) - 1)

    def _filled(self, text: str, first: int, rest: int | None = None) -> str:
        """A paragraph, indented by so many columns in its first line and in the rest."""
        return textwrap.fill(
            text,
            max(self.width, 20),
            initial_indent=" " * first,
            subsequent_indent=" " * (first if rest is None else rest),
            break_long_words=False,
            break_on_hyphens=False,
        )

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        """The line that begins with ``Usage:``."""
        self.write(self._filled(f"{prefix or 'Usage: '}{prog} {args}".rstrip(), 0, 4) + "\n")

    def write_text(self, text: str) -> None:
        """Paragraphs. Lines of one that begins with ``\\b`` stay lines, and go on below where they are too long."""
        paragraphs = [part.splitlines() for part in textwrap.dedent(text).strip("\n").split("\n\n")]
        indent = self.current_indent
        for number, lines in enumerate(paragraphs):
            if number:
                self.write_paragraph()
            if lines and lines[0].strip() == "\b":
                for line in lines[1:]:
                    self.write(f"{' ' * indent}{line}" if self._fits(line) else self._filled(line, indent, indent + 4))
                    self.write("\n")
            else:
                self.write(self._filled(" ".join(map(str.strip, lines)), indent) + "\n")

    def _fits(self, line: str) -> bool:
        return len(line) + self.current_indent <= self.width

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = BROADEST_NAME, col_spacing: int = 2) -> None:
        """Names with their descriptions beside them; in a narrow terminal, or beside a long name, below."""
        rows = list(rows)
        names = [len(name) for name, _ in rows if len(name) <= col_max]
        column = self.current_indent + max(names, default=0) + col_spacing
        for name, description in rows:
            beside = self.width >= NARROW and len(name) <= col_max
            lead = f"{' ' * self.current_indent}{name}"
            if beside and description:
                text = self._filled(description, column)
                self.write(f"{lead}{text[len(lead) :]}\n")
            else:
                self.write(self._filled(name, self.current_indent, self.current_indent + 4) + "\n")
                below = column if self.width >= NARROW else self.current_indent + 4
                if description:
                    self.write(self._filled(description, below) + "\n")


class Context(click.Context):
    """The context of each command of ours."""

    def make_formatter(self) -> click.HelpFormatter:
        """The formatter of its help."""
        return Formatter(self.terminal_width)
