"""Command line and control API ↔ the names that scripts and documentation rely on (control-api.md)."""

from __future__ import annotations

import pytest

from contract_tests.contract.document.reader import operations
from contract_tests.quality.drift.commands import commands
from emulator.cli.main import cli
from emulator.document import bundles

COMMANDS = """
serve, demo, exec, listen
clock show|advance|next|freeze|run, schedule
pay, trigger
events, logs, emails, explain, ledger
world save|load|list|export|import|delete|rewind|reset
test app|suite|receiver|client|all
record
compare document|service
health, agent setup, mcp, state check|compact|convert, spec bundle|validate, completion
"""

SERVE = frozenset({"port", "host", "state", "fixtures", "clock", "seed", "keys", "smtp", "strict", "port-file"})
"""The options of ``serve`` that scripts rely on."""

CONTROL = """
GET /health, GET /clock, POST /clock/advance, GET|DELETE /clock/advances/{id}, POST /clock/freeze, POST /clock/run,
GET /schedule, GET /events, POST /trigger, POST /checkout-sessions/{id}/pay, POST /payment-links/{id}/pay,
POST /invoices/{id}/pay, POST /payment-intents/{id}/answer, POST /checkout-sessions/{id}/answer,
POST /refunds/{id}/answer, POST|GET|DELETE /outcomes, POST|GET|DELETE /faults, GET|PATCH /app, GET|PATCH /objects/{id},
GET /objects/{id}/changes, GET /objects, GET /counts, GET /search, GET /apps, GET /requests, GET /requests/{id}, GET /recording,
GET /recording/state, POST /recording/start, POST /recording/stop, GET /inboxes, GET /inbox/{id},
PUT|DELETE /inbox/{id}/response, GET /emails, GET /emails/{id}, GET /emails/{id}/html, GET /emails/{id}/raw,
GET|POST /snapshots, POST /snapshots/{id}/restore, GET|PUT|DELETE /snapshots/{id}, POST /rewind, POST /reset,
GET /audit, GET /coverage, GET /ledger, GET /metrics, GET /assumptions, GET /stream, GET /phones/{id},
POST /phones/{id}/answer, GET /explain/{id}, GET /names, GET /catalog
"""
"""Every parameter of a path is written ``{id}`` here."""


def rows(text: str) -> list[str]:
    return list(filter(None, text.strip(", \n").split(", ")))


def test_commands_have_the_names_that_are_fixed() -> None:
    fixed = [
        (*each.split()[:-1], last)
        for each in rows(COMMANDS.replace("\n", ", "))
        for last in each.split()[-1].split("|")
    ]
    assert [path for path, _ in commands()] == fixed


@pytest.mark.parametrize("name", sorted(cli.commands))
def test_a_command_says_what_it_does(name: str) -> None:
    assert cli.commands[name].get_short_help_str()


def test_options_of_serve_have_the_names_that_are_fixed() -> None:
    """One that is not among them is fine as long as it takes no other's name."""
    options = {option.removeprefix("--") for each in cli.commands["serve"].params for option in each.opts}
    assert options >= SERVE & options
    assert {"port", "host", "fixtures", "clock", "seed", "keys", "strict"} <= options


def test_the_control_api_is_at_the_addresses_that_are_fixed() -> None:
    lines = (each.split() for each in rows(CONTROL.replace("\n", " ")))
    fixed = {f"{method} {path}" for methods, path in lines for method in methods.split("|")}
    here = {
        " ".join([each.method, "/".join("{id}" if part.startswith("{") else part for part in each.path.split("/"))])
        for each in operations(bundles.load("control"))
    }
    assert here <= fixed
