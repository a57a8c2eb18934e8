"""The ledger on the command line: where the money is, and an exit status that says whether it adds up."""

from __future__ import annotations

from typing import Any

import pytest

from contract_tests.support.sandbox import Sandbox
from contract_tests.surfaces.cli.conftest import Cli
from emulator.cli.look import ledger_report


@pytest.fixture
def deposit(sandbox: Sandbox) -> Any:
    return sandbox.deposit()


def test_totals_entries_and_the_verdict(cli: Cli, deposit: Any) -> None:
    ended = cli("ledger")
    assert ended.status == 0
    assert ended.lines[0].split() == ["buyers", "−5,000", "XAF"]
    assert ended.lines[1].split() == ["merchant", "4,855", "XAF"]
    assert f"POST /v1/payment-intents/{deposit['payment_intent']}/confirm/" in ended.output
    assert ended.lines[-1] == "Balanced."


def test_amounts_of_a_currency_with_decimals(cli: Cli, sandbox: Sandbox) -> None:
    sandbox.pay(amount=52122, currency="EUR")
    lines = cli("ledger").lines
    assert lines[0].split() == ["buyers", "−521.22", "EUR"]
    assert any("  +506.10 EUR  merchant  " in line for line in lines)


def test_what_was_set_directly_has_its_account(cli: Cli, deposit: Any, sandbox: Sandbox) -> None:
    sandbox.control.patch(f"/objects/{deposit['id']}", {"amount": 99})
    lines = cli("ledger").lines
    assert lines[4].split() == ["set_directly", "−4,901", "XAF"]
    assert lines[-1] == "Balanced."


def test_entries_of_one_object(cli: Cli, deposit: Any) -> None:
    (ledger,) = cli("ledger", "--object", deposit["id"], "--json").objects
    assert {each["object"] for each in ledger["entries"]["data"]} == {deposit["id"]}
    assert ledger["balanced"] is True


@pytest.mark.usefixtures("deposit")
def test_another_currency_is_empty(cli: Cli) -> None:
    assert cli("ledger", "--currency", "EUR").lines == ["Balanced."]


def test_what_broke_the_balance_is_a_line() -> None:
    cause = {"id": "job_3", "summary": "job subscription.retry of sub_1 ran"}
    earlier = {"id": "req_1", "summary": "POST /_emulator/invoices/inv_1/pay"}
    broken = {
        "account": "payments of inv_1",
        "amount": 5000,
        "currency": "XAF",
        "at": "2026-01-15T09:30:00.000Z",
        "cause": cause,
        "earlier": earlier,
    }
    lines = ledger_report(
        {"balanced": False, "totals": [], "entries": {"data": []}, "broken_by": [broken]}
    ).splitlines()
    assert lines[0].startswith("2026-01-15T09:30:00Z  payments of inv_1 is off by 5,000 XAF: job subscription.retry")
    assert lines[0].endswith("(job_3); before it POST /_emulator/invoices/inv_1/pay")
    assert lines[-1].endswith("Not balanced.\x1b[0m")
