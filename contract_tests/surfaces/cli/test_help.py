"""The help of commands, and what commands print on a terminal."""

from __future__ import annotations

import re
from collections.abc import Callable

import click
import pytest

from contract_tests import ROOT
from contract_tests.support.sandbox import Sandbox
from contract_tests.surfaces.cli.terminal import Screen, run
from emulator.cli.groups import LazyGroup
from emulator.cli.main import COMMANDS, cli

OnScreen = Callable[..., Screen]

GUIDE = ROOT / "docs" / "guide" / "command-line.md"


def shown(command: click.Command) -> str:
    return command.get_help(click.Context(command, info_name="payments-emulator", terminal_width=80))


def test_the_help_has_a_line_for_each_command_which_begins_with_what_can_be_typed() -> None:
    """Under headings, with the first sentence of the command's own help."""
    listed = {name: sentence for names in COMMANDS.values() for name, sentence in names.items()}
    assert listed == {name: cli.commands[name].get_short_help_str(100) for name in cli.listed()}
    lines = shown(cli).splitlines()
    for heading, names in COMMANDS.items():
        start = lines.index(f"{heading}:") + 1
        assert [line.split()[0] for line in lines[start : start + len(names)]] == [*names]


GROUPS = [cli, *(each for each in cli.commands.values() if isinstance(each, LazyGroup))]


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.name)
def test_a_list_of_commands_is_not_cut_in_80_columns(group: LazyGroup) -> None:
    assert [line for line in shown(group).splitlines()[1:] if line.endswith("...")] == []


def test_the_guide_explains_each_option_of_serve() -> None:
    page = GUIDE.read_text("utf-8")
    rows = {name for line in page.splitlines() if line.startswith("| `-") for name in re.findall(r"`(--[a-z-]+)", line)}
    assert rows == {
        name
        for each in cli.commands["serve"].params
        for name in (*each.opts, *each.secondary_opts)
        if name.startswith("--")
    }


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
