"""Groups of commands that load on use, and a command that remembers its arguments."""

from __future__ import annotations

import os
import sys
from collections import UserDict
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import click

from emulator.cli.options import guidance

PROGRAM = "payments-emulator"

FOUND, WRONG_USAGE, UNFINISHED, INTERRUPTED = 1, 2, 3, 130
"""Exit statuses: a finding, a wrong command line, a budget that ended too early, Ctrl-C."""


class LazyCommands(UserDict[str, Any]):
    """Commands by name, imported on use: ``module``, or ``module:attribute`` if names differ."""

    def __getitem__(self, name: str) -> Any:
        module, _, attribute = self.data[name].partition(":")
        return getattr(import_module(f"emulator.cli.{module}"), attribute or module)


class LazyGroup(click.Group):
    """A group that imports only the command it runs; without a name ``default``: ``clock show``."""

    def __init__(
        self,
        *args: Any,
        table: Mapping[str, str] | None = None,
        default: str | None = None,
        **more: Any,
    ) -> None:
        super().__init__(*args, **more)
        if table:
            self.commands = LazyCommands(table)
        self.default = default

    def listed(self) -> list[str]:
        return [name for name, command in self.commands.items() if not command.hidden]

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Insert the default command if none is named; raises ``UsageError`` if there is none."""
        named = any(word in self.commands or word in ctx.help_option_names for word in args)
        mistyped = args and not args[0].startswith("-")
        if self.default and not named and not mistyped and not ctx.resilient_parsing:
            args = [self.default, *args]
        if not args and not ctx.resilient_parsing:
            raise click.UsageError(f"name a command; {guidance('', self.listed())}", ctx)
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if not ctx.resilient_parsing and self.get_command(ctx, args[0]) is None:
            raise click.UsageError(
                f"there is no command {args[0]!r}; {guidance(args[0], self.listed())}", ctx
            )
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
    """Discard failed output: Python would flush it at exit and report the failure again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


NOT_REPEATED = (
    *("--only", "--skip", "--junit", "--control-token", "--budget", "--jobs", "--fail-on"),
    *("--app", "--receiver", "--secret", "--html"),
)
"""Options with a value that :func:`repeating` leaves out."""

REMEMBERED = "repeated.arguments"


class RepeatableCommand(click.Command):
    """A command that remembers its own arguments."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta[REMEMBERED] = tuple(args)
        return super().parse_args(ctx, args)


def repeating(command: Sequence[str], *other: str, runs: Sequence[str] | None = None) -> str:
    """Return the line that repeats ``{case}`` of this command line, which ends with ``command``.

    ``other`` are the words of another command that takes the same options of ``serve``, ``runs``
    the command that it runs.
    """
    import shlex  # not needed by most commands

    context = click.get_current_context()
    arguments: Sequence[str] = context.meta[REMEMBERED]
    split = len(arguments) - len(command)
    options = [word for word in arguments[:split] if word not in ("--", "--json")]
    stays = [
        word
        for number, word in enumerate(options)
        if word.partition("=")[0] not in NOT_REPEATED
        and (number == 0 or options[number - 1] not in NOT_REPEATED)
    ]
    path = other or context.command_path.split(" ")[1:]
    line = shlex.join(
        [PROGRAM, *path, "--only", "CASE", *stays, "--", *(runs or arguments[split:])]
    )
    return line.replace("CASE", "{case}", 1)
