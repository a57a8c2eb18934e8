"""The command line as the README shows it: ``python -m contract_tests.drift.commands`` writes its two tables anew."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from emulator.cli.main import cli
from emulator.cli.options import NAMES

README = Path(__file__).parents[2] / "README.md"

Words = tuple[str, ...]
"""What a command is called by, such as ``("clock", "advance")``."""


def commands(group: click.Group = cli, path: Words = ()) -> Iterator[tuple[Words, click.Command]]:
    """Every command that is no group, in the order of the help."""
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name), command


def arguments(command: click.Command) -> Iterator[str]:
    """What it takes by position, in brackets where it can do without."""
    for each in command.params:
        if isinstance(each, click.Argument):
            word = (each.metavar or (each.name or "").upper()).strip("[]") + ("..." if each.nargs == -1 else "")
            yield word if each.required else f"[{word}]"


def options(command: click.Command) -> Iterator[click.Option]:
    """What can be said to it by name."""
    return (each for each in command.params if isinstance(each, click.Option))


def command_table() -> list[str]:
    """Each command with its arguments and what it does."""
    rows = ["| command | does |", "|---|---|"]
    for path, command in commands():
        usage = " ".join([*path, *arguments(command)]).replace("|", r"\|")
        rows.append(f"| `{usage}` | {command.get_short_help_str(100)} |")
    return rows


def variables() -> dict[str, tuple[str, list[str]]]:
    """Each environment variable: the option it stands for, and the commands that heed it."""
    found: dict[str, tuple[str, list[str]]] = {}
    for path, command in commands():
        for each in options(command):
            if each.envvar:
                assert isinstance(each.envvar, str)
                found.setdefault(each.envvar, (each.opts[0], []))[1].append(" ".join(path))
    return found


def variable_table() -> list[str]:
    """Each environment variable with its option and its commands."""
    rows = ["| variable | option | of |", "|---|---|---|"]
    speaking = {" ".join(path) for path, command in commands() if {each.name for each in command.params} >= NAMES}
    for name, (option, heeding) in variables().items():
        own = [f"`{each}`" for each in heeding if each not in speaking]
        others = ["all that speak to an emulator"] if {*heeding} >= speaking else []
        rows.append(f"| `{name}` | `{option}` | {', '.join(own + others)} |")
    return rows


TABLES = {"commands": command_table, "variables": variable_table}


def current(text: str) -> str:
    """A text with the tables between their markers as they are today."""
    for name, table in TABLES.items():
        begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
        before, _, rest = text.partition(begin)
        _, _, after = rest.partition(end)
        assert after, f"the README has lost its marker {begin!r}"
        text = "".join([before, begin, *(f"{row}\n" for row in table()), end, after])
    return text


if __name__ == "__main__":
    README.write_text(current(README.read_text("utf-8")), "utf-8")
