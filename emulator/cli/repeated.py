"""The command line that repeats one run of a command that makes many, such as one case of a sweep."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

import click

from emulator.cli.completion import PROGRAM
from emulator.cli.help import SandboxCommand

LEFT_OUT = ("--only", "--skip", "--junit", "--control-token", "--budget", "--jobs", "--fail-on")
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


def repeating(command: Sequence[str]) -> str:
    """The line for the command line under way, which ends with ``command``; ``{case}`` stands for what is repeated."""
    context = click.get_current_context()
    arguments: Sequence[str] = context.meta[REMEMBERED]
    split = len(arguments) - len(command)
    options = [each for each in arguments[:split] if each not in ("--", *FLAGS)]
    stays = [
        each
        for number, each in enumerate(options)
        if each.partition("=")[0] not in LEFT_OUT and (number == 0 or options[number - 1] not in LEFT_OUT)
    ]
    line = shlex.join([PROGRAM, str(context.info_name), "--only", "CASE", *stays, "--", *arguments[split:]])
    return line.replace("CASE", "{case}", 1)
