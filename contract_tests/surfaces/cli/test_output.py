"""What leaves the command line: colours for people alone, each line at once, and a quiet end on a closed pipe."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from click import unstyle

from contract_tests.support.sandbox import Sandbox
from contract_tests.surfaces.cli.conftest import Cli, OnScreen
from contract_tests.surfaces.cli.terminal import COMMAND, Begin, clean, ended
from emulator.cli.main import COMMANDS

Follow = Callable[..., "subprocess.Popen[str]"]


def which(sandbox: Sandbox) -> list[str]:
    return ["--url", sandbox.url, "--key", sandbox.key]


def test_colours_are_for_terminals(sandbox: Sandbox, cli: Cli, screen: OnScreen) -> None:
    """None in a pipe, and none under NO_COLOR. They take no room."""
    sandbox.deposit()
    terminal = screen("test", "client", *which(sandbox))
    assert terminal.status() == 0
    assert [line for line in unstyle(terminal.text).splitlines() if len(line) > 80] == []
    wide = {"COLUMNS": "200"}  # a narrow terminal wraps lines, which a pipe does not
    on_terminal = screen("events", *which(sandbox), **wide)
    plain = screen("events", *which(sandbox), **wide, NO_COLOR="1")
    assert (on_terminal.status(), plain.status()) == (0, 0)
    assert "\x1b[1mcustomer.created" in on_terminal.text
    assert "\x1b" not in cli("events").output
    assert plain.text.partition("next: ")[0].split() == cli("events").output.split()


def test_each_row_is_one_line_of_a_terminal(sandbox: Sandbox, cli: Cli, screen: OnScreen) -> None:
    """Whatever the length of names, which stand before the id, of which as much is left as finds its object.

    A terminal that is narrower still gets whole words on lines below.
    """

    def shown(*command: str, columns: int = 80) -> str:
        terminal = screen(*command, *which(sandbox), COLUMNS=str(columns), NO_COLOR="1")
        assert terminal.status() == 0
        return terminal.text

    customer = sandbox.subscribe()["customer"]
    sandbox.api.patch(f"/customers/{customer}/", {"name": "Anne-Charlotte " + "Ekomie " * 9})
    request = sandbox.control.get("/requests")["data"][0]["id"]
    for command, reader, id in (("events", "explain", customer), ("logs", "logs", request)):
        text = shown(command)
        rows = [line for line in text.splitlines() if line[2:3] == ":"]
        assert [line for line in rows if len(line) > 80] == []
        assert "Anne-Charlotte" in "\n".join(rows)
        assert f"{id[:12]}…" in text
        assert id in cli(reader, f"{id[:12]}…").output
    assert customer in shown("events", "--ids")
    lines = shown("schedule", columns=40).splitlines()
    assert [line for line in lines if len(line) > 40 and len(line.split()) > 1] == []


def test_an_error_is_a_sentence_for_people_and_the_answer_itself_for_programs(cli: Cli) -> None:
    assert cli("logs", "req_none").errors == "payments-emulator: There is no request req_none in the journal\n"
    error = json.loads(cli("logs", "req_none", "--json").errors)
    assert (error["code"], error["status"]) == ("NOT_FOUND", 404)


@pytest.mark.parametrize("command", ["events", "emails", "schedule", "world list"])
def test_an_empty_result_is_a_sentence_for_people_and_nothing_for_programs(cli: Cli, command: str) -> None:
    result = cli(*command.split())
    assert (result.status, result.output) == (0, "")
    assert result.errors.endswith(".\n")
    assert cli(*command.split(), "--json") == (0, "", "")


def test_what_others_wrote_does_not_steer_the_terminal(sandbox: Sandbox, cli: Cli) -> None:
    """To people control characters are question marks; programs get what is there."""
    name = "\x1b[2J\x9b2J\u202eAwa\u00a0Diop 王小明"
    sandbox.api.request("POST", "/customers/", json={"name": name})
    (entry,) = cli("logs", "--json").objects
    text = cli("logs", entry["id"]).output
    assert "2J?Awa\u00a0Diop" in text
    assert not any(sign in text for sign in "\x1b\x9b\u202e")
    assert cli("logs", entry["id"], "--json").objects[0]["request_body"]["name"] == name
    command, variables = [*COMMAND, "logs", entry["id"], *which(sandbox)], clean(PYTHONIOENCODING="latin-1")
    shown = subprocess.run(command, capture_output=True, check=True, timeout=60, env=variables).stdout
    assert b"Diop ???" in shown, "a letter that the terminal lacks is no failure"


def test_a_reader_that_has_enough_ends_it_quietly(sandbox: Sandbox) -> None:
    """As ``head`` does."""
    sandbox.subscribe()
    reading, writing = os.pipe()
    os.close(reading)
    command = [*COMMAND, "events", "--json", *which(sandbox)]
    done = subprocess.run(
        command, stdout=writing, stderr=subprocess.PIPE, timeout=60, check=False, env=clean(PYTHONUNBUFFERED="1")
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.fixture
def follow(sandbox: Sandbox, begin: Begin) -> Follow:
    """Starts a command that goes on."""
    return lambda *arguments: begin(*arguments, *which(sandbox))


def objects(process: subprocess.Popen[str], number: int) -> list[Any]:
    assert process.stdout
    return [json.loads(process.stdout.readline()) for _ in range(number)]


def test_events_are_followed(sandbox: Sandbox, follow: Follow) -> None:
    """First the recent ones, then each as it happens, none twice and none left out; Ctrl-C ends it, exit status 130."""
    sandbox.customer()
    process = follow("events", "--follow", "--json")
    (first,) = objects(process, 1)
    sandbox.subscribe()
    later = objects(process, 5)
    assert [first, *later] == sandbox.events()[:6]
    status, output, errors = ended(process, signal.SIGINT)
    assert (status, output, errors.strip()) == (130, "", "")


HEAVY = {"httpx", "uvicorn", "connexion", "rich", "http.server", "msgspec", "yaml", "jinja2", "asyncio"}
HEAVY |= {"email.message", "hashlib", "socket", "subprocess"}


def loaded(*line: str) -> set[str]:
    """What Python has loaded more once this line is done."""
    call = f"from emulator.cli.main import cli; cli({line}, standalone_mode=False)"
    script = f"import sys; before = set(sys.modules); {call}; print('--', *set(sys.modules) - before)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    return {*done.stdout.rpartition("--")[2].split()}


def test_a_line_loads_its_own_command_only_the_help_none_and_a_request_no_server(sandbox: Sandbox) -> None:
    """So it comes fast."""
    commands = {f"emulator.cli.{name}" for names in COMMANDS.values() for name in names}
    modules = loaded("--help")
    assert {name.partition(".")[0] for name in modules} - sys.stdlib_module_names == {"click", "emulator"}
    assert (HEAVY | commands).isdisjoint(modules)
    assert commands & loaded("world", "reset", "--help") == {"emulator.cli.world"}
    heavy = HEAVY | {"starlette", "babel", "emulator.engine", "emulator.server", "http.client", "ssl"}
    for line in ("health", "trigger invoice.paid", "events"):
        where = which(sandbox)[: 2 if line == "health" else 4]
        assert heavy & loaded(*line.split(), *where) == {"socket"}
