"""The command line ↔ README and guide ↔ the environment ↔ the control API's document."""

from __future__ import annotations

import shlex
from pathlib import Path

import click
import pytest

from contract_tests.quality.drift.commands import PAGES, commands, examples, options, variables
from emulator.checks.receiver import checks
from emulator.checks.report import SEVERITIES
from emulator.cli import receiver
from emulator.cli.emails import EMAIL_KINDS
from emulator.cli.groups import PROGRAM
from emulator.cli.main import cli
from emulator.cli.options import variable
from emulator.cli.suite import GROUPS
from emulator.document import bundles

ALL = dict(commands())

NAMES = {"url", "key", "app", "control_token"}
"""The options of a command that speaks to an emulator."""

SAYS_NOTHING = {("record",), ("mcp",), ("world", "delete"), ("world", "export")}
"""Commands that speak to an emulator and print nothing, a file, or JSON always."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The examples find the files they name."""
    monkeypatch.chdir(tmp_path)
    for name in ("before-renewal.json", "shop.yaml"):
        (tmp_path / name).touch()
    (tmp_path / "profile.yaml").write_text(
        "{service: https://sandbox.example.com, date: '2026-01-01', of: 1}", "utf-8"
    )


def understood(line: str) -> None:
    """Every word and every value of a line is one that the command line takes. Nothing is done."""
    words = shlex.split(line)[1:]
    command: click.Command = cli
    while isinstance(command, click.Group) and words:
        assert words[0] in command.commands, line
        command, words = command.commands[words[0]], words[1:]
    if not isinstance(command, click.Group):
        command.make_context(line, words).close()


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_the_help_teaches_by_example(path: tuple[str, ...]) -> None:
    """Each example calls the command itself, and can be understood."""
    lines = examples(ALL[path].help or "")
    assert any(line.startswith(" ".join((PROGRAM, *path))) for line in lines), lines
    for line in lines:
        understood(line)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    "line", examples("\n".join([*(page.read_text("utf-8") for page in PAGES), cli.help or ""]))
)
def test_what_the_pages_call_is_there(line: str) -> None:
    understood(line)


def test_every_variable_is_named_after_its_option() -> None:
    assert {name: variable(option) for name, (option, _) in variables().items()} == {
        name: name for name in variables()
    }


def test_options_of_a_server_have_variables() -> None:
    """The page of the command line says that each can be set in the environment."""
    assert [option.name for option in options(cli.commands["serve"]) if not option.envvar] == []


def test_options_of_a_client_have_variables() -> None:
    speaking = [
        command
        for command in ALL.values()
        if {parameter.name for parameter in command.params} >= NAMES
    ]
    assert len(speaking) > 10
    for command in speaking:
        assert {option.name for option in options(command) if option.envvar} == NAMES - {"app"}


def test_a_command_explains_each_option() -> None:
    assert [
        option.name for command in ALL.values() for option in options(command) if not option.help
    ] == []


def test_a_command_prints_as_json_too() -> None:
    speaking = [
        path
        for path, command in ALL.items()
        if {parameter.name for parameter in command.params} >= NAMES
    ]
    assert {
        path
        for path in speaking
        if "as_json" not in {parameter.name for parameter in ALL[path].params}
    } <= SAYS_NOTHING


def test_no_option_takes_what_is_no_number() -> None:
    """``nan`` is neither less nor more than a bound, so that it passes each of click's."""
    floats = click.types.FloatParamType | click.FloatRange
    numbers = [
        option
        for command in ALL.values()
        for option in options(command)
        if isinstance(option.type, floats)
    ]
    assert len(numbers) > 5
    for option in numbers:
        for number in ("nan", "inf", "-inf"):
            with pytest.raises(click.BadParameter):
                option.type.convert(number, option, None)


def test_choices_are_those_of_the_control_document() -> None:
    document = bundles.load("control")
    schemas = document["components"]["schemas"]
    assert list(EMAIL_KINDS) == schemas["EmailKind"]["enum"]
    assert list(SEVERITIES) == schemas["AuditSeverity"]["enum"]
    [group] = [
        parameter
        for parameter in document["paths"]["/coverage"]["get"]["parameters"]
        if parameter.get("name") == "group"
    ]
    assert sorted(GROUPS) == sorted(group["schema"]["items"]["enum"])
    assert receiver.METHODS == checks.METHODS
