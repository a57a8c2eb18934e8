"""What one sees first: help, completion, the demo, and the next command."""

from __future__ import annotations

import re
from collections.abc import Callable

import click
import pytest

from contract_tests import ROOT
from contract_tests.support.sandbox import Sandbox
from contract_tests.surfaces.cli.conftest import Cli, OnScreen
from contract_tests.surfaces.cli.terminal import run
from emulator.cli.groups import LazyGroup
from emulator.cli.main import COMMANDS, cli
from emulator.core.event_types import EVENTS

GUIDE = ROOT / "docs" / "guide" / "command-line.md"


def shown(command: click.Command) -> str:
    return command.get_help(
        click.Context(command, info_name="payments-emulator", terminal_width=80, **command.context_settings)
    )


def test_the_help_has_a_line_for_each_command_which_begins_with_what_can_be_typed() -> None:
    """Under headings, with the first sentence of the command's own help, which is not cut in 80 columns."""
    listed = {name: sentence for names in COMMANDS.values() for name, sentence in names.items()}
    assert listed == {name: cli.commands[name].get_short_help_str(100) for name in cli.listed()}
    lines = shown(cli).splitlines()
    for heading, names in COMMANDS.items():
        start = lines.index(f"{heading}:") + 1
        assert [line.split()[0] for line in lines[start : start + len(names)]] == [*names]
    for group in (cli, *(each for each in cli.commands.values() if isinstance(each, LazyGroup))):
        assert [line for line in shown(group).splitlines()[1:] if line.endswith("...")] == []
    alone = "\n".join(run().lines)
    assert re.findall(r"^  payments-emulator (\w+)", alone, re.M) == ["demo", "serve", "exec"]
    assert "'payments-emulator --help'" in alone
    assert run("-h") == run("--help")


def test_the_guide_explains_each_option_of_serve() -> None:
    page = GUIDE.read_text("utf-8")
    rows = {name for line in page.splitlines() if line.startswith("| `-") for name in re.findall(r"`(--[a-z-]+)", line)}
    serve = cli.commands["serve"].params
    assert rows == {name for each in serve for name in (*each.opts, *each.secondary_opts) if name.startswith("--")}


@pytest.fixture
def complete(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], list[str]]:
    """What a line that was typed so far can go on with."""

    def complete(line: str) -> list[str]:
        words = ["payments-emulator", *line.split(" ")]
        monkeypatch.setenv("_PAYMENTS_EMULATOR_COMPLETE", "bash_complete")
        monkeypatch.setenv("COMP_WORDS", " ".join(words))
        monkeypatch.setenv("COMP_CWORD", str(len(words) - 1))
        result = cli()
        assert (result.status, result.errors) == (0, "")
        return [row.partition(",")[2] for row in result.output.split()]

    return complete


def test_commands_options_and_types_of_events_complete(
    complete: Callable[[str], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    for line, words in {
        "wo": ["world"],
        "clock ": ["show", "advance", "next", "freeze", "run"],
        "clock advance --u": ["--until-event", "--url"],
        "emails --kind re": ["receipt", "renewal_failed", "refund"],
        "trigger ": list(EVENTS),
        "events --type inv": ["invoice.paid", "invoice.payment_overdue"],
    }.items():
        assert complete(line) == words
    monkeypatch.delenv("_PAYMENTS_EMULATOR_COMPLETE")
    for shell in ("bash", "zsh", "fish"):
        assert "_PAYMENTS_EMULATOR_COMPLETE" in run("completion", shell).output


def test_the_demo_shows_two_paid_months_and_correct_signatures(screen: OnScreen) -> None:
    """README: the demo plays a customer's first two months, showing each step with the request that did it."""
    terminal = screen("demo", "--leave", NO_COLOR="1")
    assert terminal.status() == 0
    assert [line for line in terminal.text.splitlines() if len(line) > 80] == []
    for part in (
        *("POST /v1/webhooks/", "POST /v1/customers/", "POST /v1/subscriptions/", "POST /_emulator/clock/advance"),
        *("the period runs from 2026-02-01 to 2026-03-01", "INV-2026-000002: 5,000 XAF, paid."),
        "What to do next:",
    ):
        assert part in terminal.text
    assert terminal.text.count("signature correct") == 8
    assert "WRONG" not in terminal.text


def test_a_terminal_is_shown_the_next_command(sandbox: Sandbox, screen: OnScreen) -> None:
    """For the same emulator and App. JSON and pipes have none."""
    subscription = sandbox.subscribe()["id"]
    where = ("--url", sandbox.url, "--key", sandbox.key)
    terminal = screen("events", "--object", subscription, *where, COLUMNS="200")
    assert terminal.status() == 0
    assert f"next: payments-emulator explain {subscription} --url {sandbox.url} --key {sandbox.key}" in terminal.text
    as_json = screen("events", *where, "--json")
    assert (as_json.status(), "next:" in as_json.text) == (0, False)
    assert "next:" not in run("events", *where).errors
