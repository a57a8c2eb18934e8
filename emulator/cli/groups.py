"""Groups of commands that load on use, and the help of commands for the width of the terminal."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
import textwrap
from collections import UserDict
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from typing import Any

import click

from emulator.cli.options import guidance

PROGRAM = "payments-emulator"

FOUND, WRONG_USAGE, UNFINISHED, INTERRUPTED = 1, 2, 3, 130
"""Exit statuses: something was found, the command line is wrong, a budget ended before all was tried, Ctrl-C."""


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
    """Return a text in which the ranges of click are words: ``1 to 64`` for ``1<=x<=64``; beside a default there is none.

    The name of an optional argument, ``'[DURATION]'`` in click's errors, has no brackets.
    """
    text = _OPTIONAL.sub(r"'\1'", _BESIDE_DEFAULT.sub(r"\1]", text))
    text = _RANGE.sub(_limits, text).replace(" is not in the range ", ": must be ")
    return re.sub(r"is not a valid (integer|float)( range)?", "is not a number", text)


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
        """Return a paragraph, indented by these columns in its first line and in the rest."""
        return textwrap.fill(
            text,
            max(self.width, 20),
            initial_indent=" " * first,
            subsequent_indent=" " * (first if rest is None else rest),
            break_long_words=False,
            break_on_hyphens=False,
        )

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        """Write the line that begins with ``Usage:``."""
        self.write(self._filled(f"{prefix or 'Usage: '}{prog} {args}".rstrip(), 0, 4) + "\n")

    def write_text(self, text: str) -> None:
        """Write paragraphs. Lines of one that begins with ``\\b`` stay lines, and go on below where they are too long."""
        paragraphs = [part.splitlines() for part in textwrap.dedent(text).strip("\n").split("\n\n")]
        indent = self.current_indent
        for number, lines in enumerate(paragraphs):
            if number:
                self.write_paragraph()
            if lines and lines[0].strip() == "\b":
                for line in lines[1:]:
                    fits = len(line) + indent <= self.width
                    self.write(f"{' ' * indent}{line}" if fits else self._filled(line, indent, indent + 4))
                    self.write("\n")
            else:
                self.write(self._filled(" ".join(map(str.strip, lines)), indent) + "\n")

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = BROADEST_NAME, col_spacing: int = 2) -> None:
        """Write names with their descriptions beside them; in a narrow terminal, or beside a long name, below."""
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
        """Return the formatter of its help."""
        return Formatter(self.terminal_width)


class LazyCommands(UserDict[str, Any]):
    """Commands by name, from ``module:attribute`` and the line of a list, which a hidden one lacks; imported on use."""

    def __getitem__(self, name: str) -> Any:
        module, _, attribute = self.data[name][0].partition(":")
        return getattr(import_module(f"emulator.cli.{module}"), attribute)


class LazyGroup(click.Group):
    """A group that imports only the command that runs. Its ``default`` runs if none is named: ``clock show``."""

    context_class = Context

    def __init__(
        self, *args: Any, table: Mapping[str, tuple[str, str]] | None = None, default: str | None = None, **more: Any
    ) -> None:
        super().__init__(*args, **more)
        if table:
            self.commands = LazyCommands(table)
        self.default = default

    def listed(self) -> dict[str, str]:
        """Return the line of each command that is not hidden, without importing any, in the order of their definition."""
        if isinstance(self.commands, LazyCommands):
            return {name: line for name, (_, line) in self.commands.data.items() if line}
        return {name: each.get_short_help_str(200) for name, each in self.commands.items() if not each.hidden}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order in which they are defined."""
        return list(self.commands)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of this name, which shows its help as the group does."""
        command = super().get_command(ctx, cmd_name)
        if command is not None:
            command.context_class = Context
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands by their lines."""
        with formatter.section("Commands"):
            formatter.write_dl([*self.listed().items()])

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Insert the default command if none is named; raises ``UsageError`` if there is none."""
        named = any(each in self.commands or each in ctx.help_option_names for each in args)
        mistyped = args and not args[0].startswith("-")
        if self.default and not named and not mistyped and not ctx.resilient_parsing:
            args = [self.default, *args]
        if not args and not ctx.resilient_parsing:
            raise click.UsageError(f"name a command; {guidance('', self.listed())}", ctx)
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Return the named command; raises ``UsageError`` with the allowed names if there is none."""
        if not ctx.resilient_parsing and self.get_command(ctx, args[0]) is None:
            raise click.UsageError(f"there is no command {args[0]!r}; {guidance(args[0], self.listed())}", ctx)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command. A reader that closes the pipe early, as 'head' does, is not an error."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            discard_output()
            return None
        return result


def discard_output() -> None:
    """After output failed: Python flushes it once more at exit, and would report the failure again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class SandboxCommand(click.Command):
    """A command that starts sandboxes. Its help describes its own options; those of ``serve`` it names."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write its own options, then the names of those that it shares with ``serve``."""
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


NOT_REPEATED = (
    *("--only", "--skip", "--junit", "--control-token", "--budget", "--jobs", "--fail-on"),
    *("--story", "--receiver", "--secret", "--sample", "--html", "--sarif", "--badge"),
)
"""Options with a value that the line leaves out."""

FLAGS = ("--json", "--pairs")
"""Options without one that it leaves out."""

REMEMBERED = "repeated.arguments"


class RepeatableCommand(SandboxCommand):
    """A command that remembers its own arguments."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Remember the arguments before they are taken apart."""
        ctx.meta[REMEMBERED] = tuple(args)
        return super().parse_args(ctx, args)


def repeating(
    command: Sequence[str], *other: str, case: Sequence[str] = ("--only", "CASE"), runs: Sequence[str] | None = None
) -> str:
    """Return the line that repeats one case of the command line under way, which ends with ``command``.

    ``{case}`` stands for the case. ``other`` are the words of another command that takes the same options of ``serve``,
    ``case`` its options that choose the case, and ``runs`` the command that it is to run.
    """
    context = click.get_current_context()
    arguments: Sequence[str] = context.meta[REMEMBERED]
    split = len(arguments) - len(command)
    options = [each for each in arguments[:split] if each not in ("--", *FLAGS)]
    stays = [
        each
        for number, each in enumerate(options)
        if each.partition("=")[0] not in NOT_REPEATED and (number == 0 or options[number - 1] not in NOT_REPEATED)
    ]
    path = other or context.command_path.split(" ")[1:]
    line = shlex.join([PROGRAM, *path, *case, *stays, "--", *(runs or arguments[split:])])
    return line.replace("CASE", "{case}", 1)
