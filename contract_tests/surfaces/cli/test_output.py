"""What leaves the command line: colours for people alone, each line at once, and a quiet end on a closed pipe."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click import unstyle

from contract_tests.support.sandbox import Sandbox
from contract_tests.surfaces.cli.conftest import Cli, OnScreen
from contract_tests.surfaces.cli.terminal import COMMAND, clean, processes
from emulator.cli.main import COMMANDS

BOLD = "\x1b[1m"

Follow = Callable[..., "subprocess.Popen[str]"]


def which(sandbox: Sandbox) -> list[str]:
    return ["--url", sandbox.url, "--key", sandbox.key]


def test_colours_are_for_terminals(sandbox: Sandbox, cli: Cli, screen: OnScreen) -> None:
    """None in a pipe, and none under NO_COLOR."""
    sandbox.customer()
    wide = {"COLUMNS": "200"}  # a narrow terminal wraps lines, which a pipe does not
    on_terminal = screen("events", *which(sandbox), **wide)
    plain = screen("events", *which(sandbox), **wide, NO_COLOR="1")
    assert (on_terminal.status(), plain.status()) == (0, 0)
    assert f"{BOLD}customer.created" in on_terminal.text
    assert "\x1b" not in cli("events").output
    assert plain.text.partition("next: ")[0].split() == cli("events").output.split()


def test_each_row_is_one_line_of_a_terminal(sandbox: Sandbox, screen: OnScreen) -> None:
    """Whatever the length of names; the name stands before the id, of which as much is left as finds its object."""
    customer = sandbox.customer(name="Anne-Charlotte " + "Ekomie " * 9)["id"]
    for command in ("events", "logs", "emails", "schedule"):
        terminal = screen(command, *which(sandbox), NO_COLOR="1")
        assert terminal.status() == 0
        rows = [line for line in terminal.text.splitlines() if line[2:3] == ":"]
        assert [line for line in rows if len(line) > 80] == []
        if command in ("events", "logs"):
            assert rows, command
            assert "Anne-Charlotte" in rows[-1], rows
    start = f"{customer[:12]}…"
    shown = screen("events", *which(sandbox), NO_COLOR="1")
    assert (shown.status(), start in shown.text) == (0, True)
    found = screen("explain", start, *which(sandbox), NO_COLOR="1")
    assert (found.status(), customer in found.text) == (0, True)


def test_whole_ids_are_shown_where_they_are_wanted(sandbox: Sandbox, screen: OnScreen) -> None:
    customer = sandbox.customer(name="Anne-Charlotte " + "Ekomie " * 9)["id"]
    request = sandbox.control.get("/requests")["data"][0]
    for command, id in (("events", customer), ("logs", request["id"])):
        shown = screen(command, "--ids", *which(sandbox), NO_COLOR="1")
        assert (shown.status(), id in shown.text) == (0, True)
    start = screen("logs", f"{request['id'][:12]}…", *which(sandbox), NO_COLOR="1")
    assert (start.status(), request["id"] in start.text) == (0, True)


def test_an_error_is_a_sentence_for_people_and_the_answer_itself_for_programs(sandbox: Sandbox, cli: Cli) -> None:
    assert cli("logs", "req_none").errors == "payments-emulator: There is no request req_none in the journal\n"
    error = json.loads(cli("logs", "req_none", "--json").errors)
    assert (error["code"], error["status"]) == ("NOT_FOUND", 404)


def test_no_line_of_a_report_is_wider_than_the_terminal(sandbox: Sandbox, screen: OnScreen) -> None:
    """Colours take no room."""
    sandbox.deposit()
    for command in (["test", "client"], ["ledger"]):
        terminal = screen(*command, *which(sandbox))
        assert terminal.status() == 0
        assert [line for line in unstyle(terminal.text).splitlines() if len(line) > 80] == []


def test_a_reader_that_has_enough_ends_it_quietly(sandbox: Sandbox) -> None:
    """As ``head`` does."""
    for number in range(30):
        sandbox.api.post("/customers/", {"email": f"{number}@example.com", "name": "Awa"})
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [*COMMAND, "events", "--json", *which(sandbox)],
        stdout=writing,
        stderr=subprocess.PIPE,
        timeout=60,
        check=False,
        env=clean(),
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_name_that_the_terminal_cannot_show_is_no_failure(sandbox: Sandbox) -> None:
    sandbox.api.request("POST", "/customers/", json={"name": "王小明"})
    (entry,) = sandbox.control.get("/requests")["data"]
    shown = subprocess.run(
        [*COMMAND, "logs", entry["id"], *which(sandbox)],
        capture_output=True,
        check=True,
        timeout=60,
        env=clean(PYTHONIOENCODING="latin-1"),
    )
    assert b'"name": "???"' in shown.stdout


@pytest.fixture
def follow(sandbox: Sandbox) -> Iterator[Follow]:
    """Starts a command that goes on."""
    with processes() as begin:
        yield lambda *arguments: begin(*arguments, *which(sandbox))


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
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert (process.returncode, output, errors.strip()) == (130, "", "")


def test_only_some_are_followed_and_a_reset_is_announced(sandbox: Sandbox, follow: Follow) -> None:
    """What was known of the world no longer holds; a message on standard error says so."""
    sandbox.customer()
    process = follow("events", "-f", "--type", "customer.deleted", "--json")
    gone = sandbox.customer()["id"]
    sandbox.api.delete(f"/customers/{gone}/")
    (event,) = objects(process, 1)
    assert event["data"]["object"]["id"] == gone
    sandbox.control.post("/rewind", {"steps": 1})
    assert process.stderr
    assert process.stderr.readline() == "-- the world was rewound; it is now 2026-01-01T00:00:00Z\n"


def test_requests_are_followed(sandbox: Sandbox, follow: Follow) -> None:
    sandbox.customer()
    process = follow("logs", "-f", "--method", "POST", "--json")
    (first,) = objects(process, 1)
    sandbox.api.get("/customers/")
    sandbox.api.request("POST", "/customers/", json={})
    (second,) = objects(process, 1)
    assert [first["status"], second["status"]] == [201, 422]


FULL = Path("/dev/full")
"""A disk that is always full."""


@pytest.mark.skipif(not FULL.exists(), reason="of Linux alone")
@pytest.mark.parametrize("line", [("--help",), ("completion", "bash")])
def test_a_full_disk_is_reported_on_one_line(line: tuple[str, ...]) -> None:
    with FULL.open("w") as full:
        ended = subprocess.run(
            [*COMMAND, *line], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False
        )
    assert (ended.returncode, ended.stderr) == (2, "payments-emulator: cannot write: No space left on device\n")


HEAVY = {"httpx", "uvicorn", "connexion", "rich", "http.server", "msgspec", "yaml", "jinja2", "asyncio"}
HEAVY |= {"email.message", "hashlib", "socket", "subprocess"}


def loaded(*line: str) -> set[str]:
    """What Python has loaded once this line is done."""
    call = f"from emulator.cli.main import cli; cli({line}, standalone_mode=False)"
    script = f"import sys; {call}; print('--', *sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    return {*done.stdout.rpartition("--")[2].split()}


IMPORTED = {
    *("emulator", "emulator.cli", "emulator.cli.groups", "emulator.cli.main", "emulator.cli.options"),
    *("emulator.cli.output", "emulator.core", "emulator.core.event_types", "emulator.version"),
}
"""What the help needs of this package; of others it needs click alone."""


def test_the_help_imports_no_command() -> None:
    script = (
        "import sys; before = set(sys.modules)\n"
        "from emulator.cli.main import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: print(sorted(set(sys.modules) - before), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    modules = set(eval(done.stderr))
    assert HEAVY.isdisjoint(modules), "so it comes fast"
    foreign = {name.partition(".")[0] for name in modules if not name.startswith("emulator")} - sys.stdlib_module_names
    assert foreign == {"click"}
    assert {name for name in modules if name.startswith("emulator")} == IMPORTED
    assert "compare" in done.stdout


@pytest.mark.parametrize(
    "line", ["health", "trigger invoice.paid", "events", "logs", "emails", "clock show", "world list"]
)
def test_a_request_needs_no_server_and_no_library_of_http(line: str, sandbox: Sandbox) -> None:
    modules = loaded(*line.split(), "--url", sandbox.url, *([] if line == "health" else ["--key", sandbox.key]))
    heavy = HEAVY | {"starlette", "babel", "emulator.engine", "emulator.server", "http.client", "ssl"}
    assert heavy & modules == {"socket"}


def test_a_line_loads_its_own_command_only() -> None:
    modules = {f"emulator.cli.{name}" for names in COMMANDS.values() for name in names}
    assert modules & loaded("world", "reset", "--help") == {"emulator.cli.world"}
