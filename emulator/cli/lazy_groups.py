"""Groups of commands that help whoever mistypes one, do the usual thing where none is named, and load when called."""

from __future__ import annotations

import os
import sys
from collections import UserDict
from importlib import import_module
from typing import Any

import click

from emulator.cli.options import guidance


class LazyCommand(UserDict[str, Any]):
    """Commands by name, written as ``module:attribute``; each is imported when it is asked for."""

    def __getitem__(self, name: str) -> Any:
        module, _, attribute = self.data[name].partition(":")
        return getattr(import_module(module), attribute)


class LazyGroup(click.Group):
    """A group whose ``default`` command runs where none is named: ``clock`` is ``clock show``."""

    def __init__(self, *args: Any, default: str | None = None, **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        self.default = default

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """With the default command put in its place."""
        named = any(each in self.commands or each in ctx.help_option_names for each in args)
        mistyped = args and not args[0].startswith("-")
        if self.default and not named and not mistyped and not ctx.resilient_parsing:
            args = [self.default, *args]
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """What the command returns. Its reader may have enough early, as 'head' does: that is no failure."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            # Python would complain about it once more at its end.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return None
        return result

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """The command that is named, or which ones there are."""
        if not ctx.resilient_parsing and self.get_command(ctx, args[0]) is None:
            raise click.UsageError(f"there is no command {args[0]!r}; {guidance(args[0], self.commands)}", ctx)
        return super().resolve_command(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order they are told in, which is that of their use."""
        return list(self.commands)
