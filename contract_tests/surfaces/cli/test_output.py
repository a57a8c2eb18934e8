"""The command line's output: colors, lines at once, a quiet end of pipes, JSON, report files."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml
from click import unstyle

from contract_tests.quality.drift.commands import commands, options
from contract_tests.support.receiver import Receiver
from contract_tests.support.sandbox import Sandbox
from contract_tests.surfaces.checks.receiver.test_certifier import SECRET
from contract_tests.surfaces.cli.conftest import Cli, OnScreen
from contract_tests.surfaces.cli.terminal import COMMAND, Begin, Ended, clean, ended, run
from contract_tests.surfaces.cli.test_examinations import Response, stranger
from contract_tests.surfaces.cli.test_exec import CALL, SEARCH
from contract_tests.surfaces.recording.conftest import START, past_due
from emulator.cli.main import COMMANDS, cli
from emulator.cli.options import OutputFile
from emulator.testing import Emulator, LocalServer

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
    """Names before the id may have any length; of the id enough is left to find its object.

    A terminal that is narrower still gets whole words on lines below.
    """

    def printed(*command: str, columns: int = 80) -> str:
        terminal = screen(*command, *which(sandbox), COLUMNS=str(columns), NO_COLOR="1")
        assert terminal.status() == 0
        return terminal.text

    customer = sandbox.subscribe()["customer"]
    sandbox.api.patch(f"/customers/{customer}/", {"name": "Anne-Charlotte " + "Ekomie " * 9})
    request = sandbox.control.get("/requests")["data"][0]["id"]
    for command, reader, id in (("events", "explain", customer), ("logs", "logs", request)):
        text = printed(command)
        rows = [line for line in text.splitlines() if line[2:3] == ":"]
        assert [line for line in rows if len(line) > 80] == []
        assert "Anne-Charlotte" in "\n".join(rows)
        assert f"{id[:12]}…" in text
        assert id in cli(reader, f"{id[:12]}…").output
    assert customer in printed("events", "--ids")
    lines = printed("schedule", columns=40).splitlines()
    assert [line for line in lines if len(line) > 40 and len(line.split()) > 1] == []


def test_an_error_is_a_sentence_for_people(cli: Cli) -> None:
    assert (
        cli("logs", "req_none").errors
        == "payments-emulator: There is no request req_none in the journal\n"
    )


def test_an_error_is_the_response_itself_for_programs(cli: Cli) -> None:
    error = json.loads(cli("logs", "req_none", "--json").errors)
    assert (error["code"], error["status"]) == ("NOT_FOUND", 404)


@pytest.mark.parametrize("command", ["events", "emails", "schedule", "world list"])
def test_an_empty_result_is_a_sentence_for_people(cli: Cli, command: str) -> None:
    result = cli(*command.split())
    assert (result.status, result.output) == (0, "")
    assert result.errors.endswith(".\n")


@pytest.mark.parametrize("command", ["events", "emails", "schedule", "world list"])
def test_an_empty_result_is_nothing_for_programs(cli: Cli, command: str) -> None:
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
    command, variables = (
        [*COMMAND, "logs", entry["id"], *which(sandbox)],
        clean(PYTHONIOENCODING="latin-1"),
    )
    printed = subprocess.run(
        command, capture_output=True, check=True, timeout=60, env=variables
    ).stdout
    assert b"Diop ???" in printed, "a letter that the terminal lacks is no failure"


def test_a_reader_that_has_enough_ends_it_quietly(sandbox: Sandbox) -> None:
    """As ``head`` does."""
    sandbox.subscribe()
    reading, writing = os.pipe()
    os.close(reading)
    command = [*COMMAND, "events", "--json", *which(sandbox)]
    done = subprocess.run(
        command,
        stdout=writing,
        stderr=subprocess.PIPE,
        timeout=60,
        check=False,
        env=clean(PYTHONUNBUFFERED="1"),
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.fixture
def follow(sandbox: Sandbox, begin: Begin) -> Follow:
    return lambda *arguments: begin(*arguments, *which(sandbox))


def objects(process: subprocess.Popen[str], number: int) -> list[Any]:
    assert process.stdout
    return [json.loads(process.stdout.readline()) for _ in range(number)]


def test_events_are_followed(sandbox: Sandbox, follow: Follow) -> None:
    """First the recent ones, then new ones, none twice or left out; Ctrl-C ends it, status 130."""
    sandbox.customer()
    process = follow("events", "--follow", "--json")
    (first,) = objects(process, 1)
    sandbox.subscribe()
    assert [first, *objects(process, 5)] == sandbox.events()[:6]
    status, output, errors = ended(process, signal.SIGINT)
    assert (status, output, errors.strip()) == (130, "", "")


HEAVY = {
    "httpx",
    "uvicorn",
    "connexion",
    "rich",
    "http.server",
    "msgspec",
    "yaml",
    "jinja2",
    "asyncio",
}
HEAVY |= {"email.message", "hashlib", "socket", "subprocess"}


def loaded(*line: str) -> set[str]:
    """What Python has loaded more once this line is done."""
    call = f"from emulator.cli.main import cli; cli({line}, standalone_mode=False)"
    script = (
        f"import sys; before = set(sys.modules); {call}; print('--', *set(sys.modules) - before)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    return {*done.stdout.rpartition("--")[2].split()}


def test_a_line_loads_its_own_command_only() -> None:
    """And the help none, so it comes fast."""
    commands = {f"emulator.cli.{name}" for names in COMMANDS.values() for name in names}
    modules = loaded("--help")
    assert {name.partition(".")[0] for name in modules} - sys.stdlib_module_names == {
        "click",
        "emulator",
    }
    assert (HEAVY | commands).isdisjoint(modules)
    assert commands & loaded("world", "reset", "--help") == {"emulator.cli.world"}


def test_a_request_loads_no_server(sandbox: Sandbox) -> None:
    """So it comes fast."""
    heavy = HEAVY | {
        "starlette",
        "babel",
        "emulator.engine",
        "emulator.server",
        "http.client",
        "ssl",
    }
    for line in ("health", "trigger invoice.paid", "events"):
        where = which(sandbox)[: 2 if line == "health" else 4]
        assert heavy & loaded(*line.split(), *where) == {"socket"}


# -- every ``--json``, ``--junit``, ``--html`` and file of a report, on a run that finds something


HERE = Path(__file__).parents[1]

PLACES = {
    "client": f"{sys.executable} {HERE / 'checks/app/client.py'}",
    "suite": f"{sys.executable} {HERE / 'checks/suite/suite.py'}",
    "search": f"{sys.executable} search.py",
    "secret": SECRET,
    "reports": "--json --html found.html --junit found.xml",
}

RUNS = """
0 health --json --url {url}
1 exec --assumptions all {reports} -- {search}
1 exec --assume search_nothing_found=error -- {search}
0 clock show --json {main}
0 clock advance --json 1d {other}
0 clock next --json {other}
0 clock freeze --json {other}
0 clock run --json {other}
0 schedule --json {main}
1 pay --json {session} --phone +24177000001 {other}
0 trigger --json subscription.payment_failed {other}
0 events --json {main}
0 logs --json {main}
0 explain --json {subscription} {main}
0 record --as pytest --out found.py {main}
0 emails --json {main}
0 emails {email} --html {main}
0 world save --json first {other}
0 world load --json saved {other}
0 world list --json {other}
0 world export saved --out found.json {other}
0 world import --json saved.json {other}
0 world rewind --json {other}
0 world reset --json {other}
0 test client {reports} {main}
0 ledger --json {main}
0 test suite --usage --json -- {suite}
1 test app --only 5:drop-after {reports} -- {client} careless
1 test suite --only refund-short {reports} -- {suite}
1 test all {reports} --app "{client} careless" -- {suite}
1 compare document {strict} --examples 1 --seed 1 {reports}
0 compare service {strict} --key sk_test_x --rate 1000 --only B-13 {reports} --out found.yaml
1 test receiver {receiver} --secret {secret} {reports}
0 listen --json --forward-to {receiver} {other}
"""
"""The exit status and the run. Its files are read by suffix; with ``--json`` it prints JSON."""

LINES = [line[2:] for line in RUNS.strip().splitlines()]

NAMES = {"--json", "--junit", "--html", "--out"}

FORMS: Mapping[str, Callable[[str], Any]] = {
    ".json": json.loads,
    ".xml": ElementTree.fromstring,
    ".yaml": yaml.safe_load,
    ".py": lambda text: compile(text, "found.py", "exec"),
    ".html": lambda text: text.index("</html>", text.index("<!doctype html>")),
}
"""How each file is read; what is no such file raises an error."""

OPERATION = {
    "operationId": "createCustomer",
    "requestBody": {
        "required": True,
        "content": {"application/json": {"schema": {"type": "object"}}},
    },
    "responses": {"201": {"description": "Created."}},
}

DOCUMENT = {
    "openapi": "3.0.3",
    "info": {"title": "Strict", "version": "1"},
    "servers": [{"url": "/v1"}],
    "paths": {"/customers/": {"post": OPERATION}},
}


def strict(path: str) -> Response:
    """A service that forbids its one operation by a rule of state, not by its document."""
    return (
        (200, DOCUMENT)
        if path == "/openapi.json"
        else (403, {"code": "PERMISSION_DENIED", "message": "No."})
    )


@pytest.fixture(scope="module")
def main(local_server: LocalServer) -> Iterator[tuple[Emulator, str]]:
    """A world in which a subscription is past due, which runs only read; and that subscription."""
    with Emulator(key="sk_test_main", clock=START, seed=7, server=local_server) as payments:
        yield payments, past_due(payments)


@pytest.fixture
def other(main: tuple[Emulator, str]) -> Iterator[Emulator]:
    with Emulator(main[0].url, key="sk_test_other") as payments:
        yield payments


@pytest.fixture
def places(
    main: tuple[Emulator, str], other: Emulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[dict[str, str]]:
    """The words in braces and their values. The runs' files are in the present folder."""
    payments, subscription = main
    monkeypatch.chdir(tmp_path)
    (tmp_path / "search.py").write_text(CALL + SEARCH)
    with closing(Receiver()) as receiver, stranger(strict) as service:
        yield {
            **PLACES,
            "url": payments.url,
            "main": f"--url {payments.url} --key {payments.key}",
            "other": f"--url {other.url} --key {other.key}",
            "subscription": subscription,
            "email": payments.api.get("/_emulator/emails")["data"][0]["id"],
            "strict": service,
            "receiver": receiver.url,
        }


def begun(other: Emulator) -> str:
    """Begin the world anew, with an unpaid session and an exported snapshot; return the former."""
    other.api.post("/_emulator/reset")
    session = other.session()["id"]
    other.api.post("/_emulator/snapshots", {"name": "saved"})
    Path("saved.json").write_bytes(other.client.get("/_emulator/snapshots/saved").content)
    other.trigger("invoice.paid")
    return str(session)


HEAVY_RUNS = ("test all", "test app", "test suite", "exec", "compare")
"""Runs of other commands, or of many requests; each has tests of its own."""


def command_of(line: str) -> tuple[str, ...]:
    words = line.split()
    return tuple(
        words[:2] if words[0] in ("clock", "world", "test", "compare", "spec") else words[:1]
    )


def test_no_option_is_left_out() -> None:
    there = {
        (path, max(option.opts, key=len))
        for path, command in commands(cli)
        for option in options(command)
        if NAMES & {*option.opts} or isinstance(option.type, OutputFile)
    }
    tried = {
        (command_of(line), word)
        for line in LINES
        for word in shlex.split(line.replace("{reports}", PLACES["reports"]))
    }
    assert sorted(there - tried) == []


@pytest.mark.parametrize(
    "lines",
    [
        [line for line in LINES if not line.startswith(HEAVY_RUNS)],
        *(
            pytest.param([line], marks=pytest.mark.long)
            for line in LINES
            if line.startswith(HEAVY_RUNS)
        ),
    ],
    ids=lambda lines: lines[0].split(" {")[0],
)
def test_what_is_written_can_be_read(
    lines: list[str], places: dict[str, str], other: Emulator, tmp_path: Path, begin: Begin
) -> None:
    for line in lines:
        words = shlex.split(line.format_map({**places, "session": begun(other)}))
        status, output, errors = (
            listened(words, places, begin) if words[0] == "listen" else run(*words)
        )
        assert "Traceback" not in output + errors
        assert f"{status} {line}\n" in RUNS, output
        if "--json" in words:
            assert [*values(output)], "it says nothing"
        written = [tmp_path / word for word in words if word.startswith("found.")]
        if "--html" in words and not written:
            FORMS[".html"](output.lower())
        for file in written:
            text = file.read_text("utf-8")
            FORMS[file.suffix](text.lower() if file.suffix == ".html" else text)
            file.unlink()


def listened(words: list[str], places: dict[str, str], begin: Begin) -> Ended:
    process = begin(*words)
    assert process.stdout
    endpoint = process.stdout.readline()
    run(*shlex.split("trigger customer.created {other}".format_map(places)))
    delivery = process.stdout.readline()
    status, output, errors = ended(process, signal.SIGTERM)
    return Ended(status, endpoint + delivery + output, errors)


def values(output: str) -> Iterator[Any]:
    """Yield the JSON values that are printed one after the other; nothing else is."""
    decoder, text = json.JSONDecoder(), output.strip()
    while text:
        value, end = decoder.raw_decode(text)
        yield value
        text = text[end:].lstrip()
