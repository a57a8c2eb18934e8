"""First sight: help, completion, the demo, and mistakes: one line with advice; exit status 2."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import click
import pytest

from contract_tests import ROOT
from contract_tests.support.receiver import Receiver, Reply
from contract_tests.support.sandbox import RunningServer, Sandbox
from contract_tests.surfaces.cli.conftest import Cli, OnScreen
from contract_tests.surfaces.cli.terminal import run
from emulator.cli.errors import sentence
from emulator.cli.groups import LazyGroup
from emulator.cli.main import COMMANDS, cli
from emulator.cli.main import cli as program
from emulator.cli.test import test as command_test
from emulator.core.event_types import EVENTS

GUIDE = ROOT / "docs" / "guide" / "command-line.md"


def help_of(command: click.Command, *path: str) -> str:
    name = " ".join(path) or "payments-emulator"
    return command.get_help(
        click.Context(command, info_name=name, terminal_width=80, **command.context_settings)
    )


def test_the_help_has_a_line_for_each_command_which_begins_with_what_can_be_typed() -> None:
    """Under headings, with the first sentence of the command's help, uncut in 80 columns."""
    listed = {name: sentence for names in COMMANDS.values() for name, sentence in names.items()}
    assert listed == {name: cli.commands[name].get_short_help_str(100) for name in cli.listed()}
    lines = help_of(cli).splitlines()
    for heading, names in COMMANDS.items():
        start = lines.index(f"{heading}:") + 1
        assert [line.split()[0] for line in lines[start : start + len(names)]] == [*names]
    for group in (cli, *(group for group in cli.commands.values() if isinstance(group, LazyGroup))):
        assert [line for line in help_of(group).splitlines()[1:] if line.endswith("...")] == []
    alone = "\n".join(run().lines)
    assert re.findall(r"^  payments-emulator (\w+)", alone, re.M) == ["demo", "serve", "exec"]
    assert "'payments-emulator --help'" in alone
    assert run("-h") == run("--help")


def test_the_guide_explains_each_option_of_serve() -> None:
    page = GUIDE.read_text("utf-8")
    rows = {
        name
        for line in page.splitlines()
        if line.startswith("| `-")
        for name in re.findall(r"`(--[a-z-]+)", line)
    }
    serve = cli.commands["serve"].params
    assert rows == {
        name
        for option in serve
        for name in (*option.opts, *option.secondary_opts)
        if name.startswith("--")
    }


@pytest.fixture
def complete(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], list[str]]:
    def complete(line: str) -> list[str]:
        words = ["payments-emulator", *line.split(" ")]
        monkeypatch.setenv("_PAYMENTS_EMULATOR_COMPLETE", "bash_complete")
        monkeypatch.setenv("COMP_WORDS", " ".join(words))
        monkeypatch.setenv("COMP_CWORD", str(len(words) - 1))
        result = cli()
        assert (result.status, result.errors) == (0, "")
        return [row.partition(",")[2] for row in result.output.split()]

    return complete


def test_a_line_is_completed(complete: Callable[[str], list[str]]) -> None:
    for line, words in {
        "wo": ["world"],
        "clock ": ["show", "advance", "next", "freeze", "run"],
        "clock advance --u": ["--until-event", "--url"],
        "emails --kind re": ["receipt", "renewal_failed", "refund"],
        "trigger ": list(EVENTS),
        "events --type inv": [type for type in EVENTS if type.startswith("inv")],
    }.items():
        assert complete(line) == words


def test_each_shell_has_its_script_of_completion() -> None:
    for shell in ("bash", "zsh", "fish"):
        assert "_PAYMENTS_EMULATOR_COMPLETE" in run("completion", shell).output


def test_the_demo_shows_two_paid_months(screen: OnScreen) -> None:
    """README: the demo plays a customer's first two months, with each step and its request."""
    terminal = screen("demo", "--leave", NO_COLOR="1")
    assert terminal.status() == 0
    assert [line for line in terminal.text.splitlines() if len(line) > 80] == []
    for part in (
        *(
            "POST /v1/webhooks/",
            "POST /v1/customers/",
            "POST /v1/subscriptions/",
            "POST /_emulator/clock/advance",
        ),
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
    assert (
        f"next: payments-emulator explain {subscription} --url {sandbox.url} --key {sandbox.key}"
        in terminal.text
    )
    as_json = screen("events", *where, "--json")
    assert (as_json.status(), "next:" in as_json.text) == (0, False)
    assert "next:" not in run("events", *where).errors


MISTAKES = {
    "clok": "There is no command 'clok'; did you mean `clock`?",
    "xyz": "There is no command 'xyz'; allowed: serve, demo",
    "events --folow": "There is no option '--folow'; did you mean `--follow`?",
    "events -n 0": "'--limit' / '-n': '0' is not a whole number of at least 1",
    "serve --port 99999": "'99999' is not a whole number from 0 to 65535",
    "serve --state foo:bar": "'foo:bar' is not one of memory, tinydb:FILE, sqlite:FILE or",
    "serve --public-url here": "'here' is not a URL such as http://sandbox.local:4747",
    "demo --foo": "allowed: --stay, --leave, --help",
    "test receiver ftp://x": "'ftp://x' is not a URL such as http://localhost:3000/webhooks",
    "world import /nowhere": "'/nowhere' cannot be opened: No such file or directory",
    "state check tinydb:/nonexistent": "tinydb:/nonexistent: there is no such file",
    "state check memory": "memory: nothing is stored",
    "clock --zzz": "allowed: --json, --url, --key, --app, --control-token, --help",
    "--url http://127.0.0.1:1 clock show": (
        "after the whole command, as in: payments-emulator clock show --url"
    ),
    "events --type invoice.pad": "did you mean `invoice.paid`?",
    "logs --status 9": "'9' is not a status such as 404 or 4xx",
    "logs ../health": "'../health' is not an id such as req_",
    "emails --raw": "--raw shows one email; give its id",
    "emails mail_nothing": "There is no ",
    "clock advance": "Give a DURATION such as 31d, --to INSTANT or --until-event EVENT",
    "clock advance 31d --to 2026-03-01": "--to says how far; leave out DURATION",
    "clock advance P1X": "'DURATION': 'P1X' is not a duration such as 31d, 2h, 90s, P3M or P1Y",
    "clock advance --to 2020-01-01": "to: is before the clock's present instant",
    "clock run --rate -1": "'-1' is not a number above 0",
    "clock run --rate nan": "'nan' is not a number above 0",
    "world save": "NAME",
    "world save a/b": "1 to 64 of A-Z a-z 0-9 . _ -",
    "world load nothing": "There is no snapshot 'nothing'",
    "world import /dev/zero": "/dev/zero: is larger than 64 MiB, the most that is imported",
    "world rewind": "only 0 requests in the journal",
    "world rewind req_nothing": "There is no ",
    "world reset --clock stopped": "'stopped' is not the start of a clock: must be running, frozen",
    "events --key sk_test_a.b": "API key",
    "events --key sk_test_demo --app demo": "--key and --app both name the App",
    "events --app a/b": "must be an App's name",
    "clock --url http://127.0.0.1:1": (
        "Start one: payments-emulator serve; or give its URL with --url"
    ),
    "pay cus_1": (
        "'cus_1' is not payable. Give the id, or the URL of the page, of a checkout session"
        " (sess_…)"
    ),
    "pay inv_1 --iban x --card 4": "Pay by one of card, iban, not by all of them",
    "trigger": "'EVENT'. Allowed: payment_intent.succeeded",
    "trigger invoice.paid -o amount": "NAME=VALUE, such as customer.name=Awa",
    "trigger invoice.paid -o a=1 -o a.b=1": "a.b is inside a, which is itself overridden",
    "trigger invoice.paid -o colour=red": "overrides.colour: is not an override",
    f"trigger invoice.paid -o amount={'[' * 2000}": "is not an override",
    "test app": "Missing argument 'COMMAND...'; see 'payments-emulator test app --help'",
    "test client --fail-on worry": "'error', 'warning', 'info'",
    "test suite --fail-on 101 -- true": "'101' is not a number from 0 to 100",
    "exec": "COMMAND",
    "exec --state sqlite:x.db --assumptions all -- true": "cannot share one --state",
    "exec --fixtures /nowhere.yaml true": "/nowhere.yaml: cannot be read",
    "exec --assume search=error -- true": "search_nothing_found",
    "completion tcsh": "'bash', 'zsh', 'fish'",
}


@pytest.mark.parametrize("line", MISTAKES)
def test_a_mistake_is_reported_in_one_line(cli: Cli, line: str) -> None:
    assert MISTAKES[line] in cli(*line.split()).usage_error


@pytest.mark.parametrize("line", MISTAKES)
def test_a_mistake_is_reported_as_json_to_programs(cli: Cli, line: str) -> None:
    """Even if the options cannot be parsed; an error of the emulator has the same fields."""
    words = line.split()
    end = words.index("--") if "--" in words else len(words)
    ended = cli(*words[:end], "--json", *words[end:])
    error = json.loads(ended.errors)
    assert (ended.status, ended.output) == (2, "")
    assert {"code", "message", "status", "request_id"} <= error.keys()
    assert re.fullmatch("[A-Z_]+", error["code"])
    assert error["message"]


def test_what_stands_after_two_dashes_belongs_to_the_command_of_exec(cli: Cli) -> None:
    assert cli("exec", "--port", "x", "--", "npm", "--json").usage_error


def every_command(
    group: click.Group = cli, *path: str
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    for name, command in group.commands.items():
        yield (*path, name), command
        if isinstance(command, click.Group):
            yield from every_command(command, *path, name)


def test_a_wrong_value_is_rejected_in_a_sentence_with_a_verb() -> None:
    """Whichever option or argument it is given to: ``'99999' is not a whole number …``."""
    wordless = []
    for path, command in every_command():
        context = click.Context(command, info_name=path[-1])
        for parameter in command.params:
            for value in ("@ @", "-99999999", "/nowhere/at/all"):
                try:
                    parameter.type.convert(value, parameter, context)
                except click.ClickException as error:
                    message = sentence(error).partition(": ")[2]
                    if not re.search(r"\b(is|are|cannot be|does)\b", message):
                        wordless.append((path, parameter.name, message))
    assert wordless == []


def test_no_help_is_wider_than_80_columns() -> None:
    assert [
        (path, line)
        for path, command in every_command()
        for line in help_of(command, "payments-emulator", *path).splitlines()
        if len(line) > 80
    ] == []


def test_a_hidden_command_is_never_named(cli: Cli) -> None:
    hidden = {
        (path, name)
        for path, group in (((), program), (("test",), command_test))
        for name in group.commands.keys() - set(group.listed())
    }
    assert hidden == {(("test",), "scenario")}
    for path, name in hidden:
        for typed in ("xyz", name[:-1], name.upper()):
            assert name not in cli(*path, typed).usage_error.replace(repr(typed), "")
            assert f"\n  {name} " not in cli(*path, "--help").output


def test_a_file_of_another_kind_is_rejected(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "my shop.json"
    for content in (b"", b"\xff\xfe", b"[]", b'{"format": 1}', b"no", b"[" * 100_000):
        file.write_bytes(content)
        assert "give one with --name" in cli("world", "import", str(file)).usage_error
        assert cli("world", "import", str(file), "--name", "shop").usage_error
        assert not content or cli("world", "reset", "--fixtures", str(file)).usage_error
    assert cli("world", "list").output == ""


def test_a_report_that_has_no_place_is_rejected_before_anything_runs(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for line in (
        *(
            "test app --junit {} -- touch ran",
            "test suite --junit {} -- touch ran",
            "test all --html {} -- touch ran",
        ),
        *(
            "exec --assumptions all --junit {} -- touch ran",
            "compare document http://127.0.0.1:9 --junit {}",
        ),
        "compare service http://127.0.0.1:9 --out {}",
    ):
        rejected = cli(*line.format("missing/report").split()).usage_error
        assert "missing/report: cannot be written: there is no folder missing" in rejected
    assert [*tmp_path.iterdir()] == []


def test_something_else_that_listens_there(cli: Cli) -> None:
    with closing(Receiver()) as stranger:
        responses = [
            Reply(200, body=b"hello"),
            Reply(404, body=b"<h1>Not Found</h1>"),
            Reply(500, body=b'{"error": "no"}'),
        ]
        stranger.reply = lambda received: responses.pop()
        while responses:
            rejected = cli("world", "rewind", "--url", stranger.url).usage_error
            assert "There is no emulator: " in rejected


def test_a_token_that_is_demanded(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    with RunningServer(control_token="s3crét") as locked:
        url = ["--url", locked.url, "--key", "sk_test_demo"]
        assert "give the token with --control-token" in cli("clock", *url).usage_error
        assert "frozen" in cli("clock", *url, "--control-token", "s3crét").lines[0]
        monkeypatch.setenv("PAYMENTS_EMULATOR_CONTROL_TOKEN", "s3crét")
        assert "frozen" in cli("clock", *url).lines[0]
