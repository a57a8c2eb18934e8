"""The help of every command at the widths that terminals have."""

from __future__ import annotations

from collections.abc import Callable

import click
import pytest

from contract_tests.cli.terminal import Screen
from contract_tests.drift.commands import commands
from contract_tests.sandbox import Sandbox
from emulator.cli.help import Context
from emulator.cli.main import cli

OnScreen = Callable[..., Screen]

WIDTHS = (40, 80, 120, 200)

MANY_OPTIONS = {
    "calibrate",
    "proxy",
    "serve",
    "exec",
    "sweep",
    "doubt",
    "grade",
    "certify",
    "check",
    "listen",
    "record",
    "trigger",
}
"""Commands with more options, or more to list, than one screen has room for."""

ALL = [((), cli), *commands()]


def shown(path: tuple[str, ...], command: click.Command, width: int, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("COLUMNS", str(width))
    context = Context(command, info_name=" ".join(("payments-emulator", *path)))
    return command.get_help(context)


@pytest.mark.parametrize("width", WIDTHS)
def test_no_word_is_broken_and_no_line_too_long(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every word of the widest help stands whole in each; a line is too long only where one word is."""
    for path, command in ALL:
        words = set(shown(path, command, 400, monkeypatch).split())
        text = shown(path, command, width, monkeypatch)
        # The list of commands shortens its lines at words, with three dots.
        assert {word for word in text.split() if not word.endswith("...")} - words == set(), path
        long = [line for line in text.splitlines() if len(line) >= width and len(line.split()) > 1]
        assert long == [], path


def test_the_help_of_most_commands_fits_one_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    """24 lines of 80 columns; those that start servers have more options than that."""
    lengths = {" ".join(path): len(shown(path, command, 80, monkeypatch).splitlines()) for path, command in ALL[1:]}
    long = {name for name, lines in lengths.items() if lines > 30}
    assert long <= MANY_OPTIONS


def test_a_command_shows_its_help_as_the_group_does(monkeypatch: pytest.MonkeyPatch) -> None:
    context = Context(cli, info_name="payments-emulator")
    for name in ("serve", "clock"):
        command = cli.get_command(context, name)
        assert command is not None
        assert command.context_class is Context


@pytest.mark.parametrize("width", [40, 80])
@pytest.mark.parametrize("command", ["events", "logs", "schedule", "emails"])
def test_lines_go_on_below_on_a_narrow_terminal(sandbox: Sandbox, screen: OnScreen, command: str, width: int) -> None:
    """Whole words, however narrow it is; a pipe gets one line for each object."""
    sandbox.subscribe()
    terminal = screen(command, "--url", sandbox.url, "--key", sandbox.key, COLUMNS=str(width), NO_COLOR="1")
    assert terminal.status() == 0
    lines = terminal.text.splitlines()
    assert [line for line in lines if len(line) > width and len(line.split()) > 1] == []
    assert "\x1b[3" not in terminal.text, "NO_COLOR"
