"""The command line as it is: its commands, their options, and the options' variables."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click

from contract_tests import ROOT
from emulator.cli.groups import PROGRAM
from emulator.cli.main import cli

PAGES = (ROOT / "README.md", ROOT / "docs/guide/command-line.md")
"""Where commands are shown; a test reads each line."""

Words = tuple[str, ...]
"""What a command is called by, such as ``("clock", "advance")``."""


def commands(group: click.Group = cli, path: Words = ()) -> Iterator[tuple[Words, click.Command]]:
    """Yield every command of the help that is no group, in its order."""
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))
        elif not command.hidden:
            yield (*path, name), command


def arguments(command: click.Command) -> Iterator[str]:
    for parameter in command.params:
        if isinstance(parameter, click.Argument):
            word = (parameter.metavar or (parameter.name or "").upper()).strip("[]") + (
                "..." if parameter.nargs == -1 else ""
            )
            yield word if parameter.required else f"[{word}]"


def options(command: click.Command) -> Iterator[click.Option]:
    return (parameter for parameter in command.params if isinstance(parameter, click.Option))


def variables() -> dict[str, tuple[str, list[str]]]:
    """Return each environment variable: the option it stands for, and the commands that heed it."""
    variables: dict[str, tuple[str, list[str]]] = {}
    for path, command in commands():
        for option in options(command):
            if option.envvar:
                assert isinstance(option.envvar, str)
                variables.setdefault(option.envvar, (option.opts[0], []))[1].append(" ".join(path))
    return variables


def examples(text: str) -> list[str]:
    """Return the lines that call the program, a continued one whole, without text around them."""
    text = re.sub(r" \\\n *", " ", text)
    lines = re.findall(rf"^ *(?:eval \"\$\(|\S*/)?({PROGRAM} [a-z].*)$", text, re.MULTILINE)
    return [re.split(r"  +| (?:\|\|?|[<>]) |`|\)\"", line)[0] for line in lines]
