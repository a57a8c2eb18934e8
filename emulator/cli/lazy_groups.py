"""Groups of commands that load on use, suggest corrections of mistyped names, and may have a default command."""

from __future__ import annotations

import os
import sys
from collections import UserDict
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click

from emulator.cli.help import Context
from emulator.cli.options import guidance


def discard_output() -> None:
    """After output failed: Python flushes it once more at exit, and would report the failure again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class LazyCommands(UserDict[str, Any]):
    """Commands by name, given as ``module:attribute`` and imported on first use; ``summaries`` are the lines of a list.

    A hidden command has an empty one.
    """

    def __init__(self, places: Mapping[str, str], summaries: Mapping[str, str]) -> None:
        super().__init__(places)
        self.summaries = summaries

    def __getitem__(self, name: str) -> Any:
        module, _, attribute = self.data[name].partition(":")
        return getattr(import_module(module), attribute)

    def listed(self) -> dict[str, click.Command]:
        """Commands that have their summaries alone, for a list of them; one without a summary is imported."""
        return {
            name: click.Command(name, help=self.summaries[name], hidden=not self.summaries[name])
            if name in self.summaries
            else self[name]
            for name in self.data
        }


class LazyGroup(click.Group):
    """A group whose ``default`` command runs if none is named: ``clock`` is ``clock show``."""

    context_class = Context

    def __init__(self, *args: Any, default: str | None = None, **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        self.default = default

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Insert the default command if none is named."""
        named = any(each in self.commands or each in ctx.help_option_names for each in args)
        mistyped = args and not args[0].startswith("-")
        if self.default and not named and not mistyped and not ctx.resilient_parsing:
            args = [self.default, *args]
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command. A reader that closes the pipe early, as 'head' does, is not an error."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            discard_output()
            return None
        return result

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """The named command; raises ``UsageError`` with the allowed names if there is none."""
        if not ctx.resilient_parsing and self.get_command(ctx, args[0]) is None:
            raise click.UsageError(f"there is no command {args[0]!r}; {guidance(args[0], self._shown())}", ctx)
        return super().resolve_command(ctx, args)

    def _shown(self) -> list[str]:
        """The names of the commands that are not hidden."""
        commands = self.commands.listed() if isinstance(self.commands, LazyCommands) else self.commands
        return [name for name, command in commands.items() if not command.hidden]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of this name, which shows its help as the group does."""
        command = super().get_command(ctx, cmd_name)
        if command is not None:
            command.context_class = Context
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands by their summaries, so that none is imported for it."""
        if isinstance(self.commands, LazyCommands):
            LazyGroup(commands=self.commands.listed()).format_commands(ctx, formatter)
        else:
            super().format_commands(ctx, formatter)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order in which they are defined, not by name."""
        return list(self.commands)
