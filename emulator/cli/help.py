"""The help of commands, laid out for the width of the terminal; no word is broken."""

from __future__ import annotations

import re
import shutil
import textwrap
from collections.abc import Iterable

import click

NARROW = 60
"""Columns below which options and commands stand above their descriptions, not beside them."""

WIDEST, BROADEST_NAME = 100, 26
"""Columns of the widest help, and of the widest name that has its description beside it."""

_NUMBER = r"-?\d+(?:\.\d+)?"
_RANGE = re.compile(rf"(?<=[\[ ])(?:({_NUMBER})(<=?))?x(?:([<>]=?)({_NUMBER}))?(?=[\].])")
_BESIDE_DEFAULT = re.compile(r"(\[default: [^;\]]*); [^\]]*\]")
_OPTIONAL = re.compile(r"'\[(\w+)\]'")
_RELATIONS = {">=": "at least", ">": "more than", "<=": "at most", "<": "less than"}


def in_words(text: str) -> str:
    """A text in which the ranges of click are words: ``1 to 64`` for ``1<=x<=64``; beside a default there is none.

    The name of an optional argument, ``'[DURATION]'`` in click's errors, has no brackets.
    """
    text = _OPTIONAL.sub(r"'\1'", _BESIDE_DEFAULT.sub(r"\1]", text))
    return _RANGE.sub(_limits, text).replace(" is not in the range ", ": must be ")


def _limits(match: re.Match[str]) -> str:
    least, above, relation, most = match.groups()
    if least is None:
        return f"{_RELATIONS[relation]} {most}" if relation else match[0]
    if relation is None:
        return f"{_RELATIONS['>' + above[1:]]} {least}"
    return f"{least} to {most}" if above == "<=" == relation else f"more than {least}, {_RELATIONS[relation]} {most}"


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
        rows = [(re.sub("(INTEGER|FLOAT) RANGE", "N", name), in_words(description)) for name, description in rows]
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


class SandboxCommand(click.Command):
    """A command that starts sandboxes. Its help describes its own options; those of ``serve`` it names."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Its own options, then the names of those that it shares with ``serve``."""
        # Imported here: only the help needs it.
        from emulator.cli.serve import serve

        described = {(each.name, getattr(each, "help", None)) for each in serve.params}
        options = [each for each in self.get_params(ctx) if isinstance(each, click.Option)]
        shared = [each for each in options if (each.name, each.help) in described]
        own = [each.get_help_record(ctx) for each in options if each not in shared]
        with formatter.section("Options"):
            formatter.write_dl([record for record in own if record])
        with formatter.section("Options of serve (serve --help)"):
            formatter.write_text(", ".join(max(each.opts, key=len) for each in shared))
