"""The help of every command at the widths that terminals have."""

from __future__ import annotations

import re
from collections.abc import Callable

import click
import pytest

from contract_tests import ROOT
from contract_tests.quality.drift.commands import commands
from contract_tests.support.sandbox import Sandbox
from contract_tests.surfaces.cli.terminal import Screen, run
from emulator.cli.groups import Context, LazyGroup
from emulator.cli.main import COMMANDS, cli

OnScreen = Callable[..., Screen]

GUIDE = ROOT / "docs" / "guide" / "command-line.md"

WIDTHS = (40, 80, 120, 200)

SCREEN = 40
"""Lines of a terminal of 80 columns."""

PLACES = {name: row for _, table in COMMANDS.values() for name, row in table.items()}

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


def test_the_first_screen_names_every_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """By group, in 24 lines of 80 columns; those of a group of commands as one word."""
    lines = shown((), cli, 80, monkeypatch).splitlines()
    assert len(lines) <= 24
    text = " ".join(" ".join(lines).split())
    for name, (_, synopsis) in PLACES.items():
        command = cli.commands[name]
        own = "|".join(command.listed()) if isinstance(command, LazyGroup) else ""
        assert synopsis.split()[0] == name
        assert synopsis in text
        assert own in synopsis


def test_the_help_of_each_command_fits_one_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    lengths = {path: len(shown(path, command, 80, monkeypatch).splitlines()) for path, command in ALL[1:]}
    assert {path: lines for path, lines in lengths.items() if lines > SCREEN} == {}


def test_ranges_are_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside a default there is none."""
    help = "".join(shown(path, command, 200, monkeypatch) for path, command in ALL)
    assert "<=" not in help
    assert ">=" not in help
    assert "RANGE" not in help
    assert "  [0 to 100]" in help


def test_commands_that_start_sandboxes_name_the_options_of_serve(monkeypatch: pytest.MonkeyPatch) -> None:
    every = dict(commands())
    for path in (("exec",), ("test", "app"), ("test", "all"), ("test", "suite")):
        command = every[path]
        help = shown(path, command, 80, monkeypatch)
        assert "Options of serve (serve --help):" in help
        names = {each.opts[0] for each in command.params if isinstance(each, click.Option)}
        assert {option for option in names if option not in help} == set()


def test_the_guide_explains_each_option_of_serve() -> None:
    page = GUIDE.read_text("utf-8")
    rows = {name for line in page.splitlines() if line.startswith("| `-") for name in re.findall(r"`(--[a-z-]+)", line)}
    assert rows == {
        name
        for each in cli.commands["serve"].params
        for name in (*each.opts, *each.secondary_opts)
        if name.startswith("--")
    }


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


def test_a_terminal_is_shown_the_next_command(sandbox: Sandbox, screen: OnScreen) -> None:
    """For the same emulator and App. JSON and pipes have none."""
    subscription = sandbox.subscribe()["id"]
    request = sandbox.control.get("/requests")["data"][0]["id"]
    where = ("--url", sandbox.url, "--key", sandbox.key)
    expected = {
        ("events", "--object", subscription): f"explain {subscription}",
        ("logs", request): f"explain {subscription}",
        ("schedule",): "clock next",
        ("clock", "advance", "1d"): "schedule",
        ("trigger", "subscription.canceled", "-o", f"subscription={subscription}"): f"explain {subscription}",
    }
    for command, following in expected.items():
        terminal = screen(*command, *where, COLUMNS="200")
        assert terminal.status() == 0
        assert f"next: payments-emulator {following} --url {sandbox.url} --key {sandbox.key}" in terminal.text
    assert "next:" not in screen("events", *where, "--json").text
    assert "next:" not in run("events", *where).errors
